// Gray out of a camera's picture, on its way into a kernel, from any input layout.
//
// Luma of YUV as it is; of RGB (9798 R + 19235 G + 3735 B + 16384) >> 15, as gray.c computes it.
// Read by vectors where address and stride are multiples of a layout's VECTOR_BYTES and a tile lies
// within the picture, else byte by byte.
#pragma once

#include "kernels/gpu/tile.cuh"

namespace {

// The largest power of two up to 16 that divides BYTES: what vectors of so many are aligned to.
template <int BYTES> constexpr int vector_bytes = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 4;

// Input layouts: BYTES a pixel; VECTOR_BYTES the alignment that PIXELS of them want; luma() of one
// pixel; gray() of 4 N pixels as N words. Of the word before a pixel before() makes gray of the
// pixels that it holds whole, the last of them in byte 3, and of the word behind one after() the
// first in byte 0. For that there have to be AFTER pixels.

// Layouts of YUV: a pixel's luma is byte OFFSET of STEP.
template <int STEP, int OFFSET> struct luma_bytes {
    static constexpr int BYTES = STEP, VECTOR_BYTES = JOB_VECTOR_BYTES(STEP), AFTER = 4 / STEP;

    static __device__ __forceinline__ uint32_t luma(const uint8_t *__restrict__ pixel)
    {
        return __ldg(pixel + OFFSET);
    }

    static __device__ __forceinline__ uint32_t before(uint32_t word)
    {
        return STEP == 1 ? word : __byte_perm(word, 0, OFFSET ? 0x3100 : 0x2000);
    }

    static __device__ __forceinline__ uint32_t after(uint32_t word)
    {
        return STEP == 1 ? word : __byte_perm(word, 0, OFFSET ? 0x0031 : 0x0020);
    }
};

struct planar : luma_bytes<1, 0> {
    template <int N>
    static __device__ __forceinline__ void gray(const uint32_t (&raw)[N], uint32_t (&words)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            words[i] = raw[i];
    }
};

template <int OFFSET> struct packed : luma_bytes<2, OFFSET> {
    template <int N>
    static __device__ __forceinline__ void gray(const uint32_t (&raw)[2 * N], uint32_t (&words)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            words[i] = __byte_perm(raw[2 * i], raw[2 * i + 1], OFFSET ? 0x7531 : 0x6420);
    }
};

// Pixel `i` of pixels STEP bytes apart, its three bytes lowest.
template <int STEP, int N>
__device__ __forceinline__ uint32_t rgb_pixel(const uint32_t (&raw)[N], int i)
{
    int word = STEP * i / 4, shift = STEP * i % 4 * 8;

    return shift <= 8 ? raw[word] >> shift : __funnelshift_r(raw[word], raw[word + 1], shift);
}

// First, second and third byte of a pixel and their weights, doubled: the result is byte 2.
template <int STEP, uint32_t FIRST, uint32_t THIRD> struct rgb {
    static constexpr int BYTES = STEP, VECTOR_BYTES = JOB_VECTOR_BYTES(STEP);
    static constexpr int AFTER = STEP == 4 ? 1 : 2;
    static constexpr uint32_t SECOND = 38470, HALF = 32768;

    // `pixel` has the three bytes lowest.
    static __device__ __forceinline__ uint32_t weigh(uint32_t pixel)
    {
        return __dp2a_hi(THIRD, pixel, __dp2a_lo(FIRST | SECOND << 16, pixel, HALF));
    }

    static __device__ __forceinline__ uint32_t luma(const uint8_t *__restrict__ pixel)
    {
        return weigh(__ldg(pixel) | __ldg(pixel + 1) << 8 | __ldg(pixel + 2) << 16) >> 16;
    }

    template <int N>
    static __device__ __forceinline__ void gray(const uint32_t (&raw)[STEP * N],
                                                uint32_t (&words)[N])
    {
        uint32_t sums[4];

#pragma unroll
        for (int i = 0; i < 4 * N; i++) {
            sums[i % 4] = weigh(rgb_pixel<STEP>(raw, i));
            if (i % 4 == 3) {
                words[i / 4] = __byte_perm(__byte_perm(sums[0], sums[1], 0x0062),
                                           __byte_perm(sums[2], sums[3], 0x0062), 0x5410);
            }
        }
    }

    // The pixel's bytes are the highest.
    static __device__ __forceinline__ uint32_t before(uint32_t word)
    {
        return weigh(STEP == 4 ? word : word >> 8) << 8;
    }

    // The pixel's bytes are the lowest.
    static __device__ __forceinline__ uint32_t after(uint32_t word)
    {
        return weigh(word) >> 16;
    }
};

using yuyv = packed<0>;
using uyvy = packed<1>;
using rgb3 = rgb<3, 19596, 7470>;
using bgr3 = rgb<3, 7470, 19596>;
using xr24 = rgb<4, 7470, 19596>;

// Gray of 4 N pixels from a multiple of vector_bytes<4 N BYTES> on.
template <class format, int N>
__device__ __forceinline__ void load_aligned(const uint8_t *__restrict__ from, uint32_t (&words)[N])
{
    uint32_t raw[format::BYTES * N];

    load_words<vector_bytes<4 * N * format::BYTES>>(from, raw);
    format::gray(raw, words);
}

// Gray of the 4 N pixels from `x` on; those past the picture are 0.
template <class format, bool VECTOR, int N>
__device__ __forceinline__ void load_gray(const uint8_t *__restrict__ row, uint32_t x,
                                          uint32_t width, uint32_t (&words)[N])
{
    const uint8_t *from = row + (size_t)x * format::BYTES;

    if constexpr (VECTOR) {
        load_aligned<format>(from, words);
    } else {
        // Word by word: all bytes on their way at once would not fit the registers.
#pragma unroll
        for (int i = 0; i < N; i++) {
            words[i] = 0;
#pragma unroll 1
            for (uint32_t k = 0; k < 4 && x + 4 * i + k < width; k++)
                words[i] |= format::luma(from + (size_t)(4 * i + k) * format::BYTES) << 8 * k;
        }
    }
}

} // namespace
