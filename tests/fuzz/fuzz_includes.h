// Configuration text whose @include reads no file of this machine: bytes behind a record separator
// (0x1e) are the file "1", those behind the next one "2", and so on; there are no others.
#pragma once

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>

#define FUZZ_SEPARATOR 0x1e

static const uint8_t *fuzz_files; // behind the first separator
static size_t fuzz_files_size;

// Says where the bytes of the main text end, and keeps the rest for fuzz_open().
static inline size_t fuzz_take_files(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, FUZZ_SEPARATOR, size);

    fuzz_files = end ? end + 1 : NULL;
    fuzz_files_size = end ? (size_t)(data + size - fuzz_files) : 0;
    return end ? (size_t)(end - data) : size;
}

static int fuzz_open(const char *path, int flags)
{
    const uint8_t *file = fuzz_files, *end = fuzz_files ? file + fuzz_files_size : NULL;
    char name[FUZZ_PATH_SIZE];

    (void)flags;
    for (int number = path[0] - '1'; file && number > 0; number--) {
        file = memchr(file, FUZZ_SEPARATOR, (size_t)(end - file));
        file = file ? file + 1 : NULL;
    }
    if (!file || path[0] < '1' || path[0] > '9' || path[1]) {
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
