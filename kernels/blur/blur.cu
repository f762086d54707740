// Gray smoothed by a square of binomial weights.
//
//   blur 3: ([1 2 1]² + 8) >> 4      blur 5: ([1 4 6 4 1]² + 128) >> 8
//
// with the border replicated, bit for bit what blur.c computes. Smoothed gray is never the picture
// of a view, so there is no limited range.
//
// Buffers. Input: rows of gray `input_stride` bytes apart. Output: one byte a pixel, rows
// `output_stride` apart. Nothing outside the pixels is written, nor read but where
// tensor.cuh says.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by `rows` rows; threads share
// nothing. A tile reads 2 rows more than it makes, blur 5 reads 4. The floor is 2 bytes a pixel;
// for sm_90 the compiler makes 11 instructions a pixel of blur 3 and 17 of blur 5, or 10 where the
// tensor cores take it (tensor.cuh): 8K on an H200 in 27 us instead of 31. Blur 3 gains nothing.
//
// Alignment. Vectors of 8 bytes where the window of a tile lies within the picture and addresses
// and strides are multiples of 8; other tiles go byte by byte through the same arithmetic.
//
// Arithmetic. Two pixels in 16 bit lanes: 256 * 255 + 128 is less than 2^16. Blur 3 comes 16 times
// too large, so that both have their result in the upper byte of a lane.
#include "kernels/blur/blur_cuda.h"
#include "kernels/gpu/stencil.cuh"
#include "kernels/gpu/tensor.cuh"

namespace {

// The upper bytes of four lanes, as four pixels.
__device__ __forceinline__ uint32_t upper_bytes(uint32_t even, uint32_t odd)
{
    return __byte_perm(even, odd, 0x7351);
}

template <int SIDE> struct binomial {
    static constexpr int RADIUS = SIDE / 2;
    static constexpr bool SHARES = true;

    struct line {
        uint32_t sums[PAIRS];
    };

    static __device__ __forceinline__ line reduce(const pairs &p)
    {
        line l;

#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            int x = first_of(k);
            uint32_t near = pair_at(p, x - 1) + pair_at(p, x + 1);

            l.sums[k] = SIDE == 3
                            ? near + 2 * pair_at(p, x)
                            : pair_at(p, x - 2) + pair_at(p, x + 2) + 4 * near + 6 * pair_at(p, x);
        }
        return l;
    }

    static __device__ __forceinline__ uint32_t column(const line *l, int k)
    {
        const uint32_t half = 0x00800080;

        if (SIDE == 3) {
            return (l[0].sums[k] + l[2].sums[k] + 2 * l[1].sums[k]) * 16 + half;
        }
        return l[0].sums[k] + l[4].sums[k] + half + 4 * (l[1].sums[k] + l[3].sums[k]) +
               6 * l[2].sums[k];
    }

    static __device__ __forceinline__ void make(const blur_cuda &, const line *l,
                                                uint32_t (&words)[WORDS])
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            words[i] = upper_bytes(column(l, 2 * i), column(l, 2 * i + 1));
        }
    }
};

// Blur 5 on the tensor cores across, and along in 16 bit lanes of two neighbours.
__device__ __forceinline__ void make_by_tensor(const blur_cuda &p)
{
    constexpr int ROWS = BLUR_CUDA_ROWS, RADIUS = 2, SPAN = 2 * RADIUS + 1;
    const weights<RADIUS> w = make_weights<RADIUS>(0x0104060401, weights_shift());
    const quad start = {8, 8, 8, 8}; // of which the lines add up to 128
    tensor_tile<ROWS> tile;
    tensor_row rows[ROWS + 2 * RADIUS];
    uint32_t lines[ROWS + 2 * RADIUS][PAIRS], lanes[PAIRS];

    if (!tensor_find(p, tile)) {
        return;
    }
    const border b = make_border<RADIUS>(p, tile);

    load_first<RADIUS, ROWS + 2 * RADIUS>(p, tile, rows);
#pragma unroll
    for (int i = 0; i < ROWS + 2 * RADIUS; i++) {
#pragma unroll
        for (int pair = 0; pair < 2; pair++) {
            quad sums;

            multiply_add(sums, start, windows_of<RADIUS>(rows[i], b, pair), w);
            lines[i][pair] = __byte_perm(sums[0], sums[1], 0x5410);
            lines[i][2 + pair] = __byte_perm(sums[2], sums[3], 0x5410);
        }
        if (i + 1 < SPAN) {
            continue;
        }
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            lanes[k] = lines[i - 4][k] + lines[i][k] + 4 * (lines[i - 3][k] + lines[i - 1][k]) +
                       6 * lines[i - 2][k];
        }
        store_row(
            p, tile, i + 1 - SPAN,
            {__byte_perm(lanes[0], lanes[1], 0x7531), __byte_perm(lanes[2], lanes[3], 0x7531)});
    }
}

} // namespace

#define DEFINE_KERNEL(side)                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) blur_##side(blur_cuda p)             \
    {                                                                                              \
        if (side == 5 && tensor_takes<BLUR_CUDA_ROWS>(p)) {                                        \
            make_by_tensor(p);                                                                     \
            return;                                                                                \
        }                                                                                          \
        make_picture<binomial<side>, binomial<side>, BLUR_CUDA_ROWS>(p, true);                     \
    }

BLUR_CUDA_KERNELS(DEFINE_KERNEL)
