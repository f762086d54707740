// Reads pictures, PNG and JPEG as picture_file.h does and others by GStreamer, and writes PNG and
// JPEG by GStreamer, which is started when it is first needed. Errors carry the file name and the
// library's own words.
#pragma once

#include "capture/frame_pool.h"

#include <gst/gst.h>

// Decodes a picture to RGB3 in memory of `allocator`. -ENODATA: no picture in it,
// or it ends early; else as clip_reader_new(). Errors call the file `name`.
int media_read_picture(const char *path, const char *name, const struct frame_allocator *allocator,
                       struct error *error, struct frame **ret_frame);
// Writes a GREY or RGB3 frame with `encoder`, "pngenc" or "jpegenc". Errors call the file `name`.
int media_write_picture(const struct frame *frame, const char *encoder, const char *path,
                        const char *name, struct error *error);

// For writers of other files: a pipeline that ends with its scope, and its errors as an errno.

// Starts GStreamer and parses a launch line. -ENOTSUP with GStreamer's words when an element is
// missing. The caller ends the pipeline with cleanup_pipeline().
int media_pipeline_new(const char *launch, struct error *error, GstElement **ret_pipeline);
// Stops and frees; NULL is fine.
void cleanup_pipeline(GstElement **pipeline);
// Sets the `location` of the element called `name`.
void media_set_location(GstElement *pipeline, const char *name, const char *path);
// Writes the text of an error message to `error`, behind `name`, the file at fault. Returns -EIO.
int media_failure(GstMessage *message, const char *name, struct error *error);
// Waits for the end of the stream: 0, or the first error as media_failure() says it.
int media_wait(GstElement *pipeline, const char *name, struct error *error);
