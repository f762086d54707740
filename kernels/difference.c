#include "kernels/difference.h"

#include "kernels/simd.h"
#include "kernels/stage.h"

#include <errno.h>
#include <string.h>

SIMD_INLINE uint8_t distance(uint8_t a, uint8_t b)
{
    return (uint8_t)((a > b ? a : b) - (a > b ? b : a));
}

SIMD_CLONES
static void measure_row(const uint8_t *restrict gray, const uint8_t *restrict previous,
                        size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[x] = distance(gray[x], previous[x]);
    }
}

SIMD_CLONES
static void differ_row(const uint8_t *restrict gray, const uint8_t *restrict previous,
                       uint8_t threshold, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[x] = distance(gray[x], previous[x]) > threshold ? 255 : 0;
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct difference *difference = &stage->difference;
    size_t size = (size_t)setup->input->width * setup->input->height;

    difference->automatic = setup->options->threshold == CONFIG_THRESHOLD_OTSU;
    difference->threshold = (uint8_t)setup->options->threshold;
    difference->width = setup->input->width;
    for (unsigned i = 0; i < 2; i++) {
        difference->pictures[i] = malloc(size);
        if (!difference->pictures[i]) {
            return error_set(error, -ENOMEM, "no memory for the frame before");
        }
    }
    return 0;
}

static void finish(struct stage *stage)
{
    free(stage->difference.pictures[0]);
    free(stage->difference.pictures[1]);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct difference *difference = &stage->difference;

    (void)input;
    (void)output;
    difference->current ^= 1;
    difference->frames += difference->frames < 2;
}

static uint8_t *row_of(const struct difference *difference, unsigned picture, uint32_t y)
{
    return difference->pictures[picture] + (size_t)y * difference->width;
}

static void keep_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                     uint32_t width)
{
    const struct difference *difference = &stage->difference;

    memcpy(row_of(difference, difference->current, y), rows[0], width);
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    const struct difference *difference = &stage->difference;
    const uint8_t *previous = row_of(difference, difference->current ^ 1, y);

    (void)scratch;
    if (difference->frames < 2) {
        memset(output, 0, width);
    } else if (difference->automatic) {
        measure_row(rows[0], previous, width, output);
    } else {
        differ_row(rows[0], previous, difference->threshold, width, output);
    }
}

const struct stage_ops difference_ops = {
    .name = "difference",
    .init = init,
    .finish = finish,
    .begin = begin,
    .keep_row = keep_row,
    .run_row = run_row,
};
