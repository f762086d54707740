// Which pixels of a camera's picture have moved, for motion events: as bits, row by row.
//
// It is the node of the graph that a motion view of that threshold has on the CPU. Where such a
// view is computed it is done with that, and here for the rows that are wanted otherwise. Used by
// the graph's thread.
#pragma once

#include "kernels/graph/graph.h"

struct bits_limits;
struct moved;

// For pictures of `camera`, which are gray behind the first step of a motion view, by `threshold`
// (1..255). -ENOMEM. The graph outlives it.
int moved_new(struct graph *graph, const struct frame_layout *camera, int threshold,
              struct moved **ret_moved);
void moved_free(struct moved *moved); // takes NULL

// Whether a view that is watched computes it, with all rows: then moved_begin() comes before the
// views, in any other frame before moved_run().
bool moved_is_shared(const struct moved *moved);
// Of the frame that graph_begin() began. `limits` in light that changes, see
// difference_set_limits().
void moved_begin(struct moved *moved, const struct bits_limits *limits);
// Rows first..end-1 of that frame, behind the views.
void moved_run(struct moved *moved, const struct frame *frame, uint32_t first, uint32_t end);
// What `times` erosions leave of row `y` of them, into `row`; false: nothing. Until the next
// graph_begin().
bool moved_erode(const struct moved *moved, uint32_t y, unsigned times, uint64_t *row);
