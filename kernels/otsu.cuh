// Otsu's level of a histogram on the GPU, as otsu.c has it: of all levels the one with the largest
// variance between the pixels below and the rest, the lowest of several alike.
//
// By VALUES threads of a block, each of which has a level. The means that lead to it follow from
// level to level: a chain of 256 times 7 operations on doubles, which one thread does while the GPU
// waits; all else that the level takes is done for all of them at once.
#pragma once

#include "kernels/levels_cuda.h"
#include "kernels/tile.cuh"

#include <float.h>

namespace {

constexpr int VALUES = 256, LANES = 32;
constexpr uint32_t ALL = 0xffffffff;

// What the threads share.
struct otsu_scratch {
    double share[VALUES], below[VALUES], weight[VALUES], inverse[VALUES], mean[VALUES];
    double variance[VALUES / LANES];
    uint32_t best[VALUES / LANES];
    unsigned long long sum;
};

// The first VALUES threads of a block wait for each other.
__device__ __forceinline__ void sync_values()
{
    asm volatile("bar.sync 1, %0;" ::"n"(VALUES) : "memory");
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
        if (inverse != 0) {
            mean = divide(__dadd_rn(mean, s.weight[i]), below, inverse);
        }
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

// Otsu's level of a histogram; a thread a value. The operations of otsu.c in their order, none of
// them contracted.
__device__ uint32_t otsu_level(uint32_t count, double pixels, otsu_scratch &s)
{
    uint32_t i = threadIdx.x, best = i;
    unsigned long long sum = (unsigned long long)count * i;
    double scale = __ddiv_rn(1.0, pixels);

    if (i == 0) {
        s.sum = 0;
    }
    s.share[i] = __dmul_rn(count, scale);
    s.weight[i] = __dmul_rn(i, s.share[i]);
    sync_values();
    atomicAdd(&s.sum, sum);
    if (i == 0) {
        run_sums(s);
    }
    sync_values();
    double below = s.below[i], above = __dsub_rn(1.0, below);
    bool parts = !(below < FLT_EPSILON || above < FLT_EPSILON || below > 1.0 - FLT_EPSILON ||
                   above > 1.0 - FLT_EPSILON);

    s.inverse[i] = parts ? __drcp_rn(below) : 0;
    sync_values();
    if (i == 0) {
        run_means(s);
    }
    sync_values();
    double mean = __dmul_rn((double)s.sum, scale), below_mean = s.mean[i];
    double rest = __ddiv_rn(__dsub_rn(mean, __dmul_rn(below, below_mean)), above);
    double apart = __dsub_rn(below_mean, rest);
    double variance = __dmul_rn(__dmul_rn(__dmul_rn(below, above), apart), apart);

    if (!parts || !(variance > 0)) {
        variance = 0;
        best = 0;
    }
    keep_largest(variance, best);
    if (i % LANES == 0) {
        s.variance[i / LANES] = variance;
        s.best[i / LANES] = best;
    }
    sync_values();
    if (i == 0) {
        for (int k = 1; k < VALUES / LANES; k++) {
            if (s.variance[k] > variance) {
                variance = s.variance[k];
                best = s.best[k];
            }
        }
    }
    return best + 1; // of thread 0
}

} // namespace
