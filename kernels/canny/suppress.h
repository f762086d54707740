// Non-maximum suppression: the first half of Canny, from gray rows to bits of candidates.
//
// The gradient of a pixel is one 32 bit number, 4 n + direction: n = gx² + gy² of Sobel 3x3 with
// replicated borders, at most 2 * 1020², so it fits. One gradient is stronger than another exactly
// when it is larger with the direction's bits of the right side as they are and those of the left
// side cleared; as strong or stronger, with those of the left side set. So the two low bits cost
// the comparisons nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Pixels that are looked at together; rows of gradients are padded to a multiple of it.
#define SUPPRESS_BLOCK 64
#define SUPPRESS_BLOCKS(width) (((size_t)(width) + SUPPRESS_BLOCK - 1) / SUPPRESS_BLOCK)

// Where the gradient points, by the tangents of 22.5 and 67.5 degrees with TG22 = 13573 / 2^15:
// |gy| 2^15 < 13573 |gx| is horizontal, |gy| 2^15 > (13573 + 2^16) |gx| is vertical.
#define SUPPRESS_TANGENT 13573
enum suppress_direction {
    SUPPRESS_HORIZONTAL, // compared with the pixels left (larger) and right (not smaller)
    SUPPRESS_VERTICAL,   // above (larger) and below (not smaller)
    SUPPRESS_FALLING,    // gx gy >= 0: above left and below right (both larger)
    SUPPRESS_RISING,     // gx gy < 0: above right and below left (both larger)
};

// The gradients of one row.
struct suppress_row {
    int32_t *gradients; // x = -1..padded width; 0 outside the picture
    int32_t *peaks;     // one a block: at least its largest gradient
};

// Memory for suppress_measure(), in elements: x = -1..padded width of both.
struct suppress_columns {
    int16_t *sums, *differences;
};

// A gradient n is a candidate if n > low and its neighbours in its direction are not larger, and
// strong if n > high, too; low <= high <= SUPPRESS_REACH.
#define SUPPRESS_REACH (2 * 1020 * 1020)
struct suppress_limits {
    int32_t low, high;
};

// The gradients of the row `middle`, with the rows above and below it; `width` >= 1. `vectors`: by
// those of vec.h, which the CPU has, else by plain loops.
void suppress_measure(bool vectors, const uint8_t *top, const uint8_t *middle,
                      const uint8_t *bottom, uint32_t width, const struct suppress_columns *columns,
                      const struct suppress_row *row);

// Bits of the candidates and of the strong ones of `row`, SUPPRESS_BLOCKS(width) words of each.
void suppress_row(bool vectors, const struct suppress_row *above, const struct suppress_row *row,
                  const struct suppress_row *below, uint32_t width,
                  const struct suppress_limits *limits, uint64_t *candidates, uint64_t *strong);
