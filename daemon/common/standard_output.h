// Standard output of programs that print and end.
#pragma once

#include <stdbool.h>

// Hands on what was printed up to here. False when not all of it could be written, now or before.
bool standard_output_flush(void);
// The same at the end: what could not be written is said on standard error, as `program`. Returns
// the exit status: 1 then, otherwise `status`.
int standard_output_finish(const char *program, int status);
