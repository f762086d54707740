// Frees who waits for room in a pipeline's queues.
#pragma once

#include <gst/gst.h>

// The queues behind the demuxers of `pipeline`, a bin, take no more until the pipeline has been
// stopped: whoever waits for room in one goes on. Some demuxers fill them with what nobody takes.
void gstreamer_flush_queues(GstElement *pipeline);
