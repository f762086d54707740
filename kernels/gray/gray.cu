// The gray view of a camera's picture in one launch.
//
//   YUV, GREY: Y          RGB: (9798 R + 19235 G + 3735 B + 16384) >> 15
//   limited: 16 + (219 m + 127) / 255
//
// bit for bit what gray.c and compose.c compute.
//
// Buffers. Input: plane 0 of a picture, rows `input_stride` bytes apart, 1 (planar), 2 (yuyv,
// uyvy), 3 (rgb3, bgr3) or 4 (xr24) bytes a pixel. Output: one byte a pixel, rows `output_stride`
// apart. Nothing outside the pixels of either is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 2 rows at (8 x, 2 y); threads
// share nothing. Every input byte is read once, every output byte written once: 2 to 5 bytes a
// pixel.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES; other tiles go byte by byte.
#include "kernels/gray/gray.cuh"
#include "kernels/gray/gray_cuda.h"

namespace {

constexpr int ROWS = GRAY_CUDA_ROWS;

template <class format, range RANGE, bool VECTOR>
__device__ __forceinline__ void make_tile(const gray_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ input = reinterpret_cast<const uint8_t *>(p.input);
    uint8_t *__restrict__ output = reinterpret_cast<uint8_t *>(p.output);
    uint32_t words[ROWS][WORDS];

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (y + i < p.height) {
            load_gray<format, VECTOR>(input + (size_t)(y + i) * p.input_stride, x, p.width,
                                      words[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (y + i < p.height) {
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                words[i][k] = in_range<RANGE>(words[i][k]);
            }
            store_words<VECTOR>(output + (size_t)(y + i) * p.output_stride + x, words[i],
                                p.width - x);
        }
    }
}

template <class format, range RANGE>
__device__ __forceinline__ void make_picture(const gray_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);
    bool vectors = aligned(p.input | p.input_stride, format::VECTOR_BYTES) &&
                   aligned(p.output | p.output_stride, PIXELS);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (vectors && x + PIXELS <= p.width) {
        make_tile<format, RANGE, true>(p, x, y);
    } else {
        make_tile<format, RANGE, false>(p, x, y);
    }
}

constexpr range full = FULL, limited = LIMITED;

} // namespace

#define DEFINE_KERNEL(format, range)                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) gray_##format##_##range(gray_cuda p) \
    {                                                                                              \
        make_picture<format, range>(p);                                                            \
    }

GRAY_CUDA_KERNELS(DEFINE_KERNEL)
