// A GstRTSPServer that shows each client it makes before that is connected. The signal
// "client-connected" is too late to listen to a client: its thread runs by then, and may have
// answered its first requests.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

// Called on the thread that accepts connections.
typedef void rtsp_acceptor_handler(void *context, GstRTSPClient *client);

// Returns a new reference. `handler` is called for as long as the server is there.
GstRTSPServer *rtsp_acceptor_new(rtsp_acceptor_handler *handler, void *context);
// How many clients are there still, those included that have hung up and whose thread is not done
// with them: one may be waiting for the first picture of a media. From any thread.
unsigned rtsp_acceptor_clients(GstRTSPServer *server);
