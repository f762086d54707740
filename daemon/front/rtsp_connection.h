// One connection to the RTSP server, of a GstRTSPClient that runs on a thread of its own.
#pragma once

#include <gst/rtsp-server/rtsp-client.h>
#include <stdbool.h>

// Keeps what rtsp_connection_hang_up() needs, and has the kernel send each packet at once and end
// the connection when its reader stalls. For a client that is connected.
void rtsp_connection_adopt(GstRTSPClient *client);
// Has the client close the connection, and end its sessions, on its own thread soon after: closed
// from another thread, it would lose what that thread and its media's are using at the moment. From
// any thread. False when that was done before.
bool rtsp_connection_hang_up(GstRTSPClient *client);
