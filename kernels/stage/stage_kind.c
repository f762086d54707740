#include "kernels/stage/stage_kind.h"

const char *stage_kind_name(enum stage_kind kind)
{
    static const char *const names[STAGE_KIND_COUNT] = {
        [STAGE_GRAY] = "gray",           [STAGE_BLUR] = "blur",
        [STAGE_GRADIENT] = "gradient",   [STAGE_THRESHOLD] = "threshold",
        [STAGE_COMPOSE] = "compose",     [STAGE_DIFFERENCE] = "difference",
        [STAGE_ERODE] = "erode",         [STAGE_DILATE] = "dilate",
        [STAGE_MARK] = "mark",           [STAGE_OVERLAY] = "overlay",
        [STAGE_DIRECTION] = "direction", [STAGE_CONVERT] = "convert",
        [STAGE_CANNY] = "canny",         [STAGE_MASK] = "mask",
    };

    return names[kind];
}
