// JPEGs of views over HTTP, a single one or a stream of them, for programs that know a camera by
// these two URLs. Both take ?camera=, ?view= and ?scale=; without them they show the first view
// that the client may watch, at full size.
//
// A view that nobody watches is computed for them. While the camera delivers no picture the reply
// is 503, because NO SIGNAL is not a picture of the camera.
#pragma once

#include "daemon/front/http/http_call.h"

// /snapshot.jpg: a JPEG of now, within a second.
CONTROL_RESULT pictures_reply_snapshot(struct http_call *call);
// /stream.mjpg: multipart/x-mixed-replace, at most ?fps= JPEGs a second. A client that reads slowly
// gets fewer, and always the newest. The reply ends when no picture has come for 10 s, and when the
// view is gone or may not be watched any more.
CONTROL_RESULT pictures_reply_stream(struct http_call *call);
