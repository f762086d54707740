// The histogram of a picture, and what an automatic threshold makes of it, in one launch:
//
//   otsu: the level by Otsu's method (levels_otsu.cuh, levels.h)
//   median: Canny's limits by the median of all pixels (canny.h). With v the median, of an even
//   number of pixels the mean of the two in the middle,
//     low = 67 (2 v) / 200    high = min(255, 133 (2 v) / 200)
//
// bit for bit what levels.c and canny.c compute. Kernels behind it read the result
// from the device's memory, so nobody waits for it.
//
// Buffers. Input: gray, one byte a pixel, rows `input_stride` apart; nothing outside its pixels is
// touched. State: a levels_cuda_state.
//
// Threads. Blocks stay: a warp takes one segment of a row after another, 16 pixels a lane at a
// time. A block has a table for each of the 32 lanes, level by level beside each other, so that the
// lanes of a warp never meet in a bank or on an address, whatever the picture. The tables are added
// up in the global histogram, and the block that is last makes the threshold of it and leaves zeros
// for the next picture.
//
// The floor. Bytes a pixel: 1 read; 33 MB at 8K, 10 us on an H200. Operations a pixel: 2 for the
// address of its counter, 1 addition in shared memory. Of these a multiprocessor starts at most 32
// lanes' a cycle: 8K needs 7900 cycles, 4.5 us; and 3.1e6 warps' instructions of 0.93e12 a second,
// 3.3 us. So reading is what bounds it where the picture does not lie in the L2 yet. Beside that
// stand 32 KB that each block clears and adds up, once, as all blocks run at the same time.
//
// Alignment. Vectors of 16 bytes from addresses that are multiples of 16, where all of their pixels
// are the row's; the row's ends, which need not be such, go byte by byte.
#include "kernels/levels/levels_otsu.cuh"

namespace {

constexpr int THREADS = LEVELS_CUDA_THREADS, WARPS = THREADS / LANES;
constexpr int VECTOR = LEVELS_CUDA_VECTOR, SEGMENT = LEVELS_CUDA_SEGMENT;
constexpr int VECTORS = SEGMENT / (VECTOR * LANES); // of a lane
constexpr int SHARE = VALUES / LANES;               // levels that a lane of one warp has

static_assert(VECTORS * VECTOR * LANES == SEGMENT && THREADS >= VALUES, "all are counted");

struct counters {
    uint32_t tables[VALUES][LANES];
};

__device__ __forceinline__ void count_word(counters &s, uint32_t word, uint32_t lane)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        atomicAdd(&s.tables[word >> 8 * i & 0xff][lane], 1);
}

// Part of a row that a warp counts.
struct segment {
    const uint8_t *__restrict__ row; // its first pixel
    int32_t first;                   // of the segment, counted from there: 0 or less in the first
};

__device__ __forceinline__ segment segment_at(const levels_cuda &p, uint32_t row, uint32_t index)
{
    const uint8_t *from = reinterpret_cast<const uint8_t *>(p.input) + (size_t)row * p.input_stride;
    int32_t before = (int32_t)(reinterpret_cast<uint64_t>(from) % VECTOR);

    return {from, (int32_t)(index * SEGMENT) - before};
}

// All loads of a lane are on their way before the first is counted.
__device__ __forceinline__ void count_segment(counters &s, const segment &from, int32_t width)
{
    uint32_t lane = threadIdx.x % LANES;
    uint4 words[VECTORS];
    int32_t at[VECTORS];

#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        at[i] = from.first + (int32_t)(i * LANES + lane) * VECTOR;
        if (at[i] >= 0 && at[i] + VECTOR <= width)
            words[i] = __ldg(reinterpret_cast<const uint4 *>(from.row + at[i]));
    }
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        if (at[i] >= 0 && at[i] + VECTOR <= width) {
            count_word(s, words[i].x, lane);
            count_word(s, words[i].y, lane);
            count_word(s, words[i].z, lane);
            count_word(s, words[i].w, lane);
        } else {
#pragma unroll 1
            for (int32_t x = max(at[i], 0); x < min(at[i] + VECTOR, width); x++)
                atomicAdd(&s.tables[from.row[x]][lane], 1);
        }
    }
}

__device__ __forceinline__ void count_picture(const levels_cuda &p, counters &s)
{
    uint32_t segments = (p.width + VECTOR - 2) / SEGMENT + 1; // of a row, wherever it begins
    uint32_t step = gridDim.x * WARPS;

#pragma unroll 1
    for (uint32_t i = blockIdx.x * WARPS + threadIdx.x / LANES; i < segments * p.height;
         i += step) {
        count_segment(s, segment_at(p, i / segments, i % segments), (int32_t)p.width);
    }
}

// Adds the block's tables to the histogram. True in the block that is last, which sees all of it.
__device__ __forceinline__ bool add_up(levels_cuda_state *state, const counters &s)
{
    __shared__ bool last;

    if (threadIdx.x < VALUES) {
        uint32_t count = 0;

        // Each lane begins in another bank.
#pragma unroll
        for (uint32_t i = 0; i < LANES; i++)
            count += s.tables[threadIdx.x][(threadIdx.x + i) % LANES];
        if (count > 0)
            atomicAdd(&state->histogram[threadIdx.x], count);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&state->blocks, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    __threadfence();
    return last;
}

// The histogram of the picture is in the state. True in one block, for which it is whole.
__device__ __forceinline__ bool make_histogram(const levels_cuda &p, counters &s)
{
    for (uint32_t i = threadIdx.x; i < VALUES * LANES; i += THREADS)
        s.tables[i / LANES][i % LANES] = 0;
    __syncthreads();
    count_picture(p, s);
    __syncthreads();
    return add_up(reinterpret_cast<levels_cuda_state *>(p.state), s);
}

// The level of pixel number `index` of all in their order, known to a warp whose lanes have the
// pixels up to each of SHARE levels: as many levels have no pixel from that one on.
__device__ __forceinline__ uint32_t level_at(const uint32_t (&pixels)[SHARE], uint32_t index)
{
    uint32_t level = 0;

#pragma unroll
    for (int i = 0; i < SHARE; i++)
        level += pixels[i] <= index;
    for (int i = LANES / 2; i > 0; i /= 2)
        level += __shfl_xor_sync(ALL, level, i);
    return level;
}

// Canny's limits by twice the median.
__device__ __forceinline__ levels_cuda_limits limits_by(uint32_t twice)
{
    uint32_t low = 67 * twice / 200, high = min(133 * twice / 200, 255u);

    // The root of half a whole number is further from the next whole one than rounding goes.
    return {low * low * 0x1p-48f, high * high * 0x1p-48f, (uint32_t)__fsqrt_rn(low * low * 0.5f)};
}

// By one warp, which leaves zeros in the histogram.
__device__ __forceinline__ void find_limits(levels_cuda_state *state)
{
    uint32_t lane = threadIdx.x, pixels[SHARE], before = 0, all;

#pragma unroll
    for (int i = 0; i < SHARE; i++) {
        uint32_t *count = &state->histogram[lane * SHARE + i];

        before += __ldcg(count);
        *count = 0;
        pixels[i] = before;
    }
    all = before;
    for (int i = 1; i < LANES; i *= 2) {
        uint32_t others = __shfl_up_sync(ALL, all, i);

        all += lane >= i ? others : 0;
    }
#pragma unroll
    for (int i = 0; i < SHARE; i++)
        pixels[i] += all - before;
    all = __shfl_sync(ALL, all, LANES - 1);
    levels_cuda_limits limits =
        limits_by(level_at(pixels, (all - 1) / 2) + level_at(pixels, all / 2));

    if (lane == 0)
        state->limits = limits;
}

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS) levels_otsu(levels_cuda p)
{
    __shared__ union {
        counters counts;
        otsu_scratch otsu;
    } s;
    levels_cuda_state *state = reinterpret_cast<levels_cuda_state *>(p.state);

    if (make_histogram(p, s.counts) && threadIdx.x < VALUES) {
        uint32_t count = __ldcg(&state->histogram[threadIdx.x]);
        uint32_t level = otsu_level(count, (uint64_t)p.width * p.height, s.otsu);

        state->histogram[threadIdx.x] = 0;
        if (threadIdx.x == 0)
            state->level = level;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) levels_median(levels_cuda p)
{
    __shared__ counters s;

    if (make_histogram(p, s) && threadIdx.x < LANES)
        find_limits(reinterpret_cast<levels_cuda_state *>(p.state));
}
