// JPEGs of views over HTTP: one, or one after the other, as programs expect them that know cameras
// by two URLs. Both take ?camera=, ?view= and ?scale=; by default it is the first view that who
// asks may watch, at its full size.
//
// A view that nobody watches is computed for them. While there is no picture, because the camera
// brings none, the reply is 503: the slate is not a picture of the camera.
#pragma once

#include "daemon/front/http/http_call.h"

// /snapshot.jpg: a JPEG of now, within a second.
CONTROL_RESULT pictures_reply_snapshot(struct http_call *call);
// /stream.mjpg: multipart/x-mixed-replace, at most ?fps= JPEGs a second. A client that reads slowly
// gets fewer, and always the newest. The reply ends when no picture has come for 10 s, and when the
// view is gone or may not be watched any more.
CONTROL_RESULT pictures_reply_stream(struct http_call *call);
