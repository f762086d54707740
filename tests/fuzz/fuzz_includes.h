// Configuration text whose @include reads no file of this machine: the bytes up to a record
// separator (0x1e) are the file "0", those behind it "1", and so on up to "9". The folder "/" is
// there, too.
#pragma once

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>

#define FUZZ_SEPARATOR 0x1e
#define FUZZ_MAIN "0"

static const uint8_t *fuzz_files; // NULL: there are none
static size_t fuzz_files_size;

// Keeps the bytes for fuzz_open(); data NULL: there are no files.
static inline void fuzz_take_files(const uint8_t *data, size_t size)
{
    fuzz_files = data;
    fuzz_files_size = size;
}

static int fuzz_open(const char *path, int flags)
{
    const uint8_t *file = fuzz_files, *end = fuzz_files ? file + fuzz_files_size : NULL;
    char name[FUZZ_PATH_SIZE];

    if (strcmp(path, "/") == 0)
        return open(path, flags);
    for (int number = path[0] - '0'; file && number > 0; number--) {
        file = memchr(file, FUZZ_SEPARATOR, (size_t)(end - file));
        file = file ? file + 1 : NULL;
    }
    if (!file || path[0] < '0' || path[0] > '9' || path[1]) {
        errno = ENOENT;
        return -1;
    }
    const uint8_t *next = memchr(file, FUZZ_SEPARATOR, (size_t)(end - file));
    return fuzz_file(file, (size_t)((next ? next : end) - file), name);
}

// In the place of the library's.
#define open fuzz_open
#include "config/parse/config_text.c"
#undef open
