// Stencils on the tensor cores: bytes times weights, without a conversion.
//
// C = A B of the warp, A of 16 rows of bytes, B of 8 columns of signed weights. Lane 4 g + t gives
// bytes of rows g and g + 8 of A, and gets columns 2 t and 2 t + 1 of rows g and g + 8 of C. B is 0
// except where a column meets the bytes of the lane that gets it: so each lane gets, of either row,
// two sums of its own bytes, and threads share nothing. Most of what is multiplied is 0, and yet
// an instruction makes four sums.
//
// A lane makes eight pixels of a row, of which two of the left half and two of the right half go
// into an instruction: its rows of A. What they hold is a window: 4 pixels, which are two and their
// neighbours within 1, or 8, which suffice for neighbours within 2.
//
// The words left and right of a row are read with it and not used where they lie outside the
// picture: there they are of the row's padding or of the rows before and behind it, never outside
// the plane.
//
// All of the warp takes part, so blocks are whole warps, and threads outside the picture make its
// last tile once more. From sm_80 on: TENSOR.
#pragma once

#include "kernels/gpu/tile.cuh"

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr bool TENSOR = true;
#else
constexpr bool TENSOR = false;
#endif

// Two pixels of the left half, two of the right.
using quad = int[4];

// A window of the left half and one of the right, word by word.
template <int RADIUS> struct windows {
    uint32_t words[2 * RADIUS];
};

// What a lane gives of B for a row of weights.
template <int RADIUS> struct weights {
    uint32_t words[RADIUS];
};

// sums = start + A B.
__device__ __forceinline__ void multiply_add(quad &sums, const quad &start, const windows<1> &a,
                                             const weights<1> &b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%7, %8, %9, %10};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(b.words[0]), "r"(start[0]), "r"(start[1]),
          "r"(start[2]), "r"(start[3]));
#endif
}

__device__ __forceinline__ void multiply_add(quad &sums, const quad &start, const windows<2> &a,
                                             const weights<2> &b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),
          "r"(b.words[1]), "r"(start[0]), "r"(start[1]), "r"(start[2]), "r"(start[3]));
#endif
}

// How far B is shifted for this lane: the weights of a column's second pixel are one byte further,
// those of the columns of other lanes nowhere.
__device__ __forceinline__ uint32_t weights_shift()
{
    uint32_t lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32, column = lane / 4;

    return column / 2 != lane % 4 ? 32 : column % 2 * 8;
}

// Of 2 RADIUS + 1 weights, -128 to 127, the leftmost in the lowest byte.
template <int RADIUS>
__device__ __forceinline__ weights<RADIUS> make_weights(uint64_t row, uint32_t shift)
{
    uint32_t low = (uint32_t)row, high = (uint32_t)(row >> 32);
    weights<RADIUS> w;

    w.words[0] = __funnelshift_lc(0, low, shift);
    if constexpr (RADIUS == 2) {
        w.words[1] = shift == 32 ? 0 : __funnelshift_lc(low, high, shift);
    }
    return w;
}

// A thread's tile of 8 pixels by ROWS rows, all in the picture: its top left pixel, and whether
// there are words to be read left and right of its rows.
template <int ROWS> struct tensor_tile {
    uint32_t x, y;
    bool left, right;
};

// Whether the tensor cores can make a picture: it consists of whole tiles, and all of their
// addresses are aligned.
template <int ROWS, class parameters>
__device__ __forceinline__ bool tensor_takes(const parameters &p)
{
    return TENSOR && p.rows == ROWS && blockDim.x * blockDim.y % 32 == 0 &&
           aligned(p.input | p.input_stride | p.output | p.output_stride | p.width, PIXELS) &&
           p.height % ROWS == 0;
}

// Returns false if the whole warp is outside the picture.
template <int ROWS, class parameters>
__device__ __forceinline__ bool tensor_find(const parameters &p, tensor_tile<ROWS> &tile)
{
    uint32_t x = tile_x(), y = tile_y(ROWS);

    tile.x = min(x, p.width - PIXELS);
    tile.y = min(y, p.height - ROWS);
    tile.left = (tile.x | tile.y) != 0;
    tile.right = tile.x + PIXELS < p.width || tile.y + ROWS < p.height;
    return __any_sync(0xffffffff, x < p.width && y < p.height);
}

// A row of a tile and the words beside it, which at the picture's border are anything.
struct tensor_row {
    uint32_t words[WORDS + 2];
};

// A tile's rows, 2 RADIUS more than it has, are read AHEAD of the one that is used: as many as
// there are registers for.
constexpr int AHEAD = 8;

// Row `i` - RADIUS of the tile, or the nearest in the picture.
template <int RADIUS, int ROWS, class parameters>
__device__ __forceinline__ tensor_row load_row(const parameters &p, const tensor_tile<ROWS> &tile,
                                               int i)
{
    const uint8_t *from =
        reinterpret_cast<const uint8_t *>(p.input) + tile.x + (size_t)tile.y * p.input_stride;
    size_t up = tile.y == 0 ? 0 : (size_t)(RADIUS - i) * p.input_stride;
    uint32_t down = i < ROWS + RADIUS ? i - RADIUS : min(i - RADIUS, p.height - 1 - tile.y);
    const uint32_t *words = reinterpret_cast<const uint32_t *>(
        i < RADIUS ? from - up : from + (size_t)down * p.input_stride);
    uint2 middle = __ldg(reinterpret_cast<const uint2 *>(words));

    return {{load_word_if(tile.left, words - 1), middle.x, middle.y,
             load_word_if(tile.right, words + 2)}};
}

// The first rows, COUNT or AHEAD of them.
template <int RADIUS, int COUNT, int ROWS, class parameters>
__device__ __forceinline__ void load_first(const parameters &p, const tensor_tile<ROWS> &tile,
                                           tensor_row (&rows)[ROWS + 2 * RADIUS])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        rows[i] = load_row<RADIUS>(p, tile, i);
    }
}

// Which bytes of two words are to be taken where the left one, or the right one, may lie outside.
struct border {
    uint32_t left, right, outside;
};

template <int RADIUS, int ROWS, class parameters>
__device__ __forceinline__ border make_border(const parameters &p, const tensor_tile<ROWS> &tile)
{
    bool first = tile.x == 0, last = tile.x + PIXELS == p.width;

    if (RADIUS == 1) {
        return {first ? 0x6544u : 0x6543, last ? 0x3321u : 0x4321, 0};
    }
    return {first ? 0x5444u : 0x5432, last ? 0x3332u : 0x5432, last ? 0x3333u : 0x7654};
}

// The four pixels from `x` on, -RADIUS to 8.
template <int RADIUS>
__device__ __forceinline__ uint32_t bytes_at(const tensor_row &row, const border &b, int x)
{
    if (x == -RADIUS) {
        return __byte_perm(row.words[0], row.words[1], b.left);
    }
    if (x > PIXELS - 4) {
        return __byte_perm(row.words[2], row.words[3], x == PIXELS ? b.outside : b.right);
    }
    return x % 4 ? __byte_perm(row.words[1 + x / 4], row.words[2 + x / 4], 0x3210 + x % 4 * 0x1111)
                 : row.words[1 + x / 4];
}

// The windows that pixels 2 `pair` and 2 `pair` + 1 of either half are made of.
template <int RADIUS>
__device__ __forceinline__ windows<RADIUS> windows_of(const tensor_row &row, const border &b,
                                                      int pair)
{
    windows<RADIUS> a;

#pragma unroll
    for (int i = 0; i < 2 * RADIUS; i++) {
        a.words[i] = bytes_at<RADIUS>(row, b, 2 * pair - RADIUS + (i / 2 + i % 2) * 4);
    }
    return a;
}

// Row `i` of the tile.
template <int ROWS, class parameters>
__device__ __forceinline__ void store_row(const parameters &p, const tensor_tile<ROWS> &tile, int i,
                                          const uint32_t (&words)[WORDS])
{
    uint8_t *to = reinterpret_cast<uint8_t *>(p.output) + tile.x + (size_t)tile.y * p.output_stride;

    store_words<true>(to + (size_t)i * p.output_stride, words, PIXELS);
}

} // namespace
