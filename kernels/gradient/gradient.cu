// Magnitude of the gradient of a camera's picture, one launch: gray, gradient, range.
//
//   gx and gy by Sobel's, Scharr's, Prewitt's or the 5x5 Sobel filters (slopes.cuh)
//   l2 = min(255, round(gain * sqrt(gx² + gy²)))  l1 = min(255, round(gain * (|gx| + |gy|)))
//   limited: 16 + (219 m + 127) / 255             gray of RGB: (9798 R + 19235 G + 3735 B + 16384)
//   >> 15
//
//   binary: white where m >= threshold, else black: where n, below the root, reaches the least n
//   that does
//
// with the border replicated, bit for bit what gray.c, gradient.c, threshold.c and compose.c
// compute.
//
// Buffers. Input: plane 0 of a picture in a layout of gray.cuh, for operators other than Sobel's
// planar. Output: one byte a pixel. Nothing outside the pixels of either is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by `rows` rows at (8 x, rows y),
// whatever the shape of a block is: threads share nothing. A tile reads 2 rows more than it makes,
// sobel5 4, and pixels on either side: with 4 rows they come in 1.5 times, the second time out of
// L1 or L2. Eight rows a thread leave too few threads for 1080p in the GPU's own memory: 1.34
// instead of 0.97 times a copy on an H200, and gain nothing at 8K. In memory of the host, which
// GPUs cache badly or not at all, a tile is a column of 16 rows or 32, which come in 1.125 times or
// less. Bytes a pixel: input 1 to 4, output 1.
//
// Alignment. Vectors of 8 bytes and more are used where a tile's window lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES; other tiles go byte by byte through the same
// arithmetic.
//
// Arithmetic. Halves of two pixels, as magnitude.cuh and slopes.cuh have it. The square root is
// approximate (2^-22): the nearest tie of the square root of an integer is 5e-4 off at 255. For
// sm_90 the compiler makes some 18 instructions a pixel of 3x3 operators, one of them on the
// special function unit, and 28 of sobel5. A float holds n = gx² + gy² < 2^21 of Sobel exactly.
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/gradient/slopes.cuh"

namespace {

// The output made of a gradient: its magnitude, with gain 1 or any other, or whether it reaches a
// threshold.
enum result { MAGNITUDE, SCALED, BINARY };

// The filter that an operator, a norm, a range and a result make.
template <class op, norm NORM, range RANGE, result RESULT> struct magnitude : op {
    using line = typename op::line;

    static __device__ __forceinline__ uint32_t results(const gradient_cuda &p, const line *l, int k)
    {
        half2 gx, gy;

        if (RESULT != BINARY)
            return magnitudes_at<op, NORM, RESULT == MAGNITUDE>(p.thresholds, p.gain, l, k);
        op::slopes(l, k, gx, gy);
        return NORM == L1 ? reached_l1(gx, gy, p.least) : reached_l2(gx, gy, p.least);
    }

    static __device__ __forceinline__ void make(const gradient_cuda &p, const line *l,
                                                uint32_t (&words)[WORDS])
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            words[i] = in_range<RANGE>(results(p, l, 2 * i), results(p, l, 2 * i + 1));
            if (RESULT == BINARY)
                words[i] = (words[i] & p.white) | (~words[i] & p.black);
        }
    }
};

template <class format, class op, norm NORM, range RANGE, result RESULT>
__device__ __forceinline__ void make_gradient(const gradient_cuda &p)
{
    using fast = magnitude<op, NORM, RANGE, RESULT>;
    using slow = magnitude<op, NORM, RANGE, RESULT == BINARY ? BINARY : SCALED>;
    // Rows of RGB are too much for the registers.
    constexpr int COUNT = format::BYTES == 4 ? 1 : format::BYTES == 3 ? 2 : op::AT_ONCE;

    make_picture<format, fast, slow, COUNT>(p, RESULT == BINARY || p.unity);
}

} // namespace

#define DEFINE_KERNEL(name, format, op, lower, NORM, suffix, RANGE, RESULT)                        \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        gradient_##name##_##lower##_##suffix(gradient_cuda p)                                      \
    {                                                                                              \
        make_gradient<format, op, NORM, RANGE, RESULT>(p);                                         \
    }
#define DEFINE_MAGNITUDES(name, format, op)                                                        \
    DEFINE_KERNEL(name, format, op, l2, L2, full, FULL, MAGNITUDE)                                 \
    DEFINE_KERNEL(name, format, op, l2, L2, limited, LIMITED, MAGNITUDE)                           \
    DEFINE_KERNEL(name, format, op, l1, L1, full, FULL, MAGNITUDE)                                 \
    DEFINE_KERNEL(name, format, op, l1, L1, limited, LIMITED, MAGNITUDE)
#define DEFINE_SOBEL(format)                                                                       \
    DEFINE_MAGNITUDES(format, format, sobel)                                                       \
    DEFINE_KERNEL(format, format, sobel, l2, L2, binary, FULL, BINARY)                             \
    DEFINE_KERNEL(format, format, sobel, l1, L1, binary, FULL, BINARY)

JOB_LAYOUTS(DEFINE_SOBEL)
DEFINE_MAGNITUDES(scharr, planar, scharr)
DEFINE_MAGNITUDES(prewitt, planar, prewitt)
DEFINE_MAGNITUDES(sobel5, planar, sobel5)
