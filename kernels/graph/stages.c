#include "kernels/graph/stages.h"

#include "kernels/stage/compose.h"

// Every stage; all but erode and dilate (morphology.c) have a file of their own name.
extern const struct stage_ops blur_ops, canny_ops, convert_ops, difference_ops, dilate_ops,
    direction_ops, erode_ops, gradient_ops, gray_ops, mark_ops, mask_ops, overlay_ops,
    threshold_ops;
extern const struct gpu_stage_ops blur_gpu_ops, canny_gpu_ops, convert_gpu_ops, difference_gpu_ops,
    direction_gpu_ops, gradient_gpu_ops, gray_gpu_ops, mark_gpu_ops, mask_gpu_ops,
    morphology_gpu_ops, motion_gpu_ops, overlay_gpu_ops, threshold_gpu_ops;

// By kind: what computes it on the CPU, and on the GPU, where a stage may do several steps in one
// go; NULL: only together with the step before it.
static const struct {
    const struct stage_ops *cpu;
    const struct gpu_stage_ops *gpu;
} table[] = {
    [STAGE_GRAY] = {&gray_ops, &gray_gpu_ops},
    [STAGE_BLUR] = {&blur_ops, &blur_gpu_ops},
    [STAGE_GRADIENT] = {&gradient_ops, &gradient_gpu_ops},
    [STAGE_THRESHOLD] = {&threshold_ops, &threshold_gpu_ops},
    [STAGE_COMPOSE] = {&compose_ops, NULL},
    [STAGE_DIFFERENCE] = {&difference_ops, &difference_gpu_ops},
    [STAGE_ERODE] = {&erode_ops, &morphology_gpu_ops},
    [STAGE_DILATE] = {&dilate_ops, &morphology_gpu_ops},
    [STAGE_MARK] = {&mark_ops, &mark_gpu_ops},
    [STAGE_OVERLAY] = {&overlay_ops, &overlay_gpu_ops},
    [STAGE_DIRECTION] = {&direction_ops, &direction_gpu_ops},
    [STAGE_CONVERT] = {&convert_ops, &convert_gpu_ops},
    [STAGE_CANNY] = {&canny_ops, &canny_gpu_ops},
    [STAGE_MASK] = {&mask_ops, &mask_gpu_ops},
    // A whole view in one launch.
    [STAGE_KIND_COUNT] = {NULL, &motion_gpu_ops},
};

const struct stage_ops *stages_of_kind(enum stage_kind kind)
{
    return table[kind].cpu;
}

const struct gpu_stage_ops *stages_find_gpu(const struct gpu_stage_setup *setup,
                                            unsigned *ret_count)
{
    const struct gpu_stage_ops *best = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        unsigned count = table[i].gpu ? table[i].gpu->fuses(setup) : 0;

        if (count > *ret_count) {
            *ret_count = count;
            best = table[i].gpu;
        }
    }
    return best;
}
