#include "kernels/graph/view_gpu.h"

#include <errno.h>
#include <string.h>

struct view_gpu {
    struct gpu *gpu;         // not owned
    const struct plan *plan; // not owned
    struct frame_layout camera;
    bool mapped;
    struct config_block blocks[CONFIG_KERNEL_COUNT], blocks_before[CONFIG_KERNEL_COUNT];
    unsigned start; // of the rest
    struct gpu_pipeline whole;
    struct gpu_pipeline rest; // of the steps from `start` on, if that is not 0
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
    view->plan = plan;
    view->camera = *setup->input;
    view->mapped = strcmp(memory, "managed") != 0;
    r = gpu_enter(view->gpu, error);
    if (r == 0) {
        r = gpu_pipeline_init(&view->whole, view->gpu, plan, setup->input, view->mapped, error);
    }
    if (r == 0 && setup->blocks) {
        r = view_gpu_set_blocks(view, setup->blocks, error);
    }
    if (r == 0) {
        *ret_view = TAKE(view);
    }
    return r;
}

static void drop_rest(struct view_gpu *view)
{
    if (view->start > 0) {
        gpu_pipeline_finish(&view->rest);
    }
    view->start = 0;
}

void view_gpu_free(struct view_gpu *view)
{
    if (view) {
        drop_rest(view);
        gpu_pipeline_finish(&view->whole);
        free(view);
    }
}

void view_gpu_describe(const struct view_gpu *view, struct sharer *sharer)
{
    sharer->gpu = view->gpu;
    sharer->mapped = view->mapped;
    sharer->blocks = view->blocks;
}

int view_gpu_set_start(struct view_gpu *view, unsigned start)
{
    const struct gpu_part part = {view->plan, &view->camera, start, view->plan->count};
    int r = start > 0 ? gpu_enter(view->gpu, NULL) : 0;

    drop_rest(view);
    if (start == 0 || r < 0) {
        return r;
    }
    view->start = start;
    r = gpu_pipeline_init_part(&view->rest, view->gpu, &part, view->mapped, NULL);
    if (r == 0) {
        r = gpu_pipeline_set_blocks(&view->rest, view->blocks, NULL);
    }
    if (r < 0) {
        drop_rest(view);
    }
    return r;
}

// A plan that knows of pictures before has no rest (shared.c).
void view_gpu_forget(struct view_gpu *view)
{
    gpu_pipeline_forget(&view->whole);
}

int view_gpu_launch(struct view_gpu *view, struct segment *from, uint64_t number,
                    struct gpu_pictures pictures, struct error *error)
{
    int r = 0;

    pictures.input = pictures.camera;
    if (from) {
        r = segment_launch(from, &pictures.camera, number, error, &pictures.input);
    }
    return r < 0 ? r : gpu_pipeline_launch_part(from ? &view->rest : &view->whole, pictures, error);
}

int view_gpu_set_blocks(struct view_gpu *view, const struct config_block *blocks,
                        struct error *error)
{
    int r = gpu_enter(view->gpu, error);

    if (r == 0) {
        r = gpu_pipeline_set_blocks(&view->whole, blocks, error);
    }
    if (r == 0) {
        drop_rest(view);
        memcpy(view->blocks_before, view->blocks, sizeof view->blocks);
        memcpy(view->blocks, blocks, sizeof view->blocks);
    }
    return r;
}

bool view_gpu_take_refusal(struct view_gpu *view, struct segment *from, struct error *ret_why)
{
    bool refused = gpu_pipeline_take_refusal(&view->whole, ret_why) ||
                   (view->start > 0 && gpu_pipeline_take_refusal(&view->rest, ret_why)) ||
                   (from && segment_take_refusal(from, ret_why));

    if (refused) {
        memcpy(view->blocks, view->blocks_before, sizeof view->blocks);
    }
    return refused;
}

bool view_gpu_take_warning(struct view_gpu *view, struct segment *from, struct error *ret_text)
{
    return gpu_pipeline_take_warning(&view->whole, ret_text) ||
           (view->start > 0 && gpu_pipeline_take_warning(&view->rest, ret_text)) ||
           (from && segment_take_warning(from, ret_text));
}
