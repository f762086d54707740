// Row stage: what lies outside the view's mask becomes 0.
//
//   out = in & mask
//
// the mask being 0 or 255 at every pixel: a polygon, or a picture that is stretched over the
// camera's and set where it is at least 128 (region.h). cv2.bitwise_and(gray, gray, mask=mask).
// Gray stays gray, 0 and 255 stay 0 and 255. Views of edged's own have it as the last stage on one
// plane: behind the magnitude, black and white with its morphology, Canny's hysteresis or the
// erosion of what moved, before limited range and before anything is painted.
#include "kernels/gpu/point_cuda.h"
#include "kernels/mask/mask_plane.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

struct mask {
    const struct mask_plane *plane; // not owned; of the pictures' size
};

SIMD_CLONES
static void mask_row(const uint8_t *restrict gray, const uint8_t *restrict mask, size_t width,
                     uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++)
        output[x] = gray[x] & mask[x];
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct mask *mask = stage->state;

    (void)scratch;
    if (rows[0] == stage_black_row)
        return STAGE_BLACK;
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

// A view's mask on the GPU: point.cu with its name and the mask, copied there once.

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;

    return planar && setup->steps[0].kind == STAGE_MASK ? gpu_stage_match(setup, STAGE_MASK) : 0;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    const struct mask_plane *mask = setup->steps[0].options.mask;
    struct point_cuda *parameters = stage->state;
    int r =
        gpu_stage_add_kernel(stage, CONFIG_KERNEL_MASK, (struct gpu_tile){JOB_PIXELS, JOB_ROWS},
                             error, "point_mask_%s", gpu_stage_limited(setup) ? "limited" : "full");

    parameters->plane_stride = (uint32_t)mask->stride;
    return r < 0 ? r
                 : gpu_stage_add_memory(stage, mask->bytes, mask->stride * mask->height, "a mask",
                                        error, &parameters->beside);
}

const struct gpu_stage_ops mask_gpu_ops = {.name = "mask",
                                           .state_size = sizeof(struct point_cuda),
                                           .fuses = fuses,
                                           .init = init_gpu,
                                           .launch = gpu_stage_launch};
