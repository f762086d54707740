// Lends the frames of a pool to GStreamer, so that upstream elements write straight into them.
//
// Every GstBuffer that goes upstream wraps one frame and holds a reference to it; nothing is kept
// when the buffer is done with. So a frame goes home when both GStreamer and edged have let go of
// it, whoever is last, and is never lent twice at a time. When all frames are out, upstream gets
// plain memory instead: it neither waits nor fails, and the copy is counted when it arrives.
#pragma once

#include "capture/frame_pool.h"

#include <gst/gst.h>

#define GSTREAMER_POOL_FRAMES 8

// How many frames of `frame_bytes` a pool has whose frames may wait in up to `bytes`: from
// GSTREAMER_POOL_FRAMES to 64.
unsigned gstreamer_pool_count(size_t frame_bytes, size_t bytes);

// Answers an ALLOCATION query with a pool over `*frames` and asks for the places of planes. Where
// *frames is NULL or holds frames of another layout than the caps of the query, it is replaced with
// a new pool of `allocator`, of gstreamer_pool_count() frames for `bytes`; the caller owns that
// reference. False: edged does not know the format, or there is no memory.
bool gstreamer_pool_offer(GstQuery *query, const struct frame_allocator *allocator, size_t bytes,
                          struct frame_pool **frames);

// The frame that `buffer` wraps, with a new reference, read-only from now on for GStreamer, too.
// NULL: the picture lies elsewhere or otherwise than `layout` says, or was handed out before, so
// that it has to be copied.
struct frame *gstreamer_pool_claim(GstBuffer *buffer, const struct frame_layout *layout);
