#include "kernels/difference/difference.h"

#include "kernels/stage/bits.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <errno.h>
#include <string.h>

struct difference {
    uint8_t *pictures[2]; // owned; one of them has a row of the frame before, which may vary by row
    uint8_t *before;      // owned; for each row the number of that picture, or NO_PICTURE
    uint8_t *current;     // owned; the same for the frame being computed
    uint32_t width, height;
    uint8_t threshold;
    bool automatic;
    uint64_t *bits; // owned; of all rows; NULL: nobody wants them
    bool *moved;    // owned; which rows of them hold any
    bool limited;
    struct bits_limits limits; // for the bits of this frame, if it is limited
};

#define NO_PICTURE 2
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
    free(difference->bits);
    free(difference->moved);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct difference *difference = stage->state;
    uint8_t *before = difference->current;

    (void)output;
    if (input) {
        difference->current = difference->before;
        difference->before = before;
    }
    memset(difference->current, NO_PICTURE, difference->height);
    if (difference->bits) {
        memset(difference->moved, 0, difference->height * sizeof *difference->moved);
    }
}

// Where row `y` lies in a picture.
static uint8_t *row_in(const struct difference *difference, unsigned picture, uint32_t y)
{
    return difference->pictures[picture] + (size_t)y * difference->width;
}

// Keeps the row at `kept`, which may be where the row of the frame before is.
static enum stage_result run(const struct difference *difference, const uint8_t *gray, uint32_t y,
                             uint8_t *kept, uint8_t *output)
{
    uint8_t picture = difference->before[y];

    if (picture == NO_PICTURE) {
        memcpy(kept, gray, difference->width);
        return STAGE_BLACK;
    }
    const uint8_t *before = row_in(difference, picture, y);
    if (kept != before) {
        memcpy(kept, before, difference->width);
    }
    return difference->automatic
               ? measure_row(gray, kept, difference->width, output)
               : differ_row(gray, kept, difference->width, difference->threshold, output);
}

static uint64_t *bits_row(const struct difference *difference, uint32_t y)
{
    return difference->bits + y * bits_words(difference->width);
}

static void note_limited_bits(const struct difference *difference, const uint8_t *gray, uint32_t y)
{
    uint8_t picture = difference->before[y];

    if (picture != NO_PICTURE) {
        bits_leave(gray, row_in(difference, picture, y), &difference->limits, difference->width,
                   bits_row(difference, y));
        difference->moved[y] = true;
    }
}

static enum stage_result keep_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                  uint32_t width, bool at_border, void *scratch, uint8_t *output)
{
    const struct difference *difference = stage->state;
    uint8_t before = difference->before[y],
            picture = (before == NO_PICTURE ? 0 : before) ^ at_border;
    bool limited = difference->bits && difference->limited;

    (void)width;
    (void)scratch;
    if (limited) { // before what it is compared with is replaced
        note_limited_bits(difference, rows[0], y);
    }
    difference->current[y] = picture;
    enum stage_result result = run(difference, rows[0], y, row_in(difference, picture, y), output);
    if (difference->bits && !limited && result == STAGE_WRITTEN) {
        bits_pack(output, difference->width, bits_row(difference, y));
        difference->moved[y] = true;
    }
    return result;
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    (void)width;
    return run(stage->state, rows[0], y, scratch, output);
}

// Pictures begin with a page, as the planes of frames do. A CPU that compares addresses by their
// place in the page would else take the row just written for the one read next, and wait. Pages
// that no row is written to take no memory.
static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct difference *difference = stage->state;
    size_t height = setup->input->height, size = setup->input->width * height;

    difference->width = setup->input->width;
    difference->height = setup->input->height;
    size = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    difference->automatic = setup->options->threshold == CONFIG_THRESHOLD_OTSU;
    difference->threshold = (uint8_t)setup->options->threshold;
    difference->pictures[0] = aligned_alloc(PAGE_BYTES, size);
    difference->pictures[1] = aligned_alloc(PAGE_BYTES, size);
    difference->before = malloc(height);
    difference->current = malloc(height);
    if (!difference->pictures[0] || !difference->pictures[1] || !difference->before ||
        !difference->current) {
        return error_set(error, -ENOMEM, "no memory for the frame before");
    }
    memset(difference->before, NO_PICTURE, height);
    memset(difference->current, NO_PICTURE, height);
    stage->remembers = true;
    stage->scratch_bytes = setup->input->width;
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops difference_ops = {
    .state_bytes = sizeof(struct difference),
    .init = init,
    .finish = finish,
    .begin = begin,
    .keep_row = keep_row,
};

int difference_note_bits(struct stage *stage)
{
    struct difference *difference = stage->state;

    if (!difference->bits) {
        difference->moved = calloc(difference->height, sizeof *difference->moved);
        difference->bits =
            calloc(difference->height * bits_words(difference->width), sizeof *difference->bits);
    }
    if (!difference->bits || !difference->moved) {
        free(TAKE(difference->bits));
        free(TAKE(difference->moved));
        return -ENOMEM;
    }
    return 0;
}

void difference_set_limits(struct stage *stage, const struct bits_limits *limits)
{
    struct difference *difference = stage->state;

    difference->limited = limits;
    if (limits) {
        difference->limits = *limits;
    }
}

const uint64_t *difference_bits(const struct stage *stage, uint32_t y)
{
    const struct difference *difference = stage->state;

    return difference->moved[y] ? bits_row(difference, y) : NULL;
}
