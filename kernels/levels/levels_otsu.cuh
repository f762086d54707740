// Otsu's level of a histogram on the GPU, as levels.c has it: of all levels the one with the
// largest variance between the pixels below and the rest, the lowest of several alike.
//
// By VALUES threads of a block, each of which has a level. In the arithmetic that is to be met the
// means follow from level to level: a chain of 256 times 7 operations on doubles, which one thread
// does while the GPU waits, 18 us on an H200 as counted. So first all variances are computed at
// once from sums of whole numbers, and where one is larger than all others by more than that
// chain's rounding may come to, it is the chain's, too.
//
// The rounding. With u = 2^-53, the chain's shares are off by 2 u, their sums by 258 u of what they
// are, the means weighted with them by 4 u a level and 3 u, so by 1030 u; the mean below by 1300 u
// of at most 255; that above by 3.4e5 u / (share above); the variance, at most a quarter of 255²,
// by 3.6e8 u, 4e-8. Left out, as by the chain, are levels of which fewer than 2^-23 of
// all pixels are below, whose weight it drops, or above.
#pragma once

#include "kernels/gpu/tile.cuh"
#include "kernels/levels/levels_cuda.h"

#include <float.h>

namespace {

constexpr int VALUES = 256, LANES = 32;
constexpr uint32_t ALL = 0xffffffff;

constexpr double CLEAR = 1e-6;        // the distance of variances that decides, and
constexpr double LARGE = 0.02;        // the least one: those of 2^-23 of all pixels are below 0.008
constexpr uint32_t COUNTED = 1 << 27; // pixels at most, so that products of sums fit 63 bits

// Shared memory of the threads.
struct otsu_scratch {
    double share[VALUES], below[VALUES], weight[VALUES], inverse[VALUES], mean[VALUES];
    double variance[VALUES / LANES];
    uint32_t best[VALUES / LANES];
    unsigned long long pixels[VALUES / LANES], sums[VALUES / LANES]; // of a warp's levels
    unsigned long long dropped;                                      // of the sums
    uint32_t unclear;
};

// Of a level and those below it.
struct otsu_sums {
    unsigned long long pixels, sum; // sum of their values
    unsigned long long all;         // sum of the whole picture
};

// The first VALUES threads of a block wait for each other.
__device__ __forceinline__ void sync_values()
{
    sync_some(VALUES);
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
__device__ void run_sums(otsu_scratch &s)
{
    double below = 0;

    for (int i = 0; i < VALUES; i++) {
        below = __dadd_rn(below, s.share[i]);
        s.below[i] = below;
    }
}

__device__ void run_means(otsu_scratch &s)
{
    double mean = 0, before = 0;

#pragma unroll 4
    for (int i = 0; i < VALUES; i++) {
        double below = s.below[i], inverse = s.inverse[i];

        mean = __dmul_rn(mean, before);
        if (inverse != 0)
            mean = divide(__dadd_rn(mean, s.weight[i]), below, inverse);
        before = below;
        s.mean[i] = mean;
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

// The same of all values, to every thread.
__device__ __forceinline__ uint32_t find_largest(double &variance, uint32_t best, otsu_scratch &s)
{
    keep_largest(variance, best);
    if (threadIdx.x % LANES == 0) {
        s.variance[threadIdx.x / LANES] = variance;
        s.best[threadIdx.x / LANES] = best;
    }
    sync_values();
    variance = s.variance[0];
    best = s.best[0];
    for (int k = 1; k < VALUES / LANES; k++) {
        if (s.variance[k] > variance) {
            variance = s.variance[k];
            best = s.best[k];
        }
    }
    return best;
}

__device__ __forceinline__ unsigned long long scan_warp(unsigned long long value)
{
    for (int i = 1; i < LANES; i *= 2) {
        unsigned long long others = __shfl_up_sync(ALL, value, i);

        value += threadIdx.x % LANES >= i ? others : 0;
    }
    return value;
}

__device__ otsu_sums sum_up(uint32_t count, otsu_scratch &s)
{
    uint32_t warp = threadIdx.x / LANES;
    otsu_sums of = {scan_warp(count), scan_warp((unsigned long long)count * threadIdx.x), 0};

    if (threadIdx.x % LANES == LANES - 1) {
        s.pixels[warp] = of.pixels;
        s.sums[warp] = of.sum;
    }
    sync_values();
    for (int k = 0; k < VALUES / LANES; k++) {
        of.pixels += k < warp ? s.pixels[k] : 0;
        of.sum += k < warp ? s.sums[k] : 0;
        of.all += s.sums[k];
    }
    return of;
}

// The level where one is clearly the best, else 0: then the chain has to be gone through. With n
// pixels of N up to a level, s the sum of their values and S that of all, the variance is
// (s N - S n)² / (N² n (N - n)).
__device__ uint32_t find_clear_level(const otsu_sums &of, uint32_t pixels, otsu_scratch &s)
{
    unsigned long long below = of.pixels << 23, above = (pixels - of.pixels) << 23;
    double variance = 0, largest;
    uint32_t best;

    if (threadIdx.x == 0) {
        s.dropped = 0;
        s.unclear = 0;
    }
    sync_values();
    if (below < pixels)
        atomicMax(&s.dropped, of.sum);
    if (below == pixels) {
        atomicAdd(&s.unclear, 1); // whether its weight is dropped is a matter of rounding
    }
    sync_values();
    if (below >= pixels && above >= pixels) {
        double apart =
            (double)((long long)((of.sum - s.dropped) * pixels) - (long long)(of.all * of.pixels));

        variance = apart * apart /
                   ((double)pixels * pixels * ((double)of.pixels * (double)(pixels - of.pixels)));
    }
    largest = variance;
    best = find_largest(largest, threadIdx.x, s);
    if (threadIdx.x != best && variance > largest - CLEAR)
        atomicAdd(&s.unclear, 1);
    sync_values();
    return s.unclear == 0 && largest > LARGE ? best + 1 : 0;
}

// The operations of levels_otsu() in their order, none of them contracted.
__device__ uint32_t find_level(uint32_t count, unsigned long long sum, double pixels,
                               otsu_scratch &s)
{
    uint32_t i = threadIdx.x;
    double scale = __ddiv_rn(1.0, pixels);

    s.share[i] = __dmul_rn(count, scale);
    s.weight[i] = __dmul_rn(i, s.share[i]);
    sync_values();
    if (i == 0)
        run_sums(s);
    sync_values();
    double below = s.below[i], above = __dsub_rn(1.0, below);
    bool parts = !(below < FLT_EPSILON || above < FLT_EPSILON || below > 1.0 - FLT_EPSILON ||
                   above > 1.0 - FLT_EPSILON);

    s.inverse[i] = parts ? __drcp_rn(below) : 0;
    sync_values();
    if (i == 0)
        run_means(s);
    sync_values();
    double mean = __dmul_rn((double)sum, scale), below_mean = s.mean[i];
    double rest = __ddiv_rn(__dsub_rn(mean, __dmul_rn(below, below_mean)), above);
    double apart = __dsub_rn(below_mean, rest);
    double variance = __dmul_rn(__dmul_rn(__dmul_rn(below, above), apart), apart);
    bool counts = parts && variance > 0;

    if (!counts)
        variance = 0;
    return find_largest(variance, counts ? i : 0, s) + 1;
}

// Otsu's level of a histogram, a thread a value, to all of them.
__device__ uint32_t otsu_level(uint32_t count, uint64_t pixels, otsu_scratch &s)
{
    const otsu_sums of = sum_up(count, s);
    uint32_t level = pixels <= COUNTED ? find_clear_level(of, (uint32_t)pixels, s) : 0;

    return level != 0 ? level : find_level(count, of.all, (double)pixels, s);
}

} // namespace
