#include "daemon/front/rtsp_connection.h"

#include <gio/gio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#define SOCKET_KEY "edged-socket"
// A viewer over TCP that takes nothing for so long is hung up on.
#define STALLED_MS 5000

void rtsp_connection_adopt(GstRTSPClient *client)
{
    GstRTSPConnection *connection = gst_rtsp_client_get_connection(client);
    GSocket *socket = gst_rtsp_connection_get_write_socket(connection);

    if (!socket) {
        return; // it is closed already
    }
    // A reader that stalls would keep a backlog of its own in memory for as long as it stays;
    // without the option, until its session times out.
    g_socket_set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, STALLED_MS, NULL);
    // Without it the kernel holds a frame's last packet back until the viewer has acknowledged
    // those before, which it may put off for 40 ms.
    g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1, NULL);
    g_object_set_data_full(G_OBJECT(client), SOCKET_KEY, g_object_ref(socket), g_object_unref);
}

bool rtsp_connection_hang_up(GstRTSPClient *client)
{
    GSocket *socket = g_object_steal_data(G_OBJECT(client), SOCKET_KEY);

    if (!socket) {
        return false;
    }
    g_socket_shutdown(socket, TRUE, TRUE, NULL);
    g_object_unref(socket);
    return true;
}
