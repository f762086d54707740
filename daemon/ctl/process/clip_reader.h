// The pictures of a clip, decoded one after the other as they are asked for. Clips are read here
// for every command of edgectl; the daemon plays them at their own rate, see
// capture/clip/source_file.c.
#pragma once

#include "capture/frame_pool.h"

#include <gst/video/video.h>

struct clip_reader;

// Opens what GStreamer reads at `path`, which errors call `name`, and decodes its first picture.
// Frames are RGB3 with `rgb`, else planar YUV, GREY or the RGB that the clip is, in memory of
// `allocator`, which has to outlive them. -ENODATA: there is no video in it; -EIO with GStreamer's
// words; -ENOTSUP; -ENOMEM. The caller frees *ret_reader.
int clip_reader_new(const char *path, const char *name, bool rgb,
                    const struct frame_allocator *allocator, struct error *error,
                    struct clip_reader **ret_reader);
// Takes NULL. Frames may outlive it.
void clip_reader_free(struct clip_reader *reader);

// The layout of the newest frame, at first of the first one: it may change in the midst of a clip.
const struct frame_layout *clip_reader_layout(const struct clip_reader *reader);
// What else GStreamer knows of the clip: rate, pixel aspect ratio.
const GstVideoInfo *clip_reader_info(const struct clip_reader *reader);
// The duration that the container names, in ns; -1: none.
int64_t clip_reader_duration_ns(const struct clip_reader *reader);

// Decodes the next frame. Its time in the clip, pts_ns, is at least 0 and later than that of the
// frame before; clips without time stamps get it from their rate. Returns 1 and a reference that
// the caller owns, or 0 when the clip is over. -ENOBUFS: the caller keeps more than
// CLIP_READER_FRAMES - 1 of them; -ENODATA: the clip ends before its own end; -ETIMEDOUT: nothing
// came for a minute; -EIO; -ENOMEM.
int clip_reader_next(struct clip_reader *reader, struct error *error, struct frame **ret_frame);

#define CLIP_READER_FRAMES 2
