// A camera's picture with strong edges in a colour, in one launch.
//
//   mask: a plane of bytes, 0 or 255; or n >= least of Sobel's n = gx² + gy² or |gx| + |gy|
//   nv12: the picture as convert.cu makes it; Y where the mask is set, and U and V of two by two
//         where it is set at their top left pixel
//   rgb3: the picture as convert.cu makes it, or the colour
//
// bit for bit what gradient.c, threshold.c and overlay.c compute: a magnitude reaches its threshold
// exactly where n reaches the least n whose magnitude does, so there is no root to take.
//
// Buffers. Input and picture as in convert.cu. Nothing outside the pixels of any is written; the
// mask is read in whole groups of 8 pixels, for which its rows have room.
//
// Threads. As in convert.cu: thread (x, y) makes a tile of 8 pixels by 2 rows at (8 x, 2 y) and
// shares nothing. With a mask every byte is read once; without one, gray is read of 2 rows more and
// a pixel on either side, out of L1 or L2 where that is not the tile itself. Bytes a pixel: 1 to 4
// and, of a mask, 1 read, 1.5 or 3 written. In memory of the host, where a GPU caches little, that
// is still faster than a launch for the mask and one for the picture: 4K of NV12 over PCIe to an
// H200 in 438 us instead of 615, 720p in 63 instead of 82.
//
// Alignment. As in convert.cu, and for gray as in gray.cuh.
//
// Arithmetic. Of sums of two by two pixels, two differences across the pixel, one of them falling
// and one rising to the right, are half of gx + gy and of gx - gy: so |gx| + |gy| is twice the
// larger and gx² + gy² twice the sum of their squares, and gx and gy are not needed. Signs of what
// is over `least` become bytes. For sm_90 the compiler makes 20 instructions a pixel of NV12 with
// l2.
#include "kernels/convert/convert.cuh"
#include "kernels/gpu/window.cuh"
#include "kernels/gradient/magnitude.cuh"
#include "kernels/overlay/overlay_cuda.h"

namespace {

// Where edges come from, with what vectors want (gray.cuh): load() makes the mask of the tile at
// (x, y), a byte a pixel.
struct by_mask {
    static constexpr int VECTOR_BYTES = 1, AFTER = 0;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const overlay_cuda &p, uint32_t x, uint32_t y,
                                                uint32_t (&mask)[ROWS][WORDS])
    {
        const uint8_t *__restrict__ from = reinterpret_cast<const uint8_t *>(p.mask);

#pragma unroll
        for (int i = 0; i < ROWS; i++)
            load_words<8>(from + (size_t)min(y + i, p.job.height - 1) * p.mask_stride + x, mask[i]);
    }
};

// Sums of two neighbours of a row, the pixel that a pair is of and the one on either side of it.
struct sums {
    half2 left[PAIRS], right[PAIRS];
};

__device__ __forceinline__ sums sums_of(const pairs &p)
{
    sums r;

#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        half2 own = pair(pair_at(p, first_of(k)));

        r.left[k] = k % 2 ? r.right[k - 1] : __hadd2(pair(pair_at(p, first_of(k) - 1)), own);
        r.right[k] = __hadd2(own, pair(pair_at(p, first_of(k) + 1)));
    }
    return r;
}

// The same of two rows: sums of two by two pixels.
__device__ __forceinline__ sums operator+(const sums &a, const sums &b)
{
    sums r;

#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        r.left[k] = __hadd2(a.left[k], b.left[k]);
        r.right[k] = __hadd2(a.right[k], b.right[k]);
    }
    return r;
}

template <class format> struct by_sobel {
    static constexpr int VECTOR_BYTES = format::VECTOR_BYTES, AFTER = format::AFTER;

    template <bool VECTOR>
    static __device__ __forceinline__ void load(const overlay_cuda &p, uint32_t x, uint32_t y,
                                                uint32_t (&mask)[ROWS][WORDS])
    {
        const window_source<format, VECTOR> windows(p.job, x);
        typename window_source<format, VECTOR>::raw raw[ROWS + 2];
        sums rows[ROWS + 2];

#pragma unroll
        for (int i = 0; i < ROWS + 2; i++)
            raw[i] = windows.load((int)y + i - 1);
#pragma unroll
        for (int i = 0; i < ROWS + 2; i++)
            rows[i] = sums_of(pairs_of(windows.take(raw[i])));
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            make_row(p, rows[i] + rows[i + 1], rows[i + 1] + rows[i + 2], mask[i]);
    }

    // The mask of a row, from the sums above and below the middle of its pixels.
    static __device__ __forceinline__ void make_row(const overlay_cuda &p, const sums &above,
                                                    const sums &below, uint32_t (&mask)[WORDS])
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            half2 falling[2], rising[2];

#pragma unroll
            for (int k = 0; k < 2; k++) {
                falling[k] = __hsub2(below.right[2 * i + k], above.left[2 * i + k]);
                rising[k] = __hsub2(above.right[2 * i + k], below.left[2 * i + k]);
            }
            mask[i] = p.l1 ? reached_by_most(falling, rising, p.least)
                           : reached_by_squares(falling, rising, p.least);
        }
    }

    // 255 of the bytes of four pixels where 2 max(|falling|, |rising|) is `least` or more.
    static __device__ __forceinline__ uint32_t reached_by_most(const half2 (&falling)[2],
                                                               const half2 (&rising)[2],
                                                               uint32_t least)
    {
        const uint32_t missing = (0x8000 - (min(least, 0xfffeu) + 1) / 2) * 0x00010001;
        uint32_t even = bits(larger(__habs2(falling[0]), __habs2(rising[0]))) + missing;
        uint32_t odd = bits(larger(__habs2(falling[1]), __habs2(rising[1]))) + missing;

        return permute_signs(even, odd, 0xfbd9);
    }

    // The same where 2 (falling² + rising²) is.
    static __device__ __forceinline__ uint32_t reached_by_squares(const half2 (&falling)[2],
                                                                  const half2 (&rising)[2],
                                                                  uint32_t least)
    {
        const float bound = (float)least * 0x1p-49f;
        float over[4];

#pragma unroll
        for (int k = 0; k < 2; k++) {
            float fa = __low2float(falling[k]), fb = __high2float(falling[k]);
            float ra = __low2float(rising[k]), rb = __high2float(rising[k]);

            over[k] = __fmaf_rn(ra, ra, __fmaf_rn(fa, fa, -bound));
            over[k + 2] = __fmaf_rn(rb, rb, __fmaf_rn(fb, fb, -bound));
        }
        return ~__byte_perm(
            permute_signs(__float_as_uint(over[0]), __float_as_uint(over[1]), 0x00fb),
            permute_signs(__float_as_uint(over[2]), __float_as_uint(over[3]), 0x00fb), 0x5410);
    }
};

__device__ __forceinline__ uint32_t choose(uint32_t mask, uint32_t set, uint32_t clear)
{
    return (mask & set) | (~mask & clear);
}

// Targets. make() makes the tile at (x, y).
struct overlay_to_nv12 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void make(const overlay_cuda &p, uint32_t x, uint32_t y,
                                                const uint32_t (&mask)[ROWS][WORDS])
    {
        nv12_tile tile;

        source::template load<VECTOR>(p, x, y, tile);
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
#pragma unroll
            for (int k = 0; k < ROWS; k++)
                tile.luma[k][i] = choose(mask[k][i], p.luma, tile.luma[k][i]);
            tile.chroma[i] = choose(__byte_perm(mask[0][i], 0, 0x2200), p.chroma, tile.chroma[i]);
        }
        store_nv12<VECTOR>(p.job, x, y, tile);
    }
};

struct overlay_to_rgb3 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void make(const overlay_cuda &p, uint32_t x, uint32_t y,
                                                const uint32_t (&mask)[ROWS][WORDS])
    {

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            uint32_t raw[source::BYTES * WORDS], words[3 * WORDS], pixels[PIXELS];

            if (y + i >= p.job.height)
                return;
            source::template load_pixels<VECTOR>(p.job, x, y + i, raw);
#pragma unroll
            for (int k = 0; k < PIXELS; k++) {
                uint32_t set = __byte_perm(mask[i][k / 4], 0, 0x4000 | k % 4 * 0x111);

                pixels[k] = choose(set, p.rgb, source::rgb_of(raw, k));
            }
            pack_rgb3(pixels, words);
            store_words<VECTOR>(output_row(p.job, 0, y + i) + 3 * (size_t)x, words,
                                3 * (p.job.width - x));
        }
    }
};

template <class source, class target, class edges, bool VECTOR>
__device__ __forceinline__ void make_tile(const overlay_cuda &p, uint32_t x, uint32_t y)
{
    uint32_t mask[ROWS][WORDS];

    edges::template load<VECTOR>(p, x, y, mask);
    target::template make<source, VECTOR>(p, x, y, mask);
}

template <class source, class target, class edges>
__device__ __forceinline__ void make_picture(const overlay_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (takes_vectors<source>(p.job) && has_window<edges>(x, p.job.width) &&
        aligned(p.job.input[0] | p.job.input_stride[0], edges::VECTOR_BYTES)) {
        make_tile<source, target, edges, true>(p, x, y);
    } else {
        make_tile<source, target, edges, false>(p, x, y);
    }
}

} // namespace

#define DEFINE_KERNEL(name, source, target, edges)                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX, 1)                                   \
        overlay_##name##_##source##_##target(overlay_cuda p)                                       \
    {                                                                                              \
        make_picture<from_##source, overlay_to_##target, edges>(p);                                \
    }
#define DEFINE_KERNELS(format, layout, target)                                                     \
    DEFINE_KERNEL(mask, format, target, by_mask)                                                   \
    DEFINE_KERNEL(sobel, format, target, by_sobel<layout>)
#define TO_NV12(format, layout) DEFINE_KERNELS(format, layout, nv12)
#define TO_RGB3(format, layout) DEFINE_KERNELS(format, layout, rgb3)

JOB_YUV_FORMATS(TO_NV12)
JOB_RGB_FORMATS(TO_NV12)
TO_RGB3(grey, planar)
JOB_RGB_FORMATS(TO_RGB3)
