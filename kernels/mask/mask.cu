// What a view's mask leaves of gray, in one launch.
//
//   out = in & mask     limited: 16 + (219 out + 127) / 255
//
// bit for bit what mask.c and compose.c compute.
//
// Buffers. Input: 8 bit gray, rows `input_stride` bytes apart: a plane of our own, or plane 0 of a
// camera's picture at any address. Mask: 0 and 255, a plane of our own, 128 bytes aligned, made
// once. Output: a byte a pixel, rows `output_stride` apart; nothing outside its pixels is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 4 rows at (8 x, 4 y); threads
// share nothing. Bytes a pixel: 2 read, 1 written.
//
// Alignment. Vectors of 8 bytes are used where a tile lies within the picture and addresses and
// strides are multiples of 8; other tiles go byte by byte.
#include "kernels/gpu/tile.cuh"
#include "kernels/mask/mask_cuda.h"

namespace {

constexpr int ROWS = MASK_CUDA_ROWS;

template <range RANGE, bool VECTOR>
__device__ __forceinline__ void make_tile(const mask_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ input = reinterpret_cast<const uint8_t *>(p.input) + x;
    const uint8_t *__restrict__ mask = reinterpret_cast<const uint8_t *>(p.mask) + x;
    uint8_t *__restrict__ output = reinterpret_cast<uint8_t *>(p.output) + x;
    uint32_t gray[ROWS][WORDS], set[ROWS][WORDS];

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        size_t row = min(y + i, p.height - 1);

        load_bytes<VECTOR, PIXELS>(input + row * p.input_stride, p.width - x, gray[i]);
        load_words<PIXELS>(mask + row * p.mask_stride, set[i]);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (y + i < p.height) {
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                gray[i][k] = in_range<RANGE>(gray[i][k] & set[i][k]);
            }
            store_words<VECTOR>(output + (size_t)(y + i) * p.output_stride, gray[i], p.width - x);
        }
    }
}

template <range RANGE> __device__ __forceinline__ void make_picture(const mask_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);
    bool vectors = aligned(p.input | p.input_stride | p.output | p.output_stride, PIXELS);

    if (x >= p.width || y >= p.height) {
        return;
    }
    if (vectors && x + PIXELS <= p.width) {
        make_tile<RANGE, true>(p, x, y);
    } else {
        make_tile<RANGE, false>(p, x, y);
    }
}

constexpr range full = FULL, limited = LIMITED;

} // namespace

#define DEFINE_KERNEL(range)                                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) mask_##range(mask_cuda p)            \
    {                                                                                              \
        make_picture<range>(p);                                                                    \
    }

MASK_CUDA_KERNELS(DEFINE_KERNEL)
