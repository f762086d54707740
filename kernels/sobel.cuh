// Sobel's gradients of gray on their way out of a camera's picture: strips of eight pixels, each
// row's share of gx and gy in pairs of halves (magnitude.cuh).
//
// The two pixels of a pair lie two apart, a word of four bytes being `even` (0, 2) and `odd` (1,
// 3).
#pragma once

#include "kernels/gray.cuh"
#include "kernels/magnitude.cuh"

namespace {

// Where gray comes from: plane 0 of a picture, in a layout of gray.cuh.
struct gray_source {
    uint64_t input;
    uint32_t input_stride, width, height;
};

// Eight gray pixels and the neighbour on either side, at the border the pixel itself.
struct strip {
    uint32_t words[WORDS], left, right;
};

// The strip at `x` of row `y`; rows below the picture are its last row. Parameters as those of
// gray_source.
template <class format, bool VECTOR, class parameters>
__device__ __forceinline__ strip load_strip(const parameters &p, uint32_t x, uint32_t y)
{
    const uint8_t *__restrict__ row =
        reinterpret_cast<const uint8_t *>(p.input) + (size_t)min(y, p.height - 1) * p.input_stride;
    const uint8_t *from = row + (size_t)x * format::BYTES;
    uint32_t last = p.width - 1 - x; // pixel of the row, counted from x
    strip s;

    load_gray<format, VECTOR>(row, x, p.width, s.words);
    if constexpr (VECTOR) {
        // Addresses are chosen, not values: a branch here would keep rows from overlapping.
        s.left = format::beside(x > 0 ? from - format::BYTES : from);
        s.right = format::beside(from + (size_t)min(last, PIXELS) * format::BYTES);
    } else {
        s.left = format::luma(x > 0 ? from - format::BYTES : from);
        s.right = format::luma(from + (size_t)min(last, PIXELS) * format::BYTES);
#pragma unroll
        for (int i = 1; i < PIXELS; i++) {
            if (i > last) {
                s.words[i / 4] |= s.right << i % 4 * 8;
            }
        }
    }
    return s;
}

// Strips by vectors, of one column of them: load_strip() with one address for each row. At the
// border a neighbour is not read, without a branch: that would keep rows from overlapping.
template <class format> struct strip_source {
    const uint8_t *from; // in row 0
    uint32_t stride, last_row;
    bool first, last; // of the row

    template <class parameters>
    __device__ __forceinline__ strip_source(const parameters &p, uint32_t x)
        : from(reinterpret_cast<const uint8_t *>(p.input) + (size_t)x * format::BYTES),
          stride(p.input_stride), last_row(p.height - 1), first(x == 0), last(p.width - x <= PIXELS)
    {
    }

    // Of row `y`, below the picture its last row. At the border to be completed once it is there.
    __device__ __forceinline__ strip load(uint32_t y) const
    {
        uint64_t address;
        strip s = {};

        asm("mad.wide.u32 %0, %1, %2, %3;"
            : "=l"(address)
            : "r"(min(y, last_row)), "r"(stride), "l"(from));
        const uint8_t *__restrict__ at = reinterpret_cast<const uint8_t *>(address);

        format::load(at, s.words);
        if (!first) {
            s.left = format::beside(at - format::BYTES);
        }
        if (!last) {
            s.right = format::beside(at + PIXELS * format::BYTES);
        }
        return s;
    }

    __device__ __forceinline__ strip complete(strip s) const
    {
        s.left = first ? s.words[0] & 0x00ff00ff : s.left;
        s.right = last ? s.words[WORDS - 1] >> 24 : s.right;
        return s;
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

__device__ __forceinline__ neighbours neighbours_of(const strip &s, int i)
{
    uint32_t even = s.words[i] & 0x00ff00ff, odd = __byte_perm(s.words[i], 0, 0x4341);
    uint32_t before = i > 0 ? __byte_perm(s.words[i > 0 ? i - 1 : 0], 0, 0x4341) : s.left;
    uint32_t after = i + 1 < WORDS ? s.words[i + 1 < WORDS ? i + 1 : 0] & 0x00ff00ff : s.right;

    return {pair(__byte_perm(before, odd, i > 0 ? 0x5432 : 0x5410)), pair(even), pair(odd),
            pair(__byte_perm(even, after, 0x5432))};
}

__device__ __forceinline__ slopes slopes_of(const strip &s)
{
    const half2 two = __float2half2_rn(2.0f);
    uint32_t even[WORDS], odd[WORDS];
    slopes r;

#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        even[i] = s.words[i] & 0x00ff00ff;
        odd[i] = __byte_perm(s.words[i], 0, 0x4341);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        half2 before = pair(i > 0 ? __byte_perm(odd[i > 0 ? i - 1 : 0], odd[i], 0x5432)
                                  : __byte_perm(s.left, odd[0], 0x5410));
        half2 after = pair(__byte_perm(
            even[i], i + 1 < WORDS ? even[i + 1 < WORDS ? i + 1 : 0] : s.right, 0x5432));
        half2 e = pair(even[i]), o = pair(odd[i]);

        r.across[2 * i] = __hsub2(o, before);
        r.across[2 * i + 1] = __hsub2(after, e);
        r.along[2 * i] = __hadd2(__hfma2(e, two, before), o);
        r.along[2 * i + 1] = __hadd2(__hfma2(o, two, e), after);
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

    return round(root(a) * unit, a * unit * unit) | round(root(b) * unit, b * unit * unit) << 16;
}

} // namespace
