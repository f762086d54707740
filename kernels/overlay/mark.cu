// A mask marked in a picture that is there already, eroded first, in one launch.
//
//   set: mask(x, y) and all its neighbours up to `erode` away, outside the picture all is set
//   RGB3: R = 255, and where marks tint G and B halved
//   NV12: the same of the pixel as RGB, then Y, and of the top left of two by two U and V again, as
//         mark.h has it
//
// bit for bit what morphology.c and mark.c compute.
//
// Buffers. Mask: a bit a pixel, rows padded with set bits to whole bytes, or a byte a pixel, 0 or
// 255. Output: NV12 or RGB3, read and written where the mask is set and nowhere else. Input: plane
// 0 of the camera's picture where that is RGB, of which NV12 cannot tell green and blue.
//
// Threads. Thread (x, y) of the grid looks at 8 pixels by 2 rows at (8 x, 2 y), which share 4 pairs
// of chroma; threads share nothing. Where nothing moves a thread reads 2 bytes of bits and is done:
// 1/8 byte a pixel. The erosion is of bits, 8 pixels at once: rows are and-ed, then their shifts.
// Where something is set in a tile out of YUV all of it is made, without branches, by mark.cuh: for
// sm_90 19 instructions a pixel, where pixel by pixel took 30 and loads and stores of a byte each.
#include "kernels/overlay/mark.cuh"

namespace {

constexpr int ROWS = JOB_ROWS_CHROMA;

enum target { RGB3, YUV, RGB };
enum form { BITS, BYTES };

// The mask's byte for pixels `x` on with one on either side, lowest first, of row `y`; outside all
// is set.
__device__ __forceinline__ uint32_t window(const mark_cuda &p, uint32_t x, int64_t y)
{
    if (y < 0 || y >= p.job.height)
        return 0xffffff;
    const uint8_t *__restrict__ at =
        reinterpret_cast<const uint8_t *>(p.mask) + (size_t)y * p.mask_stride + x / PIXELS;
    uint32_t before = x > 0 ? __ldg(at - 1) : 0xff;
    uint32_t after = x + PIXELS < p.job.width ? __ldg(at + 1) : 0xff;

    return before | (uint32_t)__ldg(at) << 8 | after << 16;
}

// The middle byte, less what has a clear bit within `times` beside it.
__device__ __forceinline__ uint32_t erode_row(uint32_t bits, uint32_t times)
{
    uint32_t kept = bits;

    for (uint32_t i = 1; i <= times; i++)
        kept &= bits >> i & bits << i;
    return kept >> 8 & 255;
}

// A bit for each of the 8 pixels at `x` of rows y and y + 1.
__device__ __forceinline__ void load_bits(const mark_cuda &p, uint32_t x, uint32_t y,
                                          uint32_t (&rows)[ROWS])
{
    uint32_t own = window(p, x, y), below = window(p, x, y + 1), common = own & below;
    int32_t times = p.erode;

    rows[0] = rows[1] = 0;
    if (((own | below) >> 8 & 255) == 0)
        return;
    if (times == 0) {
        rows[0] = own >> 8 & 255;
        rows[1] = below >> 8 & 255;
        return;
    }
    for (int32_t i = 1; i < times; i++)
        common &= window(p, x, (int64_t)y - i) & window(p, x, (int64_t)y + 1 + i);
    rows[0] = erode_row(common & window(p, x, (int64_t)y - times), times);
    rows[1] = erode_row(common & window(p, x, (int64_t)y + 1 + times), times);
}

// 255 in the bytes of a word whose bits are set, the lowest first.
__device__ __forceinline__ uint32_t bytes_of(uint32_t bits)
{
    return (bits * 0x00204081 & 0x01010101) * 255;
}

// Bytes of the picture, which this thread writes too: not of the cache for what nobody writes.
template <bool VECTOR>
__device__ __forceinline__ void load_own(const uint8_t *from, uint32_t count,
                                         uint32_t (&words)[WORDS])
{
    if constexpr (VECTOR) {
        uint2 v = *reinterpret_cast<const uint2 *>(from);

        words[0] = v.x, words[1] = v.y;
    } else {
        words[0] = words[1] = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < min(count, (uint32_t)PIXELS); k++)
            words[k / 4] |= (uint32_t)from[k] << k % 4 * 8;
    }
}

__device__ __forceinline__ void load_bytes_as_bits(const mark_cuda &p, uint32_t x, uint32_t y,
                                                   uint32_t (&rows)[ROWS])
{
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const uint8_t *__restrict__ at = reinterpret_cast<const uint8_t *>(p.mask) +
                                         (size_t)min(y + i, p.job.height - 1) * p.mask_stride + x;
        uint32_t words[WORDS];

        if (x + PIXELS <= p.job.width && aligned(p.mask | p.mask_stride, 8))
            load_bytes<true, 8>(at, PIXELS, words);
        else
            load_bytes<false, 8>(at, p.job.width - x, words);
        rows[i] = bits_of(words[0]) | bits_of(words[1]) << 4;
    }
}

__device__ __forceinline__ other from_rgb(const mark_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ pixel = input_row(p.job, 0, y) + (size_t)x * p.input_step;

    return {__ldg(pixel + 1) >> p.space.shift,
            __ldg(pixel + (p.blue_first ? 0 : 2)) >> p.space.shift};
}

// Two by two of NV12 at (x, y), all of whose pixels that are set lie within the picture. Bits 0 and
// 1 of `top` and `bottom`.
__device__ __forceinline__ void mark_pair(const mark_cuda &p, uint32_t x, uint32_t y, uint32_t top,
                                          uint32_t bottom)
{
    uint8_t *chroma = output_row(p.job, 1, y / 2) + x;

#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        if (((i < 2 ? top : bottom) >> i % 2 & 1) == 0)
            continue;
        other pixel = from_rgb(p, x + i % 2, y + i / 2);

        output_row(p.job, 0, y + i / 2)[x + i % 2] = (uint8_t)(pixel.luma24(p.space) >> 24);
        if (i == 0) {
            chroma[0] = (uint8_t)(limit20(pixel.u20(p.space)) >> 20);
            chroma[1] = (uint8_t)(limit20(pixel.v20(p.space)) >> 20);
        }
    }
}

// The tile of NV12 at (x, y), which has `rows` rows in the picture.
template <bool VECTOR>
__device__ __forceinline__ void mark_yuv(const mark_cuda &p, uint32_t x, uint32_t y, uint32_t rows,
                                         const uint32_t (&bits)[ROWS])
{
    uint8_t *to[ROWS + 1];
    uint32_t mask[ROWS][WORDS], luma[ROWS][WORDS], chroma[WORDS], count = p.job.width - x;

#pragma unroll
    for (uint32_t i = 0; i < ROWS; i++) {
        to[i] = output_row(p.job, 0, y + min(i, rows - 1)) + x;
        load_own<VECTOR>(to[i], count, luma[i]);
        for (int k = 0; k < WORDS; k++)
            mask[i][k] = bytes_of(bits[i] >> 4 * k & 15);
    }
    to[ROWS] = output_row(p.job, 1, y / 2) + x;
    load_own<VECTOR>(to[ROWS], (count + 1) / 2 * 2, chroma);
    mark_tile(p.space, mask, luma, chroma);
    store_words<VECTOR>(to[0], luma[0], count);
    if (rows == ROWS)
        store_words<VECTOR>(to[1], luma[1], count);
    store_words<VECTOR>(to[ROWS], chroma, (count + 1) / 2 * 2);
}

__device__ __forceinline__ void mark_rgb3(const mark_cuda &p, uint32_t x, uint32_t y, uint32_t bits)
{
    uint8_t *row = output_row(p.job, 0, y);

    for (uint32_t i = 0; bits != 0; i++, bits >>= 1) {
        uint8_t *pixel = row + 3 * (size_t)(x + i);

        if ((bits & 1) == 0)
            continue;
        pixel[0] = 255;
        if (p.space.shift > 0) {
            pixel[1] >>= p.space.shift;
            pixel[2] >>= p.space.shift;
        }
    }
}

template <target TARGET, form FORM> __device__ __forceinline__ void mark(const mark_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS), rows[ROWS];

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (FORM == BITS)
        load_bits(p, x, y, rows);
    else
        load_bytes_as_bits(p, x, y, rows);
    if (x + PIXELS > p.job.width) {
        rows[0] &= (1u << (p.job.width - x)) - 1;
        rows[1] &= (1u << (p.job.width - x)) - 1;
    }
    rows[1] = y + 1 < p.job.height ? rows[1] : 0;
    if constexpr (TARGET == RGB3) {
        mark_rgb3(p, x, y, rows[0]);
        mark_rgb3(p, x, y + 1, rows[1]);
    } else if constexpr (TARGET == YUV) {
        bool vector =
            x + PIXELS <= p.job.width && aligned(p.job.output[0] | p.job.output_stride[0] |
                                                     p.job.output[1] | p.job.output_stride[1],
                                                 8);

        if ((rows[0] | rows[1]) == 0)
            return;
        if (vector)
            mark_yuv<true>(p, x, y, min(p.job.height - y, (uint32_t)ROWS), rows);
        else
            mark_yuv<false>(p, x, y, min(p.job.height - y, (uint32_t)ROWS), rows);
    } else {
        for (uint32_t i = 0; (rows[0] | rows[1]) != 0; i += 2) {
            if ((rows[0] | rows[1]) & 3)
                mark_pair(p, x + i, y, rows[0], rows[1]);
            rows[0] >>= 2;
            rows[1] >>= 2;
        }
    }
}

constexpr target rgb3 = RGB3, yuv = YUV, rgb = RGB;
constexpr form bits = BITS, bytes = BYTES;

} // namespace

#define DEFINE_KERNEL(target, form)                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) mark_##target##_##form(mark_cuda p)  \
    {                                                                                              \
        mark<target, form>(p);                                                                     \
    }

MARK_CUDA_KERNELS(DEFINE_KERNEL)
