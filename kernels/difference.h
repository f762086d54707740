// Row stage: 255 where a gray pixel differs from the one of the frame before by more than the
// threshold, else 0: |gray - previous gray| > threshold. The first frame has none before it and
// differs nowhere. With an automatic threshold, |gray - previous gray| itself.
//
// The stage keeps the gray rows of a frame in a picture, in place of those of the frame before; so
// each row is computed once. With several threads there are two pictures that take turns, and a row
// may be computed again, and slices in any order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage_ops;

struct difference {
    uint8_t *before, *current; // owned; one and the same for one thread
    size_t size;               // bytes of each
    unsigned frames;           // begun, at most 2: then there is one before
    uint8_t threshold;
    bool automatic;
};

extern const struct stage_ops difference_ops;
