#include "kernels/view_gpu.h"

#include <errno.h>
#include <string.h>

struct view_gpu {
    struct gpu *gpu; // not owned
    struct gpu_pipeline pipeline;
};

static void cleanup_view_gpu(struct view_gpu **view)
{
    view_gpu_free(*view);
}

int view_gpu_new(const struct view_setup *setup, const struct plan *plan, struct error *error,
                 struct view_gpu **ret_view)
{
    const char *memory = setup->allocator->kind;
    _cleanup_(cleanup_view_gpu) struct view_gpu *view = NULL;
    int r;

    if (!setup->allocator->to_gpu) {
        return error_set(error, -ENOTSUP,
                         "%s memory is not for a GPU: the view cannot compute on it", memory);
    }
    view = calloc(1, sizeof *view);
    if (!view) {
        return error_set(error, -ENOMEM, "no memory for a view on the GPU");
    }
    view->gpu = setup->gpu;
    r = gpu_enter(view->gpu, error);
    if (r == 0) {
        r = gpu_pipeline_init(&view->pipeline, view->gpu, plan, setup->input,
                              strcmp(memory, "managed") != 0, error);
    }
    if (r == 0 && setup->blocks) {
        r = view_gpu_set_blocks(view, setup->blocks, error);
    }
    if (r == 0) {
        *ret_view = TAKE(view);
    }
    return r;
}

void view_gpu_free(struct view_gpu *view)
{
    if (view) {
        gpu_pipeline_finish(&view->pipeline);
        free(view);
    }
}

int view_gpu_run(struct view_gpu *view, struct frame *input, struct frame *output,
                 struct error *error)
{
    uint64_t from = 0, to = 0;
    int r = gpu_enter(view->gpu, error);

    if (r == 0) {
        r = frame_to_gpu(input, error, &from);
    }
    if (r == 0) {
        r = frame_to_gpu(output, error, &to);
    }
    if (r == 0) {
        const struct gpu_picture pictures[] = {gpu_picture_at(&input->layout, from),
                                               gpu_picture_at(&output->layout, to)};

        r = gpu_pipeline_launch(&view->pipeline, &pictures[0], &pictures[1], error);
    }
    if (r == 0) {
        r = frame_to_cpu(output, error);
    }
    return r < 0 ? r : frame_to_cpu(input, error);
}

int view_gpu_set_blocks(struct view_gpu *view, const struct config_block *blocks,
                        struct error *error)
{
    int r = gpu_enter(view->gpu, error);

    return r < 0 ? r : gpu_pipeline_set_blocks(&view->pipeline, blocks, error);
}

bool view_gpu_take_refusal(struct view_gpu *view, struct error *ret_why)
{
    return gpu_pipeline_take_refusal(&view->pipeline, ret_why);
}

bool view_gpu_take_warning(struct view_gpu *view, struct error *ret_text)
{
    return gpu_pipeline_take_warning(&view->pipeline, ret_text);
}
