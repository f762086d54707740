// Two pictures side by side, each whole, in a picture of its own.
//
// - To RGB3: GREY as R = G = B; the right one begins at the left one's width.
// - To NV12: the right one begins at the next even column; where that leaves one between them, its
//   luma is black. If either is full range, as a camera's own picture may be, both are: computed
//   gray is then its values 0..255 with chroma 128, computed colour full range YUV by the
//   camera's matrix (colour.h), with the chroma of the top left pixel of two by two.
#pragma once

#include "capture/frame.h"
#include "config/config.h"

// Pixels that an encoder takes in a row.
#define SPLIT_STREAM_WIDTH_MAX CONFIG_SPLIT_WIDTH_MAX

// The layout of a split in `format` (NV12 or RGB3) whose sides look like these; fills in where the
// right one begins. The colour is that of pictures from `camera`. -ENOTSUP: NV12 wider than an
// encoder takes.
int split_layout(const struct pixel_format *format, const struct frame_layout *camera,
                 const struct frame_layout sides[2], struct error *error,
                 struct frame_layout *ret_layout, uint32_t *ret_x);
// Blackens the gap between the sides of an output frame in NV12, which no picture changes.
void split_write_gap(struct frame *output, uint32_t side_width);

// Whether a side in format `side` is made where it lies in the split's picture: its bytes are those
// of the split then, or gray that is NV12's luma.
bool split_is_made_in_place(const struct pixel_format *side, const struct pixel_format *output);
// Puts a side that is not at column `x` of the output.
void split_place(const struct frame *side, uint32_t x, struct frame *output);
// Where column `x` begins in a plane of a picture in `format`, bytes.
size_t split_offset(const struct pixel_format *format, unsigned plane, uint32_t x);
