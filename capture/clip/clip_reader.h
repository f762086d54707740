// The pictures of a clip, decoded one after the other as they are asked for, each of them once and
// whatever its time: for edgectl, and for pictures in files, whose only one is the first.
// source_file.c plays the same clips at their own rate.
#pragma once

#include "capture/frame_pool.h"

#include <gst/video/video.h>

struct clip_reader;

struct clip_facts {
    struct frame_layout layout;
    GstVideoInfo info;   // rate, pixel aspect ratio
    int64_t duration_ns; // of the clip, as its container names it; -1: it does not
};

// Opens what GStreamer reads at `path`, which errors call `name` as long as the reader lives, and
// decodes its first picture.
// Frames are RGB3 with `rgb`, as pictures in files are, else in the clip's format and colours; they
// lie in memory of `allocator`, which has to outlive them. -ENODATA: there is no video in it; -EIO
// with GStreamer's words; -ETIMEDOUT; what the file system says; -ENOMEM. The caller frees
// *ret_reader.
int clip_reader_new(const char *path, const char *name, bool rgb,
                    const struct frame_allocator *allocator, struct error *error,
                    struct clip_reader **ret_reader);
// Takes NULL. Frames may outlive it.
void clip_reader_free(struct clip_reader *reader);

// As of the newest frame, at first of the first one: they may change in the midst of a clip.
const struct clip_facts *clip_reader_facts(const struct clip_reader *reader);

// Decodes the next frame. Its time in the clip, pts_ns, is at least 0 and later than that of the
// frame before; clips without time stamps get it from their rate. Returns 1 and a reference that
// the caller owns, or 0 when the clip is over. -ENOBUFS: the caller keeps more than
// CLIP_READER_FRAMES - 1 of them; -ENODATA: the clip ends before its own end; -ETIMEDOUT: nothing
// came for a minute; -EIO; -ENOMEM.
int clip_reader_next(struct clip_reader *reader, struct error *error, struct frame **ret_frame);

#define CLIP_READER_FRAMES 2
