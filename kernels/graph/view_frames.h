// The output frames of a view: a pool whose frames hold already what no picture changes, the chroma
// of gray and what parts the pictures of a split.
#pragma once

#include "kernels/graph/view_setup.h"
#include "kernels/stage/stage.h"

struct view_frames {
    struct frame_pool *pool; // owned reference; NULL: none
    struct frame_layout layout;
    enum stage_kind last; // the stage that writes them; STAGE_KIND_COUNT: a split
};

// As many frames of `layout` as `setup` asks for, or those of `before` (NULL: none) where they fit.
// -ENOMEM, or what keeps the CPU from a surface. End them with view_frames_finish().
int view_frames_init(struct view_frames *frames, const struct view_setup *setup,
                     const struct frame_layout *layout, enum stage_kind last,
                     const struct view_frames *before, struct error *error);
// Takes zeroed ones. Frames that are still out stay valid.
void view_frames_finish(struct view_frames *frames);
