// How CPU kernels reach the vector units: plain loops, compiled once more for AVX2 on x86, and for
// AVX-512 by compilers that can name the set of features (x86-64-v4).
//
// The loader picks the clone through an ifunc, which runs before a sanitizer's own set-up; so the
// macro is empty under sanitizers. It is empty as well where NEON is the baseline anyway, and for
// clang, whose clones of static functions of different files collide at link time (clang 14).
#pragma once

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
