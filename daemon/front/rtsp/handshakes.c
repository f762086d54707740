#include "daemon/front/rtsp/handshakes.h"

static gboolean on_turn(gpointer data)
{
    struct handshakes *handshakes = data;
    struct handshake *handshake = g_queue_peek_head(&handshakes->waiting);

    handshakes_remove(handshakes, handshake);
    handshake->turn(handshake->context);
    return G_SOURCE_CONTINUE; // unless the last one has been removed
}

void handshakes_add(struct handshakes *handshakes, struct handshake *handshake)
{
    if (handshake->waits) {
        return;
    }
    handshake->waits = true;
    g_queue_push_tail(&handshakes->waiting, handshake);
    if (!handshakes->source) {
        // Of the sockets' own priority, so that both are served in every turn of the main loop.
        handshakes->source = g_idle_add_full(G_PRIORITY_DEFAULT, on_turn, handshakes, NULL);
    }
}

void handshakes_remove(struct handshakes *handshakes, struct handshake *handshake)
{
    if (!handshake->waits) {
        return;
    }
    handshake->waits = false;
    g_queue_remove(&handshakes->waiting, handshake);
    if (g_queue_is_empty(&handshakes->waiting)) {
        g_clear_handle_id(&handshakes->source, g_source_remove);
    }
}
