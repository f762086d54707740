// An RTSP path over a stream: a media factory whose one shared media is only
// `appsrc ! h264parse ! rtph264pay`, fed by the stream.
#pragma once

#include "config/base.h"
#include "daemon/front/stream.h"

#include <gst/rtsp-server/rtsp-server.h>

// The factory holds a reference to `stream`. Whatever path or query a viewer used, all of them
// share one media. The caller owns the result (g_object_unref).
GstRTSPMediaFactory *mount_new(struct stream *stream);

// The stream of a factory made by mount_new(); borrowed.
struct stream *mount_stream(GstRTSPMediaFactory *factory);

// Makes the media that viewers of `factory` share, or finds it. Unlocked, unlike what
// gst_rtsp_media_factory_construct() returns from 1.24 on. The caller owns the result
// (g_object_unref).
GstRTSPMedia *mount_construct(GstRTSPMediaFactory *factory, const GstRTSPUrl *url);

// Constructs it and keeps it prepared until mount_release_media(), so that the library finds one
// that can be used when it looks for itself: its own look-up may come across a media whose last
// viewer is just leaving, and then fails. Blocks until the media has a frame. NULL: none could be
// prepared.
GstRTSPMedia *mount_hold_media(GstRTSPMediaFactory *factory, GstRTSPThreadPool *threads,
                               GstRTSPContext *context);
// Takes over `media` (a GstRTSPMedia); a destroy function.
void mount_release_media(gpointer media);

// The elements that a mount is made of exist. -ENOENT with the missing one in `error`.
int mount_check_elements(struct error *error);
