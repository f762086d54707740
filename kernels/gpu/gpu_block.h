// Blocks of threads and the grids they make, in numbers alone: nothing here calls the driver.
//
// A thread makes a tile of pixels; a block is x by y threads; the grid has blocks enough for the
// picture. Any block gives the same picture, but not in the same time.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

// The most blocks a grid has in y and in z; x takes 2^31 - 1.
#define GPU_GRID_MAX 65535

// The default block, in threads, where GPU and CPU share their memory.
#define GPU_BLOCK_SHARED_X 32
#define GPU_BLOCK_SHARED_Y 8
// Elsewhere the default block has this many threads, in a shape that suits the picture's width.
#define GPU_BLOCK_THREADS 128

// Pixels and rows a thread makes, both at least 1.
struct gpu_tile {
    unsigned width, height;
};

struct gpu_grid {
    unsigned x, y, z;
};

// How many of `by` cover `count`.
uint32_t gpu_divide_up(uint32_t count, uint32_t by);
// Blocks that cover `width` x `height` pixels (each at least 1). Where more than GPU_GRID_MAX rows
// of blocks are needed they are folded into z: blocks (., y, z) are row z * grid.y + y, and the
// last fold may go past the picture. With tiles of two rows and more there is room for every
// picture and every block.
struct gpu_grid gpu_grid_over(uint32_t width, uint32_t height, struct gpu_tile tile,
                              struct config_block block);

// The block where neither the configuration nor the board's profile has one, with the tile's rows.
// `integrated`: GPU and CPU share their memory; higher blocks read fewer rows twice, which counts
// where the GPU does not cache them. Else the shape that leaves the fewest threads outside a
// picture of `width` pixels.
struct config_block gpu_block_default(bool integrated, struct gpu_tile tile, uint32_t width);

// How many blocks of so many threads a multiprocessor runs at once, 0 or less: none, or unknown.
typedef int gpu_resident_blocks(const void *context, unsigned threads);

// A better block, and how busy both keep the GPU.
struct gpu_block_advice {
    unsigned percent; // of the GPU's threads that can be busy
    struct config_block better;
    unsigned better_percent;
};

// Whether `block` keeps more than half of the GPU's threads idle while another does better: the
// best of a dozen common shapes, `favourite` before others as good. `threads_max` is what a
// multiprocessor has.
bool gpu_block_review(struct config_block block, struct config_block favourite,
                      unsigned threads_max, gpu_resident_blocks *resident, const void *context,
                      struct gpu_block_advice *ret_advice);
