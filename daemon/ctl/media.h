// Clips that GStreamer reads, and writes as H.264 in MP4 or Matroska. It is started when it is
// needed. Errors carry the file name and GStreamer's own words.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"
#include "daemon/ctl/gpu_session.h"

struct media_clip_files {
    const char *input;
    const char *muxer;  // "mp4mux" or "matroskamux"
    const char *output; // where the result is written
    const char *name;   // what errors call the output
};

// Runs every frame of a clip through the view `settings` names and writes the result at the clip's
// timestamps. -ENODATA: no video in it, or it ends before its own end; -ENOTSUP: no H.264 encoder
// is installed; -EIO; -EINVAL. The view computes where `session` does, and marks it when it fails
// there.
int media_process_clip(struct gpu_session *session, const struct config_view *settings,
                       const struct media_clip_files *files, struct error *error);
