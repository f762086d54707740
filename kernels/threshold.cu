// Black and white of gray, and the threshold by Otsu's method.
//
//   compare: white where gray >= level, else black
//   histogram: pixels of each value; and of those Otsu's level, as otsu.c has it: of all levels the
//   one with the largest variance between the pixels below and the rest, the lowest of several
//   alike
//
// bit for bit what threshold.c, otsu.c and compose.c compute.
//
// Buffers. Input: a plane of gray that an earlier kernel made, so it has vectors up to its stride.
// Output: one byte a pixel, rows `output_stride` apart; nothing outside its pixels is touched.
//
// Compare. A thread makes 8 pixels by 4 rows and shares nothing. 2 bytes and 2 instructions a
// pixel.
//
// Histogram. 1 byte a pixel, and an addition in shared memory for every pixel that differs from its
// neighbours. A warp takes a row, 16 pixels a lane at a time. A block has a table for each of the
// 32 lanes, value by value beside each other, so that the lanes of a warp never meet in a bank or
// on an address, whatever the picture. The tables are added up in the global histogram, and the
// block that is last finds the level and leaves zeros for the next picture. On an H200 the tables
// fill up in 8 us of 8K noise, the level takes about as long as a chain of 256 times 7 double
// operations.
#include "kernels/threshold_cuda.h"
#include "kernels/tile.cuh"

#include <float.h>

namespace {

constexpr int ROWS = THRESHOLD_CUDA_ROWS, THREADS = THRESHOLD_CUDA_THREADS, LANES = 32;
constexpr int VALUES = 256;
constexpr uint32_t ALL = 0xffffffff;

static_assert(THREADS == VALUES, "a thread has a value");

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
    const threshold_cuda_state *state = reinterpret_cast<const threshold_cuda_state *>(p.state);
    uint32_t level = (state ? __ldg(&state->level) : p.level) * 0x01010101;

    if (x + PIXELS <= p.width && aligned(p.output | p.output_stride, PIXELS)) {
        compare_tile<true>(p, x, y, level);
    } else {
        compare_tile<false>(p, x, y, level);
    }
}

// The shared memory of a block, first for the tables, then for the level.
union scratch {
    uint32_t tables[VALUES][LANES];
    struct {
        double share[VALUES], below[VALUES], weight[VALUES], inverse[VALUES], mean[VALUES];
        double variance[THREADS / LANES];
        uint32_t best[THREADS / LANES];
        unsigned long long sum;
    } level;
};

// The first `count` pixels of a word.
__device__ __forceinline__ void count_word(scratch &s, uint32_t word, uint32_t count, uint32_t lane)
{
    if (count >= 4 && word == __byte_perm(word, 0, 0x0000)) {
        atomicAdd(&s.tables[word & 0xff][lane], 4);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (i < count) {
            atomicAdd(&s.tables[word >> 8 * i & 0xff][lane], 1);
        }
    }
}

__device__ __forceinline__ void count_rows(const threshold_histogram_cuda &p, scratch &s)
{
    constexpr uint32_t VECTOR = 16;
    uint32_t lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    uint32_t step = gridDim.x * (THREADS / LANES);

    for (uint32_t y = blockIdx.x * (THREADS / LANES) + warp; y < p.height; y += step) {
        const uint8_t *row =
            reinterpret_cast<const uint8_t *>(p.input) + (size_t)y * p.input_stride;

#pragma unroll 2
        for (uint32_t x = lane * VECTOR; x < p.width; x += LANES * VECTOR) {
            uint32_t words[4], left = p.width - x;

            load_words<16>(row + x, words);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                count_word(s, words[i], left > 4 * i ? left - 4 * i : 0, lane);
            }
        }
    }
}

// Adds the block's tables to the histogram. True in the block that is last, which sees all of it.
__device__ __forceinline__ bool add_up(threshold_cuda_state *state, const scratch &s)
{
    __shared__ bool last;
    uint32_t count = 0;

    for (uint32_t i = 0; i < LANES; i++) {
        count += s.tables[threadIdx.x][(threadIdx.x + i) % LANES];
    }
    if (count > 0) {
        atomicAdd(&state->histogram[threadIdx.x], count);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicInc(&state->blocks, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    return last;
}

// a / b, correctly rounded, from the correctly rounded 1 / b: the first step leaves a quotient that
// is one of the two nearest, the second rounds it as division does (P. Markstein, "Computation of
// elementary functions on the IBM RISC System/6000 processor", 1990).
__device__ __forceinline__ double divide(double a, double b, double inverse)
{
    double q = __dmul_rn(a, inverse);

    q = __fma_rn(__fma_rn(-q, b, a), inverse, q);
    return __fma_rn(__fma_rn(-q, b, a), inverse, q);
}

// The sums that go from value to value, by one thread; `inverse` is 0 of a value that parts
// nothing.
__device__ void run_sums(scratch &s)
{
    double below = 0;

    for (int i = 0; i < VALUES; i++) {
        below = __dadd_rn(below, s.level.share[i]);
        s.level.below[i] = below;
    }
}

__device__ void run_means(scratch &s)
{
    double mean = 0, before = 0;

#pragma unroll 4
    for (int i = 0; i < VALUES; i++) {
        double below = s.level.below[i], inverse = s.level.inverse[i];

        mean = __dmul_rn(mean, before);
        if (inverse != 0) {
            mean = divide(__dadd_rn(mean, s.level.weight[i]), below, inverse);
        }
        before = below;
        s.level.mean[i] = mean;
    }
}

// The value with the largest variance of a warp's, in lane 0: the lowest of several alike.
__device__ __forceinline__ void keep_largest(double &variance, uint32_t &best)
{
    for (int i = LANES / 2; i > 0; i /= 2) {
        double other = __shfl_down_sync(ALL, variance, i);
        uint32_t its = __shfl_down_sync(ALL, best, i);

        if (other > variance || (other == variance && its < best)) {
            variance = other;
            best = its;
        }
    }
}

// Otsu's level of a histogram; a thread a value. The operations of otsu.c in their order, none of
// them contracted.
__device__ uint32_t find_level(uint32_t count, double pixels, scratch &s)
{
    uint32_t i = threadIdx.x, best = i;
    unsigned long long sum = (unsigned long long)count * i;
    double scale = __ddiv_rn(1.0, pixels);

    if (i == 0) {
        s.level.sum = 0;
    }
    s.level.share[i] = __dmul_rn(count, scale);
    s.level.weight[i] = __dmul_rn(i, s.level.share[i]);
    __syncthreads();
    atomicAdd(&s.level.sum, sum);
    if (i == 0) {
        run_sums(s);
    }
    __syncthreads();
    double below = s.level.below[i], above = __dsub_rn(1.0, below);
    bool parts = !(below < FLT_EPSILON || above < FLT_EPSILON || below > 1.0 - FLT_EPSILON ||
                   above > 1.0 - FLT_EPSILON);

    s.level.inverse[i] = parts ? __drcp_rn(below) : 0;
    __syncthreads();
    if (i == 0) {
        run_means(s);
    }
    __syncthreads();
    double mean = __dmul_rn((double)s.level.sum, scale), below_mean = s.level.mean[i];
    double rest = __ddiv_rn(__dsub_rn(mean, __dmul_rn(below, below_mean)), above);
    double apart = __dsub_rn(below_mean, rest);
    double variance = __dmul_rn(__dmul_rn(__dmul_rn(below, above), apart), apart);

    if (!parts || !(variance > 0)) {
        variance = 0;
        best = 0;
    }
    keep_largest(variance, best);
    if (i % LANES == 0) {
        s.level.variance[i / LANES] = variance;
        s.level.best[i / LANES] = best;
    }
    __syncthreads();
    if (i == 0) {
        for (int k = 1; k < THREADS / LANES; k++) {
            if (s.level.variance[k] > variance) {
                variance = s.level.variance[k];
                best = s.level.best[k];
            }
        }
    }
    return best + 1; // of thread 0
}

__device__ void find_picture_level(const threshold_histogram_cuda &p, scratch &s)
{
    threshold_cuda_state *state = reinterpret_cast<threshold_cuda_state *>(p.state);

    for (uint32_t i = threadIdx.x; i < VALUES * LANES; i += THREADS) {
        s.tables[i / LANES][i % LANES] = 0;
    }
    __syncthreads();
    count_rows(p, s);
    __syncthreads();
    if (!add_up(state, s)) {
        return;
    }
    uint32_t count = __ldcg(&state->histogram[threadIdx.x]);
    uint32_t level = find_level(count, (double)p.width * p.height, s);

    state->histogram[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        state->level = level;
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS_MAX)
    threshold_compare(threshold_compare_cuda p)
{
    compare_picture(p);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    threshold_histogram(threshold_histogram_cuda p)
{
    __shared__ scratch s;

    find_picture_level(p, s);
}
