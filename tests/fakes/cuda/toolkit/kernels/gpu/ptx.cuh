// kernels/gpu/ptx.cuh for the CPU.
#pragma once

#include "tests/fakes/cuda/toolkit/cuda.h"

static inline uint32_t permute_signs(uint32_t a, uint32_t b, uint32_t selector)
{
    return fake_cuda_permute(a, b, selector);
}

static inline void sync_some(uint32_t threads)
{
    fake_cuda_meet_block(1, threads);
}

static inline float near_root(float n)
{
    return sqrtf(n);
}

static inline float near_reciprocal(float n)
{
    return 1 / n;
}
