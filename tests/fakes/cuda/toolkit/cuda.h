// Enough of CUDA C++ for a C++ compiler to build edged's kernels for the CPU, where fake_cuda runs
// them one thread after the other, each a block of its own. So it takes those whose threads share
// nothing, or what a block of one thread can make by itself. Each function does what the CUDA
// programming guide and math API say of the one it is named after.
#pragma once

#include "tests/fakes/cuda/toolkit/thread.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static thread_local

#define threadIdx fake_cuda_thread.thread
#define blockIdx fake_cuda_thread.block
#define blockDim fake_cuda_thread.block_size
#define gridDim fake_cuda_thread.grid_size

struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    std::common_type_t<A, B> first = a, second = b;

    return first < second ? first : second;
}

template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    std::common_type_t<A, B> first = a, second = b;

    return first > second ? first : second;
}

template <class T> static inline T __ldg(const T *from)
{
    return *from;
}

static inline uint32_t __float_as_uint(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float __uint_as_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

// There is one NaN.
static inline float __fmaf_rn(float a, float b, float c)
{
    float sum = fmaf(a, b, c);

    return isnan(sum) ? __uint_as_float(0x7fffffff) : sum;
}

static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}

static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

// PTX prmt: a nibble of the selector names a byte of b:a, its highest bit asks for eight times that
// byte's sign.
static inline uint32_t fake_cuda_permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t nibble = selector >> 4 * i & 15, byte = bytes >> 8 * (nibble & 7) & 255;

        result |= (nibble & 8 ? byte >> 7 ? 255u : 0u : byte) << 8 * i;
    }
    return result;
}

static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    return fake_cuda_permute(a, b, selector & 0x7777);
}

// What `each` makes of four bytes of a and of b.
template <class function>
static inline uint32_t fake_cuda_bytes(uint32_t a, uint32_t b, function each)
{
    uint32_t result = 0;

    for (int i = 0; i < 32; i += 8) {
        result |= (uint32_t)(uint8_t)each((int)(a >> i & 255), (int)(b >> i & 255)) << i;
    }
    return result;
}

static inline uint32_t __vabsdiffu4(uint32_t a, uint32_t b)
{
    return fake_cuda_bytes(a, b, [](int x, int y) { return abs(x - y); });
}

static inline uint32_t __vcmpgeu4(uint32_t a, uint32_t b)
{
    return fake_cuda_bytes(a, b, [](int x, int y) { return x >= y ? 255 : 0; });
}

static inline uint32_t __vcmpgtu4(uint32_t a, uint32_t b)
{
    return fake_cuda_bytes(a, b, [](int x, int y) { return x > y ? 255 : 0; });
}

static inline uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t sum)
{
    for (int i = 0; i < 32; i += 8) {
        sum += (a >> i & 255) * (b >> i & 255);
    }
    return sum;
}

static inline int __dp4a(int a, int b, int sum)
{
    for (int i = 0; i < 32; i += 8) {
        sum += (int8_t)(a >> i) * (int8_t)(b >> i);
    }
    return sum;
}

// Two halves of a by the bytes of b from `shift` on.
static inline uint32_t fake_cuda_dp2a(uint32_t a, uint32_t b, uint32_t sum, int shift)
{
    return sum + (a & 0xffff) * (b >> shift & 255) + (a >> 16) * (b >> (shift + 8) & 255);
}

static inline int fake_cuda_dp2a(int a, int b, int sum, int shift)
{
    return sum + (int16_t)a * (int8_t)(b >> shift) +
           (int16_t)(a >> 16) * (int8_t)(b >> (shift + 8));
}

template <class T> static inline T __dp2a_lo(T a, T b, T sum)
{
    return fake_cuda_dp2a(a, b, sum, 0);
}

template <class T> static inline T __dp2a_hi(T a, T b, T sum)
{
    return fake_cuda_dp2a(a, b, sum, 16);
}

// Of a block and a warp of one thread.
static inline bool __all_sync(uint32_t, bool predicate)
{
    return predicate;
}

static inline void __syncwarp()
{
}

static inline void __syncthreads()
{
}
