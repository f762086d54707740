#include "kernels/threshold/threshold.h"

#include "kernels/levels/otsu.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

struct threshold {
    uint8_t level;
    struct otsu *otsu; // owned; finds the level of each frame, for which the stage looks first;
                       // NULL: it is fixed
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

static void finish(struct stage *stage)
{
    struct threshold *threshold = stage->state;

    otsu_free(threshold->otsu);
}

static void look(struct stage *stage, const struct row_source *source)
{
    struct threshold *threshold = stage->state;

    threshold->level = otsu_look(threshold->otsu, source);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct threshold *threshold = stage->state;
    struct shades shades = {0, 255};

    (void)scratch;
    if (stage->limited) {
        shades = (struct shades){compose_luma(0), compose_luma(255)};
    }
    return threshold_row(threshold->otsu ? otsu_row(threshold->otsu, y) : rows[0], threshold->level,
                         shades, width, output);
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    const struct frame_layout *input = setup->input;
    struct threshold *threshold = stage->state;
    int r = 0;

    stage->run_row = run_row;
    threshold->level = (uint8_t)setup->options->threshold;
    if (setup->options->threshold == CONFIG_THRESHOLD_OTSU) {
        stage->looks = true;
        r = otsu_new(input->width, input->height, setup->pool, &threshold->otsu);
    }
    return r < 0 ? error_set(error, r, "no memory for the histogram's picture") : 0;
}

const struct stage_ops threshold_ops = {
    .state_bytes = sizeof(struct threshold),
    .init = init,
    .finish = finish,
    .look = look,
    .limits = true,
};
