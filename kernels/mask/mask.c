#include "kernels/mask/mask.h"

#include "kernels/mask/mask_plane.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <assert.h>

struct mask {
    const struct mask_plane *plane; // not owned; of the pictures' size
};

SIMD_CLONES
static void mask_row(const uint8_t *restrict gray, const uint8_t *restrict mask, size_t width,
                     uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[x] = gray[x] & mask[x];
    }
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct mask *mask = stage->state;

    (void)scratch;
    if (rows[0] == stage_black_row) {
        return STAGE_BLACK;
    }
    mask_row(rows[0], mask_plane_row(mask->plane, y), width, output);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    const struct mask_plane *plane = setup->options->mask;
    struct mask *mask = stage->state;

    (void)error;
    assert(plane && plane->width == setup->input->width && plane->height == setup->input->height);
    mask->plane = plane;
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops mask_ops = {
    .state_bytes = sizeof(struct mask),
    .init = init,
};
