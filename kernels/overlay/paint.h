// The ground that the last row stages of views paint on: the camera's picture, row by row in the
// view's own format, as convert.h makes it. Marks of motion (mark.h) and edges in a colour
// (overlay.c) go there.
//
// Rows of several threads may be painted at once: a row of chroma is written with the upper of its
// two rows of luma, and there alone.
#pragma once

#include "kernels/convert/convert.h"

struct paint {
    struct convert convert;
    const struct frame *input; // not owned; of the frame being computed
    struct frame *output;
};

// Row `y` of the camera's plane 0 in the output's format: written to the output's plane 0, where it
// is returned.
uint8_t *paint_row(const struct paint *paint, uint32_t y);
// The row of chroma that belongs to row `y` of an NV12 output: written where it is there if `y` is
// even, else to `scratch`; returned.
uint8_t *paint_chroma(const struct paint *paint, uint32_t y, uint8_t *scratch);
// Where a row of a frame's plane is.
uint8_t *paint_row_at(const struct frame *frame, unsigned plane, uint32_t y);
