// Sobel's magnitudes of gain 1, a few rows at once: the results of magnitude.h for less work, on
// CPUs that have a version of it.
//
// With the boxes B(x, y) = r(x, y) + r(x + 1, y) + r(x, y + 1) + r(x + 1, y + 1) and
//   p = B(x, y) - B(x - 1, y - 1)            q = B(x, y - 1) - B(x - 1, y)
// the gradients of a pixel are gx = p + q and gy = p - q. So
//   |gx| + |gy| = 2 max(|p|, |q|)            gx² + gy² = 2 (p² + q²)
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writes the magnitudes of `count` (1 and more) rows of `width` (1 and more) pixels, and nothing
// beside them, from as many rows of gray, the one above the first and the one below the last. The
// pixels left and right of a row are those at its ends.
typedef void sobel_rows(const uint8_t *const *rows, unsigned count, size_t width,
                        uint8_t *const *outputs);

struct sobel_version {
    const char *name; // "avx512"
    bool (*supported)(void);
    // By norm: 0..255, and their limited range luma.
    sobel_rows *full[2], *limited[2];
};

// Entry `index`, best first, NULL past the last.
const struct sobel_version *sobel_version_at(size_t index);
// The best version this CPU supports; NULL: there is none.
const struct sobel_version *sobel_version_best(void);
