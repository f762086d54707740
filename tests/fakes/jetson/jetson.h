// A GStreamer plugin with the elements of a Jetson, over the surfaces of tests/fakes/nvmm: what
// flows as "memory:NVMM" is the address of a surface, of which elements read the device's bytes.
//
//   nvarguscamerasrc  a test pattern in six surfaces, over and over. There is one sensor, number 0;
//                     it does not start with an exposuretimerange that is not "lowest highest"
//   nvvidconv         from surfaces into others or into system memory, turned or not, or from
//                     there; by the CPU, from and to rows where the caps have them. It has as many
//                     surfaces as output-buffers says, and waits while none is free. With
//                     bl-output, which is so unless told, surfaces are block-linear
//   nvv4l2h264enc,    x264enc and x265enc behind the input of NVIDIA's elements and a queue of 4
//   nvv4l2h265enc     frames; the first frame takes 100 ms. output-io-mode is auto (each surface is
//                     transformed into another) or dmabuf-import (it is read as it is, by its
//                     descriptor, and kept until some more have come). Key frames are forced by the
//                     signal force-IDR alone, and an order is spent on the oldest frame that waits;
//                     bitrate, iframeinterval and output-io-mode have an effect, other properties
//                     are but told
//   nvjpegdec         JPEG into surfaces or into system memory
//   nvv4l2decoder     H.264 into surfaces alone. Like NVIDIA's, these two are of a higher rank than
//                     any other decoder: decodebin takes them unless it is told not to
//
// $FAKE_JETSON has options between commas:
//
//   nothing           no elements, as where the plugin has learned nothing of the GPU
//   cuvid             encoders as Thor has them: without output-io-mode, and with a property in the
//                     place of the signal
//   thor              the same where $AARCH64_DGPU is set, else ones that fail with every surface
//   no-idr            encoders that make no key frame when they are told to
//   no-import         an encoder whose output-io-mode knows no dmabuf-import
//   refuse-import     one that fails with it
//   refuse            one that fails with every surface
//   mover             a camera that sees something move in the corner below on the right
//   blocks            a camera whose surfaces are block-linear
//   report=FILE       appended for each encoder: of every 25 pictures and as it ends a line
//                     imported=N transformed=N, then its type with the other properties that were
//                     set
//
// What breaks a rule is told on stderr in lines that begin with "fake_jetson: ".
#pragma once

#include "capture/nvmm/nvbufsurface.h"
#include "tests/fakes/nvmm/fake_nvmm.h"

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#define JETSON_FEATURE "memory:NVMM"

// Whether $FAKE_JETSON has this word.
gboolean jetson_has_option(const char *word);
// Whether encoders are those of the option "cuvid".
gboolean jetson_has_cuvid(void);
// The file of report=, to be freed; NULL: none.
char *jetson_report(void);

GstPad *jetson_add_pad(GstElement *bin, GstElement *inside, const char *name);

// The surface in a buffer, if it holds one NV12 picture of this size. NULL, as is then told: it
// does not.
struct nvbuf_surface *jetson_surface_of(GstBuffer *buffer, uint32_t width, uint32_t height);
// Copies the picture between a surface's device bytes and a mapped frame of system memory.
gboolean jetson_read(const struct nvbuf_surface *surface, GstVideoFrame *to);
gboolean jetson_write(const struct nvbuf_surface *surface, GstVideoFrame *from);
// From one surface to another, turned as nvvidconv's flip-method says.
gboolean jetson_turn(const struct nvbuf_surface *from, const struct nvbuf_surface *to, int method);
// A new surface, which lives as long as the memory. NULL: there is none.
GstMemory *jetson_memory_new(uint32_t width, uint32_t height, gboolean blocks);
// By the CPU, as NvBufSurfaceCopy() does.
gboolean jetson_write_by_cpu(struct nvbuf_surface *surface, GstVideoFrame *from);

// A transform's caps on the other side, in system memory or as surfaces, whatever `with` has.
enum { JETSON_SYSTEM = 1, JETSON_SURFACES = 2 };
GstCaps *jetson_other_caps(const GstCaps *caps, GstCaps *filter, unsigned with);
gboolean jetson_are_surfaces(const GstCaps *caps);
gboolean jetson_unit_size(GstBaseTransform *transform, GstCaps *caps, gsize *size);
// Gives a class of transforms pads with either.
void jetson_add_templates(gpointer type_class, unsigned sink, unsigned src);

enum jetson_decoder { JETSON_JPEG, JETSON_H264 };

GType jetson_argus_type(void);
GType jetson_decoder_type(enum jetson_decoder decoder);
GType jetson_vidconv_type(void);
GType jetson_encoder_type(gboolean h265);
