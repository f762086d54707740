// The view of a clip, as a clip or as the picture of one frame.
#pragma once

#include "config/config.h"
#include "daemon/ctl/gpu_session.h"

// The view computes where `session` does, and marks it when it fails there. Errors carry the name
// of the file at fault and GStreamer's own words: -ENODATA: no video in the clip, or it ends before
// its own end; -EINVAL: it changes its size; -ENOTSUP: no H.264 encoder; -ETIMEDOUT; -EIO; -ENOMEM.
struct process_clip {
    struct gpu_session *session;
    const struct config_view *settings;
    enum config_flip flip;          // of its pictures, before the view
    const char *input, *input_name; // its path, and what errors call it
};

// Into a clip at `path`, which errors call `name`, at the times of the input.
int process_clip_to_clip(const struct process_clip *clip, const char *muxer, const char *path,
                         const char *name, struct error *error);
// The view of frame `number` (0: the first one), exact. -ERANGE: the clip has fewer. The caller
// owns the frame.
int process_clip_to_picture(const struct process_clip *clip, unsigned number, struct error *error,
                            struct frame **ret_picture);
