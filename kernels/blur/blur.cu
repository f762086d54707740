// Gray smoothed by a square of binomial weights.
//
//   blur 3: ([1 2 1]² + 8) >> 4      blur 5: ([1 4 6 4 1]² + 128) >> 8
//
// with the border replicated, bit for bit what blur.c computes. Smoothed gray is never the picture
// of a view, so there is no limited range.
//
// Buffers. Input: rows of gray `input_stride` bytes apart. Output: one byte a pixel, rows
// `output_stride` apart. Nothing outside the pixels is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by `rows` rows; threads share
// nothing. A tile reads 2 rows more than it makes, blur 5 reads 4. The floor is 2 bytes a pixel;
// for sm_90 the compiler makes 11 instructions a pixel of blur 3 and 17 of blur 5.
//
// Alignment. Vectors of 8 bytes where the window of a tile lies within the picture and addresses
// and strides are multiples of 8; other tiles go byte by byte through the same arithmetic.
//
// Arithmetic. Two pixels in 16 bit lanes: 256 * 255 + 128 is less than 2^16. Blur 3 comes 16 times
// too large, so that both have their result in the upper byte of a lane.
#include "kernels/gpu/window.cuh"

namespace {

struct blur_parameters {
    gpu_job job;
};

// The upper bytes of four lanes, as four pixels.
__device__ __forceinline__ uint32_t upper_bytes(uint32_t even, uint32_t odd)
{
    return __byte_perm(even, odd, 0x7351);
}

template <int SIDE> struct binomial {
    static constexpr int RADIUS = SIDE / 2;
    static constexpr bool SHARES = true;

    struct line {
        uint32_t sums[PAIRS];
    };

    static __device__ __forceinline__ line reduce(const pairs &p)
    {
        line l;

#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            int x = first_of(k);
            uint32_t near = pair_at(p, x - 1) + pair_at(p, x + 1);

            l.sums[k] = SIDE == 3
                            ? near + 2 * pair_at(p, x)
                            : pair_at(p, x - 2) + pair_at(p, x + 2) + 4 * near + 6 * pair_at(p, x);
        }
        return l;
    }

    static __device__ __forceinline__ uint32_t column(const line *l, int k)
    {
        const uint32_t half = 0x00800080;

        if (SIDE == 3)
            return (l[0].sums[k] + l[2].sums[k] + 2 * l[1].sums[k]) * 16 + half;
        return l[0].sums[k] + l[4].sums[k] + half + 4 * (l[1].sums[k] + l[3].sums[k]) +
               6 * l[2].sums[k];
    }

    static __device__ __forceinline__ void make(const blur_parameters &, const line *l,
                                                uint32_t (&words)[WORDS])
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            words[i] = upper_bytes(column(l, 2 * i), column(l, 2 * i + 1));
    }
};

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS_MAX) blur_3(gpu_job job)
{
    make_picture<planar, binomial<3>, binomial<3>, JOB_ROWS>(blur_parameters{job}, true);
}

extern "C" __global__ void __launch_bounds__(THREADS_MAX) blur_5(gpu_job job)
{
    make_picture<planar, binomial<5>, binomial<5>, JOB_ROWS>(blur_parameters{job}, true);
}
