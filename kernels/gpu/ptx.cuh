// Instructions that CUDA C++ has no function for, as PTX. Everything else of the kernels is C++.
#pragma once

#include <stdint.h>

namespace {

// __byte_perm() with the signs of bytes: where the highest bit of a selector's nibble is set, eight
// times the sign of the byte that the others name.
__device__ __forceinline__ uint32_t permute_signs(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t r;

    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
}

// Waits at a barrier of its own for `threads` threads of the block, a multiple of 32.
__device__ __forceinline__ void sync_some(uint32_t threads)
{
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

// Square root and reciprocal within an ulp or two.
__device__ __forceinline__ float near_root(float n)
{
    float r;

    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(n));
    return r;
}

__device__ __forceinline__ float near_reciprocal(float n)
{
    float r;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(n));
    return r;
}

} // namespace
