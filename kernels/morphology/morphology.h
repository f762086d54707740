// Row stages: the least (erosion) or the most (dilation) of the 3x3 pixels around, n times in one
// go; what lies outside the picture never wins. cv2.erode and cv2.dilate with np.ones((3, 3)) and
// iterations=n. An opening is an erosion and then a dilation, a closing the other way round.
//
// n times 3x3 is once a square of 2 n + 1, whose rows and columns are taken one after the other.
// The runner's replicated border does no harm: a pixel's square holds the border pixel that is
// repeated whenever it holds a repetition.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage_ops;

// Each pixel of `best` becomes the best of those of the rows `a`, `b` and `c`.
typedef void morphology_of_rows(const uint8_t *restrict a, const uint8_t *restrict b,
                                const uint8_t *restrict c, size_t width, uint8_t *restrict best);
// Each pixel of `best` becomes the best of it and those of the rows `a` and `b`.
typedef void morphology_of_more(const uint8_t *restrict a, const uint8_t *restrict b, size_t width,
                                uint8_t *restrict best);

struct morphology {
    morphology_of_rows *of_rows;
    morphology_of_more *of_more;
    unsigned times; // n, 1 to STAGE_RADIUS_MAX
    bool erodes;    // one black row of a square makes the result black, else all of them do
};

extern const struct stage_ops erode_ops, dilate_ops;
