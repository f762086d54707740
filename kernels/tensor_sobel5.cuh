// L2 of the 5x5 Sobel filter on the tensor cores (tensor.cuh), gain 1.
//
// As in operator.cu: r = [1 3 3 1] across, between pixels, and w the same of r along; then of a
// pixel P = w below right - w above left, Q = w above right - w below left, gx = P + Q and
// gy = P - Q. The tensor cores make r; w comes of adding each row to the one before it, and those
// sums, and those.
#pragma once

#include "kernels/gradient_cuda.h"
#include "kernels/magnitude.cuh"
#include "kernels/stencil.cuh"
#include "kernels/tensor.cuh"

namespace {

// Of a row between pixels, in 16 bit lanes: right of two neighbours each, [PAIRS] left of the first
// pixel, in the lower lane.
struct between {
    uint32_t lanes[PAIRS + 1];
};

__device__ __forceinline__ between operator+(const between &a, const between &b)
{
    between sum;

#pragma unroll
    for (int k = 0; k <= PAIRS; k++) {
        sum.lanes[k] = a.lanes[k] + b.lanes[k];
    }
    return sum;
}

// Left of pair `k`.
__device__ __forceinline__ uint32_t left_of(const between &row, int k)
{
    return k == 0 ? __byte_perm(row.lanes[PAIRS], row.lanes[0], 0x5410)
                  : __byte_perm(row.lanes[k - 1], row.lanes[k], 0x5432);
}

__device__ __forceinline__ between smooth_across(const tensor_row &row, const border &b,
                                                 const weights<2> &w)
{
    const quad zero = {};
    between r;

#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
        const windows<2> a = windows_of<2>(row, b, pair);
        quad sums;

        multiply_add(sums, zero, a, w);
        r.lanes[pair] = __byte_perm(sums[0], sums[1], 0x5410);
        r.lanes[2 + pair] = __byte_perm(sums[2], sums[3], 0x5410);
        if (pair == 0) {
            r.lanes[PAIRS] = __dp4a(a.words[0], 0x01030301u, 0u);
        }
    }
    return r;
}

// |P| or |Q| of pair `k`, at most 255: right of one row less left of the other, each 0..16320 and
// their difference at most 12240 off 0. The bits of 0x3a00 more are those of a half: 0.75 and the
// difference times 2^-11 while it is less than 512, and no less than that far off otherwise.
__device__ __forceinline__ uint32_t differences(const between &right, const between &left, int k)
{
    const half2 scale = pair(0x08000800), unbias = pair(0x86008600); // 2^-13, -0.75 * 2^-13
    uint32_t biased = right.lanes[k] - left_of(left, k) + 0x3a003a00;

    return bits(smaller(__habs2(__hfma2(pair(biased), scale, unbias)), pair(0x00ff00ff)));
}

// Two magnitudes of gain 1 from the sums above and below: of n = gx² + gy² = 2 (P² + Q²), which is
// over 255² where |P| or |Q| is over 255. Bits of floats as in whole_magnitudes().
__device__ __forceinline__ uint32_t magnitudes_of(const between &above, const between &below, int k)
{
    const uint32_t bias = 0x4b000000; // 2^23
    uint32_t p = differences(below, above, k), q = differences(above, below, k);
    uint32_t first = __byte_perm(p, q, 0x1140), second = __byte_perm(p, q, 0x3362);
    auto magnitude = [](uint32_t bits) {
        return root(__fmaf_rn(__uint_as_float(bits), 0x1p-47f, -0x1p-24f));
    };

    return bits(smaller(__floats2half2_rn(magnitude(__dp4a(first, first, bias)),
                                          magnitude(__dp4a(second, second, bias))),
                        pair(0x00ff00ff)));
}

template <range RANGE, int ROWS>
__device__ __forceinline__ void make_sobel5_of_rows(const gradient_cuda &p)
{
    constexpr int SOON = 2; // rows on their way
    const weights<2> w = make_weights<2>(0x0103030100, weights_shift());
    tensor_tile<ROWS> tile;
    tensor_row rows[ROWS + 4];
    between last[4] = {}; // sums up to the row before: of one row, and of [1 1], [1 2 1], [1 3 3 1]

    if (!tensor_find(p, tile)) {
        return;
    }
    const border b = make_border<2>(p, tile);

    load_first<2, SOON>(p, tile, rows);
#pragma unroll
    for (int i = 0; i < ROWS + 4; i++) {
        between sums[4];
        uint32_t lanes[PAIRS];

        sums[0] = smooth_across(rows[i], b, w);
#pragma unroll
        for (int k = 1; k < 4; k++) {
            sums[k] = sums[k - 1] + last[k - 1];
        }
        if (i >= 4) {
#pragma unroll
            for (int k = 0; k < PAIRS; k++) {
                lanes[k] = magnitudes_of(last[3], sums[3], k);
            }
            store_row(p, tile, i - 4,
                      {neighbours_in_range<RANGE>(lanes[0], lanes[1]),
                       neighbours_in_range<RANGE>(lanes[2], lanes[3])});
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            last[k] = sums[k];
        }
        if (i + SOON < ROWS + 4) {
            rows[i + SOON] = load_row<2>(p, tile, i + SOON);
        }
    }
}

// The picture, if the tensor cores can make it. Tall tiles do not fit the registers.
template <range RANGE> __device__ __forceinline__ bool make_sobel5(const gradient_cuda &p)
{
    if (!TENSOR_ROOMY || !tensor_takes<GRADIENT_CUDA_ROWS>(p)) {
        return false;
    }
    make_sobel5_of_rows<RANGE, GRADIENT_CUDA_ROWS>(p);
    return true;
}

} // namespace
