// Reads pictures, PNG and JPEG as picture_file.h does and others by GStreamer, and writes PNG and
// JPEG by GStreamer, which is started when it is first needed. Errors carry the file name and the
// library's own words.
#pragma once

#include "capture/frame_pool.h"

// Decodes a picture to RGB3 in memory of `allocator`. -ENODATA: no picture in it,
// or it ends early; else as clip_reader_new(). Errors call the file `name`.
int media_read_picture(const char *path, const char *name, const struct frame_allocator *allocator,
                       struct error *error, struct frame **ret_frame);
// Writes a GREY or RGB3 frame with `encoder`, "pngenc" or "jpegenc". Errors call the file `name`.
int media_write_picture(const struct frame *frame, const char *encoder, const char *path,
                        const char *name, struct error *error);
