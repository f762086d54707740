// L2 of the 5x5 Sobel filter, gain 1, of gray that is read by vectors.
//
// As in operator.cu: r = [1 3 3 1] across, between pixels, and w the same of r along; then of a
// pixel P = w below right - w above left, Q = w above right - w below left, gx = P + Q and
// gy = P - Q, so that n = gx² + gy² = 2 (P² + Q²). A dot product of four bytes makes r; w comes of
// adding each row to the one before it, and those sums, and those.
#pragma once

#include "kernels/gradient_cuda.h"
#include "kernels/magnitude.cuh"
#include "kernels/stencil.cuh"

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

// 1 3 3 1 of the four pixels of a window from `first` on, 0 to 12.
__device__ __forceinline__ uint32_t smooth_at(const window &w, int first)
{
    uint32_t word = w.words[first / 4];

    if (first % 4 > 0) {
        word = __byte_perm(word, w.words[first / 4 + 1], 0x3210 + first % 4 * 0x1111);
    }
    return __dp4a(word, 0x01030301u, 0u);
}

__device__ __forceinline__ between smooth_across(const window &w)
{
    between r;

#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        r.lanes[k] = __byte_perm(smooth_at(w, 3 + 2 * k), smooth_at(w, 4 + 2 * k), 0x5410);
    }
    r.lanes[PAIRS] = smooth_at(w, 2);
    return r;
}

// What is added to P and Q, at most 12240 off 0, so that no lane borrows of the other and the bits
// are those of a half: 0.75 and P times 2^-11 while it is less than 512, and no less than that far
// off otherwise.
constexpr uint32_t SOBEL5_BIAS = 0x3a00;

// P or Q as magnitude.cuh has integers, of lanes with the bias.
__device__ __forceinline__ half2 without_bias(uint32_t lanes)
{
    const half2 scale = pair(0x08000800), bias = pair(0x86008600); // 2^-13, -0.75 * 2^-13

    return __hfma2(pair(lanes), scale, bias);
}

// |P| or |Q| of pair `k`, at most 255: right of one row less left of the other.
__device__ __forceinline__ uint32_t differences(const between &right, const between &left, int k)
{
    uint32_t biased = right.lanes[k] - left_of(left, k) + SOBEL5_BIAS * 0x00010001;

    return bits(smaller(__habs2(without_bias(biased)), pair(0x00ff00ff)));
}

// Two magnitudes from the sums above and below; n is over 255² where |P| or |Q| is over 255. Bits
// of floats as in whole_magnitudes().
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

// Rows in turn, the next one on its way.
struct cascade {
    window soon;
    between last[4] = {}; // sums up to the row before: of one row, and of [1 1], [1 2 1], [1 3 3 1]

    // Adds the row that came, and sends for row `next`. Returns w, which is not kept yet.
    __device__ __forceinline__ between add(const reader &r, int next)
    {
        between sum = smooth_across(soon);

        soon = load_vectors(r, next);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            between more = sum + last[k];

            last[k] = sum;
            sum = more;
        }
        return sum;
    }
};

// Rows from `y` to `end`; COUNT of them, or any number if that is 0.
template <range RANGE, int COUNT>
__device__ __forceinline__ void make_sobel5(const gradient_cuda &p, const reader &r, int y, int end)
{
    const int rows = COUNT > 0 ? COUNT : end - y;
    uint8_t *to = reinterpret_cast<uint8_t *>(p.output) + (size_t)y * p.output_stride + r.x;
    cascade c;

    c.soon = load_vectors(r, y - 2);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        c.last[3] = c.add(r, y + i - 1);
    }
#pragma unroll(COUNT > 0 ? COUNT : 2)
    for (int i = 0; i < rows; i++) {
        const between below = c.add(r, y + i + 3);
        uint32_t lanes[PAIRS];

#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            lanes[k] = magnitudes_of(c.last[3], below, k);
        }
        store_words<true>(to + (size_t)i * p.output_stride,
                          {neighbours_in_range<RANGE>(lanes[0], lanes[1]),
                           neighbours_in_range<RANGE>(lanes[2], lanes[3])},
                          PIXELS);
        c.last[3] = below;
    }
}

} // namespace
