// Which block shapes a sweep tries, and with how many rows a thread.
#pragma once

#include "config/config.h"

#define SHAPES_MAX 64
#define SHAPES_ROWS_MAX 7 // rows a thread that are tried in one shape, at most

// Fills `ret_shapes` (room for SHAPES_MAX) with blocks of at most `threads_max` threads, each
// shape once, and yields their number. Powers of two from 64 threads up, 4 and more of them side by
// side; flat blocks of other multiples of the 32 threads that run together; a few tall ones.
// `quick`: a dozen. `first` and `second` are among them, whatever they are, unless they are {0, 0}.
// All have the rows of `first`.
size_t shapes_list(unsigned threads_max, bool quick, struct config_block first,
                   struct config_block second, struct config_block *ret_shapes);
// Fills `ret_shapes` (room for SHAPES_ROWS_MAX times `count`) with each of `shapes` as it is and
// with `own_rows`, 2, 4, 8, 16 and 32 rows a thread, none of them twice, and yields their number.
size_t shapes_list_rows(const struct config_block *shapes, size_t count, int own_rows,
                        struct config_block *ret_shapes);

// The same block, and the same rows; the same block with any rows.
bool shape_equal(struct config_block a, struct config_block b);
bool shape_same_threads(struct config_block a, struct config_block b);
