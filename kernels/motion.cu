// A camera's picture to NV12 and, in the same launch, what differs in it from the frame before.
//
//   bit: |gray - previous| > threshold     without a frame before: 0
//
// The picture is bit for bit what convert.c makes, the bits what gray.c and difference.c make.
//
// Buffers. Input and picture as in convert.cu; `previous` and `current` as in difference.cu. Bits:
// pixel x of a row is bit x % 8 of byte x / 8, and what is left of the last byte is set.
//
// Threads. As in convert.cu: thread (x, y) makes a tile of 8 pixels by 2 rows at (8 x, 2 y), and
// every byte of the camera's picture is read once for both. Bytes a pixel: 1 to 4 and 1 read, 2.625
// written.
//
// Alignment. As in convert.cu.
#include "kernels/convert.cuh"
#include "kernels/motion_cuda.h"

namespace {

__device__ __forceinline__ void compare(const motion_cuda &p, uint32_t x, uint32_t y,
                                        const uint32_t (&gray)[WORDS],
                                        const uint32_t (&before)[WORDS])
{
    uint8_t *__restrict__ current =
        reinterpret_cast<uint8_t *>(p.current) + (size_t)y * p.plane_stride + x;
    uint8_t *__restrict__ output =
        reinterpret_cast<uint8_t *>(p.output) + (size_t)y * p.output_stride + x / PIXELS;
    uint32_t bits = 0xff00u >> (PIXELS - min(p.picture.width - x, PIXELS));

    store_words<true>(current, gray, PIXELS);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint32_t difference = p.previous ? __vabsdiffu4(gray[k], before[k]) : 0;

        bits |= bits_of(__vcmpgtu4(difference, p.threshold * 0x01010101)) << 4 * k;
    }
    *output = (uint8_t)bits;
}

template <class source, bool VECTOR>
__device__ __forceinline__ void make_tile(const motion_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ previous = reinterpret_cast<const uint8_t *>(p.previous);
    uint32_t before[ROWS][WORDS];
    nv12_tile tile;

    source::template load<VECTOR>(p.picture, x, y, tile);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (p.previous) {
            load_words<8>(previous + (size_t)min(y + i, p.picture.height - 1) * p.plane_stride + x,
                          before[i]);
        }
    }
    store_nv12<VECTOR>(p.picture, x, y, tile);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (y + i < p.picture.height) {
            compare(p, x, y + i, tile.gray[i], before[i]);
        }
    }
}

template <class source> __device__ __forceinline__ void make_picture(const motion_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);

    if (x >= p.picture.width || y >= p.picture.height) {
        return;
    }
    if (takes_vectors<source>(p.picture) && x + PIXELS <= p.picture.width) {
        make_tile<source, true>(p, x, y);
    } else {
        make_tile<source, false>(p, x, y);
    }
}

} // namespace

#define DEFINE_KERNEL(format)                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) motion_##format(motion_cuda p)       \
    {                                                                                              \
        make_picture<from_##format>(p);                                                            \
    }

MOTION_CUDA_KERNELS(DEFINE_KERNEL)
