// Row stage: 255 where a gray pixel differs from the one of the frame before by more than the
// threshold, else 0: |gray - previous gray| > threshold. The first frame has none before it and
// differs nowhere. With an automatic threshold, |gray - previous gray| itself.
//
// The stage keeps the gray rows of a frame, each in place of that of the frame before, as long as
// nobody else computes with that. Rows at the borders of slices, which are computed on both sides,
// go to another picture in turns, so slices may be made in any order, and at once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage_ops;

extern const struct stage_ops difference_ops;
