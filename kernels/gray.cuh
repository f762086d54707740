// Gray out of a camera's picture, on its way into a kernel, from any input layout.
//
// Luma of YUV as it is; of RGB (9798 R + 19235 G + 3735 B + 16384) >> 15, as gray.c computes it.
// Read by vectors where address and stride are multiples of a layout's VECTOR_BYTES and a tile lies
// within the picture, else byte by byte.
#pragma once

#include "kernels/tile.cuh"

namespace {

// The largest power of two up to 16 that divides BYTES: what vectors of so many are aligned to.
template <int BYTES> constexpr int vector_bytes = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 4;

// Input layouts: BYTES a pixel; VECTOR_BYTES the alignment load() wants for PIXELS of them; luma()
// of one pixel, and beside() of one next to pixels that load() takes; load() of 4 N pixels as N
// words, from a multiple of vector_bytes<4 N BYTES>.
struct planar {
    static constexpr int BYTES = 1, VECTOR_BYTES = 8;

    static __device__ __forceinline__ uint32_t luma(const uint8_t *__restrict__ pixel)
    {
        return __ldg(pixel);
    }

    static __device__ __forceinline__ uint32_t beside(const uint8_t *__restrict__ pixel)
    {
        return luma(pixel);
    }

    template <int N>
    static __device__ __forceinline__ void load(const uint8_t *__restrict__ from,
                                                uint32_t (&words)[N])
    {
        load_words<vector_bytes<4 * N>>(from, words);
    }
};

template <int OFFSET> struct packed {
    static constexpr int BYTES = 2, VECTOR_BYTES = 16;

    static __device__ __forceinline__ uint32_t luma(const uint8_t *__restrict__ pixel)
    {
        return __ldg(pixel + OFFSET);
    }

    static __device__ __forceinline__ uint32_t beside(const uint8_t *__restrict__ pixel)
    {
        return luma(pixel);
    }

    template <int N>
    static __device__ __forceinline__ void load(const uint8_t *__restrict__ from,
                                                uint32_t (&words)[N])
    {
        uint32_t raw[2 * N];

        load_words<vector_bytes<8 * N>>(from, raw);
#pragma unroll
        for (int i = 0; i < N; i++) {
            words[i] = __byte_perm(raw[2 * i], raw[2 * i + 1], OFFSET ? 0x7531 : 0x6420);
        }
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
    static constexpr int BYTES = STEP, VECTOR_BYTES = STEP == 4 ? 16 : 8;

    // `pixel` has the three bytes lowest.
    static __device__ __forceinline__ uint32_t weigh(uint32_t pixel)
    {
        return __dp2a_hi(THIRD, pixel, __dp2a_lo(FIRST | 38470u << 16, pixel, 32768u));
    }

    static __device__ __forceinline__ uint32_t luma(const uint8_t *__restrict__ pixel)
    {
        return weigh(__ldg(pixel) | __ldg(pixel + 1) << 8 | __ldg(pixel + 2) << 16) >> 16;
    }

    static __device__ __forceinline__ uint32_t beside(const uint8_t *__restrict__ pixel)
    {
        return STEP == 4 ? weigh(__ldg(reinterpret_cast<const uint32_t *>(pixel))) >> 16
                         : luma(pixel);
    }

    template <int N>
    static __device__ __forceinline__ void load(const uint8_t *__restrict__ from,
                                                uint32_t (&words)[N])
    {
        uint32_t raw[STEP * N], sums[4];

        load_words<vector_bytes<4 * N * STEP>>(from, raw);
#pragma unroll
        for (int i = 0; i < 4 * N; i++) {
            sums[i % 4] = weigh(rgb_pixel<STEP>(raw, i));
            if (i % 4 == 3) {
                words[i / 4] = __byte_perm(__byte_perm(sums[0], sums[1], 0x0062),
                                           __byte_perm(sums[2], sums[3], 0x0062), 0x5410);
            }
        }
    }
};

using yuyv = packed<0>;
using uyvy = packed<1>;
using rgb3 = rgb<3, 19596, 7470>;
using bgr3 = rgb<3, 7470, 19596>;
using xr24 = rgb<4, 7470, 19596>;

// Gray of the 4 N pixels from `x` on; those past the picture are 0.
template <class format, bool VECTOR, int N>
__device__ __forceinline__ void load_gray(const uint8_t *__restrict__ row, uint32_t x,
                                          uint32_t width, uint32_t (&words)[N])
{
    const uint8_t *from = row + (size_t)x * format::BYTES;

    if constexpr (VECTOR) {
        format::load(from, words);
    } else {
        // Word by word: all bytes on their way at once would not fit the registers.
#pragma unroll
        for (int i = 0; i < N; i++) {
            words[i] = 0;
#pragma unroll 1
            for (uint32_t k = 0; k < 4 && x + 4 * i + k < width; k++) {
                words[i] |= format::luma(from + (size_t)(4 * i + k) * format::BYTES) << 8 * k;
            }
        }
    }
}

} // namespace
