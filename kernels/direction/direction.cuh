// Directions to colours: numbers of directions of halves, the tables in shared memory and how eight
// pixels are written. Formulas, tables and margins are those of direction.cu.
#pragma once

#include "kernels/direction/direction_cuda.h"
#include "kernels/gradient/slopes.cuh"

#include <stddef.h>

namespace {

// Warps a block may have for its threads to write RGB3 together.
constexpr uint32_t WARPS_TOGETHER = 8;

// Magnitudes of eight pixels in 16 bit lanes of their pairs (window.cuh), and where the colours of
// their directions are, in bytes from the first one of 16 bits on. Without a gradient that may be
// -4.
struct pixels8 {
    uint32_t magnitudes[PIXELS / 2];
    int32_t direction[PIXELS];
};

// Pixel `i` is in the upper lane of its pair, or the lower one.
__device__ __forceinline__ constexpr int pair_of(int i)
{
    return i / 4 * 2 + i % 2;
}

__device__ __forceinline__ constexpr bool is_upper(int i)
{
    return i % 4 >= 2;
}

__device__ __forceinline__ int32_t direction_of(float gx, float gy)
{
    float share = __fmaf_rn(gy, near_reciprocal(fabsf(gx) + fabsf(gy)), 0x1p-20f);
    float number = __fmaf_rn(share, 126 * 0x1p-22f, 2.0f + 126 * 0x1p-22f);

    return (int32_t)__funnelshift_l(__float_as_uint(gx), __float_as_uint(number), 2);
}

// Tables in shared memory: BYTES of a target's.
template <class target> __device__ __forceinline__ uint4 *shared_tables()
{
    __shared__ uint4 tables[target::BYTES / sizeof(uint4)];

    return tables;
}

// The entry `offset` bytes behind place `first` of direction_cuda_colours.
template <class target, class type>
__device__ __forceinline__ uint32_t look_up(size_t first, int32_t offset)
{
    const uint8_t *from = reinterpret_cast<const uint8_t *>(shared_tables<target>());

    return *reinterpret_cast<const type *>(from + (int32_t)(first - target::FIRST) + offset);
}

// Targets: BYTES of tables they want, from FIRST on in direction_cuda_colours, whether warps write
// TOGETHER, and where and how they write eight pixels of a row and go on to the next.
struct direction_to_nv12 {
    static constexpr size_t FIRST = 0, BYTES = offsetof(direction_cuda_colours, no_rgb);
    static constexpr bool TOGETHER = false;

    uint8_t *luma_row, *chroma_row;
    uint32_t count; // pixels to the end of the row

    __device__ __forceinline__ direction_to_nv12(const direction_cuda &p, uint32_t x, uint32_t y,
                                                 bool)
        : luma_row(output_row(p.job, 0, y) + x), chroma_row(output_row(p.job, 1, (y + 1) / 2) + x),
          count(p.job.width - x)
    {
    }

    static __device__ __forceinline__ uint32_t y_of(const pixels8 &o, int i)
    {
        return look_up<direction_to_nv12, uint16_t>(offsetof(direction_cuda_colours, y),
                                                    o.direction[i]);
    }

    // Luma of pixels `i` and `i` + 2 in lanes.
    static __device__ __forceinline__ uint32_t luma(const pixels8 &o, int i)
    {
        half2 factors = pair(__byte_perm(y_of(o, i), y_of(o, i + 2), 0x5410));

        return bits(__hfma2(pair(o.magnitudes[pair_of(i)]), factors, pair(16 * 0x00010001)));
    }

    // U and V of pixel `i` in lanes, its magnitude being in both of `magnitudes`.
    static __device__ __forceinline__ uint32_t uv(const pixels8 &o, int i, half2 magnitudes)
    {
        half2 factors = pair(look_up<direction_to_nv12, uint32_t>(
            offsetof(direction_cuda_colours, uv), 2 * o.direction[i]));

        return bits(__hfma2(magnitudes, factors, pair(128 * 0x00010001)));
    }

    // U and V of pixels `i` and `i` + 2.
    static __device__ __forceinline__ uint32_t chroma(const pixels8 &o, int i)
    {
        half2 two = pair(o.magnitudes[pair_of(i)]);

        return __byte_perm(uv(o, i, __low2half2(two)), uv(o, i + 2, __high2half2(two)), 0x6420);
    }

    template <bool VECTOR>
    __device__ __forceinline__ void store(const direction_cuda &p, bool even, const pixels8 &o)
    {
        uint32_t words[WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i += 4)
            words[i / 4] = __byte_perm(luma(o, i), luma(o, i + 1), 0x6240);
        store_words<VECTOR>(luma_row, words, count);
        luma_row += p.job.output_stride[0];
        if (!even)
            return;
#pragma unroll
        for (int i = 0; i < PIXELS; i += 4)
            words[i / 4] = chroma(o, i);
        store_words<VECTOR>(chroma_row, words, (count + 1) / 2 * 2);
        chroma_row += p.job.output_stride[1];
    }
};

// Words of three bytes a pixel are written by whole warps where they can be: thread by thread each
// store would be a third of its sectors.
struct direction_to_rgb3 {
    static constexpr size_t FIRST = offsetof(direction_cuda_colours, no_rgb);
    static constexpr size_t BYTES = sizeof(direction_cuda_colours) - FIRST;
    static constexpr bool TOGETHER = true;
    static constexpr int PARTS = 3; // vectors of 8 bytes a thread

    uint8_t *row;
    uint32_t count; // bytes to its end
    bool together;

    // `together`: all of the warp writes eight pixels, side by side.
    __device__ __forceinline__ direction_to_rgb3(const direction_cuda &p, uint32_t x, uint32_t y,
                                                 bool together)
        : row(output_row(p.job, 0, y) + 3 * (size_t)x), count(3 * (p.job.width - x)),
          together(together)
    {
        if (together)
            row -= threadIdx.x % 32 * (PARTS - 1) * sizeof(uint2);
    }

    // Red, green and blue of pixel `i`.
    static __device__ __forceinline__ uint32_t pixel(const pixels8 &o, int i)
    {
        uint32_t colour = look_up<direction_to_rgb3, uint32_t>(
            offsetof(direction_cuda_colours, rgb), 2 * o.direction[i]);
        uint32_t pair = o.magnitudes[pair_of(i)];

        return is_upper(i) ? permute_signs(__dp2a_hi(colour, pair << 8, 128u), pair >> 16, colour)
                           : permute_signs(__dp2a_lo(colour, pair << 8, 128u), pair, colour);
    }

    __device__ __forceinline__ void store_together(const uint32_t (&words)[3 * WORDS]) const
    {
        __shared__ uint2 staged[WARPS_TOGETHER * 32 * PARTS];
        uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
        uint2 *mine = staged + PARTS * thread, *warps = staged + PARTS * (thread - lane) + lane;

        __syncwarp(); // what was staged before has been read
#pragma unroll
        for (int i = 0; i < PARTS; i++)
            mine[i] = make_uint2(words[2 * i], words[2 * i + 1]);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < PARTS; i++)
            reinterpret_cast<uint2 *>(row)[32 * i] = warps[32 * i];
    }

    template <bool VECTOR>
    __device__ __forceinline__ void store(const direction_cuda &p, bool, const pixels8 &o)
    {
        uint32_t pixels[PIXELS], words[3 * WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i++)
            pixels[i] = pixel(o, i);
        pack_rgb3(pixels, words);
        if (VECTOR && together)
            store_together(words);
        else
            store_words<VECTOR>(row, words, count);
        row += p.job.output_stride[0];
    }
};

// 16 bytes on their way to shared memory: past the registers, and through the L1, where tables are
// that another block has read, as __pipeline_memcpy_async() would not send so many.
__device__ __forceinline__ void send_vector(uint4 *to, const uint4 *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from));
#else
    *to = __ldg(from);
#endif
}

// The tables of the target on their way to shared memory, by the whole block. They are there for
// all of it after finish_tables().
template <class target> __device__ __forceinline__ void begin_tables(const direction_cuda &p)
{
    constexpr uint32_t COUNT = target::BYTES / sizeof(uint4);
    const uint4 *from = reinterpret_cast<const uint4 *>(p.colours + target::FIRST);
    uint4 *to = shared_tables<target>();
    uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x;

    for (uint32_t i = thread; i < COUNT; i += blockDim.x * blockDim.y)
        send_vector(to + i, from + i);
}

__device__ __forceinline__ void finish_tables()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;");
#endif
    __syncthreads();
}

} // namespace
