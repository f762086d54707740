// Gray out of a camera's picture, on its way into a kernel: eight pixels a thread, and the pixel on
// either side of them, from any input layout.
//
// Luma of YUV as it is; of RGB (9798 R + 19235 G + 3735 B + 16384) >> 15, as gray.c computes it.
// Four gray pixels are a word, the first in the lowest byte. Layouts, alignment and the two ways to
// read them, by vectors and byte by byte, are described at the top of gradient.cu.
#pragma once

#include "kernels/gradient_cuda.h"

#include <stdint.h>

namespace {

using vector = uint2; // of PIXELS bytes
constexpr int PIXELS = GRADIENT_CUDA_PIXELS, WORDS = PIXELS / 4;

// N words from an address that is a multiple of VECTOR_BYTES.
template <int VECTOR_BYTES, int N>
__device__ __forceinline__ void load_words(const uint8_t *__restrict__ from, uint32_t (&words)[N])
{
    if (VECTOR_BYTES == 16) {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            uint4 v = __ldg(reinterpret_cast<const uint4 *>(from) + i / 4);

            words[i] = v.x, words[i + 1] = v.y, words[i + 2] = v.z, words[i + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            uint2 v = __ldg(reinterpret_cast<const uint2 *>(from) + i / 2);

            words[i] = v.x, words[i + 1] = v.y;
        }
    }
}

// Input layouts: BYTES a pixel; VECTOR_BYTES the alignment load() wants; luma() of one pixel, and
// beside() of one next to pixels that load() takes; load() of PIXELS of them as WORDS words.
struct planar {
    static constexpr int BYTES = 1, VECTOR_BYTES = PIXELS >= 16 ? 16 : 8;

    static __device__ __forceinline__ uint32_t luma(const uint8_t *__restrict__ pixel)
    {
        return __ldg(pixel);
    }

    static __device__ __forceinline__ uint32_t beside(const uint8_t *__restrict__ pixel)
    {
        return luma(pixel);
    }

    static __device__ __forceinline__ void load(const uint8_t *__restrict__ from,
                                                uint32_t (&words)[WORDS])
    {
        load_words<VECTOR_BYTES>(from, words);
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

    static __device__ __forceinline__ void load(const uint8_t *__restrict__ from,
                                                uint32_t (&words)[WORDS])
    {
        uint32_t raw[2 * WORDS];

        load_words<VECTOR_BYTES>(from, raw);
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            words[i] = __byte_perm(raw[2 * i], raw[2 * i + 1], OFFSET ? 0x7531 : 0x6420);
        }
    }
};

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

    static __device__ __forceinline__ void load(const uint8_t *__restrict__ from,
                                                uint32_t (&words)[WORDS])
    {
        uint32_t raw[STEP * WORDS], sums[4];

        load_words<VECTOR_BYTES>(from, raw);
#pragma unroll
        for (int i = 0; i < PIXELS; i++) {
            int word = STEP * i / 4, shift = STEP * i % 4 * 8;

            sums[i % 4] = weigh(shift <= 8 ? raw[word] >> shift
                                           : __funnelshift_r(raw[word], raw[word + 1], shift));
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

// Eight gray pixels and the neighbour on either side.
struct strip {
    uint32_t words[WORDS], left, right;
};

template <class format, bool VECTOR>
__device__ __forceinline__ strip load_strip(const uint8_t *__restrict__ row, uint32_t x,
                                            uint32_t width)
{
    const uint8_t *from = row + (size_t)x * format::BYTES;
    strip s;

    if (VECTOR) {
        format::load(from, s.words);
        s.left = x > 0 ? format::beside(from - format::BYTES) : s.words[0] & 255;
        s.right = x + PIXELS < width ? format::beside(from + PIXELS * format::BYTES)
                                     : s.words[WORDS - 1] >> 24;
        return s;
    }
    s.left = format::luma(x > 0 ? from - format::BYTES : from);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        s.words[i] = 0;
    }
#pragma unroll
    for (int i = 0; i <= PIXELS; i++) {
        uint32_t at = min(x + i, width - 1) - x;

        s.right = format::luma(from + (size_t)at * format::BYTES);
        if (i < PIXELS) {
            s.words[i / 4] |= s.right << i % 4 * 8;
        }
    }
    return s;
}

} // namespace
