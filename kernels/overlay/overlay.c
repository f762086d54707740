#include "kernels/overlay/overlay.h"

#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <string.h>

struct overlay {
    struct paint paint;
    uint8_t rgb[3];
    struct colour_yuv yuv;
};

SIMD_INLINE uint8_t choose(uint8_t mask, uint8_t set, uint8_t clear)
{
    return (uint8_t)((mask & set) | (~mask & clear));
}

SIMD_CLONES
static void paint_luma(const uint8_t *restrict mask, uint8_t y, size_t width,
                       uint8_t *restrict luma)
{
    for (size_t x = 0; x < width; x++) {
        luma[x] = choose(mask[x], y, luma[x]);
    }
}

SIMD_CLONES
static void paint_pairs(const uint8_t *restrict mask, uint8_t u, uint8_t v, size_t pairs,
                        uint8_t *restrict chroma)
{
    for (size_t x = 0; x < pairs; x++) {
        chroma[2 * x] = choose(mask[2 * x], u, chroma[2 * x]);
        chroma[2 * x + 1] = choose(mask[2 * x], v, chroma[2 * x + 1]);
    }
}

SIMD_CLONES
static void paint_rgb3(const uint8_t *restrict mask, const uint8_t *restrict rgb, size_t width,
                       uint8_t *restrict row)
{
    uint8_t red = rgb[0], green = rgb[1], blue = rgb[2];

    for (size_t x = 0; x < width; x++) {
        row[3 * x] = choose(mask[x], red, row[3 * x]);
        row[3 * x + 1] = choose(mask[x], green, row[3 * x + 1]);
        row[3 * x + 2] = choose(mask[x], blue, row[3 * x + 2]);
    }
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct overlay *overlay = stage->state;
    const struct paint *paint = &overlay->paint;
    uint8_t *row = paint_row(paint, y);
    uint8_t *chroma = paint->convert.chroma && y % 2 == 0 ? paint_chroma(paint, y, NULL) : NULL;

    (void)scratch;
    (void)output; // a row of the frame that begin() was given
    if (rows[0] == stage_black_row) {
        return STAGE_WRITTEN;
    }
    if (!paint->convert.chroma) {
        paint_rgb3(rows[0], overlay->rgb, width, row);
        return STAGE_WRITTEN;
    }
    paint_luma(rows[0], overlay->yuv.y, width, row);
    if (chroma) {
        paint_pairs(rows[0], overlay->yuv.u, overlay->yuv.v, ((size_t)width + 1) / 2, chroma);
    }
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct overlay *overlay = stage->state;
    struct colour_space space = colour_space_of_camera(setup->input);

    memcpy(overlay->rgb, setup->options->colour, sizeof overlay->rgb);
    overlay->yuv = colour_to_yuv(&space, overlay->rgb);
    stage->run_row = run_row;
    return convert_init(&overlay->paint.convert, setup, error);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct overlay *overlay = stage->state;

    overlay->paint.input = input;
    overlay->paint.output = output;
}

const struct stage_ops overlay_ops = {
    .state_bytes = sizeof(struct overlay), .init = init, .begin = begin};
