// The first half of Canny in one launch: a camera's picture to the bits of its candidates and of
// the strong ones among them. hysteresis.cu makes the picture of them.
//
//   gray of RGB: (9798 R + 19235 G + 3735 B + 16384) >> 15
//   gx = (tr + 2 mr + br) - (tl + 2 ml + bl)      gy = (bl + 2 bm + br) - (tl + 2 tm + tr)
//   n = gx² + gy², the border of gray replicated, 0 outside the picture
//   candidate: n > low, and not less than its neighbours in the direction of the gradient, which
//   is horizontal below 22.5 degrees, vertical above 67.5, diagonal between (suppress.h)
//   strong: candidate and n > high
//
// bit for bit what gray.c and suppress.c compute. Limits by the median of a picture are those that
// levels.cu left on the device.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: two planes of one bit a pixel, device
// memory of edged's own. Nothing outside the pixels of the input is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 4 pixels by `rows` rows at (4 x, rows y),
// whatever the shape of a block is: threads share nothing. It goes down a column: a gray row comes
// in, the row of gradients above it is done, and the row of candidates above that one. So a tile
// reads 4 rows and computes 2 rows of gradients more than it makes, and a column on either side.
//
// The floor. Bytes a pixel: input 1 to 4, output 1/4: 41 MB of gray at 8K, 10 us on an H200.
// Instructions for a row of 4 pixels: 11 to load, 24 for gradients, 7 to see that it is quiet, 15
// around it; where a gradient is large 26 for n of six columns; then 18 for the directions, 28 to
// choose two neighbours, 38 to compare and collect bits. sm_90 has about 190 for a loud row and 65
// for a quiet one, and issues 0.93e12 warps' instructions a second: with the halo of 24 rows 8K
// needs 55 us and 20 us at least: the arithmetic is what bounds it. With hysteresis.cu it was
// measured at 109 us of noise and 96 to 103 of real pictures.
//
// Alignment. Vectors of 4 bytes and more are used where a tile and those beside it lie within the
// picture, and address and stride are multiples of what they need; other tiles go byte by byte
// through the same arithmetic.
//
// Arithmetic. Halves of two pixels, as magnitude.cuh has it. n is exact as a float in units of
// 2^-48, being less than 2^24. Directions are signs of |gy| - t |gx|, both scaled by 2^15: the
// tangent is a sum of two halves, the product with the first leaves a multiple of 1/32 that is
// exact below 64, that with the second is 8.2 at most and is added without underflow, so the sign
// is right for every gx and gy. Floats that are not negative are ordered as their bits: the next
// one is a bit more. Rows are skipped where no gradient of the six columns exceeds the low limit by
// a bound that costs one OR a pair; n is 0 there, and as a neighbour of a candidate it may be
// anything up to the limit.
#include "kernels/canny/canny_cuda.h"
#include "kernels/gpu/gray.cuh"
#include "kernels/gradient/magnitude.cuh"

namespace {

constexpr int STEP = CANNY_CUDA_STEP, WIDTH = CANNY_CUDA_PIXELS;
constexpr int COLUMNS = WIDTH + 2, PAIRS = COLUMNS / 2;
// The tangent of 22.5 degrees, 13573 / 32768, as a sum; that of 67.5 is 2 more.
constexpr float COARSE = 13.0f / 32, FINE = 261.0f / 32768;
constexpr uint32_t MAGNITUDES = 0x7fff7fff; // of two halves

// Gray of a row: pixels x - 2 to x + 5 in pairs.
struct grays {
    uint32_t pairs[PAIRS + 1];
};

// The columns of a tile, the same in each of its rows. Vectors have a word of gray on either side,
// which at the border is the tile's own, 0 bytes away: its first or last pixel stands for what is
// outside.
struct canny_columns {
    const uint8_t *__restrict__ from; // pixel x of the row to be read next
    uint32_t x, last;    // of the row: first pixel of the tile, and last counted from x
    int32_t left, right; // bytes to the words on either side
};

template <class format>
__device__ __forceinline__ canny_columns columns_of(const canny_cuda &p, uint32_t x, uint32_t row)
{
    constexpr int32_t WORD = WIDTH * format::BYTES;
    uint32_t last = p.job.width - 1 - x;

    return canny_columns{input_row(p.job, 0, row) + (size_t)x * format::BYTES, x, last,
                         x > 0 ? -WORD : 0, last >= WIDTH ? WORD : 0};
}

template <class format> __device__ __forceinline__ uint32_t load_word(const uint8_t *from)
{
    uint32_t word[1];

    load_aligned<format>(from, word);
    return word[0];
}

template <class format> __device__ __forceinline__ grays load_vectors(const canny_columns &c)
{
    uint32_t word = load_word<format>(c.from);
    grays g;

    g.pairs[0] = __byte_perm(load_word<format>(c.from + c.left), 0, c.left != 0 ? 0x4342 : 0x4040);
    g.pairs[1] = __byte_perm(word, 0, 0x4140);
    g.pairs[2] = __byte_perm(word, 0, 0x4342);
    g.pairs[3] =
        __byte_perm(load_word<format>(c.from + c.right), 0, c.right != 0 ? 0x4140 : 0x4343);
    return g;
}

template <class format> __device__ __forceinline__ grays load_bytes(const canny_columns &c)
{
    uint64_t bytes = 0;
    grays g;

    // One by one: all on their way at once would not fit the registers.
#pragma unroll 1
    for (int i = -2; i < WIDTH + 2; i++) {
        int at = max(-(int)c.x, min(i, (int)c.last));

        bytes = bytes >> 8 | (uint64_t)format::luma(c.from + (int64_t)at * format::BYTES) << 56;
    }
#pragma unroll
    for (int i = 0; i <= PAIRS; i++)
        g.pairs[i] = __byte_perm((uint32_t)(bytes >> i / 2 * 32), 0, i % 2 ? 0x4342 : 0x4140);
    return g;
}

// Row `y`, the border replicated; above the picture it is a number past it. Rows come in their
// order: the next one is found then.
template <class format, bool VECTOR>
__device__ __forceinline__ grays load_grays(const canny_cuda &p, canny_columns &c, uint32_t y)
{
    grays g = VECTOR ? load_vectors<format>(c) : load_bytes<format>(c);

    c.from += y < p.job.height - 1 ? p.job.input_stride[0] : 0;
    return g;
}

// Gradients of a row where they are loud: pixels x to x + 3.
struct gradients {
    half2 x[WIDTH / 2], y[WIDTH / 2];
};

// n of a row, pixels x - 1 to x + 4. It is 0 outside the picture, and where no gradient may be
// above the low limit.
struct squares {
    float n[COLUMNS];
    bool loud; // one gradient may be
};

__device__ __forceinline__ float lane(half2 pair, int column)
{
    return column % 2 ? __high2float(pair) : __low2float(pair);
}

// Clears n outside the picture.
template <bool VECTOR> __device__ __forceinline__ void trim(squares &s, const canny_columns &c)
{
    s.n[0] = c.left != 0 ? s.n[0] : 0;
#pragma unroll
    for (int i = VECTOR ? WIDTH : 1; i <= WIDTH; i++)
        s.n[i + 1] = (VECTOR ? c.right != 0 : i <= c.last) ? s.n[i + 1] : 0;
}

// From the rows around it; `inside` is false of a row outside the picture.
template <bool VECTOR>
__device__ __forceinline__ squares measure(uint32_t quiet, const canny_columns &c, bool inside,
                                           const grays &above, const grays &middle,
                                           const grays &below, gradients &g)
{
    const half2 two = __float2half2_rn(2.0f);
    half2 sums[PAIRS + 1], differences[PAIRS + 1], across[PAIRS], along[PAIRS];
    uint32_t all = 0;
    squares s;

#pragma unroll
    for (int i = 0; i <= PAIRS; i++) {
        half2 a = pair(above.pairs[i]), b = pair(below.pairs[i]);

        sums[i] = __hadd2(__hfma2(pair(middle.pairs[i]), two, a), b);
        differences[i] = __hsub2(b, a);
    }
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        half2 between = pair(__byte_perm(bits(differences[i]), bits(differences[i + 1]), 0x5432));

        across[i] = __hsub2(sums[i + 1], sums[i]);
        along[i] = __hadd2(__hfma2(between, two, differences[i]), differences[i + 1]);
        all |= bits(across[i]) | bits(along[i]);
    }
    all &= MAGNITUDES;
    s.loud = inside && (all >> 16 | (all & 0xffff)) > quiet;
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        s.n[i] = 0;
    if (s.loud) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            float gx = lane(across[i / 2], i), gy = lane(along[i / 2], i);

            s.n[i] = gx * gx + gy * gy;
        }
        trim<VECTOR>(s, c);
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) {
            g.x[i] = pair(__byte_perm(bits(across[i]), bits(across[i + 1]), 0x5432));
            g.y[i] = pair(__byte_perm(bits(along[i]), bits(along[i + 1]), 0x5432));
        }
    }
    return s;
}

// The least number larger than one that is not negative: what is no less is larger.
__device__ __forceinline__ float just_above(float n)
{
    return __uint_as_float(__float_as_uint(n) + 1);
}

// Candidates in bits 0 to 3, strong ones in bits 4 to 7.
__device__ __forceinline__ uint32_t suppress(const levels_cuda_limits &limits, const gradients &g,
                                             const squares &above, const squares &own,
                                             const squares &below)
{
    const half2 scale = __float2half2_rn(32768), fine = __float2half2_rn(FINE);
    const half2 flatter = __float2half2_rn(-COARSE), steeper = __float2half2_rn(2 + COARSE);
    uint32_t candidates = 0, strong = 0, flats[WIDTH / 2], steeps[WIDTH / 2];

#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) {
        half2 x = __hmul2(__habs2(g.x[i]), scale), y = __hmul2(__habs2(g.y[i]), scale);

        flats[i] = bits(__hfma2(x, __hneg2(fine), __hfma2(x, flatter, y)));
        steeps[i] = bits(__hfma2(x, fine, __hfma2(x, steeper, __hneg2(y))));
    }
#pragma unroll
    for (int i = 1; i <= WIDTH; i++) {
        int at = (i - 1) / 2;
        uint32_t sign = i % 2 ? 0x00008000 : 0x80000000;
        float n = own.n[i];
        bool flat = flats[at] & sign, steep = steeps[at] & sign;
        bool rising = (bits(g.x[at]) ^ bits(g.y[at])) & sign;
        float before = rising ? above.n[i + 1] : above.n[i - 1];
        float after = just_above(rising ? below.n[i - 1] : below.n[i + 1]);

        before = steep ? above.n[i] : before;
        after = steep ? below.n[i] : after;
        before = flat ? own.n[i - 1] : before;
        after = flat ? own.n[i + 1] : after;
        bool largest = (n > limits.low) & (n > before) & (n >= after);

        candidates |= largest ? 1u << (i - 1) : 0;
        strong |= largest & (n > limits.high) ? 1u << (i - 1 + WIDTH) : 0;
    }
    return candidates | strong;
}

// Any number of rows, STEP at a time, none read twice.
template <class format, bool VECTOR>
__device__ __forceinline__ void make_column(const canny_cuda &p, uint32_t x, uint32_t y)
{
    uint32_t end = y + min(p.job.rows, p.job.height - y);
    uint32_t at = y * p.job.output_stride[0] + x / WIDTH;
    canny_columns c = columns_of<format>(p, x, y > 2 ? y - 2 : 0);
    grays rows[3];
    gradients g[2];
    squares s[3]; // of rows y - 1, y, y + 1

    auto load = [&](uint32_t row) { return load_grays<format, VECTOR>(p, c, row); };
    auto square = [&](uint32_t row, int first, gradients &g) {
        return measure<VECTOR>(p.limits.quiet, c, row < p.job.height, rows[first % 3],
                               rows[(first + 1) % 3], rows[(first + 2) % 3], g);
    };

#pragma unroll
    for (int i = 0; i < 3; i++)
        rows[i] = load(y + i - 2);
    s[0] = square(y - 1, 0, g[1]);
    rows[0] = load(y + 1);
    s[1] = square(y, 1, g[0]);
#pragma unroll 1
    for (; y < end; y += STEP) {
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            uint32_t found = 0;

            if (y + i >= end)
                return;
            rows[(i + 1) % 3] = load(y + i + 2);
            s[(i + 2) % 3] = square(y + i + 1, i + 2, g[(i + 1) % 2]);
            if (s[(i + 1) % 3].loud)
                found = suppress(p.limits, g[i % 2], s[i % 3], s[(i + 1) % 3], s[(i + 2) % 3]);
            reinterpret_cast<uint8_t *>(p.job.output[0])[at] = (uint8_t)found;
            at += p.job.output_stride[0];
        }
    }
}

template <class format> __device__ __forceinline__ void make_marks(const canny_cuda &p)
{
    uint32_t x = tile_x() / PIXELS * WIDTH, y = tile_y(p.job.rows);

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (aligned(p.job.input[0] | p.job.input_stride[0], vector_bytes<WIDTH * format::BYTES>) &&
        (x + 2 * WIDTH <= p.job.width || x + WIDTH == p.job.width)) {
        make_column<format, true>(p, x, y);
    } else {
        make_column<format, false>(p, x, y);
    }
}

} // namespace

#define DEFINE_KERNEL(format)                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) canny_##format(canny_cuda p)         \
    {                                                                                              \
        make_marks<format>(p);                                                                     \
    }

JOB_LAYOUTS(DEFINE_KERNEL)

extern "C" __global__ void __launch_bounds__(THREADS_MAX) canny_planar_median(canny_cuda p)
{
    const levels_cuda_limits *found = reinterpret_cast<const levels_cuda_limits *>(p.found);

    p.limits = {__ldg(&found->low), __ldg(&found->high), __ldg(&found->quiet)};
    make_marks<planar>(p);
}
