#include "kernels/difference.h"

#include "kernels/pool.h"
#include "kernels/simd.h"
#include "kernels/stage.h"

#include <errno.h>
#include <string.h>

SIMD_INLINE uint8_t distance(uint8_t a, uint8_t b)
{
    return (uint8_t)((a > b ? a : b) - (a > b ? b : a));
}

// A row of a frame, the same of the frame before, and where to keep the row, which may be where
// that one is.
struct lines {
    const uint8_t *gray, *previous;
    uint8_t *kept;
};

// `count` pixels from `first` on, at most SIMD_BLOCK. Compared and kept in one go: all of this
// waits for the memory, and so it waits once.
SIMD_INLINE void compare(const struct lines *lines, size_t first, size_t count, int threshold,
                         uint8_t *restrict output)
{
    const uint8_t *restrict gray = lines->gray + first;
    uint8_t previous[SIMD_BLOCK];

    memcpy(previous, lines->previous + first, count);
    for (size_t x = 0; x < count; x++) {
        uint8_t apart = distance(gray[x], previous[x]);

        output[first + x] = threshold < 0 ? apart : apart > (uint8_t)threshold ? 255 : 0;
    }
    memcpy(lines->kept + first, gray, count);
}

SIMD_INLINE void compare_row(const struct lines *lines, size_t width, int threshold,
                             uint8_t *restrict output)
{
    size_t x = 0;

    for (; x + SIMD_BLOCK <= width; x += SIMD_BLOCK) {
        simd_read_ahead(lines->gray + x);
        simd_read_ahead(lines->previous + x);
        simd_write_ahead(lines->kept + x);
        compare(lines, x, SIMD_BLOCK, threshold, output);
    }
    compare(lines, x, width - x, threshold, output);
}

SIMD_CLONES
static void measure_row(const struct lines *lines, size_t width, uint8_t *restrict output)
{
    compare_row(lines, width, -1, output);
}

SIMD_CLONES
static void differ_row(const struct lines *lines, size_t width, uint8_t threshold,
                       uint8_t *restrict output)
{
    compare_row(lines, width, threshold, output);
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct difference *difference = &stage->difference;

    difference->automatic = setup->options->threshold == CONFIG_THRESHOLD_OTSU;
    difference->threshold = (uint8_t)setup->options->threshold;
    difference->size = (size_t)setup->input->width * setup->input->height;
    difference->before = malloc(difference->size);
    difference->current = difference->before;
    return difference->before ? 0 : error_set(error, -ENOMEM, "no memory for the frame before");
}

static int set_pool(struct stage *stage, struct pool *pool)
{
    struct difference *difference = &stage->difference;

    if (pool_threads(pool) > 1) {
        difference->current = malloc(difference->size);
    }
    return difference->current ? 0 : -ENOMEM;
}

static void finish(struct stage *stage)
{
    struct difference *difference = &stage->difference;

    if (difference->current != difference->before) {
        free(difference->current);
    }
    free(difference->before);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct difference *difference = &stage->difference;
    uint8_t *before = difference->current;

    (void)input;
    (void)output;
    difference->current = difference->before;
    difference->before = before;
    difference->frames += difference->frames < 2;
}

static size_t scratch_bytes(uint32_t width)
{
    return width;
}

static void run(const struct difference *difference, const uint8_t *gray, uint32_t y,
                uint32_t width, uint8_t *kept, uint8_t *output)
{
    const struct lines lines = {gray, difference->before + (size_t)y * width, kept};

    if (difference->frames < 2) {
        memcpy(kept, gray, width);
        memset(output, 0, width);
    } else if (difference->automatic) {
        measure_row(&lines, width, output);
    } else {
        differ_row(&lines, width, difference->threshold, output);
    }
}

static void keep_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                     uint32_t width, void *scratch, uint8_t *output)
{
    const struct difference *difference = &stage->difference;

    (void)scratch;
    run(difference, rows[0], y, width, difference->current + (size_t)y * width, output);
}

// The row is kept by another thread, or has been.
static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    run(&stage->difference, rows[0], y, width, scratch, output);
}

const struct stage_ops difference_ops = {
    .name = "difference",
    .init = init,
    .finish = finish,
    .scratch_bytes = scratch_bytes,
    .begin = begin,
    .run_row = run_row,
    .keep_row = keep_row,
    .set_pool = set_pool,
};
