// Pictures and clips that GStreamer reads and writes: PNG, JPEG, and H.264 in MP4 or Matroska.
//
// They start GStreamer when they need it. Errors carry the file name and GStreamer's own words.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"
#include "daemon/ctl/gpu_session.h"

// Decodes a picture to RGB3 in memory of `allocator`, exactly for PNG. -ENODATA: no picture in it,
// or it ends early.
int media_read_picture(const char *path, const struct frame_allocator *allocator,
                       struct error *error, struct frame **ret_frame);
// Writes a GREY or RGB3 frame with `encoder`, "pngenc" or "jpegenc".
int media_write_picture(const struct frame *frame, const char *encoder, const char *path,
                        struct error *error);

// Runs every frame of a clip through the view `settings` names and writes the result with `muxer`,
// "mp4mux" or "matroskamux", at the clip's timestamps. -ENODATA: no video in it, or it ends before
// its own end; -ENOTSUP: no H.264 encoder is installed; -EIO; -EINVAL. The view computes where
// `session` does, and marks it when it fails there.
int media_process_clip(struct gpu_session *session, const struct config_view *settings,
                       const char *input, const char *muxer, const char *output,
                       struct error *error);
