#include "kernels/stage/stage.h"

#include <errno.h>
#include <stdlib.h>

const uint8_t stage_black_row[STAGE_BLACK_WIDTH_MAX];

int stage_init(struct stage *stage, const struct stage_ops *ops, const struct stage_setup *setup,
               struct error *error)
{
    int r;

    *stage = (struct stage){.ops = ops};
    if (ops->state_bytes > 0) {
        stage->state = calloc(1, ops->state_bytes);
        if (!stage->state) {
            *stage = (struct stage){0};
            return error_set(error, -ENOMEM, "no memory for a stage");
        }
    }
    r = ops->init(stage, setup, error);
    if (r < 0) {
        stage_finish(stage);
        *stage = (struct stage){0};
    }
    return r;
}

void stage_finish(struct stage *stage)
{
    if (stage->ops && stage->ops->finish)
        stage->ops->finish(stage);
    free(stage->state);
}
