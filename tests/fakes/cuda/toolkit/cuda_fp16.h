// Halves (IEEE 754 binary16) and pairs of them: computed as doubles, which hold any product and sum
// of theirs exactly, and rounded once, to even.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

struct alignas(4) half2 {
    uint16_t low, high;
};

static inline float fake_cuda_widen(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;

    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f; // moves the exponent, of denormal numbers as well
    return half & 0x8000 ? -value : value;
}

// The kernels stay far from overflow, so there is neither infinity nor NaN.
static inline uint16_t fake_cuda_round(double value)
{
    uint64_t bits;
    double unit, size = fabs(value);
    float scaled;
    uint32_t result;

    memcpy(&bits, &size, sizeof bits);
    // 2^52 units of the last place a half of this size has: adding it rounds to them.
    bits = ((bits >> 52 < 1009 ? 1009 : bits >> 52) + 42) << 52;
    memcpy(&unit, &bits, sizeof unit);
    scaled = (float)((size + unit) - unit) * 0x1p-112f;
    memcpy(&result, &scaled, sizeof result);
    return (uint16_t)(result >> 13 | (signbit(value) ? 0x8000 : 0));
}

template <class function>
static inline half2 fake_cuda_pair(half2 a, half2 b, half2 c, function each)
{
    return {fake_cuda_round(each((double)fake_cuda_widen(a.low), (double)fake_cuda_widen(b.low),
                                 (double)fake_cuda_widen(c.low))),
            fake_cuda_round(each((double)fake_cuda_widen(a.high), (double)fake_cuda_widen(b.high),
                                 (double)fake_cuda_widen(c.high)))};
}

static inline half2 __floats2half2_rn(float low, float high)
{
    return {fake_cuda_round(low), fake_cuda_round(high)};
}

static inline half2 __float2half2_rn(float value)
{
    return __floats2half2_rn(value, value);
}

static inline float __low2float(half2 pair)
{
    return fake_cuda_widen(pair.low);
}

static inline float __high2float(half2 pair)
{
    return fake_cuda_widen(pair.high);
}

static inline half2 __low2half2(half2 pair)
{
    return {pair.low, pair.low};
}

static inline half2 __high2half2(half2 pair)
{
    return {pair.high, pair.high};
}

static inline half2 __hadd2(half2 a, half2 b)
{
    return fake_cuda_pair(a, b, b, [](double x, double y, double) { return x + y; });
}

static inline half2 __hsub2(half2 a, half2 b)
{
    return fake_cuda_pair(a, b, b, [](double x, double y, double) { return x - y; });
}

static inline half2 __hmul2(half2 a, half2 b)
{
    return fake_cuda_pair(a, b, b, [](double x, double y, double) { return x * y; });
}

static inline half2 __hfma2(half2 a, half2 b, half2 c)
{
    return fake_cuda_pair(a, b, c, [](double x, double y, double z) { return x * y + z; });
}

static inline half2 __hmin2(half2 a, half2 b)
{
    return fake_cuda_pair(a, b, b, [](double x, double y, double) { return x < y ? x : y; });
}

static inline half2 __hmax2(half2 a, half2 b)
{
    return fake_cuda_pair(a, b, b, [](double x, double y, double) { return x > y ? x : y; });
}

static inline half2 __habs2(half2 a)
{
    return {(uint16_t)(a.low & 0x7fff), (uint16_t)(a.high & 0x7fff)};
}

static inline half2 __hneg2(half2 a)
{
    return {(uint16_t)(a.low ^ 0x8000), (uint16_t)(a.high ^ 0x8000)};
}
