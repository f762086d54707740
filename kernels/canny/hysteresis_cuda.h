// Shared by hysteresis.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include <stdint.h>

// A tile is as wide as a word has bits, and as high.
#define HYSTERESIS_CUDA_TILE 32
// Tiles beside each other that a block works on, a warp each.
#define HYSTERESIS_CUDA_TILES 8
#define HYSTERESIS_CUDA_THREADS (HYSTERESIS_CUDA_TILES * HYSTERESIS_CUDA_TILE)
// Places on the border of a tile, at each of which a part may be known by: x of the top row,
// 32 + x of the bottom row, else 64 + y of the left column, 96 + y of the right one.
#define HYSTERESIS_CUDA_PLACES (4 * HYSTERESIS_CUDA_TILE)

enum { HYSTERESIS_TOP, HYSTERESIS_BOTTOM, HYSTERESIS_LEFT, HYSTERESIS_RIGHT, HYSTERESIS_SIDES };

// The border of a tile, as the tiles around it need it: bits x of the rows, y of the columns.
struct hysteresis_cuda_border {
    uint32_t open[HYSTERESIS_SIDES];  // candidates that no edge within the tile reaches
    uint32_t edges[HYSTERESIS_SIDES]; // edges
};

struct hysteresis_cuda {
    uint64_t marks;   // device address of candidates and strong ones (canny_cuda.h)
    uint64_t edges;   // device address of a word a row of a tile, `tile_stride` words a row: bit x
    uint64_t borders; // device address of a struct hysteresis_cuda_border a tile, `tiles_x` a row
    uint64_t parents; // device address of HYSTERESIS_CUDA_PLACES words a tile, and as many before
    uint64_t output;  // device address of the 8 bit picture
    uint32_t marks_stride;     // bytes, a multiple of 8, of at least `tiles_x` times 8
    uint32_t tile_stride;      // words
    uint32_t output_stride;    // bytes
    uint32_t width, height;    // pixels, 1 and up
    uint32_t tiles_x, tiles_y; // tiles that hold them
    uint32_t flat, edge;       // values of the output, 0 to 255
};

// In this order, in blocks of HYSTERESIS_CUDA_THREADS: hysteresis_fill and hysteresis_write over a
// grid of tiles_x / HYSTERESIS_CUDA_TILES by tiles_y blocks, hysteresis_join over one of
// tiles_x tiles_y / HYSTERESIS_CUDA_TILES blocks, all rounded up.
#define HYSTERESIS_CUDA_KERNELS(X)                                                                 \
    X(fill)                                                                                        \
    X(join)                                                                                        \
    X(write)
