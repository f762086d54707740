// Between GStreamer's caps and edged's layouts.
#pragma once

#include "capture/source.h"

#include <gst/video/video.h>

// The end of a pipeline that makes pixels square, by scaling the width: what follows counts pixels,
// and not every player heeds another aspect. Square ones pass through.
#define GSTREAMER_SQUARE_PIXELS                                                                    \
    "videoscale ! capsfilter name=shape caps=video/x-raw,pixel-aspect-ratio=(fraction)1/1"

// The caps that an intake accepts, the most wanted first: `format` (NULL: any we know, NV12 rather
// than others) in the wished size and rate, then in any. `width` 0: no wish. The caller owns the
// result.
GstCaps *gstreamer_caps_new(const struct pixel_format *format, int width, int height, int fps);

// Fills layout and rate (0/1 when the caps tell none) of `mode` from fixed raw video caps. Strides
// and offsets are GStreamer's default ones, so that elements that know no GstVideoMeta can write
// into such a picture, too. -ENOTSUP: not raw video in a format we know.
int gstreamer_caps_read(const GstCaps *caps, struct source_mode *mode);

// Range and colour of a layout as the "colorimetry" of caps. Colours without a name in GStreamer
// are unknown in it. The caller frees the text.
gchar *gstreamer_caps_colorimetry(const struct frame_layout *layout);
