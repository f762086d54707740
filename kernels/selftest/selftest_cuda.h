// Definitions shared by selftest.cu and the C code that launches it. Included from C and from CUDA.
#pragma once

#include <stdint.h>

// Threads of a block in a row, and the side of the square blocks of the matrix product.
#define SELFTEST_CUDA_THREADS 256
#define SELFTEST_CUDA_TILE 16

// The only parameter of every kernel.
struct selftest_cuda {
    uint64_t input;    // device address of what it reads
    uint64_t output;   // device address of what it writes, zeroed
    uint32_t sizes[3]; // as each kernel explains
};

// Random number `index`: splitmix64 of a counter, so that any thread can make any of them, and the
// CPU the same.
#define SELFTEST_CUDA_RANDOM(index, ret_bits)                                                      \
    do {                                                                                           \
        uint64_t bits_ = ((uint64_t)(index) + 1) * UINT64_C(0x9e3779b97f4a7c15);                   \
        bits_ = (bits_ ^ bits_ >> 30) * UINT64_C(0xbf58476d1ce4e5b9);                              \
        bits_ = (bits_ ^ bits_ >> 27) * UINT64_C(0x94d049bb133111eb);                              \
        (ret_bits) = bits_ ^ bits_ >> 31;                                                          \
    } while (0)
