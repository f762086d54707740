// The direction of a camera's picture's gradient as a hue and its magnitude as brightness, one
// launch: gray, gradient, colour.
//
//   number = floor(126 gy / s + 126.5), s = max(|gx| + |gy|, 1); 256 more where gx < 0
//   m = the magnitude, as in gradient.cu
//   nv12: Y, U, V = (16, 128, 128) + m table[number], rounded
//   rgb3: m, 0 and (m table[number] + 128) >> 8 in the order that the table says
//
// bit for bit what direction.c computes.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: luma and pairs of U and V (nv12), or 3
// bytes a pixel (rgb3). Nothing outside the pixels of any is touched. Tables lie in shared memory,
// 3 KiB for nv12 and 2 for rgb3: a block reads them once.
//
// Threads. Thread (x, y) of the grid makes 8 pixels by `rows` rows at (8 x, rows y); threads share
// the tables, and warps write rgb3 together. With 4 rows the input comes in 1.5 times, the second
// time out of L1 or L2. Bytes a pixel: input 1 to 4, output 1.5 or 3.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of what the input wants and, of the output, 8, which the
// launch says; other tiles go byte by byte through the same arithmetic.
//
// Arithmetic. Gradients are pairs of halves (slopes.cuh). The number is the lowest bits of a float
// from 2 to 4, whose unit is 2^-22: rounding 126 gy / s + 126 to it rounds to an integer. That lies
// on a tie or 1 / (2 s) away from it, 2.4e-4 for Sobel; 2^-20 more of gy / s, 1.2e-4 of the number,
// take it to the integer above, while quotient and sum are off by at most 4e-5. Shifted to the left
// by two, the two highest bits of gx from below, the float is the place of a 16 bit colour: its
// exponent is shifted out, and of gx, which is less than 2 in units of 2^-24, the higher bit is the
// sign and the other one 0. Without a gradient the number is that of a NaN, which makes -4, and m
// is 0. Magnitudes stay in the lanes of their pairs, integers in units of 2^-24, and so do Y, U and
// V: a multiplication and addition of halves rounds to that unit, and never on a tie, as factors
// are odd (direction.c).
//
// The next row is on its way while one is made. For sm_90 the compiler makes some 22 instructions a
// pixel for nv12, of which two are on the special function unit and 1.25 look up a colour in any
// bank.
#include "kernels/direction/direction.cuh"

namespace {

// Eight pixels of a row, from the rows around it. DIRECT: of gain 1 and l2.
template <bool DIRECT>
__device__ __forceinline__ pixels8 make_pixels8(const direction_cuda &p,
                                                const sobel::line (&rows)[3])
{
    pixels8 o;

#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        int first = k / 2 * 4 + k % 2;
        half2 gx, gy;

        sobel::slopes(rows, k, gx, gy);
        o.direction[first] = direction_of(__low2float(gx), __low2float(gy));
        o.direction[first + 2] = direction_of(__high2float(gx), __high2float(gy));
        o.magnitudes[k] = DIRECT ? magnitudes<L2>(gx, gy)
                          : p.l1 ? magnitudes_at<sobel, L1, false>(p.thresholds, p.gain, rows, k)
                                 : magnitudes_at<sobel, L2, false>(p.thresholds, p.gain, rows, k);
    }
    return o;
}

// Rows from `y` to `end`, none read twice, the next one on its way while one is made; of gain 1 and
// l2 two at a time, so that less is moved, from an even row on.
template <class format, class target, bool VECTOR, bool DIRECT>
__device__ __forceinline__ void make_column(const direction_cuda &p, uint32_t x, int y, int end,
                                            bool together)
{
    constexpr int COUNT = DIRECT ? 2 : 1;
    constexpr bool AHEAD = format::BYTES < 3; // RGB leaves no registers for it
    const window_source<format, VECTOR> windows(p.job, x);
    auto line_of = [&](const auto &raw) { return sobel::reduce(pairs_of(windows.take(raw))); };
    sobel::line rows[3] = {line_of(windows.load(y - 1)), line_of(windows.load(y))};
    auto next = windows.load(y + 1);
    target to(p, x, y, together);

#pragma unroll 1
    for (; y < end; y += COUNT) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (i > 0 && y + i >= end)
                return;
            rows[2] = line_of(AHEAD ? next : windows.load(y + i + 1));
            if (AHEAD)
                next = windows.load(y + i + 2);
            to.template store<VECTOR>(p, DIRECT ? i == 0 : y % 2 == 0,
                                      make_pixels8<DIRECT>(p, rows));
            rows[0] = rows[1];
            rows[1] = rows[2];
        }
    }
}

template <class format, class target>
__device__ __forceinline__ void make_picture(const direction_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(p.job.rows), end = min(y + p.job.rows, p.job.height);
    bool inside = x < p.job.width && y < end;
    bool vector = inside && p.vectors && has_window<format>(x, p.job.width);
    bool together = target::TOGETHER && blockDim.x % 32 == 0 &&
                    blockDim.x * blockDim.y <= 32 * WARPS_TOGETHER &&
                    __all_sync(0xffffffff, vector);

    begin_tables<target>(p);
    finish_tables();
    if (vector && p.direct && p.job.rows % 2 == 0)
        make_column<format, target, true, true>(p, x, y, end, together);
    else if (vector)
        make_column<format, target, true, false>(p, x, y, end, together);
    else if (inside)
        make_column<format, target, false, false>(p, x, y, end, false);
}

// Any operator, of gray, in integers and four pixels at a time: smoothed sums and derivatives of
// the columns from x - 2 on.
constexpr int FOUR = 4, AROUND = FOUR + 4;

struct octet_columns {
    int32_t sums[AROUND], derivatives[AROUND];
};

// Of the first four pixels of a window, or of the others.
template <class source>
__device__ __forceinline__ octet_columns load_columns(const direction_cuda &p,
                                                      const source &windows, bool others, int y)
{
    octet_columns c = {};

    // Row by row: all pixels on their way at once would not fit the registers.
#pragma unroll 1
    for (int i = 0; i < 5; i++) {
        const window w = windows.take(windows.load(y + i - 2));
        const uint32_t words[] = {w.words[others], w.words[others + 1], w.words[others + 2]};

#pragma unroll
        for (int k = 0; k < AROUND; k++) {
            int32_t gray = words[(k + 2) / 4] >> (k + 2) % 4 * 8 & 255;

            c.sums[k] += p.smooth[i] * gray;
            c.derivatives[k] += p.derive[i] * gray;
        }
    }
    return c;
}

// Pixel `i` of eight, from columns of which the first that counts is `k`.
__device__ __forceinline__ void make_any(const direction_cuda &p, const octet_columns &c, int k,
                                         pixels8 &o, int i)
{
    int32_t gx = 0, gy = 0;

#pragma unroll
    for (int j = 0; j < 5; j++) {
        gx += p.derive[j] * c.sums[k + j];
        gy += p.smooth[j] * c.derivatives[k + j];
    }
    int32_t sum = abs(gx) + abs(gy), least = max(sum, 1);
    uint32_t n = p.l1 ? (uint32_t)sum : (uint32_t)(gx * gx + gy * gy);
    float magnitude = p.l1 ? (float)n : near_root((float)n);

    uint32_t rounded = round_gain(p.thresholds, p.gain * magnitude, [=] { return n; });
    uint32_t &pair = o.magnitudes[pair_of(i)];

    pair = is_upper(i) ? pair | rounded << 16 : rounded;
    o.direction[i] = (int32_t)((uint32_t)(252 * gy + 253 * least) / (uint32_t)(2 * least) * 4) +
                     (gx < 0 ? 2 : 0);
}

template <class target, bool VECTOR>
__device__ __forceinline__ void make_any_rows(const direction_cuda &p, uint32_t x, int y, int end)
{
    const window_source<planar, VECTOR> windows(p.job, x);
    target to(p, x, y, false);

#pragma unroll 1
    for (; y < end; y++) {
        pixels8 o;

#pragma unroll 1
        for (int first = 0; first < PIXELS; first += FOUR) {
            const octet_columns c = load_columns(p, windows, first > 0, y);

#pragma unroll
            for (int i = 0; i < FOUR; i++)
                make_any(p, c, i, o, first + i);
        }
        to.template store<VECTOR>(p, y % 2 == 0, o);
    }
}

template <class target> __device__ __forceinline__ void make_any_picture(const direction_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(p.job.rows), end = min(y + p.job.rows, p.job.height);

    begin_tables<target>(p);
    finish_tables();
    if (x >= p.job.width || y >= end)
        return;
    if (p.vectors && has_window<planar>(x, p.job.width))
        make_any_rows<target, true>(p, x, y, end);
    else
        make_any_rows<target, false>(p, x, y, end);
}

} // namespace

#define DEFINE_KERNEL(format, target)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        direction_##format##_##target(direction_cuda p)                                            \
    {                                                                                              \
        make_picture<format, direction_to_##target>(p);                                            \
    }
#define DEFINE_KERNELS(format)                                                                     \
    DEFINE_KERNEL(format, nv12)                                                                    \
    DEFINE_KERNEL(format, rgb3)
#define DEFINE_ANY(target)                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        direction_any_##target(direction_cuda p)                                                   \
    {                                                                                              \
        make_any_picture<direction_to_##target>(p);                                                \
    }

JOB_LAYOUTS(DEFINE_KERNELS)
DEFINE_ANY(nv12)
DEFINE_ANY(rgb3)
