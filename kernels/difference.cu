// What differs between two frames, from a camera's picture or a gray plane, in one launch.
//
//   measure: |gray - previous|     mask, bits: 255, 1 where |gray - previous| > threshold, else 0
//   limited: 16 + (219 m + 127) / 255
//
// bit for bit what gray.c, difference.c and compose.c compute. Without a frame before nothing
// differs.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. `previous` and `current`: gray planes of our
// own, 128 bytes aligned. Output: bytes, or bits: pixel x of a row is bit x % 8 of byte x / 8, and
// what is left of the last byte is set. Where `copy` is not 0 gray goes there, too: so the luma of
// a picture is read once to be compared and shown.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 4 rows at (8 x, 4 y); threads
// share nothing. Bytes a pixel, of planar input to bits: 2 read, 1.125 written, 2.125 with a copy.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES; other tiles go byte by byte.
#include "kernels/difference_cuda.h"
#include "kernels/gray.cuh"

namespace {

constexpr int ROWS = DIFFERENCE_CUDA_ROWS;

enum result { BITS, MASK, MEASURE };

// A bit for each byte of a word, which is 0 or 255.
__device__ __forceinline__ uint32_t bits_of(uint32_t bytes)
{
    return (bytes & 0x01010101) * 0x01020408 >> 24;
}

template <result RESULT, range RANGE, bool VECTOR>
__device__ __forceinline__ void store(const difference_cuda &p, uint32_t x, uint32_t y,
                                      uint32_t (&words)[WORDS])
{
    uint8_t *__restrict__ row = reinterpret_cast<uint8_t *>(p.output) + (size_t)y * p.output_stride;

    if constexpr (RESULT == BITS) {
        uint32_t bits = bits_of(words[0]) | bits_of(words[1]) << 4;

        row[x / PIXELS] =
            (uint8_t)(VECTOR ? bits : bits | 0xff00u >> (PIXELS - min(p.width - x, PIXELS)));
    } else {
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            words[k] = in_range<RANGE>(words[k]);
        }
        store_words<VECTOR>(row + x, words, p.width - x);
    }
}

template <class format, result RESULT, range RANGE, bool VECTOR>
__device__ __forceinline__ void make_tile(const difference_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ input = reinterpret_cast<const uint8_t *>(p.input);
    const uint8_t *__restrict__ previous = reinterpret_cast<const uint8_t *>(p.previous);
    uint8_t *__restrict__ current = reinterpret_cast<uint8_t *>(p.current);
    uint8_t *__restrict__ copy = reinterpret_cast<uint8_t *>(p.copy);
    uint32_t gray[ROWS][WORDS], before[ROWS][WORDS];

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        size_t row = min(y + i, p.height - 1);

        load_gray<format, VECTOR>(input + row * p.input_stride, x, p.width, gray[i]);
        // The planes' rows have room for whole tiles.
        if (p.previous) {
            load_words<8>(previous + row * p.plane_stride + x, before[i]);
        } else {
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                before[i][k] = gray[i][k];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        uint32_t words[WORDS];

        if (y + i >= p.height) {
            return;
        }
        store_words<true>(current + (size_t)(y + i) * p.plane_stride + x, gray[i], PIXELS);
        if (RESULT == BITS && p.copy) {
            store_words<VECTOR>(copy + (size_t)(y + i) * p.copy_stride + x, gray[i], p.width - x);
        }
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            words[k] = __vabsdiffu4(gray[i][k], before[i][k]);
            if (RESULT != MEASURE) {
                words[k] = __vcmpgtu4(words[k], p.threshold * 0x01010101);
            }
        }
        store<RESULT, RANGE, VECTOR>(p, x, y + i, words);
    }
}

template <class format, result RESULT, range RANGE>
__device__ __forceinline__ void make_picture(const difference_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);
    bool vectors = aligned(p.input | p.input_stride, format::VECTOR_BYTES) &&
                   aligned(p.output | p.output_stride | p.copy | p.copy_stride, PIXELS);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (vectors && x + PIXELS <= p.width) {
        make_tile<format, RESULT, RANGE, true>(p, x, y);
    } else {
        make_tile<format, RESULT, RANGE, false>(p, x, y);
    }
}

constexpr range full = FULL, limited = LIMITED;
constexpr result mask = MASK, measure = MEASURE;

} // namespace

#define DEFINE_BITS(format)                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        difference_##format##_bits(difference_cuda p)                                              \
    {                                                                                              \
        make_picture<format, BITS, FULL>(p);                                                       \
    }
#define DEFINE_BYTES(result, range)                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        difference_planar_##result##_##range(difference_cuda p)                                    \
    {                                                                                              \
        make_picture<planar, result, range>(p);                                                    \
    }

DIFFERENCE_CUDA_BITS(DEFINE_BITS)
DIFFERENCE_CUDA_BYTES(DEFINE_BYTES)
