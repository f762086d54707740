// Which decoders decodebin may take for pictures that the CPU is to read, and what they are told.
#pragma once

#include <gst/gst.h>

// decodebin takes the decoder of the highest rank, though some are of no use here: a Jetson's
// leaves its pictures in device memory, which no converter reads, and libav's for BMP and TIFF want
// the whole file in one buffer, which filesrc does not make. Such are passed over for others,
// GdkPixbuf's among them. And decoders tell full range from limited themselves, where an MP4's
// demuxer would tell them wrong, and libav's demuxers end where their file does.
void gstreamer_decoders_choose(GstElement *decodebin);
// Has the JPEG decoders of a pipeline, those that it makes later, too, take the exact transform:
// the fast one, which is jpegdec's default, is up to 19 gray levels off.
void gstreamer_decoders_be_exact(GstBin *pipeline);
