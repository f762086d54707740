// Shared code of the kernels that make each pixel of gray from those around it: a window of pixels,
// of any layout of gray.cuh, and columns of rows that are read once.
//
// A window is the 8 pixels of a row that a thread makes and those beside them, the border
// replicated. Two pixels share a word in 16 bit lanes, two apart: `even` (0, 2) and `odd` (1, 3) of
// four.
#pragma once

#include "kernels/gpu/gray.cuh"

namespace {

// Gray of 16 pixels. words[0] and words[3] are the neighbours: as many of them, beside the middle,
// as a word of the layout holds pixels.
struct window {
    uint32_t words[WORDS + 2];
};

// Whether a window at `x` can be loaded by vectors, as far as alignment allows it.
template <class format> __device__ __forceinline__ bool has_window(uint32_t x, uint32_t width)
{
    uint32_t count = width - x;

    return count == PIXELS || (width > x && count >= PIXELS + format::AFTER);
}

// Windows of one column: `raw` is what load() gets of row `y`, or of the nearest there is, and
// take() makes a window of it, once it is there.
template <class format, bool VECTOR> struct window_source;

// By vectors, with one address for each row. At the border the tile's own words stand for those
// beside it: addresses are chosen, because a branch would keep rows from overlapping.
template <class format> struct window_source<format, true> {
    static constexpr int BYTES = PIXELS * format::BYTES;

    struct raw {
        uint32_t words[format::BYTES * WORDS], before, after;
    };

    const uint8_t *column; // of row 0
    uint32_t stride;
    int last_row;
    int32_t before_at, after_at; // bytes to the words beside the tile

    __device__ __forceinline__ window_source(const gpu_job &j, uint32_t x)
        : column(input_row(j, 0, 0) + (size_t)x * format::BYTES), stride(j.input_stride[0]),
          last_row((int)j.height - 1), before_at(x > 0 ? -4 : 0),
          after_at(j.width - x > PIXELS ? BYTES : BYTES - 4)
    {
    }

    __device__ __forceinline__ raw load(int y) const
    {
        const uint8_t *__restrict__ at = column + (size_t)min(max(y, 0), last_row) * stride;
        raw r;

        load_words<vector_bytes<BYTES>>(at, r.words);
        r.before = __ldg(reinterpret_cast<const uint32_t *>(at + before_at));
        r.after = __ldg(reinterpret_cast<const uint32_t *>(at + after_at));
        return r;
    }

    __device__ __forceinline__ window take(const raw &r) const
    {
        uint32_t words[WORDS];

        format::gray(r.words, words);
        return {
            {__byte_perm(format::before(r.before), words[0], before_at < 0 ? 0x3210 : 0x4444),
             words[0], words[1],
             __byte_perm(format::after(r.after), words[1], after_at == BYTES ? 0x3210 : 0x7777)}};
    }
};

// Byte by byte, of any place in the picture.
template <class format> struct window_source<format, false> {
    using raw = window;

    const uint8_t *column; // of row 0
    uint32_t stride;
    int last_row, first, last; // of the row, counted from the tile's first pixel

    __device__ __forceinline__ window_source(const gpu_job &j, uint32_t x)
        : column(input_row(j, 0, 0) + (size_t)x * format::BYTES), stride(j.input_stride[0]),
          last_row((int)j.height - 1), first(-(int)x), last((int)(j.width - x) - 1)
    {
    }

    __device__ __forceinline__ raw load(int y) const
    {
        constexpr int BESIDE = 4 / format::BYTES;
        const uint8_t *__restrict__ at = column + (size_t)min(max(y, 0), last_row) * stride;
        window w;

        // Word by word: all bytes on their way at once would not fit the registers.
#pragma unroll
        for (int i = 0; i < WORDS + 2; i++) {
            w.words[i] = 0;
#pragma unroll 1
            for (int k = i == 0 ? 4 - BESIDE : 0; k < (i == WORDS + 1 ? BESIDE : 4); k++) {
                int pixel = min(max(4 * i + k - 4, first), last);

                w.words[i] |= format::luma(at + (int64_t)pixel * format::BYTES) << 8 * k;
            }
        }
        return w;
    }

    __device__ __forceinline__ window take(const raw &w) const
    {
        return w;
    }
};

// A window in pairs: even[i] and odd[i] of word i.
struct pairs {
    uint32_t even[WORDS + 2], odd[WORDS + 2];
};

__device__ __forceinline__ pairs pairs_of(const window &w)
{
    pairs p;

#pragma unroll
    for (int i = 0; i < WORDS + 2; i++) {
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

// A filter has a RADIUS of at most what a word of the layout holds; a `line`, what it keeps of an
// input row, made by reduce() of its pairs; and make(), eight pixels in WORDS words from 2 * RADIUS
// + 1 lines. Where rows have sums in common it SHARES: then no branch parts them.

template <class filter, bool VECTOR, class parameters>
__device__ __forceinline__ void make_row(const parameters &p, uint32_t x, int y, bool wanted,
                                         const typename filter::line *lines)
{
    uint32_t words[WORDS];

    if (!filter::SHARES && !wanted)
        return;
    filter::make(p, lines, words);
    if (wanted)
        store_words<VECTOR>(output_row(p.job, 0, y) + x, words, p.job.width - x);
}

// Rows from `y` to `end`, COUNT at a time, none read twice; all that the first COUNT need are on
// their way before the first is used.
template <class filter, class format, bool VECTOR, int COUNT, class parameters>
__device__ __forceinline__ void make_column(const parameters &p, uint32_t x, int y, int end)
{
    constexpr int MORE = 2 * filter::RADIUS;
    const window_source<format, VECTOR> source(p.job, x);
    typename window_source<format, VECTOR>::raw rows[MORE + COUNT];
    typename filter::line lines[MORE + COUNT];

#pragma unroll
    for (int i = 0; i < MORE + COUNT; i++)
        rows[i] = source.load(y + i - filter::RADIUS);
#pragma unroll
    for (int i = 0; i < MORE; i++)
        lines[i] = filter::reduce(pairs_of(source.take(rows[i])));
#pragma unroll 1
    for (;;) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            lines[MORE + i] = filter::reduce(pairs_of(source.take(rows[MORE + i])));
            make_row<filter, VECTOR>(p, x, y + i, y + i < end, lines + i);
        }
        y += COUNT;
        if (y >= end)
            return;
#pragma unroll
        for (int i = 0; i < MORE + COUNT; i++) {
            if (i < MORE)
                lines[i] = lines[COUNT + i];
            else
                rows[i] = source.load(y + i - filter::RADIUS);
        }
    }
}

// Any picture: `fast`, COUNT rows at a time, where it is `plain`, else `slow`.
template <class format, class fast, class slow, int COUNT, class parameters>
__device__ __forceinline__ void make_picture(const parameters &p, bool plain)
{
    uint32_t x = tile_x(), y = tile_y(p.job.rows), end = min(y + p.job.rows, p.job.height);
    bool vector = aligned(p.job.input[0] | p.job.input_stride[0], format::VECTOR_BYTES) &&
                  aligned(p.job.output[0] | p.job.output_stride[0], PIXELS);

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (!vector || !has_window<format>(x, p.job.width))
        make_column<slow, format, false, 1>(p, x, y, end);
    else if (!plain)
        make_column<slow, format, true, 1>(p, x, y, end);
    else
        make_column<fast, format, true, COUNT>(p, x, y, end);
}

} // namespace
