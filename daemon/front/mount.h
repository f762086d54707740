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

// The elements that a mount is made of exist. -ENOENT with the missing one in `error`.
int mount_check_elements(struct error *error);
