// Motion with a fixed threshold on the GPU, from the camera's picture to the one with red in it:
// difference.cu to bits, the camera's picture, mark.cu, which erodes the bits on the way.
#include "kernels/difference_gpu.h"
#include "kernels/mark_gpu.h"

#include <errno.h>
#include <string.h>

struct motion_gpu {
    struct difference_gpu difference;
    struct mark_gpu mark;
    struct gpu_plane bits; // owned
    uint32_t erode;
    bool copies_luma; // the difference writes the output's luma on its way
};

// [GRAY] DIFFERENCE [ERODE] MARK
static unsigned takes(const struct gpu_stage_setup *setup)
{
    const struct plan_step *steps = setup->steps;
    unsigned at = steps[0].kind == STAGE_GRAY;

    if (at >= setup->count || steps[at].kind != STAGE_DIFFERENCE ||
        steps[at].options.threshold == CONFIG_THRESHOLD_OTSU ||
        !difference_gpu_supports(setup, DIFFERENCE_GPU_BITS)) {
        return 0;
    }
    at++;
    at += at < setup->count && steps[at].kind == STAGE_ERODE;
    return at + 1 == setup->count && steps[at].kind == STAGE_MARK ? at + 1 : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    struct motion_gpu *motion = calloc(1, sizeof *motion);
    const struct plan_step *before_mark = &setup->steps[setup->count - 2];
    uint32_t bytes = (setup->camera->width + 7) / 8;
    int r;

    if (!motion) {
        return error_set(error, -ENOMEM, "no memory for motion on the GPU");
    }
    stage->state = motion;
    motion->erode = before_mark->kind == STAGE_ERODE ? (uint32_t)before_mark->options.times : 0;
    motion->copies_luma = setup->first && strcmp(setup->camera->format->name, "NV12") == 0 &&
                          setup->output == setup->camera->format;
    r = difference_gpu_init(&motion->difference, stage, setup, DIFFERENCE_GPU_BITS, error);
    if (r == 0) {
        r = gpu_plane_init(&motion->bits, stage->gpu, bytes, setup->camera->height, error);
    }
    return r < 0 ? r : mark_gpu_init(&motion->mark, stage, setup, true, error);
}

static void finish(struct gpu_stage *stage)
{
    struct motion_gpu *motion = stage->state;

    if (motion) {
        difference_gpu_finish(&motion->difference, stage->gpu);
        gpu_plane_finish(&motion->bits, stage->gpu);
        free(motion);
    }
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct motion_gpu *motion = stage->state;
    const struct mark_gpu_mask mask = {.address = motion->bits.address,
                                       .stride = motion->bits.stride,
                                       .erode = motion->erode,
                                       .luma_done = motion->copies_luma};
    struct gpu_plane copy = {0};
    int r;

    if (motion->copies_luma) {
        copy = (struct gpu_plane){pictures->output.planes[0].address,
                                  pictures->output.planes[0].stride};
    }
    r = difference_gpu_launch(&motion->difference, stage, &pictures->input, motion->bits, copy,
                              chain, error);
    return r < 0 ? r : mark_gpu_launch(&motion->mark, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops motion_gpu_ops = {
    .name = "motion", .takes = takes, .init = init, .finish = finish, .launch = launch};
