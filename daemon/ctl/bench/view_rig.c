#include "daemon/ctl/bench/view_rig.h"

void draw_scene(uint8_t *data, size_t size, size_t stride)
{
    uint32_t noise = 1;

    for (size_t i = 0; i < size; i++) {
        noise = noise * 1664525 + 1013904223;
        data[i] = (uint8_t)((i / 7 ^ i / stride) + (noise >> 28));
    }
}

int scene_frame_new(const struct frame_layout *layout, const struct frame_allocator *allocator,
                    struct error *error, struct frame **ret_frame)
{
    struct frame_pool *pool;
    int r = frame_pool_new(layout, 1, allocator, &pool);

    if (r < 0) {
        return error_set(error, r, "no memory for a picture of %ux%u", layout->width,
                         layout->height);
    }
    *ret_frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    draw_scene((*ret_frame)->data, layout->size, layout->planes[0].stride);
    return 0;
}

int view_rig_init(struct view_rig *rig, const struct view_setup *setup, struct error *error)
{
    int r;

    *rig = (struct view_rig){0};
    r = scene_frame_new(setup->input, setup->allocator, error, &rig->input);
    return r < 0 ? r : view_new(setup, error, &rig->view);
}

void view_rig_finish(struct view_rig *rig)
{
    view_free(rig->view);
    frame_unref(rig->input);
}

int view_rig_time(void *context, struct error *error, double *ret_us)
{
    const struct view_rig *rig = context;
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int64_t start_ns = clock_now_ns();
    int r = view_run(rig->view, rig->input, error, &output);

    *ret_us = (double)(clock_now_ns() - start_ns) / NS_PER_US;
    return r;
}
