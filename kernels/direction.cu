// The direction of a camera's picture's gradient as a hue and its magnitude as brightness, one
// launch: gray, gradient, colour.
//
//   number = floor(126 gy / s + 126.5), s = max(|gx| + |gy|, 1); 256 more where gx < 0
//   m = the magnitude, as in gradient.cu
//   nv12: Y, U, V = (m table[number] + (16, 128, 128 << 16) + (1 << 15)) >> 16
//   rgb3: m, 0 and (m table[number] + 128) >> 8 in the order that the table says
//
// bit for bit what direction.c computes.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: luma and pairs of U and V (nv12), or 3
// bytes a pixel (rgb3). Nothing outside the pixels of any is touched. Tables of 512 words lie in
// shared memory, 4 KiB for nv12 and 2 for rgb3: a block reads them once.
//
// Threads. Thread (x, y) of the grid makes 8 pixels by `rows` rows at (8 x, rows y); threads share
// nothing but the tables. With 8 rows the input comes in 1.25 times, the second time out of L1 or
// L2. Bytes a pixel: input 1 to 4, output 1.5 or 3.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES and, of the output, 8; other tiles go byte by
// byte through the same arithmetic.
//
// Arithmetic. Gradients are pairs of halves (sobel.cuh). The number is a float whose byte 1 it is:
// 2^15 is added, rounded down. 126 gy / s + 126.5 lies on an integer or 1 / (2 s) away from it,
// 2.4e-4 for Sobel; 2^-20 more of gy / s, 1.2e-4 of the number, keep it from the integer below,
// while quotient and sum are off by at most 2.3e-5. The sign of gx, repeated over three bytes of
// the index, is the other half of the table. Without a gradient the number is that of a NaN, 255,
// and m is 0. Magnitudes stay in the lanes of their pairs, which dp2a multiplies as they are.
//
// Gain 1 and l2 have a path of their own, two rows at a time, the next two on their way meanwhile.
// For sm_90 the compiler makes 23 instructions a pixel of it for nv12, and 1.7 to begin with in a
// tile of 8 rows; of those 2 are on the special function unit, 7 are on the integer one, and 1.25
// look up a word that lies in any bank.
#include "kernels/direction.cuh"

namespace {

// Eight pixels of a row, from the rows around it.
template <norm NORM, result RESULT>
__device__ __forceinline__ octet make_octet(const direction_cuda &p, const slopes &above,
                                            const slopes &middle, const slopes &below)
{
    octet o;

#pragma unroll
    for (int k = 0; k < 2 * WORDS; k++) {
        half2 gx = gradient_x(above, middle, below, k), gy = gradient_y(above, below, k);
        int first = k / 2 * 4 + k % 2;

        o.magnitudes[k] = RESULT == MAGNITUDE ? magnitudes<NORM>(gx, gy)
                                              : scaled<NORM>(p.thresholds, p.gain, gx, gy);
        o.direction[first] = direction_of<false>(bits(gx), __low2float(gx), __low2float(gy));
        o.direction[first + 2] = direction_of<true>(bits(gx), __high2float(gx), __high2float(gy));
    }
    return o;
}

// Rows from `y` to `end`, COUNT at a time, none read twice; returns the first that it leaves. Of
// several at a time the first is even.
template <class format, class target, norm NORM, result RESULT, bool VECTOR, int COUNT>
__device__ __forceinline__ uint32_t make_column(const direction_cuda &p, uint32_t table, uint32_t x,
                                                uint32_t y, uint32_t end)
{
    if (y + COUNT > end) {
        return y;
    }
    const strip_source<format> source(p, x);
    auto load = [&](uint32_t row) {
        return VECTOR ? source.load(row) : load_strip<format, false>(p, x, row);
    };
    auto take = [&](const strip &s) { return slopes_of(VECTOR ? source.complete(s) : s); };
    slopes above = take(load(y > 0 ? y - 1 : 0)), middle = take(load(y));
    strip strips[COUNT];
    auto load_rows = [&] {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            strips[i] = load(y + i + 1);
        }
    };

    load_rows();
#pragma unroll(format::BYTES < 3 ? 2 : 1)
    for (;;) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            slopes below = take(strips[i]);
            uint32_t row = y + i;

            // The next rows are on their way while the last of these is made.
            if (i == COUNT - 1) {
                y += COUNT;
                if (y + COUNT <= end) {
                    load_rows();
                }
            }
            target::template store<VECTOR>(p, table, x, row, (COUNT > 1 ? i : row) % 2 == 0,
                                           make_octet<NORM, RESULT>(p, above, middle, below));
            above = middle;
            middle = below;
        }
        if (y + COUNT > end) {
            return y;
        }
    }
}

__device__ __forceinline__ bool takes_vectors(const direction_cuda &p, uint32_t bytes)
{
    return aligned(p.input | p.input_stride, bytes) &&
           aligned(p.output[0] | p.output_stride[0] | p.output[1] | p.output_stride[1], 8);
}

template <class format, class target>
__device__ __forceinline__ void make_picture(const direction_cuda &p)
{
    uint32_t table = load_tables<target>(p), x = tile_x(), y = tile_y(p.rows);

    if (x >= p.width || y >= p.height) {
        return;
    }
    uint32_t end = y + min(p.rows, p.height - y);
    bool vector = takes_vectors(p, format::VECTOR_BYTES) && x + PIXELS <= p.width;

    if (vector && p.unity && !p.l1 && p.rows % 2 == 0) {
        y = make_column<format, target, L2, MAGNITUDE, true, 2>(p, table, x, y, end);
    }
    if (vector && p.l1) {
        make_column<format, target, L1, SCALED, true, 1>(p, table, x, y, end);
    } else if (vector) {
        make_column<format, target, L2, SCALED, true, 1>(p, table, x, y, end);
    } else if (p.l1) {
        make_column<format, target, L1, SCALED, false, 1>(p, table, x, y, end);
    } else {
        make_column<format, target, L2, SCALED, false, 1>(p, table, x, y, end);
    }
}

// Any operator, of gray, in integers and four pixels at a time: smoothed sums and derivatives of
// the columns from x - 2 on.
constexpr int FOUR = 4, AROUND = FOUR + 4;

struct columns {
    int32_t sums[AROUND], derivatives[AROUND];
};

__device__ __forceinline__ columns load_columns(const direction_cuda &p, uint32_t x, uint32_t y)
{
    int last = p.width - 1, lowest = p.height - 1;
    columns c = {};

    // Row by row: all pixels on their way at once would not fit the registers.
#pragma unroll 1
    for (int i = 0; i < 5; i++) {
        const uint8_t *__restrict__ row =
            reinterpret_cast<const uint8_t *>(p.input) +
            (size_t)min(max((int)y + i - 2, 0), lowest) * p.input_stride;

#pragma unroll
        for (int k = 0; k < AROUND; k++) {
            int32_t gray = __ldg(row + min(max((int)x + k - 2, 0), last));

            c.sums[k] += p.smooth[i] * gray;
            c.derivatives[k] += p.derive[i] * gray;
        }
    }
    return c;
}

// Pixel `i` of an octet, from columns of which the first that counts is `k`.
__device__ __forceinline__ void make_any(const direction_cuda &p, const columns &c, int k, octet &o,
                                         int i)
{
    int32_t gx = 0, gy = 0;

#pragma unroll
    for (int j = 0; j < 5; j++) {
        gx += p.derive[j] * c.sums[k + j];
        gy += p.smooth[j] * c.derivatives[k + j];
    }
    int32_t sum = abs(gx) + abs(gy), least = max(sum, 1);
    uint32_t n = p.l1 ? (uint32_t)sum : (uint32_t)(gx * gx + gy * gy);
    float magnitude = p.l1 ? (float)n : root((float)n);

    uint32_t rounded = round_gain(p.thresholds, p.gain * magnitude, [=] { return n; });
    uint32_t &pair = o.magnitudes[pair_of(i)];

    pair = is_upper(i) ? pair | rounded << 16 : rounded;
    o.direction[i] = (int32_t)((uint32_t)(252 * gy + 253 * least) / (uint32_t)(2 * least)) -
                     (gx < 0 ? (int32_t)HALF_TABLE : 0);
}

__device__ __forceinline__ octet make_any_octet(const direction_cuda &p, uint32_t x, uint32_t y)
{
    octet o;

#pragma unroll 1
    for (int first = 0; first < PIXELS; first += FOUR) {
        columns c = load_columns(p, x + first, y);

#pragma unroll
        for (int i = 0; i < FOUR; i++) {
            make_any(p, c, i, o, first + i);
        }
    }
    return o;
}

template <class target> __device__ __forceinline__ void make_any_picture(const direction_cuda &p)
{
    uint32_t table = load_tables<target>(p), x = tile_x(), y = tile_y(p.rows);

    if (x >= p.width || y >= p.height) {
        return;
    }
    uint32_t end = y + min(p.rows, p.height - y);
    bool vector = takes_vectors(p, 1) && x + PIXELS <= p.width;

#pragma unroll 1
    for (; y < end; y++) {
        octet o = make_any_octet(p, x, y);

        if (vector) {
            target::template store<true>(p, table, x, y, y % 2 == 0, o);
        } else {
            target::template store<false>(p, table, x, y, y % 2 == 0, o);
        }
    }
}

} // namespace

#define DEFINE_KERNEL(format, target)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        direction_##format##_##target(direction_cuda p)                                            \
    {                                                                                              \
        make_picture<format, to_##target>(p);                                                      \
    }
#define DEFINE_KERNELS(format)                                                                     \
    DEFINE_KERNEL(format, nv12)                                                                    \
    DEFINE_KERNEL(format, rgb3)
#define DEFINE_ANY(target)                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        direction_any_##target(direction_cuda p)                                                   \
    {                                                                                              \
        make_any_picture<to_##target>(p);                                                          \
    }

DIRECTION_CUDA_KERNELS(DEFINE_KERNELS)
DEFINE_ANY(nv12)
DEFINE_ANY(rgb3)
