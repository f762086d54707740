// An NV12 picture as the three planes of a JPEG, whole or smaller.
//
// A JPEG is full range with the matrix of BT.601 and 4:2:0 (JFIF 1.02), whatever the picture is.
// With y, u and v of the picture, u and v being those of two by two pixels:
//   y' = l (y - black) + yu c (u - 128) + yv c (v - 128)
//   u' = 128 + uu c (u - 128) + uv c (v - 128)
//   v' = 128 + vu c (u - 128) + vv c (v - 128)
// in 16 bits, rounded by 1 << 15 and limited to 0..255. l and c are 1 for full range, and 255 / 219
// and 255 / 224 for limited range, where black is 16, else 0. The other factors take the picture's
// matrix (ITU-T H.273) to R'G'B' and that to BT.601: of a picture in BT.601 they are 0 and 1, of
// one in BT.709 yu = 0.1016, yv = 0.1961, uu = 0.9899, uv = -0.1107, vu = -0.0725, vv = 0.9834.
// Gray stays gray.
//
// A smaller picture has 1 of 2, 4 or 8 columns and rows, rounded down, but at least one: each
// sample is the mean of as many by as many of its plane, rounded half up, before the formula above.
// Samples beyond the last column or row count as the last.
//
// A picture of a given width keeps the aspect, and its height is rounded to an even one. Sample x
// of w, of a plane with W columns, is the mean of the columns from floor(x W / w) up to the next
// sample's first one, and so for the rows; so each sample of the picture counts once.
#pragma once

#include "capture/frame.h"

// Of 1 << shift.
#define JFIF_SHIFT_MAX 3
// With this width a box has at most 257 rows, whose sum fits into 16 bits, for frames of up to
// 27,000 columns.
#define JFIF_WIDTH_MIN 160

// The planes (YU12) for pictures laid out as `picture`, with 1 of `1 << shift` columns and rows.
void jfif_layout(const struct frame_layout *picture, unsigned shift,
                 struct frame_layout *ret_layout);
// The planes for pictures with `width` columns (even, from JFIF_WIDTH_MIN on), or with all of them
// if there are not more.
void jfif_layout_of_width(const struct frame_layout *picture, uint32_t width,
                          struct frame_layout *ret_layout);
// Fills `layout->size` bytes at `planes`, laid out by jfif_layout() for this picture and shift. The
// CPU may read the picture.
void jfif_convert(const struct frame *picture, unsigned shift, const struct frame_layout *layout,
                  uint8_t *planes);
// The same for a layout of jfif_layout_of_width(). `sums` has room for a row of the picture.
void jfif_shrink(const struct frame *picture, const struct frame_layout *layout, uint16_t *sums,
                 uint8_t *planes);
