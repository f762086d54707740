// What the kernels share that make each pixel of gray from those around it: a window of pixels, and
// columns of rows that are read once.
//
// A window is 16 pixels of a row, the 8 a thread makes and 4 on either side, the border replicated.
// Two pixels share a word in 16 bit lanes, two apart: `even` (0, 2) and `odd` (1, 3) of four.
#pragma once

#include "kernels/gpu/tile.cuh"

namespace {

// words[0] and words[3] are the neighbours.
struct window {
    uint32_t words[4];
};

// Where a thread reads, the same in each of its rows: vectors where the neighbours' words lie
// within the picture or at its border, and all addresses are multiples of 8; else single bytes.
struct reader {
    const uint8_t *input; // column `x` of row 0
    uint32_t stride;
    int last_row;
    uint32_t x, left_of; // pixels of the row left of `x`
    uint32_t right_of;   // and from `x` on, at least 1
    bool vector;
    uint32_t left_at, left_pick, right_at,
        right_pick; // bytes left of `x`, right of it; of the word
};

__device__ __forceinline__ reader make_reader(const gpu_job &j, uint32_t x)
{
    reader r;

    r.input = reinterpret_cast<const uint8_t *>(j.input[0]) + x;
    r.stride = j.input_stride[0];
    r.last_row = (int)j.height - 1;
    r.x = x;
    r.right_of = j.width - x;
    r.vector = aligned(j.input[0] | j.input_stride[0], PIXELS) &&
               (r.right_of == PIXELS || r.right_of >= PIXELS + 4);
    // Addresses are chosen, not values: a branch here would keep rows from overlapping.
    r.left_at = x > 0 ? 4 : 0;
    r.left_pick = x > 0 ? 0x3210 : 0x0000;
    r.right_at = r.right_of > PIXELS ? PIXELS : 4;
    r.right_pick = r.right_of > PIXELS ? 0x3210 : 0x3333;
    return r;
}

// Row `y`, or the nearest there is.
__device__ __forceinline__ const uint8_t *row_at(const reader &r, int y)
{
    uint32_t row = (uint32_t)min(max(y, 0), r.last_row);

    return r.input + (size_t)row * r.stride;
}

__device__ __forceinline__ window load_vectors(const reader &r, int y)
{
    const uint8_t *__restrict__ from = row_at(r, y);
    uint2 middle = __ldg(reinterpret_cast<const uint2 *>(from));
    uint32_t left = __ldg(reinterpret_cast<const uint32_t *>(from - r.left_at));
    uint32_t right = __ldg(reinterpret_cast<const uint32_t *>(from + r.right_at));

    return {{__byte_perm(left, 0, r.left_pick), middle.x, middle.y,
             __byte_perm(right, 0, r.right_pick)}};
}

__device__ __forceinline__ window load_bytes(const reader &r, int y)
{
    const uint8_t *__restrict__ from = row_at(r, y);
    int first = -(int)min(r.x, 4u), last = (int)r.right_of - 1;
    window w;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        w.words[i] = 0;
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            int at = min(max(4 * i + k - 4, first), last);

            w.words[i] |= (uint32_t)__ldg(from + at) << 8 * k;
        }
    }
    return w;
}

// A window in pairs: even[i] and odd[i] of word i.
struct pairs {
    uint32_t even[4], odd[4];
};

__device__ __forceinline__ pairs pairs_of(const window &w)
{
    pairs p;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        p.even[i] = w.words[i] & 0x00ff00ff;
        p.odd[i] = __byte_perm(w.words[i], 0, 0x4341);
    }
    return p;
}

// The pair of the pixels `first` and `first` + 2 of a window, 0..13. Known when compiling, so that
// it is a register, or one instruction for two of them.
__device__ __forceinline__ uint32_t pair_at(const pairs &p, int first)
{
    const uint32_t *words = first % 2 ? p.odd : p.even;
    int i = first / 4;

    return first % 4 < 2 ? words[i] : __byte_perm(words[i], words[i + 1 < 4 ? i + 1 : i], 0x5432);
}

// The first pixel of the pairs 0..3 that a thread makes: even, odd, even, odd.
constexpr int PAIRS = 2 * WORDS;

__device__ __forceinline__ constexpr int first_of(int pair)
{
    return 4 + pair / 2 * 4 + pair % 2;
}

// A filter has a RADIUS of at most 4; a `line`, what it keeps of an input row, made by reduce() of
// its pairs; and make(), eight pixels in WORDS words from 2 * RADIUS + 1 lines. Where rows have
// sums in common it SHARES: then no branch parts them.

template <class filter, class parameters>
__device__ __forceinline__ void make_row(const parameters &p, const reader &r, int y, bool vector,
                                         bool wanted, const typename filter::line *lines)
{
    uint8_t *__restrict__ to = output_row(p.job, 0, y) + r.x;
    uint32_t words[WORDS];

    if (!filter::SHARES && !wanted) {
        return;
    }
    filter::make(p, lines, words);
    if (!wanted) {
        return;
    }
    if (vector) {
        store_words<true>(to, words, PIXELS);
    } else {
        store_words<false>(to, words, r.right_of);
    }
}

// Rows from `y` to `end`, COUNT at a time, none read twice; all that the first COUNT need are on
// their way before the first is used.
template <class filter, int COUNT, class parameters>
__device__ __forceinline__ void make_column(const parameters &p, const reader &r, int y, int end,
                                            bool vector)
{
    constexpr int MORE = 2 * filter::RADIUS;
    window windows[MORE + COUNT];
    typename filter::line lines[MORE + COUNT];
    auto load = [&](int i) {
        int row = y + i - filter::RADIUS;

        windows[i] = vector ? load_vectors(r, row) : load_bytes(r, row);
    };

#pragma unroll
    for (int i = 0; i < MORE + COUNT; i++) {
        load(i);
    }
#pragma unroll
    for (int i = 0; i < MORE; i++) {
        lines[i] = filter::reduce(pairs_of(windows[i]));
    }
#pragma unroll 1
    for (;;) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            lines[MORE + i] = filter::reduce(pairs_of(windows[MORE + i]));
            make_row<filter>(p, r, y + i, vector, y + i < end, lines + i);
        }
        y += COUNT;
        if (y >= end) {
            return;
        }
#pragma unroll
        for (int i = 0; i < MORE + COUNT; i++) {
            if (i < MORE) {
                lines[i] = lines[COUNT + i];
            } else {
                load(i);
            }
        }
    }
}

// Any picture: `fast`, ROWS at a time, where nothing asks for `slow`.
template <class fast, class slow, int ROWS, class parameters>
__device__ __forceinline__ void make_picture(const parameters &p, bool plain)
{
    uint32_t x = tile_x(), y = tile_y(p.job.rows);

    if (x >= p.job.width || y >= p.job.height) {
        return;
    }
    reader r = make_reader(p.job, x);
    bool vector = r.vector && aligned(p.job.output[0] | p.job.output_stride[0], PIXELS);
    uint32_t end = y + min(p.job.rows, p.job.height - y);

    if (!vector || !plain) {
        make_column<slow, 1>(p, r, y, end, vector);
    } else {
        make_column<fast, ROWS>(p, r, y, end, true);
    }
}

} // namespace
