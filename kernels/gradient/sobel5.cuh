// L2 of the 5x5 Sobel filter, gain 1, of gray that is read by vectors.
//
// As in operator.cu: r = [1 3 3 1] across, between pixels, and w the same of r along; then of a
// pixel P = w below right - w above left, Q = w above right - w below left, gx = P + Q and
// gy = P - Q, so that n = gx² + gy² = 2 (P² + Q²). A dot product of four bytes makes r; w comes of
// adding each row to the one before it, and those sums, and those.
#pragma once

#include "kernels/gpu/stencil.cuh"
#include "kernels/gpu/tensor.cuh"
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/gradient/magnitude.cuh"

namespace {

// Of a row between pixels, in 16 bit lanes: right of the two pixels of each pair (stencil.cuh), and
// [PAIRS] left of the first pixel, in the lower lane.
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
    if (k % 2) {
        return row.lanes[k - 1];
    }
    return k > 0 ? __byte_perm(row.lanes[k - 1], row.lanes[k + 1], 0x5432)
                 : __byte_perm(row.lanes[PAIRS], row.lanes[1], 0x5410);
}

// A row's eight pixels, which are words 1 and 2, and those on either side.
struct sobel5_row {
    uint32_t words[4];
};

// The rows of a tile in turn, from two above it on, the last of the picture again and again; two
// are on their way. At the border the words beside the eight pixels are not read, but their pixels
// picked from the eight; without a branch, which would keep rows from overlapping.
struct sobel5_rows {
    row_walk walk;
    bool first, last;                 // of the row
    uint32_t picks[2], last_picks[2]; // of the four pixels from -2 and -1 on, from 5 and 6 on
    sobel5_row ahead[2];

    // The tile's last row reads row `until`.
    __device__ __forceinline__ sobel5_rows(const gradient_cuda &p, uint32_t x, uint32_t y,
                                           uint32_t until)
        : walk{reinterpret_cast<const uint8_t *>(p.input) + x, p.input_stride}, first(x == 0),
          last(p.width - x == PIXELS), picks{first ? 0x5444u : 0x5432, first ? 0x6544u : 0x6543},
          last_picks{last ? 0x3321u : 0x4321, last ? 0x3332u : 0x5432}
    {
        ahead[0] = load(walk.column + (size_t)(max(y, 2) - 2) * walk.stride);
        ahead[1] = load(walk.column + (size_t)(max(y, 1) - 1) * walk.stride);
        walk.start(y, min(until, p.height - 1));
    }

    __device__ __forceinline__ sobel5_row load(const uint8_t *at) const
    {
        const uint32_t *words = reinterpret_cast<const uint32_t *>(at);
        uint2 middle = __ldg(reinterpret_cast<const uint2 *>(at));

        return {
            {load_word_if(!first, words - 1), middle.x, middle.y, load_word_if(!last, words + 2)}};
    }

    // 1 3 3 1 of the four pixels from `x` on, -2 to 6.
    __device__ __forceinline__ uint32_t smooth(const sobel5_row &row, int x) const
    {
        const uint32_t *words = row.words + (x + 4) / 4;
        uint32_t pick = x < 0 ? picks[x + 2] : x > 4 ? last_picks[x - 5] : 0x3210 + x % 4 * 0x1111;

        return __dp4a(x % 4 ? __byte_perm(words[0], words[1], pick) : words[0], 0x01030301u, 0u);
    }

    __device__ __forceinline__ between next()
    {
        const sobel5_row row = ahead[0];
        between r;

        ahead[0] = ahead[1];
        ahead[1] = load(walk.next());
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            int x = first_of(k) - first_of(0);

            r.lanes[k] = __byte_perm(smooth(row, x - 1), smooth(row, x + 1), 0x5410);
        }
        r.lanes[PAIRS] = smooth(row, -2);
        return r;
    }
};

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
        return near_root(__fmaf_rn(__uint_as_float(bits), 0x1p-47f, -0x1p-24f));
    };

    return bits(smaller(__floats2half2_rn(magnitude(__dp4a(first, first, bias)),
                                          magnitude(__dp4a(second, second, bias))),
                        pair(0x00ff00ff)));
}

// Sums of the rows so far.
struct cascade {
    between last[4] = {}; // up to the row before: of one row, and of [1 1], [1 2 1], [1 3 3 1]

    // Returns w of the four rows up to `row`, which is not kept yet.
    __device__ __forceinline__ between add(const between &row)
    {
        between sum = row;

#pragma unroll
        for (int k = 0; k < 3; k++) {
            between more = sum + last[k];

            last[k] = sum;
            sum = more;
        }
        return sum;
    }
};

// COUNT rows, to `to` and on. `above` goes on with them.
template <range RANGE, int COUNT>
__device__ __forceinline__ void make_sobel5_rows(const gradient_cuda &p, uint8_t *&to,
                                                 sobel5_rows &rows, cascade &sums, between &above)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const between below = sums.add(rows.next());
        uint32_t lanes[PAIRS];

#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            lanes[k] = magnitudes_of(above, below, k);
        }
        store_words<true>(
            to, {in_range<RANGE>(lanes[0], lanes[1]), in_range<RANGE>(lanes[2], lanes[3])}, PIXELS);
        to += p.output_stride;
        above = below;
    }
}

// Rows from `y` to `end`, most of them several at a time, in which nothing has to be moved.
template <range RANGE>
__device__ __forceinline__ void make_sobel5(const gradient_cuda &p, uint32_t x, uint32_t y,
                                            uint32_t end)
{
    constexpr int AT_ONCE = ROOMY ? 4 : 1;
    uint8_t *to = reinterpret_cast<uint8_t *>(p.output) + (size_t)y * p.output_stride + x;
    sobel5_rows rows(p, x, y, end + 1);
    cascade sums;
    between above;
    uint32_t count = end - y;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        above = sums.add(rows.next());
    }
#pragma unroll 1
    for (; count >= AT_ONCE; count -= AT_ONCE) {
        make_sobel5_rows<RANGE, AT_ONCE>(p, to, rows, sums, above);
    }
#pragma unroll 1
    for (; count > 0; count--) {
        make_sobel5_rows<RANGE, 1>(p, to, rows, sums, above);
    }
}

} // namespace
