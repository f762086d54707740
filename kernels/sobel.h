// Sobel's magnitudes of gain 1, row after row: the results of magnitude.h for less work, on CPUs
// that have a make of it.
//
// A row y of gray is looked at once. Of it, of the row above and of the two together stay
//   h(y) = r[x - 1] + 2 r[x] + r[x + 1]      g(y) = r[x + 1] - r[x - 1]      u(y) = g(y - 1) + g(y)
// and the gradients of the row above it are
//   gx = u(y - 1) + u(y)                     gy = h(y) - h(y - 2)
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Pixels of the widest make's vectors.
#define SOBEL_BLOCK 64

// Takes in one more row of `width` (1 and more) pixels and writes exactly as many magnitudes of the
// row before it, of no meaning before the third row. `kept` is aligned to 64, and the caller
// changes nothing in it; `parity` is 0 and 1 in turns.
typedef void sobel_row(const uint8_t *row, size_t width, unsigned parity, void *kept,
                       uint8_t *output);

struct sobel_make {
    const char *name; // "avx512"
    bool (*supported)(void);
    // By norm: 0..255, and their limited range luma.
    sobel_row *full[2], *limited[2];
};

// Entry `index`, best first, NULL past the last.
const struct sobel_make *sobel_make_at(size_t index);
// The best make this CPU supports; NULL: there is none.
const struct sobel_make *sobel_make_best(void);

// Of scratch memory for sobel_run(), which begins with a new run of rows where its first
// sizeof(uint32_t) bytes are 0.
size_t sobel_scratch_bytes(size_t width);
// Magnitudes of the row rows[1] between two others. In a run of rows, rows[0] and rows[1] are what
// rows[1] and rows[2] have been in the call before.
void sobel_run(sobel_row *write, const uint8_t *const rows[3], size_t width, void *scratch,
               uint8_t *output);
