// How often each level of gray occurs: the histogram of a picture, row by row.
//
// Neighbouring pixels are often alike, and adding to a counter has to wait for the addition before
// it. So four neighbours have a table each.
#pragma once

#include <stdint.h>

#define LEVELS_TABLES 4

struct levels {
    uint32_t tables[LEVELS_TABLES][256]; // zeroed before a picture
};

// Counts the `width` pixels of one row.
void levels_add_row(struct levels *levels, const uint8_t *row, uint32_t width);
// The histogram of all rows that were added: 256 counts, owned by `levels`, to which no row is
// added any more.
const uint32_t *levels_sum(struct levels *levels);
