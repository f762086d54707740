// A tile of NV12 out of a camera's picture, on its way into a kernel, from any format: 8 pixels by
// 2 rows of luma and their 4 pairs of chroma, by the formulas of convert.h.
//
// Read by vectors where addresses and strides are multiples of a source's ALIGN (plane 0) and
// CHROMA_ALIGN (the others) and a tile lies within the picture, else byte by byte.
#pragma once

#include "kernels/gpu/gray.cuh"

namespace {

constexpr int ROWS = JOB_ROWS_CHROMA;

// A tile of NV12, and its gray, which of YUV is the luma.
struct nv12_tile {
    uint32_t luma[ROWS][WORDS], chroma[WORDS], gray[ROWS][WORDS];
};

// N words from byte `x` on of row `y` of a plane, below the picture its last row; `count` bytes are
// left in the row.
template <bool VECTOR, int VECTOR_BYTES, int N>
__device__ __forceinline__ void load_row(const gpu_job &j, int plane, uint32_t x, uint32_t y,
                                         uint32_t rows, uint32_t count, uint32_t (&words)[N])
{
    load_bytes<VECTOR, VECTOR_BYTES>(input_row(j, plane, min(y, rows - 1)) + x, count, words);
}

// Of four bytes each: (a + b + 1) >> 1.
__device__ __forceinline__ uint32_t mean2(uint32_t a, uint32_t b)
{
    return (a | b) - ((a ^ b) >> 1 & 0x7f7f7f7f);
}

// Two by two of four columns: (a + b + c + d + 2) >> 2 in two 16 bit lanes.
__device__ __forceinline__ uint32_t mean4(uint32_t top, uint32_t bottom)
{
    const uint32_t even = 0x00ff00ff;

    return ((top & even) + (top >> 8 & even) + (bottom & even) + (bottom >> 8 & even) +
            0x00020002) >>
               2 &
           even;
}

// Four bytes of U and of V each to pairs.
__device__ __forceinline__ void interleave(uint32_t u, uint32_t v, uint32_t (&pairs)[WORDS])
{
    pairs[0] = __byte_perm(u, v, 0x5140);
    pairs[1] = __byte_perm(u, v, 0x7362);
}

// Sources. ALIGN of plane 0 and CHROMA_ALIGN of the others are what vectors want; load() makes the
// tile at (x, y) of the parameters' job.
template <bool VECTOR>
__device__ __forceinline__ void load_luma(const gpu_job &j, uint32_t x, uint32_t y, nv12_tile &tile)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_row<VECTOR, 8>(j, 0, x, y + i, j.height, j.width - x, tile.luma[i]);
        tile.gray[i][0] = tile.luma[i][0];
        tile.gray[i][1] = tile.luma[i][1];
    }
}

struct from_grey {
    static constexpr int BYTES = 1, ALIGN = 8, CHROMA_ALIGN = 1;

    // Pixel `i` of those loaded, red in the lowest byte.
    static __device__ __forceinline__ uint32_t rgb_of(const uint32_t (&raw)[WORDS], int i)
    {
        return __byte_perm(raw[i / 4], 0, 0x4000 | i % 4 * 0x111);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void load_pixels(const gpu_job &j, uint32_t x, uint32_t y,
                                                       uint32_t (&raw)[WORDS])
    {
        load_row<VECTOR, ALIGN>(j, 0, x, y, j.height, j.width - x, raw);
    }

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        load_luma<VECTOR>(j, x, y, tile);
        tile.chroma[0] = tile.chroma[1] = 0x80808080;
    }
};

struct from_nv12 {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 8;

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        load_luma<VECTOR>(j, x, y, tile);
        load_row<VECTOR, 8>(j, 1, x, y / 2, (j.height + 1) / 2, (j.width - x + 1) / 2 * 2,
                            tile.chroma);
    }
};

struct from_nv21 {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 8;

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        uint32_t vu[WORDS];

        load_luma<VECTOR>(j, x, y, tile);
        load_row<VECTOR, 8>(j, 1, x, y / 2, (j.height + 1) / 2, (j.width - x + 1) / 2 * 2, vu);
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            tile.chroma[i] = __byte_perm(vu[i], 0, 0x2301);
    }
};

struct from_yu12 {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 4;

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        uint32_t rows = (j.height + 1) / 2, count = (j.width - x + 1) / 2, u[1], v[1];

        load_luma<VECTOR>(j, x, y, tile);
        load_row<VECTOR, 4>(j, 1, x / 2, y / 2, rows, count, u);
        load_row<VECTOR, 4>(j, 2, x / 2, y / 2, rows, count, v);
        interleave(u[0], v[0], tile.chroma);
    }
};

struct from_422p {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 4;

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        uint32_t count = (j.width - x + 1) / 2, u[ROWS][1], v[ROWS][1];

        load_luma<VECTOR>(j, x, y, tile);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_row<VECTOR, 4>(j, 1, x / 2, y + i, j.height, count, u[i]);
            load_row<VECTOR, 4>(j, 2, x / 2, y + i, j.height, count, v[i]);
        }
        interleave(mean2(u[0][0], u[1][0]), mean2(v[0][0], v[1][0]), tile.chroma);
    }
};

struct from_444p {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 8;

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        uint32_t u[ROWS][WORDS], v[ROWS][WORDS];

        load_luma<VECTOR>(j, x, y, tile);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_row<VECTOR, 8>(j, 1, x, y + i, j.height, j.width - x, u[i]);
            load_row<VECTOR, 8>(j, 2, x, y + i, j.height, j.width - x, v[i]);
        }
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            tile.chroma[i] = mean4(u[0][i], u[1][i]) | mean4(v[0][i], v[1][i]) << 8;
    }
};

// OFFSET of the first luma byte: 0 or 1.
template <int OFFSET> struct from_packed {
    static constexpr int ALIGN = 16, CHROMA_ALIGN = 1;

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        uint32_t raw[ROWS][2 * WORDS], chroma[ROWS][WORDS];

#pragma unroll
        for (int i = 0; i < ROWS; i++)
            load_row<VECTOR, 16>(j, 0, 2 * x, y + i, j.height, (j.width - x + 1) / 2 * 4, raw[i]);
#pragma unroll
        for (int i = 0; i < ROWS * WORDS; i++) {
            uint32_t a = raw[i / WORDS][i % WORDS * 2], b = raw[i / WORDS][i % WORDS * 2 + 1];

            tile.luma[i / WORDS][i % WORDS] = __byte_perm(a, b, OFFSET ? 0x7531 : 0x6420);
            tile.gray[i / WORDS][i % WORDS] = tile.luma[i / WORDS][i % WORDS];
            chroma[i / WORDS][i % WORDS] = __byte_perm(a, b, OFFSET ? 0x6420 : 0x7531);
        }
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            tile.chroma[i] = mean2(chroma[0][i], chroma[1][i]);
    }
};

using from_yuyv = from_packed<0>;
using from_uyvy = from_packed<1>;

// STEP bytes a pixel; BLUE first, or red. To limited range as convert.h has it, or FULL as
// colour.h, by the matrix whose factors are given.
template <int STEP, bool BLUE, bool FULL = false> struct from_rgb {
    static constexpr int BYTES = STEP, ALIGN = STEP == 4 ? 16 : 8, CHROMA_ALIGN = 1;
    using weights = rgb<STEP, BLUE ? 7470 : 19596, BLUE ? 19596 : 7470>;

    static __device__ __forceinline__ int weigh(uint32_t pixel, int red, int green, int blue,
                                                int base)
    {
        int first = pixel & 255, second = pixel >> 8 & 255, third = pixel >> 16 & 255;
        int value = ((BLUE ? blue : red) * first + green * second + (BLUE ? red : blue) * third +
                     (base << 20) + (1 << 19)) >>
                    20;

        return FULL ? min(value, 255) : value;
    }

    static __device__ __forceinline__ int weigh(uint32_t pixel, const int32_t (&factors)[3],
                                                int base)
    {
        return weigh(pixel, factors[0], factors[1], factors[2], base);
    }

    template <class parameters>
    static __device__ __forceinline__ uint32_t y_of(const parameters &p, uint32_t pixel)
    {
        if constexpr (FULL)
            return weigh(pixel, p.y, 0);
        else
            return weigh(pixel, 269484, 528482, 102760, 16);
    }

    // U and V.
    template <class parameters>
    static __device__ __forceinline__ uint32_t pair_of(const parameters &p, uint32_t pixel)
    {
        if constexpr (FULL) {
            return weigh(pixel, p.u, 128) | weigh(pixel, p.v, 128) << 8;
        } else {
            return weigh(pixel, -155188, -305135, 460324, 128) |
                   weigh(pixel, 460324, -385875, -74448, 128) << 8;
        }
    }

    // Pixel `i` of those loaded, red in the lowest byte.
    static __device__ __forceinline__ uint32_t rgb_of(const uint32_t (&raw)[STEP * WORDS], int i)
    {
        return __byte_perm(rgb_pixel<STEP>(raw, i), 0, BLUE ? 0x4012 : 0x4210);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void load_pixels(const gpu_job &j, uint32_t x, uint32_t y,
                                                       uint32_t (&raw)[STEP * WORDS])
    {
        load_row<VECTOR, ALIGN>(j, 0, STEP * x, y, j.height, STEP * (j.width - x), raw);
    }

    template <bool VECTOR, class parameters>
    static __device__ __forceinline__ void load(const parameters &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        const gpu_job &j = p.job;
        uint32_t raw[ROWS][BYTES * WORDS];

#pragma unroll
        for (int i = 0; i < ROWS; i++)
            load_pixels<VECTOR>(j, x, y + i, raw[i]);
#pragma unroll
        for (int i = 0; i < ROWS * PIXELS; i++) {
            uint32_t pixel = rgb_pixel<STEP>(raw[i / PIXELS], i % PIXELS);
            uint32_t value = y_of(p, pixel) << i % 4 * 8;
            uint32_t gray = weights::weigh(pixel) >> 16 << i % 4 * 8;
            uint32_t &word = tile.luma[i / PIXELS][i % PIXELS / 4];
            uint32_t &gray_word = tile.gray[i / PIXELS][i % PIXELS / 4];

            word = i % 4 == 0 ? value : word | value;
            gray_word = i % 4 == 0 ? gray : gray_word | gray;
        }
#pragma unroll
        for (int i = 0; i < PIXELS; i += 2) {
            uint32_t pair = pair_of(p, rgb_pixel<STEP>(raw[0], i)) << i % 4 * 8;
            uint32_t &word = tile.chroma[i / 4];

            word = i % 4 == 0 ? pair : word | pair;
        }
    }
};

using from_rgb3 = from_rgb<3, false>;
using from_bgr3 = from_rgb<3, true>;
using from_xr24 = from_rgb<4, true>;

// The tile at (x, y) to a picture in NV12.
template <bool VECTOR>
__device__ __forceinline__ void store_nv12(const gpu_job &j, uint32_t x, uint32_t y,
                                           const nv12_tile &tile)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (y + i < j.height)
            store_words<VECTOR>(output_row(j, 0, y + i) + x, tile.luma[i], j.width - x);
    }
    store_words<VECTOR>(output_row(j, 1, y / 2) + x, tile.chroma, (j.width - x + 1) / 2 * 2);
}

// Whether a tile of whole width may be read from `source` and written by vectors.
template <class source> __device__ __forceinline__ bool takes_vectors(const gpu_job &j)
{
    return aligned(j.input[0] | j.input_stride[0], source::ALIGN) &&
           aligned(j.input[1] | j.input_stride[1] | j.input[2] | j.input_stride[2],
                   source::CHROMA_ALIGN) &&
           aligned(j.output[0] | j.output_stride[0] | j.output[1] | j.output_stride[1], 8);
}

} // namespace
