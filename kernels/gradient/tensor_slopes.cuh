// Gradients on the tensor cores (tensor.cuh): gx and gy of 3x3 operators as integers.
#pragma once

#include "kernels/gpu/tensor.cuh"
#include "kernels/gradient/gradient_cuda.h"

namespace {

// An operator has smooth(d) and derive(d), the weights 1 pixel away and in the middle.
struct sobel {
    static __host__ __device__ constexpr int smooth(int d)
    {
        return d ? 1 : 2;
    }

    static __host__ __device__ constexpr int derive(int d)
    {
        return d;
    }
};

template <class op> __host__ __device__ constexpr uint32_t slope_weights(bool across, int dy)
{
    uint32_t row = 0;

    for (int dx = 1; dx >= -1; dx--) {
        row = row << 8 |
              (uint8_t)(across ? op::smooth(dy) * op::derive(dx) : op::derive(dy) * op::smooth(dx));
    }
    return row;
}

// gx and gy of two pixels of either half, from the windows of the rows above, of theirs and of the
// one below.
template <class op> struct slopes_of_windows {
    weights<1> across[2], along[2];

    __device__ __forceinline__ slopes_of_windows()
    {
        uint32_t shift = weights_shift();

        across[0] = make_weights<1>(slope_weights<op>(true, 1), shift);
        across[1] = make_weights<1>(slope_weights<op>(true, 0), shift);
        along[0] = make_weights<1>(slope_weights<op>(false, -1), shift);
        along[1] = make_weights<1>(slope_weights<op>(false, 1), shift);
    }

    __device__ __forceinline__ void make(const windows<1> &above, const windows<1> &middle,
                                         const windows<1> &below, quad &gx, quad &gy) const
    {
        const quad zero = {};

        multiply_add(gx, zero, above, across[0]);
        multiply_add(gx, gx, middle, across[1]);
        multiply_add(gx, gx, below, across[0]);
        multiply_add(gy, zero, above, along[0]);
        multiply_add(gy, gy, below, along[1]);
    }
};

// The rows of a tile: finish::two(p, xa, ya, xb, yb) makes results of two pixels' slopes and
// finish::four(p, …) puts two such into a word.
template <class op, class finish, int ROWS>
__device__ __forceinline__ void make_slopes_of_rows(const gradient_cuda &p)
{
    constexpr int FIRST = AHEAD < ROWS + 2 ? AHEAD : ROWS + 2;
    const slopes_of_windows<op> slopes;
    tensor_tile<ROWS> tile;
    tensor_row rows[ROWS + 2];
    windows<1> a[ROWS + 2][2];

    if (!tensor_find(p, tile)) {
        return;
    }
    const border b = make_border<1>(p, tile);

    load_first<1, FIRST>(p, tile, rows);
#pragma unroll
    for (int i = 0; i < ROWS + 2; i++) {
        uint32_t results[2][2];

        a[i][0] = windows_of<1>(rows[i], b, 0);
        a[i][1] = windows_of<1>(rows[i], b, 1);
        if (i + FIRST < ROWS + 2) {
            rows[i + FIRST] = load_row<1>(p, tile, i + FIRST);
        }
        if (i < 2) {
            continue;
        }
#pragma unroll
        for (int pair = 0; pair < 2; pair++) {
            quad gx, gy;

            slopes.make(a[i - 2][pair], a[i - 1][pair], a[i][pair], gx, gy);
            results[0][pair] = finish::two(p, gx[0], gy[0], gx[1], gy[1]);
            results[1][pair] = finish::two(p, gx[2], gy[2], gx[3], gy[3]);
        }
        store_row(p, tile, i - 2,
                  {finish::four(p, results[0][0], results[0][1]),
                   finish::four(p, results[1][0], results[1][1])});
    }
}

// The picture, if the tensor cores can make it.
template <class op, class finish>
__device__ __forceinline__ bool make_slopes(const gradient_cuda &p)
{
    if (tensor_takes<GRADIENT_CUDA_ROWS>(p)) {
        make_slopes_of_rows<op, finish, GRADIENT_CUDA_ROWS>(p);
    } else if (ROOMY && tensor_takes<GRADIENT_CUDA_ROWS_TALL>(p)) {
        make_slopes_of_rows<op, finish, GRADIENT_CUDA_ROWS_TALL>(p);
    } else {
        return false;
    }
    return true;
}

} // namespace
