// Erosion and dilation of black and white by a square of 2 n + 1 pixels, n = 1 to 8.
//
//   erosion: the least of the square      dilation: the most of it
//
// what lies outside the picture never wins; bit for bit what morphology.c and compose.c compute of
// pictures whose pixels are 0 or 255, and no others come here (plan.c): behind a threshold or a
// difference. Of such bytes the most is `or`, four pixels an instruction, up to three operands; the
// least is the most of the inverse.
//
// Buffers. Input: a plane that an earlier kernel made, so it has vectors up to its stride. Output:
// one byte a pixel, rows `output_stride` apart; nothing outside its pixels is touched.
//
// Threads. A thread makes 8 pixels by 4 or 6 rows and shares nothing. Each row of its squares is
// spread across first, a third of the width at a time; then rows are collected, those that all of
// its rows have in common once: upwards from the last of its first rows, and downwards below it.
// The floor is 2 bytes a pixel; for sm_90 the compiler makes some 12 instructions a pixel with n =
// 1 and 30 with n = 8, where each row comes 4 times, all but once out of a cache.
#include "kernels/gpu/tile.cuh"
#include "kernels/morphology/morphology_cuda.h"

namespace {

// The rows a thread reads: words of neighbours on either side of its own, and what of each word
// lies within the picture.
template <int SIDE> struct square_rows {
    static constexpr int COUNT = WORDS + 2 * SIDE;

    const uint8_t *input; // the first neighbour of row 0
    uint32_t stride, height, erodes;
    uint32_t right_at; // of the neighbours on the right
    uint32_t left_at;
    uint32_t inside[COUNT];
};

template <int SIDE>
__device__ __forceinline__ square_rows<SIDE> make_rows(const morphology_cuda &p, uint32_t x)
{
    square_rows<SIDE> r;
    int left = (int)(p.job.width - x);

    r.input = reinterpret_cast<const uint8_t *>(p.job.input[0]) + x;
    r.stride = p.job.input_stride[0];
    r.height = p.job.height;
    r.erodes = p.erodes;
    r.left_at = x > 0 ? 4 * SIDE : 0;
    r.right_at = left > PIXELS ? PIXELS : 0;
#pragma unroll
    for (int i = 0; i < r.COUNT; i++) {
        int pixels = left - 4 * (i - SIDE); // from the word on

        r.inside[i] = pixels >= 4 ? 0xffffffff : pixels > 0 ? 0xffffffff >> (32 - 8 * pixels) : 0;
        if (i < SIDE && x == 0)
            r.inside[i] = 0;
    }
    return r;
}

// Row `y`, or the nearest there is, as that which is spread: white, or of an erosion black.
template <int SIDE>
__device__ __forceinline__ void load_row(const square_rows<SIDE> &r, int y,
                                         uint32_t (&words)[WORDS + 2 * SIDE])
{
    const uint8_t *__restrict__ from =
        r.input + (size_t)min(max(y, 0), (int)r.height - 1) * r.stride;
    uint32_t left[SIDE], middle[WORDS], right[SIDE];

    load_words<4 * SIDE>(from - r.left_at, left);
    load_words<8>(from, middle);
    load_words<4 * SIDE>(from + r.right_at, right);
#pragma unroll
    for (int i = 0; i < WORDS + 2 * SIDE; i++) {
        uint32_t word = i < SIDE           ? left[i]
                        : i < SIDE + WORDS ? middle[i < SIDE           ? 0
                                                    : i - SIDE < WORDS ? i - SIDE
                                                                       : 0]
                                           : right[i < SIDE + WORDS ? 0 : i - SIDE - WORDS];

        words[i] = (word ^ r.erodes) & r.inside[i];
    }
}

// Word `i` of words that begin BYTES further on; past the end there is nothing.
template <int BYTES, int N>
__device__ __forceinline__ uint32_t word_at(const uint32_t (&words)[N], int i)
{
    uint32_t low = i + BYTES / 4 < N ? words[i + BYTES / 4 < N ? i + BYTES / 4 : 0] : 0;
    uint32_t high =
        i + BYTES / 4 + 1 < N ? words[i + BYTES / 4 + 1 < N ? i + BYTES / 4 + 1 : 0] : 0;

    return BYTES % 4 ? __funnelshift_r(low, high, BYTES % 4 * 8) : low;
}

// Each byte becomes the `or` of WIDTH bytes from itself on.
template <int WIDTH, int N> __device__ __forceinline__ void spread(uint32_t (&words)[N])
{
    if constexpr (WIDTH > 1) {
        constexpr int STEP = (WIDTH + 2) / 3;
        uint32_t narrow[N];

        spread<STEP>(words);
#pragma unroll
        for (int i = 0; i < N; i++)
            narrow[i] = words[i];
#pragma unroll
        for (int i = 0; i < N; i++) {
            words[i] |= word_at<STEP>(narrow, i);
            if (WIDTH - STEP != STEP)
                words[i] |= word_at<WIDTH - STEP>(narrow, i);
        }
    }
}

struct half_square {
    uint32_t words[WORDS];
};

// Row `y` spread across.
template <int TIMES, int SIDE>
__device__ __forceinline__ half_square spread_row(const square_rows<SIDE> &r, int y)
{
    uint32_t words[WORDS + 2 * SIDE];
    half_square h;

    load_row(r, y, words);
    spread<2 * TIMES + 1>(words);
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        h.words[i] = word_at<4 * SIDE - TIMES>(words, i);
    return h;
}

__device__ __forceinline__ void collect(half_square &into, const half_square &h)
{
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        into.words[i] |= h.words[i];
}

__device__ __forceinline__ void store_row(const morphology_cuda &p, uint32_t x, uint32_t y,
                                          const half_square &h)
{
    uint8_t *to = output_row(p.job, 0, y) + x;
    uint32_t words[WORDS];

    if (y >= p.job.height)
        return;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        uint32_t white = h.words[i] ^ p.erodes;

        words[i] = (white & p.white) | (~white & p.black);
    }
    if (x + PIXELS <= p.job.width && aligned(p.job.output[0] | p.job.output_stride[0], PIXELS))
        store_words<true>(to, words, PIXELS);
    else
        store_words<false>(to, words, p.job.width - x);
}

// Few rows: every square has its own.
template <int TIMES, int ROWS, int SIDE>
__device__ __forceinline__ void make_low(const morphology_cuda &p, const square_rows<SIDE> &r,
                                         uint32_t x, uint32_t y)
{
    constexpr int MORE = 2 * TIMES;
    half_square h[ROWS + MORE];

#pragma unroll
    for (int i = 0; i < ROWS + MORE; i++)
        h[i] = spread_row<TIMES>(r, (int)y + i - TIMES);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int k = 1; k <= MORE; k++)
            collect(h[i], h[i + k]);
        store_row(p, x, y + i, h[i]);
    }
}

// `upper` are squares from each of the thread's first ROWS rows down to the last of them; all
// squares have that one in common.
template <int TIMES, int ROWS, int SIDE>
__device__ __forceinline__ void make_high(const morphology_cuda &p, const square_rows<SIDE> &r,
                                          uint32_t x, uint32_t y)
{
    constexpr int MORE = 2 * TIMES;
    half_square upper[ROWS], lower = {};

#pragma unroll
    for (int i = 0; i < ROWS; i++)
        upper[i] = spread_row<TIMES>(r, (int)y + i - TIMES);
#pragma unroll
    for (int i = ROWS - 2; i >= 0; i--)
        collect(upper[i], upper[i + 1]);
#pragma unroll 2
    for (int i = ROWS; i < MORE; i++)
        collect(lower, spread_row<TIMES>(r, (int)y + i - TIMES));
#pragma unroll
    for (int i = MORE > ROWS ? MORE : ROWS; i < ROWS + MORE; i++) {
        collect(lower, spread_row<TIMES>(r, (int)y + i - TIMES));
        collect(upper[i - MORE], lower);
        store_row(p, x, y + i - MORE, upper[i - MORE]);
    }
}

template <int TIMES> __device__ __forceinline__ void make_picture(const morphology_cuda &p)
{
    constexpr int ROWS = MORPHOLOGY_CUDA_ROWS(TIMES), SIDE = TIMES <= 4 ? 1 : 2;
    uint32_t x = tile_x(), y = tile_y(ROWS);

    if (x >= p.job.width || y >= p.job.height)
        return;
    square_rows<SIDE> r = make_rows<SIDE>(p, x);

    if constexpr (2 * TIMES < ROWS)
        make_low<TIMES, ROWS>(p, r, x, y);
    else
        make_high<TIMES, ROWS>(p, r, x, y);
}

} // namespace

#define DEFINE_KERNEL(times)                                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        morphology_##times(morphology_cuda p)                                                      \
    {                                                                                              \
        make_picture<times>(p);                                                                    \
    }

MORPHOLOGY_CUDA_KERNELS(DEFINE_KERNEL)
