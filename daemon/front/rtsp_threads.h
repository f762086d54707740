// The RTSP library's threads: one a client and one a media, each with a main loop, each with a
// deadline. One whose loop has not come around for so long waits in the library for what never
// comes.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

// Longer than the 20 s for which the library itself waits for a media's first picture.
#define RTSP_THREADS_HUNG_S 30

// The caller owns the result (g_object_unref). A thread that has hung for `hung_s` ends the
// process.
GstRTSPThreadPool *rtsp_threads_new(int hung_s);
