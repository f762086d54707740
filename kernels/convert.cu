// A camera's picture in another pixel format, for the view that shows it as it is, in one launch:
// to NV12 and to RGB3, bit for bit what convert.c computes, whose header has the formulas.
//
// Buffers. Input: 1 to 3 planes as capture/pixel_format.c lays them out, rows input_stride[i] bytes
// apart. Output: luma and pairs of U and V (nv12), or 3 bytes a pixel (rgb3), rows output_stride[i]
// apart. Nothing outside the pixels of any is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 2 rows at (8 x, 2 y), which is 4
// pairs of chroma: rows that share chroma are the same thread's, and threads share nothing. Every
// input byte is read once (the last row of an odd number twice), every output byte written once.
// Bytes a pixel: 1.5 written to NV12, 3 to RGB3; 1 to 4 read.
//
// Alignment. Vectors of 4 to 16 bytes are used where a tile lies within the picture and addresses
// and strides are multiples of a source's ALIGN (plane 0) and CHROMA_ALIGN, those of the output
// of 8; other tiles go byte by byte through the same arithmetic.
#include "kernels/convert_cuda.h"
#include "kernels/gray.cuh"

namespace {

constexpr int ROWS = CONVERT_CUDA_ROWS;

// What a tile of NV12 is made of.
struct nv12_tile {
    uint32_t luma[ROWS][WORDS], chroma[WORDS];
};

// N words from byte `x` on of row `y` of a plane, below the picture its last row; `count` bytes are
// left in the row.
template <bool VECTOR, int VECTOR_BYTES, int N>
__device__ __forceinline__ void load_row(const convert_cuda &p, int plane, uint32_t x, uint32_t y,
                                         uint32_t rows, uint32_t count, uint32_t (&words)[N])
{
    const uint8_t *__restrict__ from = reinterpret_cast<const uint8_t *>(p.input[plane]) +
                                       (size_t)min(y, rows - 1) * p.input_stride[plane] + x;

    load_bytes<VECTOR, VECTOR_BYTES>(from, count, words);
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
// tile at (x, y).
template <bool VECTOR>
__device__ __forceinline__ void load_luma(const convert_cuda &p, uint32_t x, uint32_t y,
                                          nv12_tile &tile)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_row<VECTOR, 8>(p, 0, x, y + i, p.height, p.width - x, tile.luma[i]);
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
    static __device__ __forceinline__ void load_pixels(const convert_cuda &p, uint32_t x,
                                                       uint32_t y, uint32_t (&raw)[WORDS])
    {
        load_row<VECTOR, ALIGN>(p, 0, x, y, p.height, p.width - x, raw);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        load_luma<VECTOR>(p, x, y, tile);
        tile.chroma[0] = tile.chroma[1] = 0x80808080;
    }
};

struct from_nv21 {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 8;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        uint32_t vu[WORDS];

        load_luma<VECTOR>(p, x, y, tile);
        load_row<VECTOR, 8>(p, 1, x, y / 2, (p.height + 1) / 2, (p.width - x + 1) / 2 * 2, vu);
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            tile.chroma[i] = __byte_perm(vu[i], 0, 0x2301);
        }
    }
};

struct from_yu12 {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 4;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        uint32_t rows = (p.height + 1) / 2, count = (p.width - x + 1) / 2, u[1], v[1];

        load_luma<VECTOR>(p, x, y, tile);
        load_row<VECTOR, 4>(p, 1, x / 2, y / 2, rows, count, u);
        load_row<VECTOR, 4>(p, 2, x / 2, y / 2, rows, count, v);
        interleave(u[0], v[0], tile.chroma);
    }
};

struct from_422p {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 4;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        uint32_t count = (p.width - x + 1) / 2, u[ROWS][1], v[ROWS][1];

        load_luma<VECTOR>(p, x, y, tile);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_row<VECTOR, 4>(p, 1, x / 2, y + i, p.height, count, u[i]);
            load_row<VECTOR, 4>(p, 2, x / 2, y + i, p.height, count, v[i]);
        }
        interleave(mean2(u[0][0], u[1][0]), mean2(v[0][0], v[1][0]), tile.chroma);
    }
};

struct from_444p {
    static constexpr int ALIGN = 8, CHROMA_ALIGN = 8;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        uint32_t u[ROWS][WORDS], v[ROWS][WORDS];

        load_luma<VECTOR>(p, x, y, tile);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_row<VECTOR, 8>(p, 1, x, y + i, p.height, p.width - x, u[i]);
            load_row<VECTOR, 8>(p, 2, x, y + i, p.height, p.width - x, v[i]);
        }
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            tile.chroma[i] = mean4(u[0][i], u[1][i]) | mean4(v[0][i], v[1][i]) << 8;
        }
    }
};

// OFFSET of the first luma byte: 0 or 1.
template <int OFFSET> struct from_packed {
    static constexpr int ALIGN = 16, CHROMA_ALIGN = 1;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        uint32_t raw[ROWS][2 * WORDS], chroma[ROWS][WORDS];

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_row<VECTOR, 16>(p, 0, 2 * x, y + i, p.height, (p.width - x + 1) / 2 * 4, raw[i]);
        }
#pragma unroll
        for (int i = 0; i < ROWS * WORDS; i++) {
            uint32_t a = raw[i / WORDS][i % WORDS * 2], b = raw[i / WORDS][i % WORDS * 2 + 1];

            tile.luma[i / WORDS][i % WORDS] = __byte_perm(a, b, OFFSET ? 0x7531 : 0x6420);
            chroma[i / WORDS][i % WORDS] = __byte_perm(a, b, OFFSET ? 0x6420 : 0x7531);
        }
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            tile.chroma[i] = mean2(chroma[0][i], chroma[1][i]);
        }
    }
};

using from_yuyv = from_packed<0>;
using from_uyvy = from_packed<1>;

// STEP bytes a pixel; BLUE first, or red.
template <int STEP, bool BLUE> struct from_rgb {
    static constexpr int BYTES = STEP, ALIGN = STEP == 4 ? 16 : 8, CHROMA_ALIGN = 1;

    static __device__ __forceinline__ int weigh(uint32_t pixel, int red, int green, int blue,
                                                int base)
    {
        int first = pixel & 255, second = pixel >> 8 & 255, third = pixel >> 16 & 255;

        return ((BLUE ? blue : red) * first + green * second + (BLUE ? red : blue) * third +
                (base << 20) + (1 << 19)) >>
               20;
    }

    // Pixel `i` of those loaded, red in the lowest byte.
    static __device__ __forceinline__ uint32_t rgb_of(const uint32_t (&raw)[STEP * WORDS], int i)
    {
        return __byte_perm(rgb_pixel<STEP>(raw, i), 0, BLUE ? 0x4012 : 0x4210);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void load_pixels(const convert_cuda &p, uint32_t x,
                                                       uint32_t y, uint32_t (&raw)[STEP * WORDS])
    {
        load_row<VECTOR, ALIGN>(p, 0, STEP * x, y, p.height, STEP * (p.width - x), raw);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const convert_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile)
    {
        uint32_t raw[ROWS][BYTES * WORDS];

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_pixels<VECTOR>(p, x, y + i, raw[i]);
        }
#pragma unroll
        for (int i = 0; i < ROWS * PIXELS; i++) {
            uint32_t pixel = rgb_pixel<STEP>(raw[i / PIXELS], i % PIXELS);
            uint32_t value = weigh(pixel, 269484, 528482, 102760, 16) << i % 4 * 8;
            uint32_t &word = tile.luma[i / PIXELS][i % PIXELS / 4];

            word = i % 4 == 0 ? value : word | value;
        }
#pragma unroll
        for (int i = 0; i < PIXELS; i += 2) {
            uint32_t pixel = rgb_pixel<STEP>(raw[0], i);
            uint32_t u = weigh(pixel, -155188, -305135, 460324, 128);
            uint32_t v = weigh(pixel, 460324, -385875, -74448, 128);
            uint32_t pair = (u | v << 8) << i % 4 * 8;
            uint32_t &word = tile.chroma[i / 4];

            word = i % 4 == 0 ? pair : word | pair;
        }
    }
};

using from_rgb3 = from_rgb<3, false>;
using from_bgr3 = from_rgb<3, true>;
using from_xr24 = from_rgb<4, true>;

// Targets. make() makes the tile at (x, y).
struct to_nv12 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void make(const convert_cuda &p, uint32_t x, uint32_t y)
    {
        uint8_t *__restrict__ luma = reinterpret_cast<uint8_t *>(p.output[0]);
        uint8_t *__restrict__ chroma = reinterpret_cast<uint8_t *>(p.output[1]);
        nv12_tile tile;

        source::template load<VECTOR>(p, x, y, tile);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            if (y + i < p.height) {
                store_words<VECTOR>(luma + (size_t)(y + i) * p.output_stride[0] + x, tile.luma[i],
                                    p.width - x);
            }
        }
        store_words<VECTOR>(chroma + (size_t)(y / 2) * p.output_stride[1] + x, tile.chroma,
                            (p.width - x + 1) / 2 * 2);
    }
};

struct to_rgb3 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void make(const convert_cuda &p, uint32_t x, uint32_t y)
    {
        constexpr int STEP = source::BYTES;
        uint8_t *__restrict__ output = reinterpret_cast<uint8_t *>(p.output[0]);

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            uint32_t raw[STEP * WORDS], words[3 * WORDS], pixels[PIXELS];

            if (y + i >= p.height) {
                return;
            }
            source::template load_pixels<VECTOR>(p, x, y + i, raw);
#pragma unroll
            for (int k = 0; k < PIXELS; k++) {
                pixels[k] = source::rgb_of(raw, k);
            }
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                const uint32_t *four = &pixels[4 * k];

                words[3 * k] = four[0] | four[1] << 24;
                words[3 * k + 1] = four[1] >> 8 | four[2] << 16;
                words[3 * k + 2] = four[2] >> 16 | four[3] << 8;
            }
            store_words<VECTOR>(output + (size_t)(y + i) * p.output_stride[0] + 3 * x, words,
                                3 * (p.width - x));
        }
    }
};

template <class source, class target>
__device__ __forceinline__ void make_picture(const convert_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);
    bool vectors = aligned(p.input[0] | p.input_stride[0], source::ALIGN) &&
                   aligned(p.input[1] | p.input_stride[1] | p.input[2] | p.input_stride[2],
                           source::CHROMA_ALIGN) &&
                   aligned(p.output[0] | p.output_stride[0] | p.output[1] | p.output_stride[1], 8);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (vectors && x + PIXELS <= p.width) {
        target::template make<source, true>(p, x, y);
    } else {
        target::template make<source, false>(p, x, y);
    }
}

} // namespace

#define DEFINE_KERNEL(source, target)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        convert_##source##_##target(convert_cuda p)                                                \
    {                                                                                              \
        make_picture<from_##source, to_##target>(p);                                               \
    }

CONVERT_CUDA_KERNELS(DEFINE_KERNEL)
