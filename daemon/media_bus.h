// What pictures and clips share: a pipeline as a scoped object, and its end as an errno.
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
// gstreamer_decoders_choose() for the decodebin called `name`.
void media_choose_decoders(GstElement *pipeline, const char *name);
// Waits for the end of the stream: 0, or -EIO with the text of the first error. In front of it is
// the name of the file at fault: `output` for an error of the element called "output", otherwise
// `input`.
int media_wait(GstElement *pipeline, const char *input, const char *output, struct error *error);
