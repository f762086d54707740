// Enough of CUDA C++ for a C++ compiler to build edged's kernels for the CPU, where fake_cuda runs
// them one thread after the other, each a block of its own, or block by block (block.h). Threads of
// a block take turns only where they wait for each other, so that nothing else has to be atomic.
// Each function does what the CUDA programming guide and math API say of the one it is named after.
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

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
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

template <class T> static inline T __ldcg(const T *from)
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

static inline double __dadd_rn(double a, double b)
{
    return a + b;
}

static inline double __dsub_rn(double a, double b)
{
    return a - b;
}

static inline double __dmul_rn(double a, double b)
{
    return a * b;
}

static inline double __ddiv_rn(double a, double b)
{
    return a / b;
}

static inline double __drcp_rn(double a)
{
    return 1 / a;
}

static inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}

static inline float __fsqrt_rn(float a)
{
    return sqrtf(a);
}

static inline int __ffs(uint32_t bits)
{
    return __builtin_ffs((int)bits);
}

static inline uint32_t __brev(uint32_t bits)
{
    bits = bits >> 1 & 0x55555555 | (bits & 0x55555555) << 1;
    bits = bits >> 2 & 0x33333333 | (bits & 0x33333333) << 2;
    bits = bits >> 4 & 0x0f0f0f0f | (bits & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(bits);
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

// Applies `each` to the four bytes of a and of b, one pair after the other.
template <class function>
static inline uint32_t fake_cuda_bytes(uint32_t a, uint32_t b, function each)
{
    uint32_t result = 0;

    for (int i = 0; i < 32; i += 8)
        result |= (uint32_t)(uint8_t)each((int)(a >> i & 255), (int)(b >> i & 255)) << i;
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
    for (int i = 0; i < 32; i += 8)
        sum += (a >> i & 255) * (b >> i & 255);
    return sum;
}

static inline int __dp4a(int a, int b, int sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (int8_t)(a >> i) * (int8_t)(b >> i);
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

template <class T, class V> static inline T atomicAdd(T *at, V value)
{
    T before = *at;

    *at += (T)value;
    return before;
}

template <class T> static inline T atomicMax(T *at, T value)
{
    T before = *at;

    *at = max(before, value);
    return before;
}

static inline uint32_t atomicInc(uint32_t *at, uint32_t last)
{
    uint32_t before = *at;

    *at = before >= last ? 0 : before + 1;
    return before;
}

static inline uint32_t atomicCAS(uint32_t *at, uint32_t expected, uint32_t value)
{
    uint32_t before = *at;

    *at = before == expected ? value : before;
    return before;
}

static inline void __threadfence()
{
}

static inline void __syncthreads()
{
    fake_cuda_meet_block(0, 0);
}

static inline void __syncwarp()
{
    fake_cuda_meet_warp(0);
}

static inline uint32_t __ballot_sync(uint32_t, bool predicate)
{
    const uint64_t *values = fake_cuda_meet_warp(predicate);
    uint32_t result = 0;

    for (int i = 0; i < FAKE_CUDA_WARP; i++)
        result |= (uint32_t)values[i] << i;
    return result;
}

static inline bool __any_sync(uint32_t mask, bool predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

static inline bool __all_sync(uint32_t mask, bool predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

static inline uint32_t fake_cuda_lane()
{
    return (threadIdx.y * blockDim.x + threadIdx.x) % FAKE_CUDA_WARP;
}

// The value of a lane, for a lane that there is not its own.
template <class T> static inline T fake_cuda_of_lane(T value, uint32_t lane)
{
    uint64_t bits = 0;
    T result;

    memcpy(&bits, &value, sizeof value);
    bits = fake_cuda_meet_warp(bits)[lane < FAKE_CUDA_WARP ? lane : fake_cuda_lane()];
    memcpy(&result, &bits, sizeof result);
    return result;
}

template <class T> static inline T __shfl_sync(uint32_t, T value, uint32_t lane)
{
    return fake_cuda_of_lane(value, lane % FAKE_CUDA_WARP);
}

template <class T> static inline T __shfl_up_sync(uint32_t, T value, uint32_t by)
{
    return fake_cuda_of_lane(value, fake_cuda_lane() - by);
}

template <class T> static inline T __shfl_down_sync(uint32_t, T value, uint32_t by)
{
    return fake_cuda_of_lane(value, fake_cuda_lane() + by);
}

template <class T> static inline T __shfl_xor_sync(uint32_t, T value, uint32_t by)
{
    return fake_cuda_of_lane(value, fake_cuda_lane() ^ by);
}
