// How CPU kernels reach the vector units: plain loops, compiled once more for AVX2 on x86, and for
// AVX-512 by compilers that can name the set of features (x86-64-v4).
//
// The loader picks the clone through an ifunc, which runs before a sanitizer's own set-up; so the
// macro is empty under sanitizers. It is empty as well where NEON is the baseline anyway, and for
// clang, whose clones of static functions of different files collide at link time (clang 14).
#pragma once

#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__) || defined(__clang__) || defined(__SANITIZE_ADDRESS__) ||                 \
    defined(__SANITIZE_THREAD__)
#define SIMD_CLONES
#elif __GNUC__ >= 12
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#endif

// For loop bodies shared by several kernels: they must end up inside the clone.
#define SIMD_INLINE static inline __attribute__((always_inline))

// Bytes. Rows and what threads write begin at multiples of it.
#define SIMD_CACHE_LINE 64

// Bytes that a loop over the rows of a picture works on in one go, a cache line, and how far ahead
// of them it asks the memory for what comes next; rows follow each other, so the next one, too.
// Beyond the last row that asks for nothing. 512 to 2048 are the same.
#define SIMD_BLOCK SIMD_CACHE_LINE
#define SIMD_AHEAD 1024

SIMD_INLINE void simd_read_ahead(const void *at)
{
    __builtin_prefetch((const char *)at + SIMD_AHEAD);
}

SIMD_INLINE void simd_write_ahead(const void *at)
{
    __builtin_prefetch((const char *)at + SIMD_AHEAD, 1);
}

// The same for a whole row, where what comes between this row and its use is more than AHEAD.
SIMD_INLINE void simd_read_row(const uint8_t *row, size_t width)
{
    for (size_t x = 0; x < width; x += SIMD_BLOCK)
        __builtin_prefetch(row + x, 0, 2);
}

// For stages that walk down strips of columns, which no prefetcher of a CPU follows: of `count`
// rows each asks for its pixels from `x` on in the `count` rows below them, if those lie as these
// do. `rows` begins with the one above the first of them.
SIMD_INLINE void simd_read_below(const uint8_t *const *rows, unsigned count, unsigned index,
                                 size_t x)
{
    uintptr_t stride = (uintptr_t)rows[2] - (uintptr_t)rows[1];

    __builtin_prefetch((const void *)((uintptr_t)rows[index + 2] + count * stride + x), 0, 2);
}
