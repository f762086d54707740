// Row stage: 255 where a gray pixel differs from the one of the frame before by more than the
// threshold, else 0: |gray - previous gray| > threshold. The first frame has none before it and
// differs nowhere. With an automatic threshold, |gray - previous gray| itself.
//
// The stage keeps the gray rows of a frame in a picture of its own, and compares with those of the
// frame before in a second one; so a row may be computed twice, and slices in any order.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stage_ops;

struct difference {
    uint8_t *pictures[2]; // owned; the current one and the one before take turns
    unsigned current;
    unsigned frames; // begun, at most 2: then there is one before
    uint32_t width;
    uint8_t threshold;
    bool automatic;
};

extern const struct stage_ops difference_ops;
