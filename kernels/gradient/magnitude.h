// The gradient's inner loops: columns already reduced to sums and differences, to magnitudes.
//
// With gain 1, min(255, round(sqrt(gx² + gy²))) and min(255, |gx| + |gy|), as they are or mapped to
// limited range luma on the way (compose.h), come in several versions that agree for every gx and
// gy: plain C, and AVX2 and AVX-512 where the compiler's own code for the plain loop is half as
// fast. Everything else is plain C alone, the compiler does well.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Elements of `sums` and `differences` that may be read past x = width - 1; also the multiple of
// pixels the widest version works in.
#define MAGNITUDE_PADDING 64
// Columns left and right of a pixel that an operator may look at.
#define MAGNITUDE_RADIUS_MAX 2

// One row. With s the sums and d the differences of the columns (gradient.h), for x =
// -MAGNITUDE_RADIUS_MAX .. width + MAGNITUDE_PADDING - 1, of which those past `width - 1 +
// MAGNITUDE_RADIUS_MAX` have no influence:
//   sobel    gx = s[x + 1] - s[x - 1]                              gy = d[x - 1] + 2 d[x] + d[x +
//   1] scharr   the same                                         gy = 3 d[x - 1] + 10 d[x] + 3 d[x
//   + 1] prewitt  the same                                              gy = d[x - 1] + d[x] + d[x
//   + 1] sobel5   gx = s[x + 2] - s[x - 2] + 2 (s[x + 1] - s[x - 1])
//            gy = d[x - 2] + 4 d[x - 1] + 6 d[x] + 4 d[x + 1] + d[x + 2]
// No |gx| or |gy| is over GRADIENT_REACH. Writes exactly `width` bytes of `output`.
typedef void magnitude_row(const int16_t *restrict sums, const int16_t *restrict differences,
                           size_t width, uint8_t *restrict output);

// min(255, rint(gain * (|gx| + |gy|))) in double arithmetic.
typedef void magnitude_scale_l1(const int16_t *restrict sums, const int16_t *restrict differences,
                                size_t width, double gain, uint8_t *restrict output);

// What float arithmetic says about a row of rounded gain * sqrt(gx² + gy²).
struct magnitude_guess {
    uint32_t *squares; // n = gx² + gy²
    uint8_t *results;
    uint8_t *doubts; // 1 where the right result may also be the next number, else 0
};
// Writes exactly `width` elements of each.
typedef void magnitude_scale_l2(const int16_t *restrict sums, const int16_t *restrict differences,
                                size_t width, float gain, struct magnitude_guess guess);

// gx and gy themselves, `width` elements of each.
typedef void magnitude_slopes(const int16_t *restrict sums, const int16_t *restrict differences,
                              size_t width, int16_t *restrict gx, int16_t *restrict gy);

// One row of columns, as above.
struct magnitude_columns {
    const int16_t *sums, *differences;
};

struct magnitude_version {
    const char *name; // "avx512"
    bool (*supported)(void);
    // By norm and operator: 0..255, and their limited range luma.
    magnitude_row *full[2][CONFIG_OPERATOR_COUNT];
    magnitude_row *limited[2][CONFIG_OPERATOR_COUNT];
};

// Entry `index`, best first, NULL past the last; the last one runs everywhere.
const struct magnitude_version *magnitude_version_at(size_t index);
// The best version this CPU supports.
const struct magnitude_version *magnitude_version_best(void);
magnitude_scale_l1 *magnitude_scale_l1_for(enum config_operator operator);
magnitude_scale_l2 *magnitude_scale_l2_for(enum config_operator operator);
magnitude_slopes *magnitude_slopes_for(enum config_operator operator);
