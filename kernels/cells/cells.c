#include "kernels/cells/cells.h"

#include "kernels/cells/cells_cuda.h"
#include "kernels/gray/gray.h"
#include "kernels/stage/gpu_stage.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

// So many rows of 255 fit 16 bits.
#define SIDE_MAX 257

struct cells {
    struct frame_layout layout; // of the camera's picture
    struct cell_grid grid;
    struct frame *output; // owned reference; a row follows the other without a gap
    // Of the CPU.
    gray_row *gray;
    uint8_t *line;  // owned; a row of gray; NULL: the picture's rows are gray
    uint16_t *sums; // owned; of the columns of pixels over the rows of a cell
    // Of the GPU.
    struct gpu *gpu; // not owned; NULL: the CPU computes
    struct CUfunc_st *function;
    unsigned stream; // in which the cells do not wait for views
};

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

struct cell_grid cell_grid_of(uint32_t width, uint32_t height)
{
    bool wide = width >= height;
    uint32_t across = divide_up(width, wide ? CELLS_LONG_MAX : CELLS_SHORT_MAX);
    uint32_t down = divide_up(height, wide ? CELLS_SHORT_MAX : CELLS_LONG_MAX);
    uint32_t side = across > down ? across : down;

    return (struct cell_grid){side, divide_up(width, side), divide_up(height, side)};
}

static void cleanup_cells(struct cells **cells)
{
    cells_free(*cells);
}

static int no_memory(struct error *error)
{
    return error_set(error, -ENOMEM, "no memory for the cells of motion events");
}

static int init_on_cpu(struct cells *cells, struct error *error)
{
    bool plain = cells->layout.format->luma_step == 1;

    cells->gray = gray_row_for(cells->layout.format);
    cells->sums = malloc(cells->layout.width * sizeof *cells->sums);
    cells->line = plain ? NULL : malloc(cells->layout.width);
    return cells->sums && (plain || cells->line) ? 0 : no_memory(error);
}

// Managed memory belongs to one stream alone.
static int init_on_gpu(struct cells *cells, const struct frame_allocator *allocator,
                       struct error *error)
{
    const struct gpu_stage_setup setup = {.camera = &cells->layout, .first = true};
    char name[32];
    int r = gpu_enter(cells->gpu, error);

    snprintf(name, sizeof name, "cells_%s", gpu_stage_layout(&setup));
    cells->stream = strcmp(allocator->kind, "managed") != 0 ? GPU_STREAMS_MAX - 1 : 0;
    return r < 0 ? r : gpu_kernel(cells->gpu, name, error, &cells->function);
}

static int make_output(struct cells *cells, const struct frame_allocator *allocator,
                       struct error *error)
{
    struct frame_layout layout;
    struct frame_pool *pool;

    frame_layout_init(&layout, pixel_format_by_name("GREY"), cells->grid.columns, cells->grid.rows,
                      1);
    if (frame_pool_new(&layout, 1, allocator, &pool) < 0)
        return no_memory(error);
    cells->output = frame_pool_take(pool);
    frame_pool_unref(pool);
    return 0;
}

int cells_new(const struct frame_layout *layout, struct gpu *gpu,
              const struct frame_allocator *allocator, struct error *error,
              struct cells **ret_cells)
{
    _cleanup_(cleanup_cells) struct cells *cells = calloc(1, sizeof *cells);
    int r;

    if (!cells)
        return no_memory(error);
    cells->layout = *layout;
    cells->grid = cell_grid_of(layout->width, layout->height);
    cells->gpu = gpu;
    if (cells->grid.side > SIDE_MAX || layout->width > CELLS_CUDA_WIDTH_MAX) {
        return error_set(error, -E2BIG, "pictures of %ux%u are too large for motion events",
                         layout->width, layout->height);
    }
    r = make_output(cells, gpu ? allocator : frame_allocator_host(), error);
    if (r == 0)
        r = gpu ? init_on_gpu(cells, allocator, error) : init_on_cpu(cells, error);
    if (r == 0)
        *ret_cells = TAKE(cells);
    return r;
}

void cells_free(struct cells *cells)
{
    if (cells) {
        frame_unref(cells->output);
        free(cells->line);
        free(cells->sums);
        free(cells);
    }
}

bool cells_fit(const struct cells *cells, const struct frame_layout *layout, const struct gpu *gpu)
{
    return cells->gpu == gpu && frame_layout_equal(&cells->layout, layout);
}

struct cell_grid cells_grid(const struct cells *cells)
{
    return cells->grid;
}

// On the CPU
// ---------------------------------------------------------------------

SIMD_CLONES
static void add_row(const uint8_t *restrict gray, uint16_t *restrict sums, size_t width)
{
    for (size_t x = 0; x < width; x++)
        sums[x] = (uint16_t)(sums[x] + gray[x]);
}

// Four at a time, in the halves of two words.
SIMD_INLINE uint32_t add_up(const uint16_t *sums, uint32_t count)
{
    const uint64_t mask = UINT64_C(0x0000ffff0000ffff);
    uint64_t pairs = 0;
    uint32_t sum = 0, x = 0;

    for (; x + 4 <= count; x += 4) {
        uint64_t four;

        memcpy(&four, sums + x, sizeof four);
        pairs += (four & mask) + (four >> 16 & mask);
    }
    for (; x < count; x++)
        sum += sums[x];
    return sum + (uint32_t)pairs + (uint32_t)(pairs >> 32);
}

static void make_row(const struct cells *cells, const struct frame *frame, uint32_t row)
{
    uint32_t side = cells->grid.side, width = cells->layout.width, first = row * side;
    uint32_t rows = cells->layout.height - first < side ? cells->layout.height - first : side;
    size_t stride = cells->layout.planes[0].stride;
    const uint8_t *from = frame_plane(frame, 0) + first * stride;
    uint8_t *means = frame_plane(cells->output, 0) + (size_t)row * cells->grid.columns;

    memset(cells->sums, 0, width * sizeof *cells->sums);
    for (uint32_t y = 0; y < rows; y++, from += stride) {
        if (cells->line)
            cells->gray(from, width, cells->line);
        add_row(cells->line ? cells->line : from, cells->sums, width);
    }
    for (uint32_t x = 0; x < width; x += side) {
        uint32_t across = width - x < side ? width - x : side, pixels = across * rows;

        assert(pixels > 0);
        *means++ = (uint8_t)((add_up(cells->sums + x, across) + pixels / 2) / pixels);
    }
}

static int compute(const struct cells *cells, const struct frame *frame, struct error *error)
{
    int r = frame_begin_cpu_access(frame, error);

    for (uint32_t row = 0; row < cells->grid.rows && r == 0; row++)
        make_row(cells, frame, row);
    return r;
}

// On a GPU
// ---------------------------------------------------------------------

static int launch(struct cells *cells, struct frame *frame, struct error *error)
{
    struct cells_cuda parameters = {.side = cells->grid.side, .columns = cells->grid.columns};
    struct gpu_grid grid = {cells->grid.rows, 1, 1};
    struct gpu_pictures pictures;
    int r = gpu_pictures_lend(cells->gpu, frame, cells->output, error, &pictures);

    if (r == 0)
        r = gpu_use_stream(cells->gpu, cells->stream, error);
    if (r == 0) {
        gpu_job_set(&parameters.job, &pictures.camera, &pictures.output);
        r = gpu_launch(cells->gpu, cells->function, grid, CELLS_CUDA_THREADS, 1, &parameters,
                       error);
    }
    gpu_use_stream(cells->gpu, 0, NULL);
    return r;
}

// On either
// ---------------------------------------------------------------------

int cells_begin(struct cells *cells, struct frame *frame, struct error *error)
{
    return cells->gpu ? launch(cells, frame, error) : 0;
}

int cells_end(struct cells *cells, struct frame *frame, struct error *error,
              const uint8_t **ret_means)
{
    int r = cells->gpu ? frame_to_cpu(cells->output, error) : compute(cells, frame, error);

    if (r == 0 && cells->gpu)
        r = frame_to_cpu(frame, error);
    if (r == 0)
        *ret_means = frame_plane(cells->output, 0);
    return r;
}
