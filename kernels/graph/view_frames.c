#include "kernels/graph/view_frames.h"

#include "kernels/graph/split.h"

#include <string.h>

#define COUNT_DEFAULT 4
#define COUNT_MAX 64

static int write_into(const struct view_frames *frames, struct frame *frame, uint32_t side_width,
                      struct error *error)
{
    const struct frame_layout *layout = &frames->layout;
    int r = frame_begin_cpu_access(frame, error);

    if (r == 0) {
        memset(frame_plane(frame, 1), 128, layout->planes[1].stride * layout->planes[1].rows);
        if (frames->last == STAGE_KIND_COUNT) {
            split_write_gap(frame, side_width);
        }
    }
    return r < 0 ? r : frame_end_cpu_access(frame, error);
}

static int write_constants(const struct view_frames *frames, unsigned count, uint32_t side_width,
                           struct error *error)
{
    struct frame *list[COUNT_MAX];
    int r = 0;

    for (unsigned i = 0; i < count; i++) {
        list[i] = frame_pool_take(frames->pool);
        r = r < 0 ? r : write_into(frames, list[i], side_width, error);
    }
    for (unsigned i = 0; i < count; i++) {
        frame_unref(list[i]);
    }
    return r;
}

// Whether the others hold all that no picture changes of these.
static bool fit(const struct view_frames *frames, const struct view_frames *others)
{
    return others && others->pool && frames->last != STAGE_KIND_COUNT &&
           frames->last == others->last && frame_layout_equal(&frames->layout, &others->layout);
}

int view_frames_init(struct view_frames *frames, const struct view_setup *setup,
                     const struct frame_layout *layout, enum stage_kind last,
                     const struct view_frames *before, struct error *error)
{
    unsigned count = setup->frames ? setup->frames : COUNT_DEFAULT;
    int r;

    *frames = (struct view_frames){.layout = *layout, .last = last};
    if (fit(frames, before)) {
        frames->pool = frame_pool_ref(before->pool);
        return 0;
    }
    r = frame_pool_new(layout, count, setup->allocator, &frames->pool);
    if (r < 0) {
        return error_set(error, r, "no memory for %u output frames of %ux%u", count, layout->width,
                         layout->height);
    }
    if (layout->format->plane_count > 1 && last != STAGE_CONVERT) {
        r = write_constants(frames, count, setup->input->width, error);
    }
    if (r < 0) {
        view_frames_finish(frames);
    }
    return r;
}

void view_frames_finish(struct view_frames *frames)
{
    frame_pool_unref(frames->pool);
    frames->pool = NULL;
}
