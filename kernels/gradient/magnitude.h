// Magnitudes of gain 1 by vectors (vec.h), straight from rows of gray: the results of gradient.h in
// a third of the time that the plain loops take.
//
// Sobel's have a shorter way. With the boxes B(x, y) = r(x, y) + r(x + 1, y) + r(x, y + 1) +
// r(x + 1, y + 1) and
//   p = B(x, y) - B(x - 1, y - 1)            q = B(x, y - 1) - B(x - 1, y)
// the gradients of a pixel are gx = p + q and gy = p - q. So
//   |gx| + |gy| = 2 max(|p|, |q|)            gx² + gy² = 2 (p² + q²)
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writes the magnitudes of `count` (1..STAGE_ROWS_MAX) rows of `width` (1 and more) pixels, and
// nothing beside them, from as many rows of gray and `radius` more above and below them. Pixels
// beyond the ends of a row are those at its ends. `limited`: as limited range luma (compose.h).
typedef void magnitude_rows(const uint8_t *const *rows, unsigned count, size_t width, bool limited,
                            uint8_t *const *outputs);

// NULL if this CPU has no such vectors.
magnitude_rows *magnitude_rows_for(enum config_norm norm, enum config_operator op);
