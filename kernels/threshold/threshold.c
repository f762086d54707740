#include "kernels/threshold/threshold.h"

#include "kernels/levels/levels.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

struct threshold {
    uint8_t level; // of the frame, if it is automatic
    uint32_t width, height;
    struct pool *pool; // not owned; NULL: there is none
};

// The results below the level and from it on.
struct shades {
    uint8_t below, above;
};

SIMD_CLONES
static enum stage_result threshold_row(const uint8_t *restrict gray, uint8_t level,
                                       struct shades shades, size_t width, uint8_t *restrict output)
{
    uint8_t any = 0;

    for (size_t x = 0; x < width; x++) {
        output[x] = gray[x] >= level ? shades.above : shades.below;
        any |= output[x];
    }
    return any ? STAGE_WRITTEN : STAGE_BLACK;
}

static void look(struct stage *stage, const uint8_t *plane, size_t stride, uint32_t first,
                 uint32_t end)
{
    struct threshold *threshold = stage->state;
    uint32_t histogram[256];

    (void)first;
    (void)end;
    levels_count(threshold->pool, plane, stride, threshold->width, threshold->height, histogram);
    threshold->level = levels_otsu(histogram);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct threshold *threshold = stage->state;
    struct shades shades = {0, 255};

    (void)y;
    (void)scratch;
    if (stage->limited) {
        shades = (struct shades){compose_luma(0), compose_luma(255)};
    }
    return threshold_row(rows[0], threshold->level, shades, width, output);
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct threshold *threshold = stage->state;

    (void)error;
    *threshold = (struct threshold){(uint8_t)setup->options->threshold, setup->input->width,
                                    setup->input->height, setup->pool};
    stage->looks = setup->options->threshold == CONFIG_THRESHOLD_OTSU;
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops threshold_ops = {
    .state_bytes = sizeof(struct threshold),
    .init = init,
    .look = look,
    .limits = true,
};
