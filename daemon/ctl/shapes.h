// Which block shapes a sweep tries.
#pragma once

#include "config/config.h"

#define SHAPES_MAX 64

// Fills `ret_shapes` (room for SHAPES_MAX) with blocks of at most `threads_max` threads, each
// shape once, and yields their number. Powers of two from 64 threads up, 4 and more of them side by
// side; flat blocks of other multiples of the 32 threads that run together; a few tall ones.
// `quick`: a dozen. `first` and `second` are among them, whatever they are, unless they are {0, 0}.
size_t shapes_list(unsigned threads_max, bool quick, struct config_block first,
                   struct config_block second, struct config_block *ret_shapes);
bool shape_equal(struct config_block a, struct config_block b);
