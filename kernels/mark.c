#include "kernels/mark.h"

#include "kernels/simd.h"
#include "kernels/stage.h"

#include <string.h>

// Of an RGB row with 4 bytes a pixel; of a chroma row and two numbers for each of its pairs.
#define SCRATCH_BYTES_A_PIXEL 6
// Pixels, an even number: with so many between them that have not moved, others are marked apart.
#define BLOCK 128

static size_t scratch_bytes(uint32_t width)
{
    return SCRATCH_BYTES_A_PIXEL * ((size_t)width + 64);
}

SIMD_CLONES
static void redden(const uint8_t *restrict mask, size_t width, size_t step, uint8_t *restrict red)
{
    for (size_t x = 0; x < width; x++) {
        red[step * x] |= mask[x];
    }
}

static void mark_rgb3(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch)
{
    (void)scratch;
    redden(mask, mark->line.width, 3, paint_row(&mark->paint, y));
}

static void mark_rgb(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch)
{
    const struct frame line = {.layout = mark->line, .data = scratch};
    const struct pixel_format *format = line.layout.format;
    const struct convert *convert = &mark->paint.convert;
    const struct frame *output = mark->paint.output;
    uint32_t width = line.layout.width;

    memcpy(scratch, paint_row_at(mark->paint.input, 0, y), line.layout.planes[0].width_bytes);
    redden(mask, width, format->planes[0].bytes,
           (uint8_t *)scratch + (strcmp(format->name, "RGB3") == 0 ? 0 : 2));
    convert->row(scratch, width, paint_row_at(output, 0, y));
    if (y % 2 == 0) {
        convert->chroma(&line, 0, output->layout.planes[1].width_bytes / 2,
                        paint_row_at(output, 1, y / 2));
    }
}

#define HALF (1 << 19)

const struct mark_space mark_space_limited = {
    16,
    1220542,
    -409993,
    -852492,
    2116026,
    .y = {269484 * 255 + (16 << 20) + HALF, 528482, 102760},
    .u = {-155188 * 255 + (128 << 20) + HALF, -305135, 460324},
    .v = {460324 * 255 + (128 << 20) + HALF, -385875, -74448},
};
const struct mark_space mark_space_full = {
    0,
    1048576,
    -360853,
    -748826,
    1858077,
    .y = {313524 * 255 + HALF, 615514, 119538},
    .u = {-176932 * 255 + (128 << 20) + HALF, -347356, 524288},
    .v = {524288 * 255 + (128 << 20) + HALF, -439026, -85262},
};

SIMD_INLINE int32_t limit(int32_t value)
{
    return value < 0 ? 0 : value < 255 ? value : 255;
}

// The sums of green and blue without luma.
SIMD_CLONES
static void chroma_terms(const struct mark_space *space, const uint8_t *restrict chroma,
                         size_t pairs, int32_t *restrict green, int32_t *restrict blue)
{
    for (size_t i = 0; i < pairs; i++) {
        int32_t u = chroma[2 * i] - 128, v = chroma[2 * i + 1] - 128;

        green[i] = space->u_green * u + space->v_green * v + HALF;
        blue[i] = space->u_blue * u + HALF;
    }
}

SIMD_INLINE int32_t luma_term(const struct mark_space *space, int32_t luma)
{
    return space->luma * (luma > space->black ? luma - space->black : 0);
}

SIMD_INLINE uint8_t marked_luma(const struct mark_space *space, uint8_t luma, int32_t green,
                                int32_t blue, uint8_t mask)
{
    int32_t term = luma_term(space, luma);
    int32_t g = limit((term + green) >> 20), b = limit((term + blue) >> 20);
    int32_t marked = (space->y.constant + space->y.green * g + space->y.blue * b) >> 20;

    return mask ? (uint8_t)marked : luma;
}

SIMD_CLONES
static void mark_luma(const struct mark_space *space, const uint8_t *restrict mask, size_t width,
                      const int32_t *restrict green, const int32_t *restrict blue,
                      uint8_t *restrict luma)
{
    for (size_t i = 0; i < width / 2; i++) {
        size_t x = 2 * i;

        luma[x] = marked_luma(space, luma[x], green[i], blue[i], mask[x]);
        luma[x + 1] = marked_luma(space, luma[x + 1], green[i], blue[i], mask[x + 1]);
    }
    if (width % 2 == 1) {
        size_t x = width - 1;

        luma[x] = marked_luma(space, luma[x], green[x / 2], blue[x / 2], mask[x]);
    }
}

// `luma` as it was before it was marked.
SIMD_CLONES
static void mark_chroma(const struct mark_space *space, const uint8_t *restrict mask, size_t pairs,
                        const uint8_t *restrict luma, const int32_t *restrict green,
                        const int32_t *restrict blue, uint8_t *restrict chroma)
{
    for (size_t i = 0; i < pairs; i++) {
        int32_t term = luma_term(space, luma[2 * i]);
        int32_t g = limit((term + green[i]) >> 20), b = limit((term + blue[i]) >> 20);
        int32_t u = (space->u.constant + space->u.green * g + space->u.blue * b) >> 20;
        int32_t v = (space->v.constant + space->v.green * g + space->v.blue * b) >> 20;

        uint8_t set = mask[2 * i], keep = (uint8_t)~set;

        chroma[2 * i] = (uint8_t)((limit(u) & set) | (chroma[2 * i] & keep));
        chroma[2 * i + 1] = (uint8_t)((limit(v) & set) | (chroma[2 * i + 1] & keep));
    }
}

// The end of what is marked together from pixel `first` on, which is even; it is even as well, or
// the end of the row.
static size_t block_end(const uint8_t *mask, size_t first, size_t width)
{
    const uint8_t *set = mask + first;
    size_t end = first;

    while (set) {
        end = ((size_t)(set - mask) & ~(size_t)1) + BLOCK;
        end = end < width ? end : width;
        set = memchr(mask + end, 255, width - end < BLOCK ? width - end : BLOCK);
    }
    return end;
}

// Most rows hold little that has moved: only the pixels around it are looked at, in whole pairs.
static void mark_yuv(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch)
{
    size_t width = mark->line.width, pairs = (width + 1) / 2;
    int32_t *green = scratch, *blue = green + pairs;
    uint8_t *chroma = (uint8_t *)(blue + pairs), *luma = paint_row(&mark->paint, y);
    const uint8_t *set = memchr(mask, 255, width);

    if (set || y % 2 == 0) {
        chroma = paint_chroma(&mark->paint, y, chroma);
    }
    while (set) {
        size_t first = (size_t)(set - mask) & ~(size_t)1, end = block_end(mask, first, width);

        pairs = (end - first + 1) / 2;
        chroma_terms(mark->space, chroma + first, pairs, green, blue);
        if (y % 2 == 0) {
            mark_chroma(mark->space, mask + first, pairs, luma + first, green, blue,
                        chroma + first);
        }
        mark_luma(mark->space, mask + first, end - first, green, blue, luma + first);
        set = memchr(mask + end, 255, width - end);
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct mark *mark = &stage->mark;
    const struct frame_layout *input = setup->input;

    mark->space = input->range == FRAME_RANGE_FULL ? &mark_space_full : &mark_space_limited;
    mark->rows = setup->output->luma_step == 0   ? mark_rgb3
                 : input->format->luma_step == 0 ? mark_rgb
                                                 : mark_yuv;
    frame_layout_init(&mark->line, input->format, input->width, 1, 1);
    return paint_init(&mark->paint, setup, error);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    paint_begin(&stage->mark.paint, input, output);
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    (void)width;
    (void)output; // a row of the frame that begin() was given
    stage->mark.rows(&stage->mark, rows[0], y, scratch);
}

const struct stage_ops mark_ops = {
    .name = "mark",
    .init = init,
    .scratch_bytes = scratch_bytes,
    .begin = begin,
    .run_row = run_row,
};
