// The self-tests of the GPU as the CPU sees them: inputs, sizes of grids and buffers, and whether
// an output is right. gpu_selftest.c runs them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// For when a GPU is opened, and for people who wait.
enum selftest_size { SELFTEST_START, SELFTEST_FULL, SELFTEST_SIZES };

// The actual and the expected result, for people. Both are written, equal or not.
struct selftest_texts {
    char value[80], expected[80];
};

// How much memory a test takes, and in what grid it is launched.
struct selftest_plan {
    size_t input_bytes, output_bytes; // multiples of 8
    uint32_t grid[2], block[2];
};

struct selftest {
    const char *name, *what, *kernel;
    uint32_t sizes[SELFTEST_SIZES][3]; // the kernel's parameters
    struct selftest_plan (*plan)(const uint32_t *sizes);
    void (*fill)(const uint32_t *sizes, void *input); // NULL: it has none
    // Computes the expected output; `expected` holds zeros before.
    void (*expect)(const uint32_t *sizes, const void *input, void *expected);
    // Whether the output is right.
    bool (*judge)(const uint32_t *sizes, const void *output, const void *expected,
                  struct selftest_texts *ret_texts);
};

// Entry `index`, NULL past the last.
const struct selftest *selftest_at(size_t index);
