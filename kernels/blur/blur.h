// Row stage: gray rows smoothed by a square of binomial weights, borders replicated.
//
//   blur 3: [1 2 1]² / 16          (sum + 8) >> 4
//   blur 5: [1 4 6 4 1]² / 256     (sum + 128) >> 8
//
// Rounded half up, once, at the end: what cv2.GaussianBlur(gray, (3, 3) or (5, 5), 0) makes of 8
// bit pictures with BORDER_REPLICATE.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stage_ops;

// Weighed sums of the columns of 3 or 5 rows.
typedef void blur_columns(const uint8_t *const *rows, size_t width, uint16_t *restrict sums);
// `sums` with two elements more on either side to `width` pixels.
typedef void blur_row(const uint16_t *restrict sums, size_t width, uint8_t *restrict output);

struct blur {
    unsigned radius;
    blur_columns *columns;
    blur_row *row;
};

extern const struct stage_ops blur_ops;
