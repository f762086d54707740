// Stages that compute a pixel from the same pixel of gray alone, in one launch each: gray itself, a
// threshold, a mask, the difference from the frame before.
//
//   gray: Y of YUV, (9798 R + 19235 G + 3735 B + 16384) >> 15 of RGB
//   threshold: white where gray >= level, else black
//   mask: gray & mask
//   difference, measure: |gray - previous|, 0 without a frame before
//   difference, mask: 255 where that exceeds the level, else 0
//   limited: 16 + (219 m + 127) / 255
//
// bit for bit what gray.c, threshold.c, mask.c, difference.c and compose.c compute. An automatic
// level is read from where levels.cu left it.
//
// Buffers. Input: plane 0 of a picture in a layout of gray.cuh; all but gray take one that is
// planar. Planes of our own, beside it, have room for whole tiles in their rows. Output: one byte a
// pixel. Nothing outside the pixels of input and output is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by ROWS rows; threads share nothing.
// Every byte is read once, or written once: gray takes 2 to 5 bytes a pixel, threshold 2, mask 3,
// difference 4.
//
// Alignment. Vectors of 8 bytes and more are used where a tile lies within the picture and
// addresses and strides are multiples of VECTOR_BYTES; other tiles go byte by byte.
#include "kernels/gpu/gray.cuh"
#include "kernels/gpu/point_cuda.h"

namespace {

// Points: ROWS a thread makes, whether there is a plane BESIDE the input, whether gray is KEPT in
// one, and what of() makes of four pixels.
template <range RANGE> struct gray_point {
    static constexpr int ROWS = JOB_ROWS_CHROMA;
    static constexpr bool BESIDE = false, KEPT = false;

    __device__ __forceinline__ explicit gray_point(const point_cuda &)
    {
    }

    __device__ __forceinline__ uint32_t of(uint32_t word, uint32_t) const
    {
        return in_range<RANGE>(word);
    }
};

struct threshold_point {
    static constexpr int ROWS = JOB_ROWS;
    static constexpr bool BESIDE = false, KEPT = false;

    uint32_t level, white, black;

    __device__ __forceinline__ explicit threshold_point(const point_cuda &p)
        : white(p.white), black(p.black)
    {
        const uint32_t *found = reinterpret_cast<const uint32_t *>(p.found);

        level = (found ? __ldg(found) : p.level) * 0x01010101;
    }

    __device__ __forceinline__ uint32_t of(uint32_t word, uint32_t) const
    {
        uint32_t reached = __vcmpgeu4(word, level);

        return (reached & white) | (~reached & black);
    }
};

template <range RANGE> struct mask_point {
    static constexpr int ROWS = JOB_ROWS;
    static constexpr bool BESIDE = true, KEPT = false;

    __device__ __forceinline__ explicit mask_point(const point_cuda &)
    {
    }

    __device__ __forceinline__ uint32_t of(uint32_t word, uint32_t beside) const
    {
        return in_range<RANGE>(word & beside);
    }
};

template <bool MEASURE, range RANGE> struct difference_point {
    static constexpr int ROWS = JOB_ROWS;
    static constexpr bool BESIDE = true, KEPT = true;

    bool first;
    uint32_t level;

    __device__ __forceinline__ explicit difference_point(const point_cuda &p)
        : first(p.beside == 0), level(p.level * 0x01010101)
    {
    }

    __device__ __forceinline__ uint32_t of(uint32_t word, uint32_t beside) const
    {
        uint32_t by = first ? 0 : __vabsdiffu4(word, beside);

        return in_range<RANGE>(MEASURE ? by : __vcmpgtu4(by, level));
    }
};

template <class format, class point, bool VECTOR>
__device__ __forceinline__ void make_tile(const point_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ beside = reinterpret_cast<const uint8_t *>(p.beside) + x;
    uint8_t *__restrict__ current = reinterpret_cast<uint8_t *>(p.current) + x;
    uint32_t words[point::ROWS][WORDS], others[point::ROWS][WORDS] = {};
    const point make(p);

#pragma unroll
    for (int i = 0; i < point::ROWS; i++) {
        uint32_t row = min(y + i, p.job.height - 1);

        load_gray<format, VECTOR>(input_row(p.job, 0, row), x, p.job.width, words[i]);
        if (point::BESIDE && p.beside)
            load_words<8>(beside + (size_t)row * p.plane_stride, others[i]);
    }
#pragma unroll
    for (int i = 0; i < point::ROWS; i++) {
        if (y + i >= p.job.height)
            return;
        if (point::KEPT)
            store_words<true>(current + (size_t)(y + i) * p.plane_stride, words[i], PIXELS);
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            words[i][k] = make.of(words[i][k], others[i][k]);
        store_words<VECTOR>(output_row(p.job, 0, y + i) + x, words[i], p.job.width - x);
    }
}

template <class format, class point>
__device__ __forceinline__ void make_picture(const point_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(point::ROWS);
    bool vectors = aligned(p.job.input[0] | p.job.input_stride[0], format::VECTOR_BYTES) &&
                   aligned(p.job.output[0] | p.job.output_stride[0], PIXELS);

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (vectors && x + PIXELS <= p.job.width)
        make_tile<format, point, true>(p, x, y);
    else
        make_tile<format, point, false>(p, x, y);
}

} // namespace

#define DEFINE_KERNEL(name, format, ...)                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) name(point_cuda p)                   \
    {                                                                                              \
        make_picture<format, __VA_ARGS__>(p);                                                      \
    }
#define DEFINE_FULL(layout) DEFINE_KERNEL(point_gray_##layout##_full, layout, gray_point<FULL>)
#define DEFINE_LIMITED(layout)                                                                     \
    DEFINE_KERNEL(point_gray_##layout##_limited, layout, gray_point<LIMITED>)

JOB_LAYOUTS(DEFINE_FULL)
JOB_RGB_LAYOUTS(DEFINE_LIMITED)
DEFINE_KERNEL(point_threshold, planar, threshold_point)
DEFINE_KERNEL(point_mask_full, planar, mask_point<FULL>)
DEFINE_KERNEL(point_mask_limited, planar, mask_point<LIMITED>)
DEFINE_KERNEL(point_difference_mask_full, planar, difference_point<false, FULL>)
DEFINE_KERNEL(point_difference_mask_limited, planar, difference_point<false, LIMITED>)
DEFINE_KERNEL(point_difference_measure_full, planar, difference_point<true, FULL>)
DEFINE_KERNEL(point_difference_measure_limited, planar, difference_point<true, LIMITED>)
