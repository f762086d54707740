// Gradients of gray by each operator, from windows of pixels (window.cuh): gx and gy in pairs of
// halves (magnitude.cuh).
//
//   gx is the columns' smoothed sums, differentiated across; gy their differences, smoothed across:
//   sobel      smooth 1 2 1         derive -1 0 1
//   prewitt    smooth 1 1 1         derive -1 0 1
//   scharr     smooth 3 10 3        derive -1 0 1
//   sobel5     smooth 1 4 6 4 1     derive -1 -2 0 2 1
//
// Halves hold integers up to 2048, beyond which gain 1 has no results but 255, so it is enough that
// a gx or gy that is greater stays greater.
//   sobel, prewitt: nothing exceeds 1020, or 2040 where gx and gy are added.
//   scharr: 3 (a + b) is at most 1530, and 10 c is added in one rounding, which is monotone: sums
//   up to 2048 are exact, and others stay above. Rows are subtracted before they are smoothed.
//   sobel5: smoothing by 1 4 6 4 1 and deriving by -1 -2 0 2 1 are both 1 3 3 1, and then 1 1 or
//   -1 1. So w = [1 3 3 1]² between pixels, at most 64 * 255 in 16 bit lanes, gives gx = P + Q and
//   gy = P - Q with P the difference of w below right and above left, Q that of w above right and
//   below left. |P| <= 12240. The bits of P + 0x3a00 are those of a half: 0.75 + P * 2^-11 while
//   |P| < 512, and as halves are ordered as their bits, no less than that far off otherwise; so
//   max(|gx|, |gy|) >= max(|P|, |Q|) is 512 or more where one of them is inexact.
// For any other gain gx and gy are floats, which hold them exactly.
#pragma once

#include "kernels/gpu/window.cuh"
#include "kernels/gradient/magnitude.cuh"

namespace {

constexpr float UNIT = 16777216.0f; // 2^24

__device__ __forceinline__ float lane_of(half2 pair, int lane)
{
    return lane ? __high2float(pair) : __low2float(pair);
}

__device__ __forceinline__ half2 constant(float value)
{
    return __float2half2_rn(value);
}

// An operator is a filter of window.cuh less make(): it has its lines, how many rows AT_ONCE the
// registers hold, and of one pair of pixels slopes() for gain 1 and exact() for any other.

// Smoothing by 1 MIDDLE 1.
template <int MIDDLE> struct three {
    static constexpr int RADIUS = 1, AT_ONCE = 4;
    static constexpr bool SHARES = false;

    struct line {
        half2 across[PAIRS], along[PAIRS];
    };

    static __device__ __forceinline__ half2 smooth(half2 before, half2 middle, half2 after)
    {
        return __hadd2(MIDDLE == 1 ? __hadd2(middle, before)
                                   : __hfma2(middle, constant(MIDDLE), before),
                       after);
    }

    static __device__ __forceinline__ line reduce(const pairs &p)
    {
        line l;

#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            half2 left = pair(pair_at(p, first_of(k) - 1));
            half2 right = pair(pair_at(p, first_of(k) + 1));

            l.across[k] = __hsub2(right, left);
            l.along[k] = smooth(left, pair(pair_at(p, first_of(k))), right);
        }
        return l;
    }

    static __device__ __forceinline__ void slopes(const line *l, int k, half2 &gx, half2 &gy)
    {
        gx = smooth(l[0].across[k], l[1].across[k], l[2].across[k]);
        gy = __hsub2(l[2].along[k], l[0].along[k]);
    }

    static __device__ __forceinline__ void exact(const line *l, int k, int lane, float &gx,
                                                 float &gy)
    {
        half2 x, y;

        slopes(l, k, x, y);
        gx = lane_of(x, lane) * UNIT;
        gy = lane_of(y, lane) * UNIT;
    }
};

using sobel = three<2>;
using prewitt = three<1>;

struct scharr {
    static constexpr int RADIUS = 1, AT_ONCE = 4;
    static constexpr bool SHARES = false;

    struct line {
        pairs pixels;
        half2 across[PAIRS];
    };

    static __device__ __forceinline__ line reduce(const pairs &p)
    {
        line l;

        l.pixels = p;
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            l.across[k] =
                __hsub2(pair(pair_at(p, first_of(k) + 1)), pair(pair_at(p, first_of(k) - 1)));
        }
        return l;
    }

    // The weighted sums' parts: the sum of the outer ones, weight 3, and the one between them,
    // weight 10.
    static __device__ __forceinline__ void parts(const line *l, int k, half2 (&x)[2], half2 (&y)[2])
    {
        pairs d;

#pragma unroll
        for (int i = 0; i < 4; i++) {
            d.even[i] = bits(__hsub2(pair(l[2].pixels.even[i]), pair(l[0].pixels.even[i])));
            d.odd[i] = bits(__hsub2(pair(l[2].pixels.odd[i]), pair(l[0].pixels.odd[i])));
        }
        x[0] = __hadd2(l[0].across[k], l[2].across[k]);
        x[1] = l[1].across[k];
        y[0] = __hadd2(pair(pair_at(d, first_of(k) - 1)), pair(pair_at(d, first_of(k) + 1)));
        y[1] = pair(pair_at(d, first_of(k)));
    }

    static __device__ __forceinline__ void slopes(const line *l, int k, half2 &gx, half2 &gy)
    {
        half2 x[2], y[2];

        parts(l, k, x, y);
        gx = __hfma2(x[1], constant(10), __hmul2(x[0], constant(3)));
        gy = __hfma2(y[1], constant(10), __hmul2(y[0], constant(3)));
    }

    static __device__ __forceinline__ void exact(const line *l, int k, int lane, float &gx,
                                                 float &gy)
    {
        half2 x[2], y[2];

        parts(l, k, x, y);
        gx = lane_of(x[0], lane) * (3 * UNIT) + lane_of(x[1], lane) * (10 * UNIT);
        gy = lane_of(y[0], lane) * (3 * UNIT) + lane_of(y[1], lane) * (10 * UNIT);
    }
};

// The bias that is added to P and Q, at most 12240 off 0. With it no lane borrows of the other, and
// the bits are those of a half: 0.75 and P times 2^-11 while it is less than 512, and no less than
// that far off otherwise.
constexpr uint32_t SOBEL5_BIAS = 0x3a00;

// P or Q as magnitude.cuh has integers, of lanes with the bias.
__device__ __forceinline__ half2 without_bias(uint32_t lanes)
{
    const half2 scale = pair(0x08000800), bias = pair(0x86008600); // 2^-13, -0.75 * 2^-13

    return __hfma2(pair(lanes), scale, bias);
}

struct sobel5 {
    static constexpr int RADIUS = 2, AT_ONCE = 2;
    static constexpr bool SHARES = true;

    // 1 3 3 1 across: right of each pixel of the pairs, and [PAIRS] left of the pixel before them.
    struct line {
        uint32_t smooth[PAIRS + 1];
    };

    static __device__ __forceinline__ uint32_t weigh(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
    {
        return (b + c) * 3 + (a + d);
    }

    static __device__ __forceinline__ line reduce(const pairs &p)
    {
        line l;

#pragma unroll
        for (int k = 0; k <= PAIRS; k++) {
            int first = k < PAIRS ? first_of(k) : 1;

            l.smooth[k] = weigh(pair_at(p, first - 1), pair_at(p, first), pair_at(p, first + 1),
                                pair_at(p, first + 2));
        }
        return l;
    }

    // w of the rows below l[1], right of the pixels of pair k, and left of them.
    static __device__ __forceinline__ uint32_t right(const line *l, int k)
    {
        return weigh(l[0].smooth[k], l[1].smooth[k], l[2].smooth[k], l[3].smooth[k]);
    }

    static __device__ __forceinline__ uint32_t left(const line *l, int k)
    {
        if (k % 2)
            return right(l, k - 1);
        return __byte_perm(right(l, k > 0 ? k - 1 : PAIRS), right(l, k + 1), 0x5432);
    }

    // P and Q in lanes, SOBEL5_BIAS added: no lane borrows of the other.
    static __device__ __forceinline__ uint32_t falling(const line *l, int k)
    {
        return right(l + 1, k) - left(l, k) + SOBEL5_BIAS * 0x00010001;
    }

    static __device__ __forceinline__ uint32_t rising(const line *l, int k)
    {
        return right(l, k) - left(l + 1, k) + SOBEL5_BIAS * 0x00010001;
    }

    static __device__ __forceinline__ void slopes(const line *l, int k, half2 &gx, half2 &gy)
    {
        half2 a = without_bias(falling(l, k)), b = without_bias(rising(l, k));

        gx = __hadd2(a, b);
        gy = __hsub2(a, b);
    }

    static __device__ __forceinline__ void exact(const line *l, int k, int lane, float &gx,
                                                 float &gy)
    {
        // The bits of 2^23 + SOBEL5_BIAS + P.
        const uint32_t pick = lane ? 0x5432 : 0x5410;
        float a =
            __uint_as_float(__byte_perm(falling(l, k), 0x4b00, pick)) - (8388608.0f + SOBEL5_BIAS);
        float b =
            __uint_as_float(__byte_perm(rising(l, k), 0x4b00, pick)) - (8388608.0f + SOBEL5_BIAS);

        gx = a + b;
        gy = a - b;
    }
};

// The magnitude of one pixel by any gain. Where gain times the root of the squares comes near a
// rounding tie, n, at most 2 * 12240², is computed by integers and the 256 thresholds settle it.
template <class op, norm NORM>
__device__ __forceinline__ uint32_t scaled(uint64_t thresholds, float gain,
                                           const typename op::line *l, int k, int lane)
{
    float gx, gy;

    op::exact(l, k, lane, gx, gy);
    if (NORM == L1) {
        float n = fabsf(gx) + fabsf(gy);

        return round_gain(thresholds, n * gain, [=] { return (uint32_t)n; });
    }
    return round_gain(thresholds, near_root(gx * gx + gy * gy) * gain,
                      [=] { return (uint32_t)((int)gx * (int)gx + (int)gy * (int)gy); });
}

// Two results of 0..255 in 16 bit lanes, of a gain of 1 or any.
template <class op, norm NORM, bool UNITY>
__device__ __forceinline__ uint32_t magnitudes_at(uint64_t thresholds, float gain,
                                                  const typename op::line *l, int k)
{
    half2 gx, gy;

    if (!UNITY) {
        return scaled<op, NORM>(thresholds, gain, l, k, 0) |
               scaled<op, NORM>(thresholds, gain, l, k, 1) << 16;
    }
    op::slopes(l, k, gx, gy);
    return magnitudes<NORM>(gx, gy);
}

} // namespace
