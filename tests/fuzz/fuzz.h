// Included by every fuzz target. A target is one function that libFuzzer calls with bytes of its
// making; it hands them to a parser as whoever sends them would, and aborts where the parser breaks
// a promise of its header. AddressSanitizer and UBSan find the rest.
//
// A line "// Parsers: FILES" in a target says what it is there to cover, for make fuzz-coverage.
// Its seeds lie in seeds/X, its dictionary, if it has one, is X.dict.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Checks a promise of a header.
static inline void fuzz_claim(bool holds)
{
    if (!holds)
        abort();
}

// The bytes as a string that ends where its memory does. The caller frees it.
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    fuzz_claim(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#define FUZZ_PATH_SIZE 32

// A file with these bytes that nobody else may read, and its name. The caller closes it.
static inline int fuzz_file(const uint8_t *data, size_t size, char ret_path[FUZZ_PATH_SIZE])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    fuzz_claim(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t)size &&
               lseek(fd, 0, SEEK_SET) == 0);
    snprintf(ret_path, FUZZ_PATH_SIZE, "/proc/self/fd/%d", fd);
    return fd;
}
