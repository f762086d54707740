// Which decoders decodebin may take for pictures that the CPU is to read, and what they are told.
#pragma once

#include <gst/gst.h>

// Has decodebin pass over decoders that serve badly here, whatever their rank: a Jetson's, which
// leave pictures in device memory that no converter reads; libav's for BMP and TIFF, which want the
// whole file in one buffer; libde265dec, whose pictures are wrong; and openh264dec, unless it is
// the only one or the stream is of a baseline profile. Others take their place, GdkPixbuf's among
// them. If there is none, the pipeline fails with a message that names the package to install.
// Decoders tell full range from limited themselves, because an MP4's demuxer tells it wrong, and
// libav's demuxers end where their file does.
void gstreamer_decoders_choose(GstElement *decodebin);
// Has the JPEG decoders of a pipeline, those that it makes later, too, take the exact transform:
// the fast one, which is jpegdec's default, is up to 19 gray levels off.
void gstreamer_decoders_be_exact(GstBin *pipeline);
