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
// shared memory, 6 KiB for nv12 and 2 for rgb3: a block reads them once.
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
// 2.4e-4 for Sobel; 2^-13 more keep it from the integer below, while root, product and sum are off
// by at most 5.4e-5. The sign of gx, repeated over three bytes of the index, is the other half of
// the table. Without a gradient the number is that of a NaN, 255, and m is 0. About 25 instructions
// a pixel for nv12, two of them on the special function unit.
#include "kernels/direction_cuda.h"
#include "kernels/sobel.cuh"

namespace {

constexpr uint32_t HALF_TABLE = DIRECTION_CUDA_COLOURS / 2;

// Magnitudes of eight pixels, and where their directions stand in a table, from its middle on.
struct octet {
    uint32_t magnitude[PIXELS];
    int32_t direction[PIXELS];
};

__device__ __forceinline__ uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t r;

    // __byte_perm() has no repeated signs.
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
}

__device__ __forceinline__ float reciprocal(float n)
{
    float r;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(n));
    return r;
}

// `gx` has the sign in byte 1, or in byte 3 if UPPER; `sum` is |gx| + |gy|, at most 2040, both in
// the same unit.
template <bool UPPER>
__device__ __forceinline__ int32_t direction_of(uint32_t gx, float gy, float sum)
{
    float above = __fmaf_rn(gy, 126.0f, __fmul_rn(sum, 126.5f + 0x1p-13f));
    float number = __fmaf_rd(above, reciprocal(sum), 32768.0f);

    return (int32_t)permute(__float_as_uint(number), gx, UPPER ? 0xfff1 : 0xddd1);
}

// Four bytes `byte` of four words.
template <int BYTE>
__device__ __forceinline__ uint32_t gather(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    constexpr uint32_t two = BYTE | (BYTE + 4) << 4;

    return __byte_perm(__byte_perm(a, b, two), __byte_perm(c, d, two), 0x5410);
}

// Targets: the tables they want, from table FIRST on, and how they write eight pixels.
struct to_nv12 {
    static constexpr int FIRST = DIRECTION_CUDA_Y, TABLES = 3;

    static __device__ __forceinline__ uint32_t weigh(const uint32_t *table, const octet &o, int i,
                                                     uint32_t base)
    {
        return o.magnitude[i] * table[o.direction[i]] + (base << 16) + (1 << 15);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void store(const direction_cuda &p, const uint32_t *middle,
                                                 uint32_t x, uint32_t y, const octet &o)
    {
        const uint32_t *u = middle + DIRECTION_CUDA_COLOURS, *v = u + DIRECTION_CUDA_COLOURS;
        uint8_t *__restrict__ luma =
            reinterpret_cast<uint8_t *>(p.output[0]) + (size_t)y * p.output_stride[0] + x;
        uint8_t *__restrict__ chroma =
            reinterpret_cast<uint8_t *>(p.output[1]) + (size_t)(y / 2) * p.output_stride[1] + x;
        uint32_t words[WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i += 4) {
            words[i / 4] = gather<2>(weigh(middle, o, i, 16), weigh(middle, o, i + 1, 16),
                                     weigh(middle, o, i + 2, 16), weigh(middle, o, i + 3, 16));
        }
        store_words<VECTOR>(luma, words, p.width - x);
        if (y % 2 != 0) {
            return;
        }
#pragma unroll
        for (int i = 0; i < PIXELS; i += 4) {
            words[i / 4] = gather<2>(weigh(u, o, i, 128), weigh(v, o, i, 128),
                                     weigh(u, o, i + 2, 128), weigh(v, o, i + 2, 128));
        }
        store_words<VECTOR>(chroma, words, (p.width - x + 1) / 2 * 2);
    }
};

struct to_rgb3 {
    static constexpr int FIRST = DIRECTION_CUDA_RGB, TABLES = 1;

    template <bool VECTOR>
    static __device__ __forceinline__ void store(const direction_cuda &p, const uint32_t *middle,
                                                 uint32_t x, uint32_t y, const octet &o)
    {
        uint8_t *__restrict__ row =
            reinterpret_cast<uint8_t *>(p.output[0]) + (size_t)y * p.output_stride[0];
        uint32_t pixels[PIXELS], words[3 * WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i++) {
            uint32_t colour = middle[o.direction[i]];

            pixels[i] = permute(o.magnitude[i] * (colour >> 16) + 128, o.magnitude[i], colour);
        }
        pack_rgb3(pixels, words);
        store_words<VECTOR>(row + 3 * (size_t)x, words, 3 * (p.width - x));
    }
};

// Eight pixels of a row, from the rows around it.
template <norm NORM, result RESULT>
__device__ __forceinline__ octet make_octet(const direction_cuda &p, const slopes &above,
                                            const slopes &middle, const slopes &below)
{
    octet o;

#pragma unroll
    for (int k = 0; k < 2 * WORDS; k++) {
        half2 gx = gradient_x(above, middle, below, k), gy = gradient_y(above, below, k);
        half2 sum = __hadd2(__habs2(gx), __habs2(gy));
        uint32_t lanes = RESULT == MAGNITUDE ? magnitudes<NORM>(gx, gy)
                                             : scaled<NORM>(p.thresholds, p.gain, gx, gy);
        int first = k / 2 * 4 + k % 2;

        o.magnitude[first] = lanes & 0xffff;
        o.magnitude[first + 2] = lanes >> 16;
        o.direction[first] = direction_of<false>(bits(gx), __low2float(gy), __low2float(sum));
        o.direction[first + 2] = direction_of<true>(bits(gx), __high2float(gy), __high2float(sum));
    }
    return o;
}

// The tile at (x, y), COUNT input rows at a time, none read twice.
template <class format, class target, norm NORM, result RESULT, bool VECTOR, int COUNT>
__device__ __forceinline__ void make_column(const direction_cuda &p, const uint32_t *table,
                                            uint32_t x, uint32_t y)
{
    uint32_t end = y + min(p.rows, p.height - y);
    slopes above = slopes_of(load_strip<format, VECTOR>(p, x, y > 0 ? y - 1 : 0));
    slopes middle = slopes_of(load_strip<format, VECTOR>(p, x, y));

#pragma unroll 1
    for (; y < end; y += COUNT) {
        strip strips[COUNT];

#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            strips[i] = load_strip<format, VECTOR>(p, x, y + i + 1);
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            slopes below = slopes_of(strips[i]);

            if (y + i < end) {
                target::template store<VECTOR>(p, table, x, y + i,
                                               make_octet<NORM, RESULT>(p, above, middle, below));
            }
            above = middle;
            middle = below;
        }
    }
}

// The tables of the target in shared memory, for the whole block; returns their first's middle.
template <class target>
__device__ __forceinline__ const uint32_t *load_tables(const direction_cuda &p)
{
    constexpr uint32_t COUNT = target::TABLES * DIRECTION_CUDA_COLOURS;
    __shared__ uint4 tables[COUNT / 4];
    const uint4 *__restrict__ from =
        reinterpret_cast<const uint4 *>(p.colours) + target::FIRST * DIRECTION_CUDA_COLOURS / 4;

    for (uint32_t i = threadIdx.y * blockDim.x + threadIdx.x; i < COUNT / 4;
         i += blockDim.x * blockDim.y) {
        tables[i] = __ldg(from + i);
    }
    __syncthreads();
    return reinterpret_cast<const uint32_t *>(tables) + HALF_TABLE;
}

__device__ __forceinline__ bool takes_vectors(const direction_cuda &p, uint32_t bytes)
{
    return aligned(p.input | p.input_stride, bytes) &&
           aligned(p.output[0] | p.output_stride[0] | p.output[1] | p.output_stride[1], 8);
}

template <class format, class target>
__device__ __forceinline__ void make_picture(const direction_cuda &p)
{
    const uint32_t *table = load_tables<target>(p);
    uint32_t x = tile_x(), y = tile_y(p.rows);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (!takes_vectors(p, format::VECTOR_BYTES) || x + PIXELS > p.width) {
        if (p.l1) {
            make_column<format, target, L1, SCALED, false, 1>(p, table, x, y);
        } else {
            make_column<format, target, L2, SCALED, false, 1>(p, table, x, y);
        }
    } else if (!p.unity || p.l1) {
        if (p.l1) {
            make_column<format, target, L1, SCALED, true, 1>(p, table, x, y);
        } else {
            make_column<format, target, L2, SCALED, true, 1>(p, table, x, y);
        }
    } else {
        make_column<format, target, L2, MAGNITUDE, true, DIRECTION_CUDA_ROWS>(p, table, x, y);
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

    o.magnitude[i] = round_gain(p.thresholds, p.gain * magnitude, [=] { return n; });
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
    const uint32_t *table = load_tables<target>(p);
    uint32_t x = tile_x(), y = tile_y(p.rows);

    if (x >= p.width || y >= p.height) {
        return;
    }
    uint32_t end = y + min(p.rows, p.height - y);
    bool vector = takes_vectors(p, 1) && x + PIXELS <= p.width;

#pragma unroll 1
    for (; y < end; y++) {
        octet o = make_any_octet(p, x, y);

        if (vector) {
            target::template store<true>(p, table, x, y, o);
        } else {
            target::template store<false>(p, table, x, y, o);
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
