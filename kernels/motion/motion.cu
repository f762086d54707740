// A camera's picture to NV12 and, in the same launch, what differs in it from the frame before, as
// bits or marked in the picture.
//
//   bit: |gray - previous| > threshold     without a frame before: 0
//   marked: where it is set of a pixel and, if eroded, of its eight neighbours, those outside the
//           picture set: red, as mark.h has it
//
// The picture is bit for bit what convert.c makes, the bits what gray.c and difference.c make, the
// marks what morphology.c and mark.c make.
//
// Buffers. Input and picture as in convert.cu; `previous` and `current` are gray planes of our own.
// Bits: pixel x of a row is bit x % 8 of byte x / 8, and what is left of the last byte is set.
//
// Threads. As in convert.cu: thread (x, y) makes a tile of 8 pixels by 2 rows at (8 x, 2 y) and
// shares nothing. Bytes a pixel: 1 to 4 and 1 read, 2.5 written and 0.125 of bits. Of the rows
// above and below and the pixels beside a tile, gray and `previous` are read again, out of L1 or
// L2, where the tile moves and is to be eroded: nothing that the launch writes is read. That is
// faster in memory of the host, too: 4K of NV12 over PCIe to an H200 in 355 us instead of the 421
// of bits and marks where nothing moves, and in 504 instead of 1263 where everything does.
//
// Alignment. As in convert.cu.
//
// Arithmetic. Four pixels a word, bit 7 of a byte is whether it moves; an erosion is the `and` of
// such words, shifted by a byte. Where a tile moves all of it is marked, without branches, and
// chosen. For sm_90 the compiler makes 9 instructions a pixel of NV12 where nothing moves and 39
// where all does; 10 of those erode and 17 mark.
#include "kernels/convert/convert.cuh"
#include "kernels/motion/motion_cuda.h"
#include "kernels/overlay/mark.cuh"

namespace {

__device__ __forceinline__ void compare(const motion_cuda &p, uint32_t x, uint32_t y,
                                        const uint32_t (&gray)[WORDS],
                                        const uint32_t (&before)[WORDS])
{
    uint8_t *__restrict__ current =
        reinterpret_cast<uint8_t *>(p.current) + (size_t)y * p.plane_stride + x;
    uint8_t *__restrict__ output =
        reinterpret_cast<uint8_t *>(p.bits) + (size_t)y * p.bits_stride + x / PIXELS;
    uint32_t bits = 0xff00u >> (PIXELS - min(p.job.width - x, PIXELS));

    store_words<true>(current, gray, PIXELS);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint32_t difference = p.previous ? __vabsdiffu4(gray[k], before[k]) : 0;

        bits |= bits_of(__vcmpgtu4(difference, p.threshold * 0x01010101)) << 4 * k;
    }
    *output = (uint8_t)bits;
}

// Bit 7 of each byte, the others are anything: whether two bytes differ by more than a threshold.
struct pair_difference {
    uint32_t carry, high; // what brings a byte's lower bits over; all bits if not over 127

    __device__ __forceinline__ explicit pair_difference(uint32_t threshold)
        : carry((~threshold & 0x7f) * 0x01010101), high(threshold < 128 ? 0xffffffff : 0)
    {
    }

    __device__ __forceinline__ uint32_t of(uint32_t a, uint32_t b) const
    {
        uint32_t by = __vabsdiffu4(a, b), over = (by & 0x7f7f7f7f) + carry;

        return (over & by) | ((over | by) & high);
    }
};

// The moving ones of eight pixels of a row and, in byte 3 and byte 0, of those beside them.
struct moving {
    uint32_t left, words[WORDS], right;

    __device__ __forceinline__ moving operator&(const moving &o) const
    {
        return {left & o.left, {words[0] & o.words[0], words[1] & o.words[1]}, right & o.right};
    }

    // That whose neighbours in the row move as well.
    __device__ __forceinline__ void erode(uint32_t (&mask)[WORDS]) const
    {
        mask[0] = words[0] & __byte_perm(left, words[0], 0x6543) &
                  __byte_perm(words[0], words[1], 0x4321);
        mask[1] = words[1] & __byte_perm(words[0], words[1], 0x6543) &
                  __byte_perm(words[1], right, 0x4321);
    }
};

// Row `y` around the tile, of which the tile itself has `words` if it is one of its own. Pixels
// outside the picture move.
template <class layout, bool VECTOR>
__device__ __forceinline__ moving find_moving(const motion_cuda &p, const pair_difference &d,
                                              uint32_t x, int y, const uint32_t *words)
{
    uint32_t width = p.job.width, row = min(max(y, 0), (int)p.job.height - 1);
    const uint8_t *__restrict__ input = input_row(p.job, 0, row);
    const uint8_t *__restrict__ at = input + (size_t)x * layout::BYTES;
    const uint8_t *__restrict__ previous =
        reinterpret_cast<const uint8_t *>(p.previous) + (size_t)row * p.plane_stride + x;
    uint32_t outside = (int)row == y ? 0 : 0xffffffff, gray[WORDS], before[WORDS];
    moving m = {0xffffffff, {0, 0}, 0xffffffff};

    if (x > 0)
        m.left = d.of(layout::luma(at - layout::BYTES) << 24, (uint32_t)__ldg(previous - 1) << 24);
    if (x + PIXELS < width)
        m.right = d.of(layout::luma(at + PIXELS * layout::BYTES), __ldg(previous + PIXELS));
    if (!words) {
        load_gray<layout, VECTOR>(input, x, width, gray);
        load_words<8>(previous, before);
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        int count = (int)(width - x) - 4 * k; // of its pixels in the picture

        m.words[k] = words ? words[k] : d.of(gray[k], before[k]);
        if (!VECTOR && count < 4)
            m.words[k] |= count > 0 ? 0xffffffff << 8 * count : 0xffffffff;
        m.words[k] |= outside;
    }
    m.left |= outside;
    m.right |= outside;
    return m;
}

// The tile's mask, 255 where it is set, out of what moves in it; false if it is not set anywhere.
template <class layout, bool VECTOR>
__device__ __forceinline__ bool make_mask(const motion_cuda &p, const pair_difference &d,
                                          uint32_t x, uint32_t y, uint32_t (&mask)[ROWS][WORDS])
{
    uint32_t any = (mask[0][0] | mask[0][1] | mask[1][0] | mask[1][1]) & 0x80808080;

    if (any == 0)
        return false;
    if (p.erode > 0) {
        moving above = find_moving<layout, VECTOR>(p, d, x, (int)y - 1, nullptr);
        moving below = find_moving<layout, VECTOR>(p, d, x, (int)y + 2, nullptr);
        moving both = find_moving<layout, VECTOR>(p, d, x, (int)y, mask[0]) &
                      find_moving<layout, VECTOR>(p, d, x, (int)y + 1, mask[1]);

        (above & both).erode(mask[0]);
        (below & both).erode(mask[1]);
    }
#pragma unroll
    for (int i = 0; i < ROWS * WORDS; i++)
        mask[i / WORDS][i % WORDS] = permute_signs(mask[i / WORDS][i % WORDS], 0, 0xba98);
    return true;
}

// Targets: what becomes of the differences and the tile.
struct to_bits {
    template <bool VECTOR>
    static __device__ __forceinline__ void make(const motion_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile,
                                                const uint32_t (&before)[ROWS][WORDS])
    {
        store_nv12<VECTOR>(p.job, x, y, tile);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            if (y + i < p.job.height)
                compare(p, x, y + i, tile.gray[i], before[i]);
        }
    }
};

template <class layout> struct to_marked {
    template <bool VECTOR>
    static __device__ __forceinline__ void make(const motion_cuda &p, uint32_t x, uint32_t y,
                                                nv12_tile &tile,
                                                const uint32_t (&before)[ROWS][WORDS])
    {
        const pair_difference d(p.threshold);
        uint32_t mask[ROWS][WORDS];

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            if (y + i < p.job.height) {
                store_words<true>(reinterpret_cast<uint8_t *>(p.current) +
                                      (size_t)(y + i) * p.plane_stride + x,
                                  tile.gray[i], PIXELS);
            }
            for (int k = 0; k < WORDS; k++)
                mask[i][k] = d.of(tile.gray[i][k], before[i][k]);
        }
        if (p.previous && make_mask<layout, VECTOR>(p, d, x, y, mask))
            mark_tile(p.space, mask, tile.luma, tile.chroma);
        store_nv12<VECTOR>(p.job, x, y, tile);
    }
};

template <class source, class target, bool VECTOR>
__device__ __forceinline__ void make_tile(const motion_cuda &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ previous = reinterpret_cast<const uint8_t *>(p.previous);
    uint32_t before[ROWS][WORDS] = {};
    nv12_tile tile;

    source::template load<VECTOR>(p, x, y, tile);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (p.previous) {
            load_words<8>(previous + (size_t)min(y + i, p.job.height - 1) * p.plane_stride + x,
                          before[i]);
        }
    }
    target::template make<VECTOR>(p, x, y, tile, before);
}

template <class source, class target>
__device__ __forceinline__ void make_picture(const motion_cuda &p)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (takes_vectors<source>(p.job) && x + PIXELS <= p.job.width)
        make_tile<source, target, true>(p, x, y);
    else
        make_tile<source, target, false>(p, x, y);
}

} // namespace

#define DEFINE_KERNEL(format, layout)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX) motion_##format(motion_cuda p)       \
    {                                                                                              \
        make_picture<from_##format, to_bits>(p);                                                   \
    }
#define DEFINE_MARKED(format, layout)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX)                                      \
        motion_marked_##format(motion_cuda p)                                                      \
    {                                                                                              \
        make_picture<from_##format, to_marked<layout>>(p);                                         \
    }

JOB_YUV_FORMATS(DEFINE_KERNEL)
JOB_RGB_FORMATS(DEFINE_KERNEL)
JOB_YUV_FORMATS(DEFINE_MARKED)
