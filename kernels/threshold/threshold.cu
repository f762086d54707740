// Black and white of gray: white where gray >= level, else black; bit for bit what threshold.c and
// compose.c compute. An automatic level is read from where levels.cu left it.
//
// Buffers. Input: a plane of gray that an earlier kernel made, so it has vectors up to its stride.
// Output: one byte a pixel, rows `output_stride` apart; nothing outside its pixels is touched.
//
// Threads. A thread makes 8 pixels by 4 rows and shares nothing. 2 bytes and 2 instructions a
// pixel.
#include "kernels/gpu/tile.cuh"
#include "kernels/threshold/threshold_cuda.h"

namespace {

constexpr int ROWS = THRESHOLD_CUDA_ROWS;

template <bool VECTOR>
__device__ __forceinline__ void compare_tile(const threshold_compare_cuda &p, uint32_t x,
                                             uint32_t y, uint32_t level)
{
    const uint8_t *input = reinterpret_cast<const uint8_t *>(p.input) + x;
    uint8_t *output = reinterpret_cast<uint8_t *>(p.output) + x;
    uint32_t words[ROWS][WORDS];

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_words<8>(input + (size_t)min(y + i, p.height - 1) * p.input_stride, words[i]);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (y + i < p.height) {
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                uint32_t white = __vcmpgeu4(words[i][k], level);

                words[i][k] = (white & p.white) | (~white & p.black);
            }
            store_words<VECTOR>(output + (size_t)(y + i) * p.output_stride, words[i], p.width - x);
        }
    }
}

__device__ __forceinline__ void compare_picture(const threshold_compare_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);

    if (x >= p.width || y >= p.height) {
        return;
    }
    const levels_cuda_state *state = reinterpret_cast<const levels_cuda_state *>(p.state);
    uint32_t level = (state ? __ldg(&state->level) : p.level) * 0x01010101;

    if (x + PIXELS <= p.width && aligned(p.output | p.output_stride, PIXELS)) {
        compare_tile<true>(p, x, y, level);
    } else {
        compare_tile<false>(p, x, y, level);
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS_MAX)
    threshold_compare(threshold_compare_cuda p)
{
    compare_picture(p);
}
