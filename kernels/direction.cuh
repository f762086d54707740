// Directions to colours: numbers of directions of halves, the tables in shared memory and how eight
// pixels are written. Formulas, tables and margins are those of direction.cu.
#pragma once

#include "kernels/direction_cuda.h"
#include "kernels/sobel.cuh"

#include <stddef.h>

namespace {

// Warps a block may have for its threads to write RGB3 together.
constexpr uint32_t WARPS_TOGETHER = 8;

// Magnitudes of eight pixels in 16 bit lanes of their pairs (sobel.cuh), and where the colours of
// their directions are, in bytes from the first one of 16 bits on. Without a gradient that may be
// -4.
struct octet {
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

__device__ __forceinline__ uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t r;

    // __byte_perm() has no repeated signs.
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
}

__device__ __forceinline__ float reciprocal(float n)
{
    float r;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(n));
    return r;
}

__device__ __forceinline__ int32_t direction_of(float gx, float gy)
{
    float share = __fmaf_rn(gy, reciprocal(fabsf(gx) + fabsf(gy)), 0x1p-20f);
    float number = __fmaf_rn(share, 126 * 0x1p-22f, 2.0f + 126 * 0x1p-22f);

    return (int32_t)__funnelshift_l(__float_as_uint(gx), __float_as_uint(number), 2);
}

// The lower of two signed factors times byte 0 of `bytes` plus the upper one times byte 1; of bytes
// 2 and 3 if UPPER.
template <bool UPPER>
__device__ __forceinline__ uint32_t weigh(uint32_t factors, uint32_t bytes, uint32_t base)
{
    uint32_t r;

    // __dp2a_lo() takes no bytes without a sign beside factors with one.
    if (UPPER) {
        asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(factors), "r"(bytes), "r"(base));
    } else {
        asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(factors), "r"(bytes), "r"(base));
    }
    return r;
}

// Four bytes `byte` of four words.
template <int BYTE>
__device__ __forceinline__ uint32_t gather(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    constexpr uint32_t two = BYTE | (BYTE + 4) << 4;

    return __byte_perm(__byte_perm(a, b, two), __byte_perm(c, d, two), 0x5410);
}

// Tables in shared memory: BYTES of a target's, behind a vector of NONE for what is before them.
template <class target> __device__ __forceinline__ uint4 *shared_tables()
{
    __shared__ uint4 tables[1 + target::BYTES / sizeof(uint4)];

    return tables;
}

// What stands `offset` bytes behind the beginning of the tables.
template <class target, class type>
__device__ __forceinline__ uint32_t look_up(size_t first, int32_t offset)
{
    const uint8_t *from = reinterpret_cast<const uint8_t *>(shared_tables<target>());

    return *reinterpret_cast<const type *>(from + (int32_t)(sizeof(uint4) + first) + offset);
}

// Targets: BYTES of tables they want, from FIRST on in direction_cuda_colours, what NONE of the
// directions has there, and where and how they write eight pixels of a row and go on to the next.
// Lanes have empty bytes, so a word of a table has room for two factors.
struct to_nv12 {
    static constexpr size_t FIRST = 0, BYTES = offsetof(direction_cuda_colours, rgb);
    static constexpr uint32_t HALF = 1 << 15, NONE = 0;

    uint8_t *luma_row, *chroma_row;
    uint32_t count; // pixels to the end of the row

    __device__ __forceinline__ to_nv12(const direction_cuda &p, uint32_t x, uint32_t y, bool)
        : luma_row(reinterpret_cast<uint8_t *>(p.output[0]) + (size_t)y * p.output_stride[0] + x),
          chroma_row(reinterpret_cast<uint8_t *>(p.output[1]) +
                     (size_t)((y + 1) / 2) * p.output_stride[1] + x),
          count(p.width - x)
    {
    }

    static __device__ __forceinline__ uint32_t uv_of(const octet &o, int i)
    {
        return look_up<to_nv12, uint32_t>(0, 2 * o.direction[i]);
    }

    // Luma of pixel `i`; its factor has no sign.
    static __device__ __forceinline__ uint32_t luma(const octet &o, int i)
    {
        uint32_t factor =
            look_up<to_nv12, uint16_t>(offsetof(direction_cuda_colours, y), o.direction[i]);
        uint32_t pair = o.magnitudes[pair_of(i)];

        return is_upper(i) ? __dp2a_hi(factor, pair, (16u << 16) + HALF)
                           : __dp2a_lo(factor, pair, (16u << 16) + HALF);
    }

    // U and V of pixels `i` and `i` + 2.
    static __device__ __forceinline__ uint32_t chroma(const octet &o, int i)
    {
        constexpr uint32_t base = (128u << 16) + HALF;
        uint32_t a = uv_of(o, i), b = uv_of(o, i + 2);
        uint32_t for_u = o.magnitudes[pair_of(i)], for_v = for_u << 8;

        return gather<2>(weigh<false>(a, for_u, base), weigh<false>(a, for_v, base),
                         weigh<true>(b, for_u, base), weigh<true>(b, for_v, base));
    }

    template <bool VECTOR>
    __device__ __forceinline__ void store(const direction_cuda &p, bool even, const octet &o)
    {
        uint32_t words[WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i += 4) {
            words[i / 4] = gather<2>(luma(o, i), luma(o, i + 1), luma(o, i + 2), luma(o, i + 3));
        }
        store_words<VECTOR>(luma_row, words, count);
        luma_row += p.output_stride[0];
        if (!even) {
            return;
        }
#pragma unroll
        for (int i = 0; i < PIXELS; i += 4) {
            words[i / 4] = chroma(o, i);
        }
        store_words<VECTOR>(chroma_row, words, (count + 1) / 2 * 2);
        chroma_row += p.output_stride[1];
    }
};

// Words of three bytes a pixel are written by whole warps where they can be: thread by thread each
// store would be a third of its sectors.
struct to_rgb3 {
    static constexpr size_t FIRST = offsetof(direction_cuda_colours, rgb);
    static constexpr size_t BYTES = sizeof(direction_cuda_colours) - FIRST;
    static constexpr uint32_t NONE = 0x2222; // bytes that are 0
    static constexpr int PARTS = 3;          // vectors of 8 bytes a thread

    uint8_t *row;
    uint32_t count; // bytes to its end
    bool together;

    // `together`: all of the warp writes eight pixels, side by side.
    __device__ __forceinline__ to_rgb3(const direction_cuda &p, uint32_t x, uint32_t y,
                                       bool together)
        : row(reinterpret_cast<uint8_t *>(p.output[0]) + (size_t)y * p.output_stride[0] +
              3 * (size_t)x),
          count(3 * (p.width - x)), together(together)
    {
        if (together) {
            row -= threadIdx.x % 32 * (PARTS - 1) * sizeof(uint2);
        }
    }

    // Red, green and blue of pixel `i`.
    static __device__ __forceinline__ uint32_t pixel(const octet &o, int i)
    {
        uint32_t colour = look_up<to_rgb3, uint32_t>(0, 2 * o.direction[i]);
        uint32_t pair = o.magnitudes[pair_of(i)];

        return is_upper(i) ? permute(__dp2a_hi(colour, pair << 8, 128u), pair >> 16, colour)
                           : permute(__dp2a_lo(colour, pair << 8, 128u), pair, colour);
    }

    __device__ __forceinline__ void store_together(const uint32_t (&words)[3 * WORDS]) const
    {
        __shared__ uint2 staged[WARPS_TOGETHER * 32 * PARTS];
        uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
        uint2 *mine = staged + PARTS * thread, *warps = staged + PARTS * (thread - lane) + lane;

        __syncwarp(); // what was staged before has been read
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            mine[i] = make_uint2(words[2 * i], words[2 * i + 1]);
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            reinterpret_cast<uint2 *>(row)[32 * i] = warps[32 * i];
        }
    }

    template <bool VECTOR>
    __device__ __forceinline__ void store(const direction_cuda &p, bool, const octet &o)
    {
        uint32_t pixels[PIXELS], words[3 * WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i++) {
            pixels[i] = pixel(o, i);
        }
        pack_rgb3(pixels, words);
        if (VECTOR && together) {
            store_together(words);
        } else {
            store_words<VECTOR>(row, words, count);
        }
        row += p.output_stride[0];
    }
};

// The tables of the target to shared memory, by the whole block.
template <class target> __device__ __forceinline__ void load_tables(const direction_cuda &p)
{
    constexpr uint32_t COUNT = target::BYTES / sizeof(uint4);
    const uint4 *__restrict__ from = reinterpret_cast<const uint4 *>(p.colours + target::FIRST);
    uint4 *to = shared_tables<target>() + 1;
    uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x;

    for (uint32_t i = thread; i < COUNT; i += blockDim.x * blockDim.y) {
        to[i] = __ldg(from + i);
    }
    if (thread == 0) {
        to[-1] = make_uint4(target::NONE, target::NONE, target::NONE, target::NONE);
    }
    __syncthreads();
}

} // namespace
