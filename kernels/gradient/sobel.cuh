// Sobel's gradients of gray on their way out of a camera's picture: strips of eight pixels, each
// row's share of gx and gy in pairs of halves (magnitude.cuh).
//
// The two pixels of a pair lie two apart, a word of four bytes being `even` (0, 2) and `odd` (1,
// 3).
#pragma once

#include "kernels/gradient/magnitude.cuh"
#include "kernels/gpu/gray.cuh"

namespace {

// Eight gray pixels and what has the neighbour on either side: its gray in byte LUMA of the layout
// and 0 in the byte above it.
struct strip {
    uint32_t words[WORDS], left, right;
};

// How the pixels beside a strip are taken: selectors of byte permutations of a neighbour's word and
// a word of the strip, for the pair of the neighbour on the left and pixel 1, and that of pixel 6
// and the neighbour on the right.
struct strip_picks {
    uint32_t left, right;
};

template <class format>
__device__ __forceinline__ strip_picks pick_beside(bool left_is_there, bool right_is_there)
{
    constexpr uint32_t luma = format::LUMA, zero = luma + 1;

    return {(left_is_there ? luma : 4) | zero << 4 | 5 << 8 | zero << 12,
            6 | zero << 4 | (right_is_there ? luma : 7) << 8 | zero << 12};
}

// Whether a strip at `x` can be loaded by vectors, as far as alignment allows it.
template <class format> __device__ __forceinline__ bool has_strip(uint32_t x, uint32_t width)
{
    uint32_t count = width - x;

    return count == PIXELS || (width > x && count >= PIXELS + format::AFTER);
}

// Strips of one column: `raw` is what load() gets of row `y`, below the picture its last row, and
// take() makes a strip of it, once it is there.
template <class format, bool VECTOR> struct strip_source;

// By vectors, with one address for each row. At the border the neighbour is not read, but picked
// from the strip; without a branch, which would keep rows from overlapping.
template <class format> struct strip_source<format, true> {
    struct raw {
        uint32_t words[format::BYTES * WORDS], before, after;
    };

    const uint8_t *column; // of row 0
    uint32_t stride, last_row;
    bool first, last; // of the row
    strip_picks picks;

    __device__ __forceinline__ strip_source(const gpu_job &j, uint32_t x)
        : column(reinterpret_cast<const uint8_t *>(j.input[0]) + (size_t)x * format::BYTES),
          stride(j.input_stride[0]), last_row(j.height - 1), first(x == 0),
          last(j.width - x <= PIXELS), picks(pick_beside<format>(!first, !last))
    {
    }

    // Row `y`, or the last one.
    __device__ __forceinline__ const uint8_t *row(uint32_t y) const
    {
        return column + (size_t)min(y, last_row) * stride;
    }

    // A row to where another one was.
    __device__ __forceinline__ void reload(const uint8_t *__restrict__ at, raw &r) const
    {
        load_words<vector_bytes<PIXELS * format::BYTES>>(at, r.words);
        format::before(at, !first, r.before);
        format::after(at, !last, r.after);
    }

    __device__ __forceinline__ void load(const uint8_t *__restrict__ at, raw &r) const
    {
        r.before = r.after = 0;
        reload(at, r);
    }

    __device__ __forceinline__ raw load(uint32_t y) const
    {
        raw r;

        load(row(y), r);
        return r;
    }

    __device__ __forceinline__ strip take(const raw &r) const
    {
        strip s;

        format::gray(r.words, s.words);
        s.left = format::before_luma(r.before);
        s.right = format::after_luma(r.after);
        return s;
    }
};

// Byte by byte, of any place in the picture.
template <class format> struct strip_source<format, false> {
    using raw = strip;

    const uint8_t *from; // row 0
    uint32_t stride, last_row, x, width;
    strip_picks picks;

    __device__ __forceinline__ strip_source(const gpu_job &j, uint32_t x)
        : from(reinterpret_cast<const uint8_t *>(j.input[0])), stride(j.input_stride[0]),
          last_row(j.height - 1), x(x), width(j.width), picks(pick_beside<format>(true, true))
    {
    }

    __device__ __forceinline__ raw load(uint32_t y) const
    {
        const uint8_t *__restrict__ row = from + (size_t)min(y, last_row) * stride;
        const uint8_t *at = row + (size_t)x * format::BYTES;
        uint32_t last = width - 1 - x; // pixel of the row, counted from x
        uint32_t left = format::luma(x > 0 ? at - format::BYTES : at);
        uint32_t right = format::luma(at + (size_t)min(last, PIXELS) * format::BYTES);
        strip s = {{}, left << 8 * format::LUMA, right << 8 * format::LUMA};

        load_gray<format, false>(row, x, width, s.words);
#pragma unroll
        for (int i = 1; i < PIXELS; i++) {
            if (i > last) {
                s.words[i / 4] |= right << i % 4 * 8;
            }
        }
        return s;
    }

    __device__ __forceinline__ strip take(const raw &r) const
    {
        return r;
    }
};

// One input row's share of gx, right - left, and of gy, left + 2 middle + right. Pairs even, odd,
// even, … of the words.
struct slopes {
    half2 across[2 * WORDS], along[2 * WORDS];
};

// The pairs of a strip's word, and of the pixels before and after them.
struct neighbours {
    half2 before, even, odd, after;
};

__device__ __forceinline__ neighbours neighbours_of(const strip &s, const strip_picks &picks, int i)
{
    uint32_t even = s.words[i] & 0x00ff00ff, odd = __byte_perm(s.words[i], 0, 0x4341);
    uint32_t before =
        i > 0 ? __byte_perm(__byte_perm(s.words[i > 0 ? i - 1 : 0], 0, 0x4341), odd, 0x5432)
              : __byte_perm(s.left, s.words[0], picks.left);
    uint32_t after =
        i + 1 < WORDS ? __byte_perm(even, s.words[i + 1 < WORDS ? i + 1 : 0] & 0x00ff00ff, 0x5432)
                      : __byte_perm(s.right, s.words[i], picks.right);

    return {pair(before), pair(even), pair(odd), pair(after)};
}

template <class source>
__device__ __forceinline__ slopes slopes_of(const source &from, const typename source::raw &raw)
{
    const strip s = from.take(raw);
    const half2 two = __float2half2_rn(2.0f);
    slopes r;

#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        neighbours n = neighbours_of(s, from.picks, i);

        r.across[2 * i] = __hsub2(n.odd, n.before);
        r.across[2 * i + 1] = __hsub2(n.after, n.even);
        r.along[2 * i] = __hadd2(__hfma2(n.even, two, n.before), n.odd);
        r.along[2 * i + 1] = __hadd2(__hfma2(n.odd, two, n.even), n.after);
    }
    return r;
}

// gx and gy of pair `k`, from the rows around it.
__device__ __forceinline__ half2 gradient_x(const slopes &above, const slopes &middle,
                                            const slopes &below, int k)
{
    return __hadd2(__hfma2(middle.across[k], __float2half2_rn(2.0f), above.across[k]),
                   below.across[k]);
}

__device__ __forceinline__ half2 gradient_y(const slopes &above, const slopes &below, int k)
{
    return __hsub2(below.along[k], above.along[k]);
}

// Two magnitudes of any gain, 0..255 in 16 bit lanes; the 256 thresholds of gain and norm settle
// ties.
template <norm NORM>
__device__ __forceinline__ uint32_t scaled(uint64_t thresholds, float gain, half2 gx, half2 gy)
{
    const float unit = 16777216.0f; // 2^24
    auto round = [=](float f, float n) {
        return round_gain(thresholds, f * gain, [=] { return (uint32_t)n; });
    };

    if (NORM == L1) {
        half2 sum = __hadd2(__habs2(gx), __habs2(gy));
        float a = __low2float(sum) * unit, b = __high2float(sum) * unit;

        return round(a, a) | round(b, b) << 16;
    }
    float xa = __low2float(gx), xb = __high2float(gx);
    float ya = __low2float(gy), yb = __high2float(gy);
    float a = xa * xa + ya * ya, b = xb * xb + yb * yb;

    return round(near_root(a) * unit, a * unit * unit) | round(near_root(b) * unit, b * unit * unit)
                                                             << 16;
}

} // namespace
