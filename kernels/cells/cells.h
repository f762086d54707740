// Cells: a small gray picture of a camera's, in which each pixel is the mean of a square of pixels.
//
// The gray of a pixel is as gray.h has it. A square has `side` x `side` pixels, the last ones of a
// row and of a column may have fewer; a mean is floor((sum + n / 2) / n) of its n pixels. There are
// at most 160 x 90 cells, or 90 x 160 of a picture that is higher than wide, so that a cell shows
// as much of the scene whatever the camera's resolution. ONVIF's cell motion has a grid of this
// kind.
//
// CPU and GPU make the same bits. Used by the lane's thread.
#pragma once

#include "capture/frame_pool.h"

#define CELLS_LONG_MAX 160
#define CELLS_SHORT_MAX 90
#define CELLS_MAX ((size_t)CELLS_LONG_MAX * CELLS_SHORT_MAX)

struct cells;
struct gpu;

struct cell_grid {
    uint32_t side;          // pixels
    uint32_t columns, rows; // cells
};

// The grid of pictures of `width` x `height` pixels, at least 1x1.
struct cell_grid cell_grid_of(uint32_t width, uint32_t height);

// For frames of `layout`. `gpu` computes, on frames that it can use, into memory of `allocator`;
// both outlive the cells. NULL: the CPU computes, and the allocator is not used. -ENOMEM;
// -E2BIG: wider than 8192 pixels or higher than the cells can be; what gpu_enter() and gpu_kernel()
// say.
int cells_new(const struct frame_layout *layout, struct gpu *gpu,
              const struct frame_allocator *allocator, struct error *error,
              struct cells **ret_cells);
// Takes NULL. Nothing of it runs any more on the GPU, or the GPU is lost.
void cells_free(struct cells *cells);

// Whether the cells are what cells_new() would make of these.
bool cells_fit(const struct cells *cells, const struct frame_layout *layout, const struct gpu *gpu);
struct cell_grid cells_grid(const struct cells *cells);

// Begins with a frame, which stays as it is until cells_end(): hands it to the GPU and queues the
// work, beside that of the views. The CPU has nothing to begin. Errors of frame_to_gpu(),
// gpu_enter() and gpu_launch().
int cells_begin(struct cells *cells, struct frame *frame, struct error *error);
// The cells of the same frame. *ret_means: columns * rows levels, row after row, valid until the
// next call. Errors of frame_to_cpu() and frame_begin_cpu_access().
int cells_end(struct cells *cells, struct frame *frame, struct error *error,
              const uint8_t **ret_means);
