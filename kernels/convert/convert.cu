// A camera's picture in another pixel format, for the view that shows it as it is, in one launch:
// to NV12 and to RGB3, bit for bit what convert.c computes, whose header has the formulas. And a
// view's picture in the format of the split that it is a side of; convert_rgb3_nv12_full makes YUV
// of full range (colour.h).
//
// Buffers. Input: 1 to 3 planes as capture/pixel_format.c lays them out, rows input_stride[i] bytes
// apart. Output: luma and pairs of U and V (nv12), or 3 bytes a pixel (rgb3), rows output_stride[i]
// apart. Nothing outside the pixels of any is touched.
//
// Threads. Thread (x, y) of the grid makes a tile of 8 pixels by 2 rows at (8 x, 2 y), which is 4
// pairs of chroma: rows that share chroma are the same thread's, and threads share nothing. Every
// input byte is read once (the last row of an odd number twice), every output byte written once.
// Bytes a pixel: 1.5 written to NV12, 3 to RGB3; 1 to 4 read.
//
// Alignment. Vectors of 4 to 16 bytes are used where a tile lies within the picture and addresses
// and strides are multiples of a source's ALIGN (plane 0) and CHROMA_ALIGN, those of the output
// of 8; other tiles go byte by byte through the same arithmetic.
#include "kernels/convert/convert.cuh"
#include "kernels/convert/convert_cuda.h"

namespace {

// Targets. make() makes the tile at (x, y).
struct convert_to_nv12 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void make(const convert_cuda &p, uint32_t x, uint32_t y)
    {
        nv12_tile tile;

        source::template load<VECTOR>(p, x, y, tile);
        store_nv12<VECTOR>(p.job, x, y, tile);
    }
};

struct convert_to_rgb3 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void make(const convert_cuda &p, uint32_t x, uint32_t y)
    {
        constexpr int STEP = source::BYTES;

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            uint32_t raw[STEP * WORDS], words[3 * WORDS], pixels[PIXELS];

            if (y + i >= p.job.height)
                return;
            source::template load_pixels<VECTOR>(p.job, x, y + i, raw);
#pragma unroll
            for (int k = 0; k < PIXELS; k++)
                pixels[k] = source::rgb_of(raw, k);
            pack_rgb3(pixels, words);
            store_words<VECTOR>(output_row(p.job, 0, y + i) + 3 * (size_t)x, words,
                                3 * (p.job.width - x));
        }
    }
};

template <class source, class target>
__device__ __forceinline__ void make_picture(const convert_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (takes_vectors<source>(p.job) && x + PIXELS <= p.job.width)
        target::template make<source, true>(p, x, y);
    else
        target::template make<source, false>(p, x, y);
}

} // namespace

#define DEFINE_KERNEL(format, target)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        convert_##format##_##target(convert_cuda p)                                                \
    {                                                                                              \
        make_picture<from_##format, convert_to_##target>(p);                                       \
    }
#define TO_NV12(format, layout) DEFINE_KERNEL(format, nv12)
#define TO_RGB3(format, layout) DEFINE_KERNEL(format, rgb3)

JOB_YUV_FORMATS(TO_NV12)
JOB_RGB_FORMATS(TO_NV12)
TO_RGB3(grey, planar)
JOB_RGB_FORMATS(TO_RGB3)

extern "C" __global__ void __launch_bounds__(THREADS_MAX) convert_rgb3_nv12_full(convert_cuda p)
{
    make_picture<from_rgb<3, false, true>, convert_to_nv12>(p);
}
