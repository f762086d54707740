// Arithmetic that magnitudes share: two pixels as halves, and the rounding of roots.
//
// A byte with a zero byte above it is, read as a half, the denormal number v * 2^-24, and every
// integer up to 2048 in that unit is exact. So two pixels share an instruction, sums need no bias
// and no conversion, sign and absolute value are one bit, and rounding a float scaled by 2^-24 to
// half rounds it to an integer. The bits of integers from 0 to 2047 are the integers themselves.
#pragma once

#include "kernels/gpu/tile.cuh"

#include <cuda_fp16.h>

namespace {

enum norm { L2, L1 };

// Two pixels as halves, and back.
__device__ __forceinline__ half2 pair(uint32_t bits)
{
    return *reinterpret_cast<half2 *>(&bits);
}

__device__ __forceinline__ uint32_t bits(half2 pair)
{
    return *reinterpret_cast<uint32_t *>(&pair);
}

// The smaller and the larger of each, none being negative. Halves are ordered as their bits are,
// for GPUs on which toolkits before 11.8 have no __hmin2() or __hmax2().
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
__device__ __forceinline__ half2 smaller(half2 a, half2 b)
{
    return pair(__vminu2(bits(a), bits(b)));
}

__device__ __forceinline__ half2 larger(half2 a, half2 b)
{
    return pair(__vmaxu2(bits(a), bits(b)));
}
#else
__device__ __forceinline__ half2 smaller(half2 a, half2 b)
{
    return __hmin2(a, b);
}

__device__ __forceinline__ half2 larger(half2 a, half2 b)
{
    return __hmax2(a, b);
}
#endif

// The result for one pixel whose magnitude is `f` and whose n is exact, near a rounding tie where
// the approximation must not decide.
__device__ __forceinline__ uint32_t settle(const uint32_t *__restrict__ thresholds, float f,
                                           uint32_t n)
{
    uint32_t below = (uint32_t)f;

    return below >= 255 ? 255 : below + (n >= __ldg(thresholds + below + 1));
}

// min(255, rint(f)) of a gain times a magnitude; `exact` yields what the 256 thresholds are of.
template <class number>
__device__ __forceinline__ uint32_t round_gain(uint64_t thresholds, float f, number exact)
{
    float rounded = rintf(f);

    if (fabsf(f - rounded) > 0.4995f)
        return settle(reinterpret_cast<const uint32_t *>(thresholds), f, exact());
    return (uint32_t)fminf(rounded, 255.0f);
}

// Two magnitudes of gain 1, 0..255 in 16 bit lanes. A gx or gy whose exact value exceeds 2048 may
// be any that does: the result is 255.
template <norm NORM> __device__ __forceinline__ uint32_t magnitudes(half2 gx, half2 gy)
{
    const half2 most = pair(0x00ff00ff);

    if (NORM == L1)
        return bits(smaller(__hadd2(__habs2(gx), __habs2(gy)), most));
    float xa = __low2float(gx), xb = __high2float(gx);
    float ya = __low2float(gy), yb = __high2float(gy);
    float a = xa * xa + ya * ya, b = xb * xb + yb * yb;

    return bits(smaller(__floats2half2_rn(near_root(a), near_root(b)), most));
}

// 255 in 16 bit lanes where |gx| + |gy|, at most 2047, or gx² + gy² is `least` or more, else 0.
__device__ __forceinline__ uint32_t reached_l1(half2 gx, half2 gy, uint32_t least)
{
    uint32_t sums = bits(__hadd2(__habs2(gx), __habs2(gy)));
    uint32_t over = sums + (0x8000 - min(least, 0x8000u)) * 0x00010001;

    return (over >> 15 & 0x00010001) * 255;
}

__device__ __forceinline__ uint32_t reached_l2(half2 gx, half2 gy, uint32_t least)
{
    const float bound = (float)least * 0x1p-48f;
    float xa = __low2float(gx), xb = __high2float(gx);
    float ya = __low2float(gy), yb = __high2float(gy);

    return (xa * xa + ya * ya >= bound ? 0x000000ff : 0) |
           (xb * xb + yb * yb >= bound ? 0x00ff0000 : 0);
}

} // namespace
