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
// bit for bit what gray.c and suppress.c compute.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: two planes of one bit a pixel, device
// memory of edged's own. Nothing outside the pixels of the input is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by `rows` rows at (8 x, rows y),
// whatever the shape of a block is: threads share nothing. It goes down a column: a gray row comes
// in, the row of gradients above it is done, and the row of candidates above that one. So a tile
// reads 4 rows and computes 2 rows of gradients more than it makes, and a column on either side.
//
// The floor. Bytes a pixel: input 1 to 4, output 1/4: 41 MB of gray at 8K, 10 us on an H200.
// Operations a pixel: 5.5 for the gradients, 5 for n of ten columns for eight, 1 to see that a row
// is quiet, 1.5 to load and 0.5 to store; then, where a gradient is large, 7.5 for the direction,
// 6 to choose two neighbours, 7.5 to compare and collect bits. 34 with the halo of 12 rows a third
// of it more: about 38 where all is loud, as in noise, 17 where nothing is. 8K on an H200, which
// issues 0.93e12 warps' instructions a second: 43 us and 20 us; the arithmetic is what bounds it.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// address and stride are multiples of VECTOR_BYTES; other tiles go byte by byte through the same
// arithmetic.
//
// Arithmetic. A byte with a zero byte above it is, read as a half, the denormal number v * 2^-24,
// and every integer up to 2048 in that unit is exact: gx and gy are, two pixels an instruction. n
// is exact as a float in units of 2^-48, being less than 2^24, and so is 13573 |gx| of the test for
// 22.5 degrees; that for 67.5 rounds by 2e-4 at most, and |gy| is 1e-3 away from it at least.
// Floats that are not negative are ordered as their bits: "not less" is "greater" with one added to
// the bits. Rows are skipped where no gradient of the ten columns exceeds the low limit by a bound
// that costs one OR a pair; n is 0 there, and as a neighbour of a candidate it may be anything up
// to the limit.
#include "kernels/canny_cuda.h"
#include "kernels/gray.cuh"

#include <cuda_fp16.h>

namespace {

constexpr int STEP = CANNY_CUDA_STEP, WIDTH = CANNY_CUDA_PIXELS;
constexpr int COLUMNS = WIDTH + 2, PAIRS = COLUMNS / 2;
constexpr float UNIT = 1.0f / (1 << 24);                   // of gx and gy
constexpr float FLAT = 13573.0f / 32768, STEEP = FLAT + 2; // tangents
constexpr uint32_t MAGNITUDES = 0x7fff7fff;                // of two halves

// Two pixels as halves, and back.
__device__ __forceinline__ half2 pair(uint32_t bits)
{
    return *reinterpret_cast<half2 *>(&bits);
}

__device__ __forceinline__ uint32_t bits(half2 pair)
{
    return *reinterpret_cast<uint32_t *>(&pair);
}

// Gray of a row: pixels x - 2 to x + 5 in pairs.
struct grays {
    uint32_t pairs[PAIRS + 1];
};

// Row `y` at `x`, the border replicated.
template <class format, bool VECTOR>
__device__ __forceinline__ grays load_grays(const canny_cuda &p, uint32_t x, int64_t y)
{
    uint32_t last = p.width - 1 - x; // pixel of the row, counted from x
    uint32_t row = (uint32_t)max((int64_t)0, min(y, (int64_t)p.height - 1));
    const uint8_t *__restrict__ start =
        reinterpret_cast<const uint8_t *>(p.input) + (size_t)row * p.input_stride;
    const uint8_t *from = start + (size_t)x * format::BYTES;
    const uint8_t *left = x > 0 ? from - 2 * format::BYTES : from;
    uint32_t word[1], outside[4];
    grays g;

    auto beside = [&](const uint8_t *pixel) {
        return VECTOR ? format::beside(pixel) : format::luma(pixel);
    };

    load_gray<format, VECTOR>(start, x, p.width, word);
    outside[0] = beside(left);
    outside[1] = beside(x > 0 ? left + format::BYTES : left);
    outside[2] = beside(from + (size_t)min(last, WIDTH) * format::BYTES);
    outside[3] = beside(from + (size_t)min(last, WIDTH + 1) * format::BYTES);
    if constexpr (!VECTOR) {
#pragma unroll
        for (int i = 1; i < WIDTH; i++) {
            if (i > last) {
                word[0] |= outside[2] << i * 8;
            }
        }
    }
    g.pairs[0] = outside[0] | outside[1] << 16;
    g.pairs[1] = __byte_perm(word[0], 0, 0x4140);
    g.pairs[2] = __byte_perm(word[0], 0, 0x4342);
    g.pairs[3] = outside[2] | outside[3] << 16;
    return g;
}

// Gradients of a row: pixels x - 1 to x + 4, 0 outside the picture.
struct gradients {
    half2 x[PAIRS], y[PAIRS];
    bool loud; // one may be above the low limit
};

__device__ __forceinline__ gradients none()
{
    gradients g = {};

    return g;
}

__device__ __forceinline__ float lane(const half2 (&pairs)[PAIRS], int column)
{
    return column % 2 ? __high2float(pairs[column / 2]) : __low2float(pairs[column / 2]);
}

// Clears the columns outside the picture; `last` is the last pixel of the row, counted from x.
template <bool VECTOR> __device__ __forceinline__ void trim(gradients &g, uint32_t x, uint32_t last)
{
    auto keep = [&](int i, uint32_t mask) {
        g.x[i] = pair(bits(g.x[i]) & mask);
        g.y[i] = pair(bits(g.y[i]) & mask);
    };

    if (x == 0) {
        keep(0, 0xffff0000);
    }
#pragma unroll
    for (int i = VECTOR ? WIDTH : 1; i <= WIDTH; i++) {
        if (i > last) {
            keep((i + 1) / 2, (i + 1) % 2 ? 0x0000ffff : 0xffff0000);
        }
    }
}

// From the rows around it.
template <bool VECTOR>
__device__ __forceinline__ gradients measure(const canny_cuda &p, uint32_t x, const grays &above,
                                             const grays &middle, const grays &below)
{
    const half2 two = __float2half2_rn(2.0f);
    half2 sums[PAIRS + 1], differences[PAIRS + 1];
    uint32_t all = 0;
    gradients g;

#pragma unroll
    for (int i = 0; i <= PAIRS; i++) {
        half2 a = pair(above.pairs[i]), b = pair(below.pairs[i]);

        sums[i] = __hadd2(__hfma2(pair(middle.pairs[i]), two, a), b);
        differences[i] = __hsub2(b, a);
    }
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        half2 between = pair(__byte_perm(bits(differences[i]), bits(differences[i + 1]), 0x5432));

        g.x[i] = __hsub2(sums[i + 1], sums[i]);
        g.y[i] = __hadd2(__hfma2(between, two, differences[i]), differences[i + 1]);
    }
    trim<VECTOR>(g, x, p.width - 1 - x);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        all |= bits(g.x[i]) | bits(g.y[i]);
    }
    all &= MAGNITUDES;
    g.loud = (all >> 16 | (all & 0xffff)) > p.limits.quiet;
    return g;
}

__device__ __forceinline__ float square(const gradients &g, int column)
{
    float gx = lane(g.x, column), gy = lane(g.y, column);

    return gx * gx + gy * gy;
}

// Candidates in bits 0 to 3, strong ones in bits 4 to 7. `above` is n of the row above, and
// becomes that of the row itself; of quiet rows it may be 0.
__device__ __forceinline__ uint32_t suppress(const canny_cuda &p, float (&above)[COLUMNS],
                                             const gradients &g, const gradients &below)
{
    const float low = (float)p.limits.low * UNIT * UNIT, high = (float)p.limits.high * UNIT * UNIT;
    float own[3] = {square(g, 0), square(g, 1)}, under[3] = {square(below, 0), square(below, 1)};
    float corner = above[0];
    uint32_t candidates = 0, strong = 0;

    above[0] = own[0];
#pragma unroll
    for (int i = 1; i <= WIDTH; i++) {
        float gx = lane(g.x, i), gy = lane(g.y, i), top = above[i], n = own[1];
        bool flat = fabsf(gy)<fabsf(gx) * FLAT, steep = fabsf(gy)> fabsf(gx) * STEEP;
        bool rising = (int32_t)((bits(g.x[i / 2]) ^ bits(g.y[i / 2])) << (i % 2 ? 0 : 16)) < 0;
        float before, after;
        uint32_t reach;

        own[2] = square(g, i + 1);
        under[2] = square(below, i + 1);
        before = flat ? own[0] : steep ? top : rising ? above[i + 1] : corner;
        after = flat ? own[2] : steep ? under[1] : rising ? under[0] : under[2];
        reach = __float_as_uint(n) + (flat || steep);
        if (n > low && n > before && reach > __float_as_uint(after)) {
            candidates |= 1u << (i - 1);
            if (n > high) {
                strong |= 1u << (i - 1);
            }
        }
        corner = top;
        above[i] = n;
        own[0] = own[1], own[1] = own[2];
        under[0] = under[1], under[1] = under[2];
    }
    above[COLUMNS - 1] = own[1];
    return candidates | strong << WIDTH;
}

// Any number of rows, STEP at a time, none read twice.
template <class format, bool VECTOR>
__device__ __forceinline__ void make_column(const canny_cuda &p, uint32_t x, uint32_t y)
{
    uint32_t end = y + min(p.rows, p.height - y);
    uint8_t *marks = reinterpret_cast<uint8_t *>(p.marks) + (size_t)y * p.marks_stride + x / WIDTH;
    float above[COLUMNS];
    grays rows[3];
    gradients g[2];

#pragma unroll
    for (int i = 0; i < 3; i++) {
        rows[i] = load_grays<format, VECTOR>(p, x, (int64_t)y + i - 2);
    }
    g[0] = y > 0 ? measure<VECTOR>(p, x, rows[0], rows[1], rows[2]) : none();
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
        above[i] = square(g[0], i);
    }
    rows[0] = load_grays<format, VECTOR>(p, x, (int64_t)y + 1);
    g[0] = measure<VECTOR>(p, x, rows[1], rows[2], rows[0]);
#pragma unroll 1
    for (; y < end; y += STEP) {
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            uint32_t found = 0;

            if (y + i >= end) {
                break;
            }
            rows[(i + 1) % 3] = load_grays<format, VECTOR>(p, x, (int64_t)y + i + 2);
            g[(i + 1) % 2] = y + i + 1 < p.height ? measure<VECTOR>(p, x, rows[(i + 2) % 3],
                                                                    rows[i % 3], rows[(i + 1) % 3])
                                                  : none();
            if (g[i % 2].loud) {
                found = suppress(p, above, g[i % 2], g[(i + 1) % 2]);
            } else {
#pragma unroll
                for (int k = 0; k < COLUMNS; k++) {
                    above[k] = 0;
                }
            }
            *marks = (uint8_t)found;
            marks += p.marks_stride;
        }
    }
}

template <class format> __device__ __forceinline__ void make_marks(const canny_cuda &p)
{
    uint32_t x = tile_x() / PIXELS * WIDTH, y = tile_y(p.rows);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (aligned(p.input | p.input_stride, vector_bytes<WIDTH * format::BYTES>) &&
        x + WIDTH <= p.width) {
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

CANNY_CUDA_KERNELS(DEFINE_KERNEL)
