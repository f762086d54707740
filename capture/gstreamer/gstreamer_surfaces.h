// Frames over the surfaces that a pipeline delivers, as a Jetson's camera stack does: the pixels
// stay where the camera put them, and a frame holds the GstBuffer until its last reference goes.
//
// A pipeline has a few surfaces and delivers them again and again. Each is adopted once, which is
// slow, and known by its descriptor from then on, until its memory ends.
#pragma once

#include "capture/frame_pool.h"

#include <gst/gst.h>

struct gstreamer_surfaces;

// `allocator` adopts, and outlives every frame. NULL: out of memory.
struct gstreamer_surfaces *gstreamer_surfaces_new(const struct frame_allocator *allocator);
// Lets go of all surfaces that no frame is on, the others as their frames go: to be called while
// the pipeline still has them. Takes NULL.
void gstreamer_surfaces_end(struct gstreamer_surfaces *surfaces);

// One thread. The frame that lies in `buffer`, of which it takes a reference. `layout` has its
// format, size and colours; that of the frame has the surface's strides. -EPROTO: the buffer holds
// no pitch-linear surface; -ENOBUFS: a frame is on it already, or there are too many; what adopt()
// says.
int gstreamer_surfaces_take(struct gstreamer_surfaces *surfaces, GstBuffer *buffer,
                            const struct frame_layout *layout, struct error *error,
                            struct frame **ret_frame);
