#include "kernels/graph/view_frames.h"

#include "kernels/graph/split.h"

#include <string.h>

#define COUNT_DEFAULT 4
#define COUNT_MAX 64

static void write_constants(const struct view_frames *frames, unsigned count, uint32_t side_width)
{
    const struct frame_layout *layout = &frames->layout;
    struct frame *list[COUNT_MAX];

    for (unsigned i = 0; i < count; i++) {
        list[i] = frame_pool_take(frames->pool);
        memset(frame_plane(list[i], 1), 128, layout->planes[1].stride * layout->planes[1].rows);
        if (frames->last == STAGE_KIND_COUNT) {
            split_write_gap(list[i], side_width);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        frame_unref(list[i]);
    }
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
        write_constants(frames, count, setup->input->width);
    }
    return 0;
}

void view_frames_finish(struct view_frames *frames)
{
    frame_pool_unref(frames->pool);
    frames->pool = NULL;
}
