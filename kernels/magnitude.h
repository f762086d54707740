// The gradient's inner loop for gain 1, min(255, round(sqrt(gx² + gy²))), in several makes that
// agree for every gx and gy: plain C, and AVX2 and AVX-512 where the compiler's own code for the
// plain loop is half as fast.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Elements of `sums` and `differences` that may be read past x = width - 1; also the multiple of
// pixels the widest make works in.
#define MAGNITUDE_PADDING 64

// One row. sums[x] = top + 2 middle + bottom and differences[x] = bottom - top of column x, for x =
// -1 .. width + MAGNITUDE_PADDING - 1, of which those past `width` have no influence. gx =
// sums[x + 1] - sums[x - 1], gy = differences[x - 1] + 2 differences[x] + differences[x + 1].
// Writes exactly `width` bytes of `output`.
typedef void magnitude_row(const int16_t *restrict sums, const int16_t *restrict differences,
                           size_t width, uint8_t *restrict output);

struct magnitude_make {
    const char *name; // "avx512"
    bool (*supported)(void);
    magnitude_row *l2;
};

// Entry `index`, best first, NULL past the last; the last one runs everywhere.
const struct magnitude_make *magnitude_make_at(size_t index);
// The best make this CPU supports.
const struct magnitude_make *magnitude_make_best(void);
// min(255, |gx| + |gy|): one make, the compiler does well.
magnitude_row magnitude_row_l1;
