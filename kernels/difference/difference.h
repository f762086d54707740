// Row stage: 255 where a gray pixel differs from the one of the frame before by more than the
// threshold, else 0: |gray - previous gray| > threshold. The first frame has none before it and
// differs nowhere. With an automatic threshold, |gray - previous gray| itself.
//
// The stage keeps the gray rows of a frame, each in place of that of the frame before, as long as
// nobody else computes with that. Rows at the borders of slices, which are computed on both sides,
// go to another picture in turns, so slices may be made in any order, and at once. A row that was
// not computed in the frame before has none before it.
//
// Motion events want the same as bits, and not to take other light for motion. So the stage notes
// the bits of each row that it makes, if it is asked to.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bits_limits;
struct stage;
struct stage_ops;

extern const struct stage_ops difference_ops;

// Notes bits from the next frame on, of a stage with a fixed threshold. -ENOMEM.
int difference_note_bits(struct stage *stage);
// The bits of the next frame are those of pixels that leave the limits, which are copied; NULL:
// those of the stage's rows. That changes nothing about the rows.
void difference_set_limits(struct stage *stage, const struct bits_limits *limits);
// The bits of row `y`, as bits.h lays them out, NULL where nothing has moved or the frame has no
// such row. Valid until the next frame begins.
const uint64_t *difference_bits(const struct stage *stage, uint32_t y);
