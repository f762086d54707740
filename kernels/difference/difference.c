#include "kernels/difference/difference.h"

#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <errno.h>
#include <string.h>

struct difference {
    uint8_t *pictures[2]; // owned; one of them has a row of the frame before, which may vary by row
    uint8_t *before;      // owned; for each row the number of that picture
    uint8_t *current;     // owned; the same for the frame being computed
    unsigned frames;      // begun since forget(), at most 2: then there is a frame before
    uint8_t threshold;
    bool automatic;
};

#define PAGE_BYTES 4096

SIMD_INLINE uint8_t distance(uint8_t a, uint8_t b)
{
    return (uint8_t)((a > b ? a : b) - (a > b ? b : a));
}

// Compares a row with the same of the frame before, which it replaces, in one go: all of this waits
// for the memory, and so it waits once, while the row below is on its way. A negative threshold
// asks for the distances themselves.
SIMD_INLINE enum stage_result compare_row(const uint8_t *restrict gray, uint8_t *restrict before,
                                          size_t width, int threshold, uint8_t *restrict output)
{
    uint8_t any = 0;

    simd_read_row(gray + width, width);
    for (size_t x = 0; x < width; x++) {
        uint8_t apart = distance(gray[x], before[x]);

        before[x] = gray[x];
        output[x] = threshold < 0 ? apart : apart > (uint8_t)threshold ? 255 : 0;
        any |= output[x];
    }
    return any ? STAGE_WRITTEN : STAGE_BLACK;
}

SIMD_CLONES
static enum stage_result measure_row(const uint8_t *restrict gray, uint8_t *restrict before,
                                     size_t width, uint8_t *restrict output)
{
    return compare_row(gray, before, width, -1, output);
}

SIMD_CLONES
static enum stage_result differ_row(const uint8_t *restrict gray, uint8_t *restrict before,
                                    size_t width, uint8_t threshold, uint8_t *restrict output)
{
    return compare_row(gray, before, width, threshold, output);
}

static void finish(struct stage *stage)
{
    struct difference *difference = stage->state;

    free(difference->pictures[0]);
    free(difference->pictures[1]);
    free(difference->before);
    free(difference->current);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct difference *difference = stage->state;
    uint8_t *before = difference->current;

    (void)output;
    if (!input) {
        difference->frames = 0;
        return;
    }
    difference->current = difference->before;
    difference->before = before;
    difference->frames += difference->frames < 2;
}

// Where row `y` lies in a picture.
static uint8_t *row_in(const struct difference *difference, unsigned picture, uint32_t y,
                       uint32_t width)
{
    return difference->pictures[picture] + (size_t)y * width;
}

// Keeps the row at `kept`, which may be where the row of the frame before is.
static enum stage_result run(const struct difference *difference, const uint8_t *gray, uint32_t y,
                             uint32_t width, uint8_t *kept, uint8_t *output)
{
    const uint8_t *before = row_in(difference, difference->before[y], y, width);

    if (difference->frames < 2) {
        memcpy(kept, gray, width);
        return STAGE_BLACK;
    }
    if (kept != before) {
        memcpy(kept, before, width);
    }
    return difference->automatic ? measure_row(gray, kept, width, output)
                                 : differ_row(gray, kept, width, difference->threshold, output);
}

static enum stage_result keep_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                  uint32_t width, bool at_border, void *scratch, uint8_t *output)
{
    const struct difference *difference = stage->state;
    uint8_t picture = difference->before[y] ^ at_border;

    (void)scratch;
    difference->current[y] = picture;
    return run(difference, rows[0], y, width, row_in(difference, picture, y, width), output);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    return run(stage->state, rows[0], y, width, scratch, output);
}

// Pictures begin with a page, as the planes of frames do. A CPU that compares addresses by their
// place in the page would else take the row just written for the one read next, and wait. Pages
// that no row is written to take no memory.
static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct difference *difference = stage->state;
    size_t height = setup->input->height, size = setup->input->width * height;

    size = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    difference->automatic = setup->options->threshold == CONFIG_THRESHOLD_OTSU;
    difference->threshold = (uint8_t)setup->options->threshold;
    difference->pictures[0] = aligned_alloc(PAGE_BYTES, size);
    difference->pictures[1] = aligned_alloc(PAGE_BYTES, size);
    difference->before = calloc(height, 1);
    difference->current = calloc(height, 1);
    if (!difference->pictures[0] || !difference->pictures[1] || !difference->before ||
        !difference->current) {
        return error_set(error, -ENOMEM, "no memory for the frame before");
    }
    stage->remembers = true;
    stage->scratch_bytes = setup->input->width;
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops difference_ops = {
    .name = "difference",
    .state_bytes = sizeof(struct difference),
    .init = init,
    .finish = finish,
    .begin = begin,
    .keep_row = keep_row,
};
