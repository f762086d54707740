#include "kernels/gpu_stage.h"

#include <errno.h>
#include <string.h>

static const struct gpu_stage_ops *const table[] = {
    [CONFIG_VIEW_EDGES] = &gradient_gpu_ops,
    [CONFIG_VIEW_GRAY] = &gray_gpu_ops,
    [CONFIG_VIEW_CAMERA] = &convert_gpu_ops,
};

bool gpu_stage_supports(const struct config_view *settings)
{
    if (settings->view >= ARRAY_LENGTH(table) || !table[settings->view]) {
        return false;
    }
    return settings->view != CONFIG_VIEW_EDGES ||
           (settings->operator== CONFIG_OPERATOR_SOBEL && settings->blur == 0);
}

int gpu_stage_init(struct gpu_stage *stage, struct gpu *gpu, const struct stage_setup *setup,
                   bool mapped, struct error *error)
{
    *stage = (struct gpu_stage){0};
    if (!gpu_stage_supports(setup->settings)) {
        return error_set(error, -ENOTSUP, "this view has no CUDA kernel");
    }
    stage->ops = table[setup->settings->view];
    return stage->ops->init(stage, gpu, setup, mapped, error);
}

void gpu_stage_finish(struct gpu_stage *stage)
{
    if (stage->ops && stage->ops->finish && !gpu_is_lost(stage->kernel.gpu)) {
        gpu_enter(stage->kernel.gpu, NULL); // if it cannot be, the context may be current already
        stage->ops->finish(stage);
    }
}

int gpu_stage_launch(struct gpu_stage *stage, const struct gpu_picture *input,
                     const struct gpu_picture *output, struct error *error)
{
    return stage->ops->launch(stage, input, output, error);
}

struct gpu_picture gpu_picture_at(const struct frame_layout *layout, uint64_t address)
{
    struct gpu_picture picture = {.width = layout->width, .height = layout->height};

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        picture.planes[i].address = address + layout->planes[i].offset;
        picture.planes[i].stride = (uint32_t)layout->planes[i].stride;
    }
    return picture;
}

const char *gpu_luma_layout(const struct pixel_format *format)
{
    static const struct {
        const char *format, *layout;
    } packed[] = {
        {"YUYV", "yuyv"}, {"UYVY", "uyvy"}, {"RGB3", "rgb3"}, {"BGR3", "bgr3"}, {"XR24", "xr24"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(packed); i++) {
        if (strcmp(packed[i].format, format->name) == 0) {
            return packed[i].layout;
        }
    }
    return "planar";
}
