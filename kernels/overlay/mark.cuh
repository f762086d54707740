// A mask marked in tiles of NV12 (convert.cuh), by the formulas of mark.h: all pixels of a
// tile at once and without branches, 255 in the bytes of the mask that are set and 0 in the others.
#pragma once

#include "kernels/gpu/tile.cuh"
#include "kernels/overlay/mark_cuda.h"

namespace {

// 0 to less than 256 of what has 20 bits behind the point. One instruction where there is one.
__device__ __forceinline__ int32_t limit20(int32_t value)
{
    const int32_t most = (255 << 20) | 0xfffff;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
    return __vimin_s32_relu(value, most);
#else
    return min(max(value, 0), most);
#endif
}

__device__ __forceinline__ uint32_t choose(uint32_t mask, uint32_t set, uint32_t clear)
{
    return (mask & set) | (~mask & clear);
}

// Green and blue of a pixel, and with a red of 255 its luma, with 24 bits behind the point, and its
// chroma, with 20.
struct other {
    int32_t green, blue;

    __device__ __forceinline__ uint32_t luma24(const mark_space &s) const
    {
        return 16 * (uint32_t)s.y_constant + 16 * s.y_green * (uint32_t)green +
               16 * s.y_blue * (uint32_t)blue;
    }

    __device__ __forceinline__ int32_t u20(const mark_space &s) const
    {
        return s.u_constant + s.u_green_out * green + s.u_blue_out * blue;
    }

    __device__ __forceinline__ int32_t v20(const mark_space &s) const
    {
        return s.v_constant + s.v_green_out * green + s.v_blue_out * blue;
    }
};

// The parts of green and blue that a pair of chroma gives, rounding included.
__device__ __forceinline__ other terms_of(const mark_space &s, uint32_t u, uint32_t v)
{
    const int32_t half = 1 << 19;

    return {s.u_green * (int32_t)u + s.v_green * (int32_t)v + half - 128 * (s.u_green + s.v_green),
            s.u_blue * (int32_t)u + half - 128 * s.u_blue};
}

__device__ __forceinline__ other from_luma(const mark_space &s, const other &terms, uint32_t luma)
{
    int32_t term = s.luma * max((int32_t)luma - s.black, 0);

    return {limit20(term + terms.green) >> (20 + s.shift),
            limit20(term + terms.blue) >> (20 + s.shift)};
}

__device__ __forceinline__ uint32_t byte_of(uint32_t word, int i)
{
    return __byte_perm(word, 0, 0x4440 | i);
}

// Of four numbers with 24 bits behind the point the whole parts.
__device__ __forceinline__ uint32_t whole(const uint32_t (&n)[4])
{
    return __byte_perm(__byte_perm(n[0], n[1], 0x0073), __byte_perm(n[2], n[3], 0x0073), 0x5410);
}

// Two pairs of chroma and the 4 by 2 pixels that have them.
__device__ __forceinline__ void mark_four(const mark_space &s, const uint32_t (&mask)[2],
                                          uint32_t (&luma)[2], uint32_t &chroma)
{
    const other terms[2] = {terms_of(s, byte_of(chroma, 0), byte_of(chroma, 1)),
                            terms_of(s, byte_of(chroma, 2), byte_of(chroma, 3))};
    uint32_t made[2][4], pairs[4];

#pragma unroll
    for (int i = 0; i < 8; i++) {
        other pixel = from_luma(s, terms[i % 4 / 2], byte_of(luma[i / 4], i % 4));

        made[i / 4][i % 4] = pixel.luma24(s);
        if (i < 4 && i % 2 == 0) {
            pairs[i] = (uint32_t)limit20(pixel.u20(s)) << 4;
            pairs[i + 1] = (uint32_t)limit20(pixel.v20(s)) << 4;
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
        luma[i] = choose(mask[i], whole(made[i]), luma[i]);
    chroma = choose(__byte_perm(mask[0], 0, 0x2200), whole(pairs), chroma);
}

__device__ __forceinline__ void mark_tile(const mark_space &s,
                                          const uint32_t (&mask)[JOB_ROWS_CHROMA][WORDS],
                                          uint32_t (&luma)[JOB_ROWS_CHROMA][WORDS],
                                          uint32_t (&chroma)[WORDS])
{
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const uint32_t set[2] = {mask[0][i], mask[1][i]};
        uint32_t rows[2] = {luma[0][i], luma[1][i]};

        mark_four(s, set, rows, chroma[i]);
        luma[0][i] = rows[0];
        luma[1][i] = rows[1];
    }
}

} // namespace
