// A clip as H.264 in MP4 or Matroska, written frame by frame.
#pragma once

#include "capture/frame_pool.h"

#include <gst/video/video.h>

struct clip_writer;

struct clip_writer_settings {
    const struct frame_layout *layout; // NV12; an odd last column or row is left out
    const GstVideoInfo *like;          // the rate and pixel aspect ratio
    int bitrate_kbps;
    const char *muxer; // "mp4mux" or "matroskamux"
    const char *path;  // where it is written
    const char *name;  // what errors call it; outlives the writer
};

// -EINVAL: a picture of one column or row, which H.264 has not; -ENOTSUP: no H.264 encoder is
// installed. The caller frees *ret_writer.
int clip_writer_new(const struct clip_writer_settings *settings, struct error *error,
                    struct clip_writer **ret_writer);
// Takes NULL. A clip that is not finished stays unfinished.
void clip_writer_free(struct clip_writer *writer);

// Copies a frame in, to be shown at its pts_ns; waits while too many wait for the encoder. -EIO
// with GStreamer's words.
int clip_writer_push(struct clip_writer *writer, const struct frame *frame, struct error *error);
// Waits until all is written.
int clip_writer_finish(struct clip_writer *writer, struct error *error);
