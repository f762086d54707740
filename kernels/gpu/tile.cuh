// The steps of a thread around its arithmetic, the same in all our kernels: it finds its tile,
// loads words, brings gray to limited range, stores eight pixels.
//
// Four gray pixels are a word, the first in the lowest byte. As two pairs of 16 bit lanes they are
// `even` (pixels 0, 2) and `odd` (1, 3).
#pragma once

#include "kernels/gpu/job.h"
#include "kernels/gpu/ptx.cuh"

#include <stdint.h>

namespace {

constexpr int PIXELS = JOB_PIXELS, WORDS = PIXELS / 4;
// Largest number of threads a block may have: what the registers are limited for.
constexpr int THREADS_MAX = 1024;
enum range { FULL, LIMITED };

// First pixel and first row of the thread's tile. Rows of blocks that the grid has no room for in y
// are folded into z (gpu_block.h).
__device__ __forceinline__ uint32_t tile_x()
{
    return (blockIdx.x * blockDim.x + threadIdx.x) * PIXELS;
}

__device__ __forceinline__ uint32_t tile_y(uint32_t rows)
{
    return ((blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y) * rows;
}

// Row `y` of a plane of the input, or of the output.
__device__ __forceinline__ const uint8_t *input_row(const gpu_job &j, int plane, uint32_t y)
{
    return reinterpret_cast<const uint8_t *>(j.input[plane]) + (size_t)y * j.input_stride[plane];
}

__device__ __forceinline__ uint8_t *output_row(const gpu_job &j, int plane, uint32_t y)
{
    return reinterpret_cast<uint8_t *>(j.output[plane]) + (size_t)y * j.output_stride[plane];
}

// Whether an address and a stride, or several or-ed together, are multiples of `bytes`.
__device__ __forceinline__ bool aligned(uint64_t bits, uint32_t bytes)
{
    return bits % bytes == 0;
}

// N words from an address that is a multiple of VECTOR_BYTES.
template <int VECTOR_BYTES, int N>
__device__ __forceinline__ void load_words(const uint8_t *__restrict__ from, uint32_t (&words)[N])
{
    if constexpr (VECTOR_BYTES == 16) {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            uint4 v = __ldg(reinterpret_cast<const uint4 *>(from) + i / 4);

            words[i] = v.x, words[i + 1] = v.y, words[i + 2] = v.z, words[i + 3] = v.w;
        }
    } else if constexpr (VECTOR_BYTES == 8) {
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            uint2 v = __ldg(reinterpret_cast<const uint2 *>(from) + i / 2);

            words[i] = v.x, words[i + 1] = v.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; i++)
            words[i] = __ldg(reinterpret_cast<const uint32_t *>(from) + i);
    }
}

// The same from any address if not VECTOR: the first `count` bytes, the last of them again for
// those that are missing.
template <bool VECTOR, int VECTOR_BYTES, int N>
__device__ __forceinline__ void load_bytes(const uint8_t *__restrict__ from, uint32_t count,
                                           uint32_t (&words)[N])
{
    if constexpr (VECTOR) {
        load_words<VECTOR_BYTES>(from, words);
    } else {
        // Word by word: all bytes on their way at once would not fit the registers.
#pragma unroll
        for (int i = 0; i < N; i++) {
            words[i] = 0;
#pragma unroll 1
            for (uint32_t k = 0; k < 4; k++)
                words[i] |= (uint32_t)__ldg(from + min(4 * i + k, count - 1)) << 8 * k;
        }
    }
}

// N words to an address that is a multiple of 8 if VECTOR, else the first `count` bytes of them.
template <bool VECTOR, int N>
__device__ __forceinline__ void store_words(uint8_t *__restrict__ to, const uint32_t (&words)[N],
                                            uint32_t count)
{
    if constexpr (VECTOR) {
#pragma unroll
        for (int i = 0; i < N; i += 2)
            reinterpret_cast<uint2 *>(to)[i / 2] = make_uint2(words[i], words[i + 1]);
    } else {
#pragma unroll
        for (int i = 0; i < 4 * N; i++) {
            if (i < count)
                to[i] = (uint8_t)(words[i / 4] >> i % 4 * 8);
        }
    }
}

// Eight pixels of three bytes in the lowest of a word each, the fourth 0, to RGB3.
__device__ __forceinline__ void pack_rgb3(const uint32_t (&pixels)[PIXELS],
                                          uint32_t (&words)[3 * WORDS])
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const uint32_t *four = &pixels[4 * k];

        words[3 * k] = four[0] | four[1] << 24;
        words[3 * k + 1] = four[1] >> 8 | four[2] << 16;
        words[3 * k + 2] = four[2] >> 16 | four[3] << 8;
    }
}

// A bit for each byte of a word, the first lowest; bytes are 0 or 255.
__device__ __forceinline__ uint32_t bits_of(uint32_t bytes)
{
    return (bytes & 0x01010101) * 0x01020408 >> 24;
}

// Two lanes of 0..255 brought to 16 + (219 m + 127) / 255, for which compose.c has the form without
// a division; the results are the upper bytes.
__device__ __forceinline__ uint32_t limited_lanes(uint32_t lanes)
{
    lanes = lanes * 219 + 0x00800080;
    return lanes + __byte_perm(lanes, 0, 0x4341) + 0x10001000;
}

// Four pixels of 0..255 from their lanes, as they are or limited.
template <range RANGE> __device__ __forceinline__ uint32_t in_range(uint32_t even, uint32_t odd)
{
    if (RANGE == FULL)
        return __byte_perm(even, odd, 0x6240);
    return __byte_perm(limited_lanes(even), limited_lanes(odd), 0x7351);
}

template <range RANGE> __device__ __forceinline__ uint32_t in_range(uint32_t word)
{
    return RANGE == FULL ? word : in_range<RANGE>(word & 0x00ff00ff, word >> 8 & 0x00ff00ff);
}

} // namespace
