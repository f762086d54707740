// A tile of 32 by 32 pixels in hysteresis.cu: a row a lane of a warp, a pixel a bit. Its marks on
// their way in, the flood within it, and the names of the places on its border.
#pragma once

#include "kernels/canny/hysteresis_cuda.h"

namespace {

constexpr int TILE = HYSTERESIS_CUDA_TILE, TILES = HYSTERESIS_CUDA_TILES;
constexpr int PLACES = HYSTERESIS_CUDA_PLACES, THREADS = HYSTERESIS_CUDA_THREADS;
constexpr int PITCH = TILE + 4; // of a tile's rows in shared memory: columns lie in other banks
constexpr uint32_t ALL = 0xffffffff;

typedef hysteresis_cuda_border border;

// Bits of a tile's rows that lie in the picture.
__device__ __forceinline__ uint32_t inside(const hysteresis_cuda &p, uint32_t tile, uint32_t y)
{
    uint32_t x = tile * TILE;

    if (y >= p.height || x >= p.width)
        return 0;
    return p.width - x >= TILE ? ALL : (1u << (p.width - x)) - 1;
}

// The lower half of each byte of eight as one word, or the upper half after a shift by 4.
__device__ __forceinline__ uint32_t gather(uint2 bytes)
{
    uint32_t a = bytes.x & 0x0f0f0f0f, b = bytes.y & 0x0f0f0f0f;

    a = (a | a >> 4) & 0x00ff00ff;
    b = (b | b >> 4) & 0x00ff00ff;
    return __byte_perm(a | a >> 8, b | b >> 8, 0x5410);
}

__device__ __forceinline__ uint2 load_marks(const hysteresis_cuda &p, uint32_t tile, uint32_t y)
{
    return __ldg(reinterpret_cast<const uint2 *>(p.marks + (size_t)y * p.marks_stride) + tile);
}

__device__ __forceinline__ uint32_t *edges_at(const hysteresis_cuda &p, uint32_t tile, uint32_t y)
{
    return reinterpret_cast<uint32_t *>(p.edges) + (size_t)y * p.tile_stride + tile;
}

// `seed`, a subset of `open`, and what follows it upwards in its runs.
__device__ __forceinline__ uint32_t run_up(uint32_t seed, uint32_t open)
{
    return ((seed + open) ^ open | seed) & open;
}

// All that `seed` reaches in the tile through `open`, a row a lane.
__device__ __forceinline__ uint32_t fill(uint32_t seed, uint32_t open)
{
    uint32_t lane = threadIdx.x % TILE, reversed = __brev(open), last;

    do {
        uint32_t above = __shfl_up_sync(ALL, seed, 1), below = __shfl_down_sync(ALL, seed, 1);
        uint32_t near = (lane > 0 ? above : 0) | (lane < TILE - 1 ? below : 0);

        last = seed;
        seed = (seed | near | near << 1 | near >> 1) & open;
        seed = __brev(run_up(__brev(run_up(seed, open)), reversed));
    } while (__any_sync(ALL, seed != last));
    return seed;
}

// Where pixel (x, y) of a tile's border has its name.
__device__ __forceinline__ uint32_t place_of(uint32_t x, uint32_t y)
{
    return y == 0 ? x : y == TILE - 1 ? TILE + x : x == 0 ? 2 * TILE + y : 3 * TILE + y;
}

__device__ __forceinline__ uint32_t name_of(uint32_t tile, uint32_t x, uint32_t y)
{
    return (tile + 1) * PLACES + place_of(x, y);
}

} // namespace
