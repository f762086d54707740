// Small files of /proc, /sys and /etc.
#pragma once

#include <stddef.h>

// Reads the beginning of `folder`/`name`, at most `size` - 1 bytes, and ends it with a NUL. Returns
// how many there are; 0: it cannot be read or is empty.
size_t read_file(const char *folder, const char *name, char *ret_text, size_t size);
