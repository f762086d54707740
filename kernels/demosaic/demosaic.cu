// A sensor's mosaic to RGB3 or gray, in one launch: bit for bit what demosaic.c computes, whose
// header has the formulas.
//
// Buffers. Input: rows of samples `input_stride` bytes apart, a byte each (raw8), two, the lower
// first (raw16), four of 10 bits in 5 bytes (raw10p) or two of 12 bits in 3 bytes (raw12p). Output:
// three bytes a pixel (rgb3) or one (grey), rows `output_stride` apart. Nothing outside the samples
// and pixels of either is touched.
//
// Threads. Each makes a tile of 16 pixels by 2 rows, out of four rows of samples in its registers,
// of which three are there at a time; threads share nothing. A warp's tiles lie side by side. Where
// a row ends in a tile of one pixel, that tile begins four pixels earlier, because it needs its
// neighbour's; these four are then written twice, with the same bytes. Blocks are one row of
// threads, which the configuration does not choose. Every sample is read twice, those beside a tile
// once more, every output byte written once: 2 to 4 bytes a pixel read, 1 or 3 written.
//
// Arithmetic. Samples of 8 bits lie in lanes of 16, those of even columns in one word and those of
// odd ones in another, so that two pixels of one colour are made at once.
//
// Alignment. Vectors are used where a tile lies within the picture and addresses and strides are
// multiples of 16; other tiles go byte by byte.
#include "kernels/demosaic/demosaic_cuda.h"
#include "kernels/gpu/gray.cuh"

namespace {

constexpr int N = DEMOSAIC_CUDA_PIXELS, QUADS = N / 4;
constexpr uint32_t LANES = 0x00ff00ff;

// How samples lie in memory: BYTES of a tile's, VECTOR_BYTES the alignment of it; at() is sample
// `i` of a tile that was loaded, one() sample `x` of a row.
template <int SIZE>
__device__ __forceinline__ uint32_t byte_of(const uint32_t (&words)[SIZE], int i)
{
    return words[i / 4] >> i % 4 * 8 & 255;
}

struct raw8 {
    static constexpr int BYTES = N, VECTOR_BYTES = 16;

    static __device__ __forceinline__ uint32_t at(const uint32_t (&words)[BYTES / 4], int i)
    {
        return byte_of(words, i);
    }

    static __device__ __forceinline__ uint32_t one(const uint8_t *__restrict__ row, uint32_t x)
    {
        return __ldg(row + x);
    }
};

struct raw16 {
    static constexpr int BYTES = 2 * N, VECTOR_BYTES = 16;

    static __device__ __forceinline__ uint32_t at(const uint32_t (&words)[BYTES / 4], int i)
    {
        return words[i / 2] >> i % 2 * 16 & 0xffff;
    }

    static __device__ __forceinline__ uint32_t one(const uint8_t *__restrict__ row, uint32_t x)
    {
        return __ldg(row + 2 * x) | __ldg(row + 2 * x + 1) << 8;
    }
};

// GROUP samples: their upper 8 bits, a byte each, and then one byte with LOW lower bits of each.
template <int GROUP, int LOW> struct packed_samples {
    static constexpr int BYTES = N / GROUP * (GROUP + 1), VECTOR_BYTES = GROUP == 2 ? 8 : 4;

    static __device__ __forceinline__ uint32_t join(uint32_t upper, uint32_t lower, uint32_t i)
    {
        return upper << LOW | (lower >> LOW * i & ((1 << LOW) - 1));
    }

    static __device__ __forceinline__ uint32_t at(const uint32_t (&words)[BYTES / 4], int i)
    {
        int group = i / GROUP * (GROUP + 1);

        return join(byte_of(words, group + i % GROUP), byte_of(words, group + GROUP), i % GROUP);
    }

    static __device__ __forceinline__ uint32_t one(const uint8_t *__restrict__ row, uint32_t x)
    {
        const uint8_t *__restrict__ group = row + x / GROUP * (GROUP + 1);

        return join(__ldg(group + x % GROUP), __ldg(group + GROUP), x % GROUP);
    }
};

using raw10p = packed_samples<4, 2>;
using raw12p = packed_samples<2, 4>;

// A row of 8 bit samples: of each four pixels the even ones and the odd ones, and the pixels before
// and after them.
struct sample_row {
    uint32_t even[QUADS], odd[QUADS], before, after;

    // The neighbours of the odd pixels to their right, and of the even ones to their left.
    __device__ __forceinline__ uint32_t right(int i) const
    {
        return even[i] >> 16 | (i + 1 < QUADS ? even[i + 1] : after) << 16;
    }

    __device__ __forceinline__ uint32_t left(int i) const
    {
        return odd[i] << 16 | (i > 0 ? odd[i - 1] >> 16 : before);
    }
};

// Whether the row at height `y` has red, else blue.
__device__ __forceinline__ bool is_red(const demosaic_cuda &p, uint32_t y)
{
    return y % 2 == p.red_y;
}

// Whether the row's own colour, red or blue, is in its even columns.
__device__ __forceinline__ bool begins_coloured(const demosaic_cuda &p, uint32_t y)
{
    return is_red(p, y) == (p.red_x == 0);
}

// How samples in every second column of row `y` become 8 bit.
struct level {
    uint32_t black, shift, half, factor, limit;

    __device__ __forceinline__ level(const demosaic_cuda &p, uint32_t y, bool odd)
    {
        bool green = begins_coloured(p, y) == odd;

        black = p.levels.black;
        shift = p.levels.shift;
        half = 1u << (shift - 1);
        factor = green          ? p.levels.factors[1]
                 : is_red(p, y) ? p.levels.factors[0]
                                : p.levels.factors[2];
        limit = green ? p.levels.limits[1] : is_red(p, y) ? p.levels.limits[0] : p.levels.limits[2];
    }

    __device__ __forceinline__ uint32_t of(uint32_t sample) const
    {
        return min((min(max(sample, black) - black, limit) * factor + half) >> shift, 255u);
    }
};

// The samples around the tile at `x` of row `y`.
template <class samples, bool VECTOR>
__device__ __forceinline__ void load_samples(const demosaic_cuda &p, uint32_t x, uint32_t y,
                                             sample_row &row)
{
    const uint8_t *__restrict__ from = input_row(p.job, 0, y);
    uint32_t first = x / N * samples::BYTES + x % N * samples::BYTES / N;
    level even(p, y, false), odd(p, y, true);
    uint32_t words[samples::BYTES / 4];

    load_bytes<VECTOR, samples::VECTOR_BYTES>(from + first, p.row_bytes - first, words);
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
        row.even[i] = even.of(samples::at(words, 4 * i)) | even.of(samples::at(words, 4 * i + 2))
                                                               << 16;
        row.odd[i] = odd.of(samples::at(words, 4 * i + 1)) | odd.of(samples::at(words, 4 * i + 3))
                                                                 << 16;
    }
    row.before = x > 0 ? odd.of(samples::one(from, x - 1)) : 0;
    row.after = x + N < p.job.width ? even.of(samples::one(from, x + N)) : 0;
}

// Colours of pixels in lanes: of a row's own, green, and the one of the rows beside it.
struct colours {
    uint32_t own, green, other;
};

__device__ __forceinline__ uint32_t mean2(uint32_t sum)
{
    return (sum + 0x00010001) >> 1 & LANES;
}

__device__ __forceinline__ uint32_t mean4(uint32_t sum)
{
    return (sum + 0x00020002) >> 2 & LANES;
}

// At pixels of the row's own colour, if `coloured`, or of green. `beside` and `corners` are sums of
// the neighbours left and right, in this row and in those above and below.
__device__ __forceinline__ colours make_colours(bool coloured, uint32_t pixel, uint32_t beside,
                                                uint32_t stacked, uint32_t corners)
{
    colours made;

    made.own = coloured ? pixel : mean2(beside);
    made.green = coloured ? mean4(beside + stacked) : pixel;
    made.other = coloured ? mean4(corners) : mean2(stacked);
    return made;
}

// One pixel of two rows of lanes: red in the lowest byte.
__device__ __forceinline__ uint32_t pixel_of(const colours &pair, bool red, int lane)
{
    uint32_t own = pair.own >> 16 * lane & 255, other = pair.other >> 16 * lane & 255;

    return (red ? own : other) | (pair.green >> 16 * lane & 255) << 8 | (red ? other : own) << 16;
}

// Eight of the pixels in the middle one of three rows, at the height `y`.
__device__ __forceinline__ void make_pixels(const demosaic_cuda &p, uint32_t y,
                                            const sample_row (&rows)[3], int first,
                                            uint32_t (&pixels)[PIXELS])
{
    const sample_row &above = rows[0], &row = rows[1], &below = rows[2];
    bool red = is_red(p, y), coloured = begins_coloured(p, y);

#pragma unroll
    for (int k = 0; k < PIXELS / 4; k++) {
        int i = first / 4 + k;
        colours even = make_colours(coloured, row.even[i], row.left(i) + row.odd[i],
                                    above.even[i] + below.even[i],
                                    above.left(i) + above.odd[i] + below.left(i) + below.odd[i]);
        colours odd = make_colours(!coloured, row.odd[i], row.even[i] + row.right(i),
                                   above.odd[i] + below.odd[i],
                                   above.even[i] + above.right(i) + below.even[i] + below.right(i));

        pixels[4 * k] = pixel_of(even, red, 0);
        pixels[4 * k + 1] = pixel_of(odd, red, 0);
        pixels[4 * k + 2] = pixel_of(even, red, 1);
        pixels[4 * k + 3] = pixel_of(odd, red, 1);
    }
}

// The first and the last pixel of a row are those next to them. `before` is the pixel before these
// eight, which begin at `x`.
__device__ __forceinline__ void mend_ends(const demosaic_cuda &p, uint32_t x, uint32_t before,
                                          uint32_t (&pixels)[PIXELS])
{
    pixels[0] = x == 0 ? pixels[1] : x + 1 == p.job.width ? before : pixels[0];
#pragma unroll
    for (int i = 1; i < PIXELS; i++)
        pixels[i] = x + i + 1 == p.job.width ? pixels[i - 1] : pixels[i];
}

// Outputs: BYTES a pixel; pack() puts 8 pixels into words.
struct to_rgb3 {
    static constexpr int BYTES = 3;

    static __device__ __forceinline__ void pack(const uint32_t (&pixels)[PIXELS],
                                                uint32_t (&words)[BYTES * WORDS])
    {
        pack_rgb3(pixels, words);
    }
};

struct to_grey {
    static constexpr int BYTES = 1;

    static __device__ __forceinline__ void pack(const uint32_t (&pixels)[PIXELS],
                                                uint32_t (&words)[BYTES * WORDS])
    {
#pragma unroll
        for (int i = 0; i < PIXELS; i++) {
            uint32_t gray = rgb3::weigh(pixels[i]) >> 16 << i % 4 * 8;

            words[i / 4] = i % 4 == 0 ? gray : words[i / 4] | gray;
        }
    }
};

// Eight pixels from `x` on, or those of them that are in the picture.
template <class target, bool VECTOR>
__device__ __forceinline__ void store_pixels(const demosaic_cuda &p, uint32_t x, uint32_t y,
                                             const uint32_t (&pixels)[PIXELS])
{
    uint8_t *__restrict__ to = output_row(p.job, 0, y) + (size_t)x * target::BYTES;
    uint32_t words[target::BYTES * WORDS];

    target::pack(pixels, words);
    if (VECTOR || x < p.job.width)
        store_words<VECTOR>(to, words, (p.job.width - x) * target::BYTES);
}

// Row `y` of the tile at `x`, made as the row in the middle of the three.
template <class target, bool VECTOR>
__device__ __forceinline__ void make_row(const demosaic_cuda &p, uint32_t x, uint32_t y,
                                         uint32_t middle, const sample_row (&rows)[3])
{
    uint32_t pixels[PIXELS], before = 0;

#pragma unroll
    for (int i = 0; i < N; i += PIXELS) {
        make_pixels(p, middle, rows, i, pixels);
        mend_ends(p, x + i, before, pixels);
        store_pixels<target, VECTOR>(p, x + i, y, pixels);
        before = pixels[PIXELS - 1];
    }
}

// The tile at (x, y). The picture's outermost rows are made as those next to them.
template <class samples, class target, bool VECTOR>
__device__ __forceinline__ void make_tile(const demosaic_cuda &p, uint32_t x, uint32_t y)
{
    uint32_t next = min(max(y, 1u), p.job.height - 2) - 1;
    sample_row rows[3];

    load_samples<samples, VECTOR>(p, x, next, rows[1]);
    load_samples<samples, VECTOR>(p, x, next + 1, rows[2]);
    next += 2;
#pragma unroll
    for (int i = 0; i < DEMOSAIC_CUDA_ROWS; i++) {
        uint32_t middle = min(max(y + i, 1u), p.job.height - 2);

        if (y + i >= p.job.height)
            return;
        if (middle + 1 == next) {
            rows[0] = rows[1];
            rows[1] = rows[2];
            load_samples<samples, VECTOR>(p, x, next++, rows[2]);
        }
        make_row<target, VECTOR>(p, x, y + i, middle, rows);
    }
}

// A picture of less than three by three pixels.
template <class target>
__device__ __forceinline__ void make_black(const demosaic_cuda &p, uint32_t x, uint32_t y)
{
    const uint32_t black[PIXELS] = {0};

    for (uint32_t i = y; i < p.job.height && i < y + DEMOSAIC_CUDA_ROWS; i++) {
        store_pixels<target, false>(p, x, i, black);
        store_pixels<target, false>(p, x + PIXELS, i, black);
    }
}

template <class samples, class target>
__device__ __forceinline__ void make_picture(const demosaic_cuda &p)
{
    uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t x = index % p.across * N, y = index / p.across * DEMOSAIC_CUDA_ROWS;
    bool vectors = aligned(
        p.job.input[0] | p.job.input_stride[0] | p.job.output[0] | p.job.output_stride[0], 16);

    if (y >= p.job.height)
        return;
    if (p.job.width < 3 || p.job.height < 3)
        make_black<target>(p, x, y);
    else if (vectors && x + N <= p.job.width)
        make_tile<samples, target, true>(p, x, y);
    else
        make_tile<samples, target, false>(p, x + 1 == p.job.width ? x - 4 : x, y);
}

} // namespace

#define DEFINE_KERNEL(samples, target)                                                             \
    extern "C" __global__ void __launch_bounds__(DEMOSAIC_CUDA_THREADS, DEMOSAIC_CUDA_BLOCKS)      \
        demosaic_##samples##_##target(demosaic_cuda p)                                             \
    {                                                                                              \
        make_picture<samples, to_##target>(p);                                                     \
    }

DEMOSAIC_CUDA_KERNELS(DEFINE_KERNEL)
