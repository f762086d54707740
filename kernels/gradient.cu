// Sobel 3x3 magnitude of a camera's picture, one launch: gray, gradient, range.
//
//   gx = (tr + 2 mr + br) - (tl + 2 ml + bl)      gy = (bl + 2 bm + br) - (tl + 2 tm + tr)
//   l2 = min(255, round(gain * sqrt(gx² + gy²)))  l1 = min(255, round(gain * (|gx| + |gy|)))
//   limited: 16 + (219 m + 127) / 255             gray of RGB: (9798 R + 19235 G + 3735 B + 16384)
//   >> 15
//
// with the border replicated, bit for bit what gray.c, gradient.c and compose.c compute.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: one byte a pixel, rows `output_stride`
// apart. Nothing outside the pixels of either is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 4 rows at (8 x, 4 y), whatever the
// shape of a block is: threads share nothing. A tile reads 6 rows of 10 pixels, so rows come in 1.5
// times, the second time out of L1 or L2, but out of DRAM where the GPU caches no pinned memory
// (Jetson). Eight rows a thread leave too few threads for 1080p: 1.34 instead of 0.97 times a copy
// on an H200, and gain nothing at 8K. Bytes a pixel: input 1 to 4, output 1.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES; other tiles go byte by byte through the same
// arithmetic.
//
// Arithmetic. A byte with a zero byte above it is, read as a half, the denormal number v * 2^-24,
// and every integer up to 2048 in that unit is exact. So two pixels share an instruction, sums need
// no bias and no conversion, sign and absolute value are one bit, and rounding a float scaled by
// 2^-24 to half rounds it to an integer. The two pixels of a pair lie two apart, a word of four
// bytes being `even` (0, 2) and `odd` (1, 3). The square root is approximate (2^-22): the nearest
// tie of the square root of an integer is 5e-4 off at 255. About 16 instructions a pixel, one of
// them on the special function unit.
#include "kernels/gradient_cuda.h"
#include "kernels/gray.cuh"

#include <cuda_fp16.h>

namespace {

constexpr int ROWS = GRADIENT_CUDA_ROWS;
// Rows on their way before the first is used; more would not fit the registers.
constexpr int AHEAD = 6;
// Largest number of threads a block may have: what the registers are limited for.
constexpr int THREADS_MAX = 1024;

enum norm { L2, L1 };
enum range { FULL, LIMITED };
enum gain { UNITY, ANY };

// Two pixels as halves, and back.
__device__ __forceinline__ half2 pair(uint32_t bits)
{
    return *reinterpret_cast<half2 *>(&bits);
}

__device__ __forceinline__ uint32_t bits(half2 pair)
{
    return *reinterpret_cast<uint32_t *>(&pair);
}

// One input row's share of gx, right - left, and of gy, left + 2 middle + right. Pairs even, odd,
// even, … of the words.
struct slopes {
    half2 across[2 * WORDS], along[2 * WORDS];
};

__device__ __forceinline__ slopes slopes_of(const strip &s)
{
    const half2 two = __float2half2_rn(2.0f);
    uint32_t even[WORDS], odd[WORDS];
    slopes r;

#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        even[i] = s.words[i] & 0x00ff00ff;
        odd[i] = __byte_perm(s.words[i], 0, 0x4341);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        half2 before = pair(i > 0 ? __byte_perm(odd[i > 0 ? i - 1 : 0], odd[i], 0x5432)
                                  : __byte_perm(s.left, odd[0], 0x5410));
        half2 after = pair(__byte_perm(
            even[i], i + 1 < WORDS ? even[i + 1 < WORDS ? i + 1 : 0] : s.right, 0x5432));
        half2 e = pair(even[i]), o = pair(odd[i]);

        r.across[2 * i] = __hsub2(o, before);
        r.across[2 * i + 1] = __hsub2(after, e);
        r.along[2 * i] = __hadd2(__hfma2(e, two, before), o);
        r.along[2 * i + 1] = __hadd2(__hfma2(o, two, e), after);
    }
    return r;
}

__device__ __forceinline__ float root(float n)
{
    float r;

    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(n));
    return r;
}

// The result for one pixel whose magnitude is `f` and whose n is exact, near a rounding tie where
// the approximation must not decide.
__device__ __forceinline__ uint32_t settle(const uint32_t *__restrict__ thresholds, float f,
                                           uint32_t n)
{
    uint32_t below = (uint32_t)f;

    return below >= 255 ? 255 : below + (n >= __ldg(thresholds + below + 1));
}

// Any gain. `n` in units of one, `f` = gain * magnitude.
__device__ __forceinline__ uint32_t round_gain(const gradient_cuda &p, float f, float n)
{
    float rounded = rintf(f);

    if (fabsf(f - rounded) > 0.4995f) {
        return settle(reinterpret_cast<const uint32_t *>(p.thresholds), f, (uint32_t)n);
    }
    return (uint32_t)fminf(rounded, 255.0f);
}

// Two results of 0..255 in 16 bit lanes.
template <norm NORM, gain GAIN>
__device__ __forceinline__ uint32_t magnitudes(const gradient_cuda &p, half2 gx, half2 gy)
{
    const half2 most = pair(0x00ff00ff);
    const float unit = 16777216.0f; // 2^24

    if (NORM == L1) {
        half2 sum = __hadd2(__habs2(gx), __habs2(gy));

        if (GAIN == ANY) {
            float a = __low2float(sum) * unit, b = __high2float(sum) * unit;

            return round_gain(p, a * p.gain, a) | round_gain(p, b * p.gain, b) << 16;
        }
        return bits(__hmin2(sum, most));
    }
    float xa = __low2float(gx), xb = __high2float(gx);
    float ya = __low2float(gy), yb = __high2float(gy);
    float a = xa * xa + ya * ya, b = xb * xb + yb * yb;

    if (GAIN == ANY) {
        return round_gain(p, root(a) * unit * p.gain, a * unit * unit) |
               round_gain(p, root(b) * unit * p.gain, b * unit * unit) << 16;
    }
    return bits(__hmin2(__floats2half2_rn(root(a), root(b)), most));
}

// Four pixels, from lanes (0, 2) and (1, 3).
template <range RANGE> __device__ __forceinline__ uint32_t finish(uint32_t even, uint32_t odd)
{
    if (RANGE == FULL) {
        return __byte_perm(even, odd, 0x6240);
    }
    even = even * 219 + 0x00800080; // compose.c has the formula
    odd = odd * 219 + 0x00800080;
    even += __byte_perm(even, 0, 0x4341) + 0x10001000;
    odd += __byte_perm(odd, 0, 0x4341) + 0x10001000;
    return __byte_perm(even, odd, 0x7351);
}

template <bool VECTOR>
__device__ __forceinline__ void store_strip(uint8_t *__restrict__ to,
                                            const uint32_t (&words)[WORDS], uint32_t count)
{
    if (VECTOR) {
        *reinterpret_cast<vector *>(to) = *reinterpret_cast<const vector *>(words);
        return;
    }
#pragma unroll
    for (int i = 0; i < PIXELS; i++) {
        if (i < count) {
            to[i] = (uint8_t)(words[i / 4] >> i % 4 * 8);
        }
    }
}

// `COUNT` rows from (x, y) on, of which those below the picture are left out.
template <class format, norm NORM, range RANGE, gain GAIN, bool VECTOR, int COUNT>
__device__ __forceinline__ void make_tile(const gradient_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ input = reinterpret_cast<const uint8_t *>(p.input);
    uint8_t *__restrict__ output = reinterpret_cast<uint8_t *>(p.output);
    strip strips[COUNT + 2];
    slopes s[COUNT + 2];

    auto load = [&](int i) {
        uint32_t above = y + i > 0 ? y + i - 1 : 0;
        uint32_t row = min(above, p.height - 1);

        strips[i] = load_strip<format, VECTOR>(input + (size_t)row * p.input_stride, x, p.width);
    };

#pragma unroll
    for (int i = 0; i < (AHEAD < COUNT + 2 ? AHEAD : COUNT + 2); i++) {
        load(i);
    }
    s[0] = slopes_of(strips[0]);
    s[1] = slopes_of(strips[1]);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const half2 two = __float2half2_rn(2.0f);
        uint32_t lanes[2 * WORDS], words[WORDS];

        if (i + AHEAD < COUNT + 2) {
            load(i + AHEAD);
        }
        s[i + 2] = slopes_of(strips[i + 2]);
#pragma unroll
        for (int k = 0; k < 2 * WORDS; k++) {
            half2 gx =
                __hadd2(__hfma2(s[i + 1].across[k], two, s[i].across[k]), s[i + 2].across[k]);
            half2 gy = __hsub2(s[i + 2].along[k], s[i].along[k]);

            lanes[k] = magnitudes<NORM, GAIN>(p, gx, gy);
        }
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            words[k] = finish<RANGE>(lanes[2 * k], lanes[2 * k + 1]);
        }
        if (y + i < p.height) {
            store_strip<VECTOR>(output + (size_t)(y + i) * p.output_stride + x, words, p.width - x);
        }
    }
}

// The same for tiles that need not be fast: row by row, to stay small.
template <class format, norm NORM, range RANGE, bool VECTOR>
__device__ __forceinline__ void make_tile_slowly(const gradient_cuda &p, uint32_t x, uint32_t y)
{
#pragma unroll 1
    for (int i = 0; i < ROWS && y + i < p.height; i++) {
        make_tile<format, NORM, RANGE, ANY, VECTOR, 1>(p, x, y + i);
    }
}

template <class format, norm NORM, range RANGE>
__device__ __forceinline__ void make_picture(const gradient_cuda &p)
{
    uint32_t x = (blockIdx.x * blockDim.x + threadIdx.x) * PIXELS;
    uint32_t y = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    bool vectors = (p.input | p.input_stride) % format::VECTOR_BYTES == 0 &&
                   (p.output | p.output_stride) % PIXELS == 0;

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (!vectors || x + PIXELS > p.width) {
        make_tile_slowly<format, NORM, RANGE, false>(p, x, y);
    } else if (!p.unity) {
        make_tile_slowly<format, NORM, RANGE, true>(p, x, y);
    } else {
        make_tile<format, NORM, RANGE, UNITY, true, ROWS>(p, x, y);
    }
}

} // namespace

#define DEFINE_KERNEL(format, lower, NORM, suffix, RANGE)                                          \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        gradient_##format##_##lower##_##suffix(const __grid_constant__ gradient_cuda p)            \
    {                                                                                              \
        make_picture<format, NORM, RANGE>(p);                                                      \
    }
#define DEFINE_KERNELS(format)                                                                     \
    DEFINE_KERNEL(format, l2, L2, full, FULL)                                                      \
    DEFINE_KERNEL(format, l2, L2, limited, LIMITED)                                                \
    DEFINE_KERNEL(format, l1, L1, full, FULL)                                                      \
    DEFINE_KERNEL(format, l1, L1, limited, LIMITED)

GRADIENT_CUDA_KERNELS(DEFINE_KERNELS)
