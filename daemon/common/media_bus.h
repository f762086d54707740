// Shared by the writers of pictures and clips: a pipeline that ends with its scope, and its errors
// as an errno.
#pragma once

#include "config/base.h"

#include <gst/gst.h>

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
