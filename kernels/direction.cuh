// Directions to colours: numbers of directions of halves, the tables in shared memory and how eight
// pixels are written. Formulas, tables and margins are those of direction.cu.
#pragma once

#include "kernels/direction_cuda.h"
#include "kernels/sobel.cuh"

namespace {

constexpr uint32_t HALF_TABLE = DIRECTION_CUDA_COLOURS / 2;

// Magnitudes of eight pixels in 16 bit lanes of their pairs (sobel.cuh), and where their directions
// stand in a table, from its middle on.
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

// `pair` is of two gx and has the sign in byte 1, or in byte 3 if UPPER.
template <bool UPPER>
__device__ __forceinline__ int32_t direction_of(uint32_t pair, float gx, float gy)
{
    float share = __fmaf_rn(gy, reciprocal(fabsf(gx) + fabsf(gy)), 0x1p-20f);
    float number = __fmaf_rd(share, 126.0f, 32768.0f + 126.5f);

    return (int32_t)permute(__float_as_uint(number), pair, UPPER ? 0xfff1 : 0xddd1);
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

// The word of pixel `i` in the table INDEX of those in shared memory.
template <int INDEX>
__device__ __forceinline__ uint32_t colour_at(uint32_t table, const octet &o, int i)
{
    uint32_t r;

    asm("ld.shared.u32 %0, [%1 + %2];"
        : "=r"(r)
        : "r"(table + 4 * o.direction[i]), "n"(4 * INDEX * DIRECTION_CUDA_COLOURS));
    return r;
}

// Targets: the tables they want, from table FIRST on, and how they write eight pixels. Lanes have
// empty bytes, so a word of a table has room for two factors.
struct to_nv12 {
    static constexpr int FIRST = DIRECTION_CUDA_Y, TABLES = 2;
    static constexpr uint32_t HALF = 1 << 15;

    // Luma of pixel `i`; its factor has no sign.
    static __device__ __forceinline__ uint32_t luma(uint32_t table, const octet &o, int i)
    {
        uint32_t factor = colour_at<0>(table, o, i), pair = o.magnitudes[pair_of(i)];

        return is_upper(i) ? __dp2a_hi(factor, pair, (16u << 16) + HALF)
                           : __dp2a_lo(factor, pair, (16u << 16) + HALF);
    }

    // U and V of pixels `i` and `i` + 2.
    static __device__ __forceinline__ uint32_t chroma(uint32_t table, const octet &o, int i)
    {
        constexpr uint32_t base = (128u << 16) + HALF;
        uint32_t a = colour_at<1>(table, o, i), b = colour_at<1>(table, o, i + 2);
        uint32_t for_u = o.magnitudes[pair_of(i)], for_v = for_u << 8;

        return gather<2>(weigh<false>(a, for_u, base), weigh<false>(a, for_v, base),
                         weigh<true>(b, for_u, base), weigh<true>(b, for_v, base));
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void store(const direction_cuda &p, uint32_t table,
                                                 uint32_t x, uint32_t y, bool even, const octet &o)
    {
        uint8_t *__restrict__ row =
            reinterpret_cast<uint8_t *>(p.output[0]) + (size_t)y * p.output_stride[0] + x;
        uint8_t *__restrict__ pairs =
            reinterpret_cast<uint8_t *>(p.output[1]) + (size_t)(y / 2) * p.output_stride[1] + x;
        uint32_t words[WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i += 4) {
            words[i / 4] = gather<2>(luma(table, o, i), luma(table, o, i + 1),
                                     luma(table, o, i + 2), luma(table, o, i + 3));
        }
        store_words<VECTOR>(row, words, p.width - x);
        if (!even) {
            return;
        }
#pragma unroll
        for (int i = 0; i < PIXELS; i += 4) {
            words[i / 4] = chroma(table, o, i);
        }
        store_words<VECTOR>(pairs, words, (p.width - x + 1) / 2 * 2);
    }
};

struct to_rgb3 {
    static constexpr int FIRST = DIRECTION_CUDA_RGB, TABLES = 1;

    // Red, green and blue of pixel `i`.
    static __device__ __forceinline__ uint32_t pixel(uint32_t table, const octet &o, int i)
    {
        uint32_t colour = colour_at<0>(table, o, i), pair = o.magnitudes[pair_of(i)];

        return is_upper(i) ? permute(__dp2a_hi(colour, pair << 8, 128u), pair >> 16, colour)
                           : permute(__dp2a_lo(colour, pair << 8, 128u), pair, colour);
    }

    template <bool VECTOR>
    static __device__ __forceinline__ void store(const direction_cuda &p, uint32_t table,
                                                 uint32_t x, uint32_t y, bool even, const octet &o)
    {
        uint8_t *__restrict__ row =
            reinterpret_cast<uint8_t *>(p.output[0]) + (size_t)y * p.output_stride[0];
        uint32_t pixels[PIXELS], words[3 * WORDS];

#pragma unroll
        for (int i = 0; i < PIXELS; i++) {
            pixels[i] = pixel(table, o, i);
        }
        pack_rgb3(pixels, words);
        store_words<VECTOR>(row + 3 * (size_t)x, words, 3 * (p.width - x));
    }
};

// The tables of the target in shared memory, for the whole block; returns the address there of
// their first's middle.
template <class target> __device__ __forceinline__ uint32_t load_tables(const direction_cuda &p)
{
    constexpr uint32_t COUNT = target::TABLES * DIRECTION_CUDA_COLOURS;
    __shared__ uint4 tables[COUNT / 4];
    const uint4 *__restrict__ from =
        reinterpret_cast<const uint4 *>(p.colours) + target::FIRST * DIRECTION_CUDA_COLOURS / 4;

    for (uint32_t i = threadIdx.y * blockDim.x + threadIdx.x; i < COUNT / 4;
         i += blockDim.x * blockDim.y) {
        tables[i] = __ldg(from + i);
    }
    __syncthreads();
    uint32_t middle = (uint32_t)__cvta_generic_to_shared(tables) + 4 * HALF_TABLE;

    // A register, and after the barrier: else the compiler works it out for each row.
    asm volatile("" : "+r"(middle));
    return middle;
}

} // namespace
