// A GStreamer plugin with the elements of a Jetson, over the surfaces of tests/fakes/nvmm: what
// flows as "memory:NVMM" is the address of a surface, of which elements read the device's bytes.
//
//   nvvidconv         from system memory into surfaces: the CPU copies
//   nvv4l2h264enc,    x264enc and x265enc behind the input of NVIDIA's elements. output-io-mode is
//   nvv4l2h265enc     auto (each surface is transformed into another) or dmabuf-import (it is read
//                     as it is, by its descriptor, and kept until some more have come)
//
// $FAKE_JETSON has options between commas:
//
//   no-import         an encoder whose output-io-mode knows no dmabuf-import
//   refuse-import     one that fails with it
//   refuse            one that fails with every surface
//   report=FILE       for each encoder a line, appended as it ends: imported=N transformed=N
//
// What breaks a rule is told on stderr in lines that begin with "fake_jetson: ".
#pragma once

#include "capture/nvmm/nvbufsurface.h"

#include <gst/gst.h>
#include <gst/video/video.h>

#define JETSON_FEATURE "memory:NVMM"

// Whether $FAKE_JETSON has this word.
gboolean jetson_has_option(const char *word);
// The file of report=, to be freed; NULL: none.
char *jetson_report(void);

GstPad *jetson_add_pad(GstElement *bin, GstElement *inside, const char *name);

// The surface in a buffer, if it holds one pitch-linear NV12 picture of this size. NULL, as is then
// told: it does not.
struct nvbuf_surface *jetson_surface_of(GstBuffer *buffer, uint32_t width, uint32_t height);
// Copies the picture between a surface's device bytes and a mapped frame of system memory.
gboolean jetson_read(const struct nvbuf_surface *surface, GstVideoFrame *to);
// A buffer with a new surface, which lives as long as the buffer. NULL: there is none.
GstBuffer *jetson_buffer_new(uint32_t width, uint32_t height);
// By the CPU, as NvBufSurfaceCopy() does.
gboolean jetson_write_by_cpu(struct nvbuf_surface *surface, GstVideoFrame *from);

GType jetson_vidconv_type(void);
GType jetson_encoder_type(gboolean h265);
