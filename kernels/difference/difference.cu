// What differs between two frames' gray, in one launch.
//
//   measure: |gray - previous|     mask: 255 where |gray - previous| > threshold, else 0
//   limited: 16 + (219 m + 127) / 255
//
// bit for bit what difference.c and compose.c compute. Without a frame before nothing differs.
//
// Buffers. Input: 8 bit gray, rows `input_stride` bytes apart. `previous` and `current`: gray
// planes of our own, 128 bytes aligned. Output: a byte a pixel, rows `output_stride` apart.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 4 rows at (8 x, 4 y); threads
// share nothing. Bytes a pixel: 2 read, 2 written.
//
// Alignment. Vectors of 8 bytes are used where a tile lies within the picture and addresses and
// strides are multiples of 8; other tiles go byte by byte.
#include "kernels/difference/difference_cuda.h"
#include "kernels/gray/gray.cuh"

namespace {

constexpr int ROWS = DIFFERENCE_CUDA_ROWS;

enum difference_result { MASK, MEASURE };

template <difference_result RESULT, range RANGE, bool VECTOR>
__device__ __forceinline__ void make_tile(const difference_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ input = reinterpret_cast<const uint8_t *>(p.input);
    const uint8_t *__restrict__ previous = reinterpret_cast<const uint8_t *>(p.previous);
    uint8_t *__restrict__ current = reinterpret_cast<uint8_t *>(p.current);
    uint8_t *__restrict__ output = reinterpret_cast<uint8_t *>(p.output);
    uint32_t gray[ROWS][WORDS], before[ROWS][WORDS];

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        size_t row = min(y + i, p.height - 1);

        load_gray<planar, VECTOR>(input + row * p.input_stride, x, p.width, gray[i]);
        // The planes' rows have room for whole tiles.
        if (p.previous) {
            load_words<8>(previous + row * p.plane_stride + x, before[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        uint32_t words[WORDS];

        if (y + i >= p.height) {
            return;
        }
        store_words<true>(current + (size_t)(y + i) * p.plane_stride + x, gray[i], PIXELS);
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            words[k] = p.previous ? __vabsdiffu4(gray[i][k], before[i][k]) : 0;
            if (RESULT != MEASURE) {
                words[k] = __vcmpgtu4(words[k], p.threshold * 0x01010101);
            }
            words[k] = in_range<RANGE>(words[k]);
        }
        store_words<VECTOR>(output + (size_t)(y + i) * p.output_stride + x, words, p.width - x);
    }
}

template <difference_result RESULT, range RANGE>
__device__ __forceinline__ void make_picture(const difference_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);
    bool vectors = aligned(p.input | p.input_stride | p.output | p.output_stride, PIXELS);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (vectors && x + PIXELS <= p.width) {
        make_tile<RESULT, RANGE, true>(p, x, y);
    } else {
        make_tile<RESULT, RANGE, false>(p, x, y);
    }
}

constexpr range full = FULL, limited = LIMITED;
constexpr difference_result mask = MASK, measure = MEASURE;

} // namespace

#define DEFINE_KERNEL(result, range)                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        difference_##result##_##range(difference_cuda p)                                           \
    {                                                                                              \
        make_picture<result, range>(p);                                                            \
    }

DIFFERENCE_CUDA_KERNELS(DEFINE_KERNEL)
