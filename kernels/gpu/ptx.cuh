// Instructions that CUDA C++ has no function for, as PTX. Everything else of the kernels is C++.
#pragma once

#include <stdint.h>

namespace {

// A byte where there is one, else the word stays as it was. Without a branch, and without setting
// the word first, as the compiler would.
__device__ __forceinline__ void load_byte_if(bool there, const uint8_t *from, uint32_t &word)
{
    asm("{\n"
        ".reg .pred there;\n"
        "setp.ne.u32 there, %2, 0;\n"
        "@there ld.global.nc.u8 %0, [%1];\n"
        "}"
        : "+r"(word)
        : "l"(from), "r"((uint32_t)there));
}

// __byte_perm() with the signs of bytes: where the highest bit of a selector's nibble is set, eight
// times the sign of the byte that the others name.
__device__ __forceinline__ uint32_t permute_signs(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t r;

    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
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
