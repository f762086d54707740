#include "kernels/stage/stage.h"

#include "kernels/stage/compose.h"

static const struct stage_ops *const table[STAGE_KIND_COUNT] = {
    [STAGE_GRAY] = &gray_ops,           [STAGE_BLUR] = &blur_ops,
    [STAGE_GRADIENT] = &gradient_ops,   [STAGE_THRESHOLD] = &threshold_ops,
    [STAGE_COMPOSE] = &compose_ops,     [STAGE_DIFFERENCE] = &difference_ops,
    [STAGE_ERODE] = &erode_ops,         [STAGE_DILATE] = &dilate_ops,
    [STAGE_MARK] = &mark_ops,           [STAGE_OVERLAY] = &overlay_ops,
    [STAGE_DIRECTION] = &direction_ops, [STAGE_CONVERT] = &convert_ops,
    [STAGE_CANNY] = &canny_ops,         [STAGE_MASK] = &mask_ops,
};

const uint8_t stage_black_row[STAGE_BLACK_WIDTH_MAX];

const char *stage_kind_name(enum stage_kind kind)
{
    return table[kind]->name;
}

int stage_init(struct stage *stage, enum stage_kind kind, const struct stage_setup *setup,
               struct error *error)
{
    *stage = (struct stage){.ops = table[kind]};
    return stage->ops->init ? stage->ops->init(stage, setup, error) : 0;
}

void stage_finish(struct stage *stage)
{
    if (stage->ops && stage->ops->finish) {
        stage->ops->finish(stage);
    }
}
