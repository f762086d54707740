// Sobel 3x3 magnitude of a camera's picture, one launch: gray, gradient, range.
//
//   gx = (tr + 2 mr + br) - (tl + 2 ml + bl)      gy = (bl + 2 bm + br) - (tl + 2 tm + tr)
//   l2 = min(255, round(gain * sqrt(gx² + gy²)))  l1 = min(255, round(gain * (|gx| + |gy|)))
//   limited: 16 + (219 m + 127) / 255             gray of RGB: (9798 R + 19235 G + 3735 B + 16384)
//   >> 15
//
//   binary: white where m >= threshold, else black: where n, below the root, reaches the least n
//   that does
//
// with the border replicated, bit for bit what gray.c, gradient.c, threshold.c and compose.c
// compute.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: one byte a pixel, rows `output_stride`
// apart. Nothing outside the pixels is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by `rows` rows at (8 x, rows y),
// whatever the shape of a block is: threads share nothing. A tile reads 2 rows more than it makes,
// and a pixel on either side: with 4 rows they come in 1.5 times, the second time out of L1 or L2.
// Eight rows a thread leave too few threads for 1080p in the GPU's own memory: 1.34 instead of 0.97
// times a copy on an H200, and gain nothing at 8K. In memory of the host, which
// GPUs cache badly or not at all, a tile is a column of 16 rows or 32, which come in 1.125 times or
// less. Bytes a pixel: input 1 to 4, output 1.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES; other tiles go byte by byte through the same
// arithmetic.
//
// Arithmetic. Halves of two pixels, as magnitude.cuh has it: nothing exceeds 1020, or 2040 where gx
// and gy are added. The square root is approximate (2^-22): the nearest tie of the square root of
// an integer is 5e-4 off at 255. About 16 instructions a pixel, one of them on the special function
// unit; 15 and none for black and white. A float holds n = gx² + gy² < 2^21 exactly.
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/gradient/sobel.cuh"

namespace {

constexpr int ROWS = JOB_ROWS;

// Two results of 0..255 in 16 bit lanes.
template <norm NORM, result RESULT>
__device__ __forceinline__ uint32_t results(const gradient_cuda &p, half2 gx, half2 gy)
{
    if (RESULT == BINARY) {
        return NORM == L1 ? reached_l1(gx, gy, p.least) : reached_l2(gx, gy, p.least);
    }
    return RESULT == MAGNITUDE ? magnitudes<NORM>(gx, gy)
                               : scaled<NORM>(p.thresholds, p.gain, gx, gy);
}

// Row `y` of a tile, from the rows around it.
template <norm NORM, range RANGE, result RESULT>
__device__ __forceinline__ void make_row(const gradient_cuda &p, uint32_t x, uint32_t y,
                                         bool vector, const slopes &above, const slopes &middle,
                                         const slopes &below)
{
    uint8_t *__restrict__ to = output_row(p.job, 0, y) + x;
    uint32_t lanes[2 * WORDS], words[WORDS];

#pragma unroll
    for (int k = 0; k < 2 * WORDS; k++) {
        lanes[k] = results<NORM, RESULT>(p, gradient_x(above, middle, below, k),
                                         gradient_y(above, below, k));
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        words[k] = in_range<RANGE>(lanes[2 * k], lanes[2 * k + 1]);
        if (RESULT == BINARY) {
            words[k] = (words[k] & p.white) | (~words[k] & p.black);
        }
    }
    if (vector) {
        store_words<true>(to, words, PIXELS);
    } else {
        store_words<false>(to, words, p.job.width - x);
    }
}

// ROWS rows from (x, y) on, all within the picture, AHEAD input rows on their way before the first
// is used: of RGB all of them, of others half, while the arithmetic hides the rest (8K on an
// H200: 28.3 us for gray and 46.5 for RGB3, the other way round 30.3 and 48).
template <class format, norm NORM, range RANGE, result RESULT>
__device__ __forceinline__ void make_tile(const gradient_cuda &p, uint32_t x, uint32_t y)
{
    constexpr int AHEAD = format::BYTES <= 2 ? 3 : 7 - format::BYTES;
    using source = strip_source<format, true>;
    const source strips(p.job, x);
    typename source::raw raw[ROWS + 2];
    slopes s[ROWS + 2];

    auto load = [&](int i) { raw[i] = strips.load(y + i > 0 ? y + i - 1 : 0); };

#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        load(i);
    }
    s[0] = slopes_of(strips, raw[0]);
    s[1] = slopes_of(strips, raw[1]);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (i + AHEAD < ROWS + 2) {
            load(i + AHEAD);
        }
        s[i + 2] = slopes_of(strips, raw[i + 2]);
        make_row<NORM, RANGE, RESULT>(p, x, y + i, true, s[i], s[i + 1], s[i + 2]);
    }
}

// Any number of rows, COUNT at a time, none read twice.
template <class format, norm NORM, range RANGE, result RESULT, bool VECTOR, int COUNT>
__device__ __forceinline__ void make_column(const gradient_cuda &p, uint32_t x, uint32_t y)
{
    using source = strip_source<format, VECTOR>;
    const source strips(p.job, x);
    uint32_t end = y + min(p.job.rows, p.job.height - y);
    slopes above = slopes_of(strips, strips.load(y > 0 ? y - 1 : 0));
    slopes middle = slopes_of(strips, strips.load(y));

#pragma unroll 1
    for (; y < end; y += COUNT) {
        typename source::raw raw[COUNT];

#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            raw[i] = strips.load(y + i + 1);
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            slopes below = slopes_of(strips, raw[i]);

            if (y + i < end) {
                make_row<NORM, RANGE, RESULT>(p, x, y + i, VECTOR, above, middle, below);
            }
            above = middle;
            middle = below;
        }
    }
}

// RESULT: of a gain of 1, or black and white.
template <class format, norm NORM, range RANGE, result RESULT>
__device__ __forceinline__ void make_picture(const gradient_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(p.job.rows);
    bool vectors = aligned(p.job.input[0] | p.job.input_stride[0], format::VECTOR_BYTES) &&
                   aligned(p.job.output[0] | p.job.output_stride[0], PIXELS);

    if (x >= p.job.width || y >= p.job.height) {
        return;
    }
    vectors &= has_strip<format>(x, p.job.width);

    // A tile of XR24 is too much for the registers.
    constexpr bool FITS = format::BYTES < 4 || RESULT == BINARY;
    constexpr result ANY = RESULT == BINARY ? BINARY : SCALED;

    if (!vectors) {
        make_column<format, NORM, RANGE, ANY, false, 1>(p, x, y);
    } else if (RESULT == MAGNITUDE && !p.unity) {
        make_column<format, NORM, RANGE, ANY, true, 1>(p, x, y);
    } else if (FITS && p.job.rows == ROWS && y + ROWS <= p.job.height) {
        make_tile<format, NORM, RANGE, RESULT>(p, x, y);
    } else {
        make_column<format, NORM, RANGE, RESULT, true, ROWS>(p, x, y);
    }
}

} // namespace

#define DEFINE_KERNEL(format, lower, NORM, suffix, RANGE, RESULT)                                  \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        gradient_##format##_##lower##_##suffix(gradient_cuda p)                                    \
    {                                                                                              \
        make_picture<format, NORM, RANGE, RESULT>(p);                                              \
    }
#define DEFINE_KERNELS(format)                                                                     \
    DEFINE_KERNEL(format, l2, L2, full, FULL, MAGNITUDE)                                           \
    DEFINE_KERNEL(format, l2, L2, limited, LIMITED, MAGNITUDE)                                     \
    DEFINE_KERNEL(format, l2, L2, binary, FULL, BINARY)                                            \
    DEFINE_KERNEL(format, l1, L1, full, FULL, MAGNITUDE)                                           \
    DEFINE_KERNEL(format, l1, L1, limited, LIMITED, MAGNITUDE)                                     \
    DEFINE_KERNEL(format, l1, L1, binary, FULL, BINARY)

JOB_LAYOUTS(DEFINE_KERNELS)
