// Standard output of programs that print something and end: text that cannot be written is an
// error.
#pragma once

#include <stdbool.h>
#include <stdio.h>

// Keeps standard output for the program: a stream to it, and whatever else writes to `stdout` from
// now on writes to standard error. NVIDIA's camera and encoder libraries print there what they do.
// It is not to be closed; `stdout` where there is no descriptor left.
FILE *standard_output_keep(void);

// Flushes what has been printed. False when some of it could not be written, now or before.
bool standard_output_flush(void);
// Flushes at the end of `program`. If some text could not be written, says so on standard error.
// Returns the exit status: 1 in that case, else `status`.
int standard_output_finish(const char *program, int status);
