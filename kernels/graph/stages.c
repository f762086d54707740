#include "kernels/graph/stages.h"

#include "kernels/blur/blur.h"
#include "kernels/canny/canny.h"
#include "kernels/convert/convert.h"
#include "kernels/difference/difference.h"
#include "kernels/direction/direction.h"
#include "kernels/gradient/gradient.h"
#include "kernels/gray/gray.h"
#include "kernels/mask/mask.h"
#include "kernels/morphology/morphology.h"
#include "kernels/overlay/mark.h"
#include "kernels/overlay/overlay.h"
#include "kernels/stage/compose.h"
#include "kernels/threshold/threshold.h"

static const struct stage_ops *const table[STAGE_KIND_COUNT] = {
    [STAGE_GRAY] = &gray_ops,           [STAGE_BLUR] = &blur_ops,
    [STAGE_GRADIENT] = &gradient_ops,   [STAGE_THRESHOLD] = &threshold_ops,
    [STAGE_COMPOSE] = &compose_ops,     [STAGE_DIFFERENCE] = &difference_ops,
    [STAGE_ERODE] = &erode_ops,         [STAGE_DILATE] = &dilate_ops,
    [STAGE_MARK] = &mark_ops,           [STAGE_OVERLAY] = &overlay_ops,
    [STAGE_DIRECTION] = &direction_ops, [STAGE_CONVERT] = &convert_ops,
    [STAGE_CANNY] = &canny_ops,         [STAGE_MASK] = &mask_ops,
};

// Every stage of the GPU, in the order of the alphabet.
#define GPU_STAGES(X)                                                                              \
    X(blur)                                                                                        \
    X(canny)                                                                                       \
    X(convert)                                                                                     \
    X(difference)                                                                                  \
    X(direction)                                                                                   \
    X(gradient)                                                                                    \
    X(gray)                                                                                        \
    X(mark)                                                                                        \
    X(mask)                                                                                        \
    X(morphology)                                                                                  \
    X(motion)                                                                                      \
    X(overlay)                                                                                     \
    X(threshold)

#define DECLARE(stage) extern const struct gpu_stage_ops stage##_gpu_ops;
GPU_STAGES(DECLARE)

#define ADDRESS(stage) &stage##_gpu_ops,
static const struct gpu_stage_ops *const gpu_table[] = {GPU_STAGES(ADDRESS)};

const char *stages_kind_name(enum stage_kind kind)
{
    return table[kind]->name;
}

const struct stage_ops *stages_of_kind(enum stage_kind kind)
{
    return table[kind];
}

const struct gpu_stage_ops *stages_find_gpu(const struct gpu_stage_setup *setup,
                                            unsigned *ret_count)
{
    const struct gpu_stage_ops *best = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(gpu_table); i++) {
        unsigned count = gpu_table[i]->takes(setup);

        if (count > *ret_count) {
            *ret_count = count;
            best = gpu_table[i];
        }
    }
    return best;
}
