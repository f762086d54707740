#include "daemon/front/rtsp/handshakes.h"

static gboolean on_turn(gpointer data)
{
    struct handshakes *handshakes = data;
    struct handshake_line *line = g_queue_pop_head(&handshakes->lines);
    struct handshake *handshake = g_queue_peek_head(&line->waiting);
    GSource *source = g_source_ref(handshakes->source);
    gint64 begin_us = g_get_monotonic_time();

    g_queue_push_tail(&handshakes->lines, line); // which loses it again with its last handshake
    handshakes_remove(handshakes, handshake);
    handshake->turn(handshake->context);
    if (!g_source_is_destroyed(source)) {
        gint64 now_us = g_get_monotonic_time();

        g_source_set_ready_time(source, now_us + (now_us - begin_us));
    }
    g_source_unref(source);
    return G_SOURCE_CONTINUE; // unless the last one has been removed
}

static gboolean dispatch(GSource *source, GSourceFunc call, gpointer data)
{
    (void)source;
    return call(data);
}

static GSourceFuncs source_functions = {.dispatch = dispatch};

void handshakes_add(struct handshakes *handshakes, struct handshake *handshake)
{
    struct handshake_line *line = handshake->line;

    if (handshake->waits) {
        return;
    }
    handshake->waits = true;
    if (g_queue_is_empty(&line->waiting)) {
        g_queue_push_tail(&handshakes->lines, line);
    }
    g_queue_push_tail(&line->waiting, handshake);
    if (!handshakes->source) {
        // Of the sockets' own priority, so that both are served in every iteration of the main
        // loop.
        handshakes->source = g_source_new(&source_functions, sizeof(GSource));
        g_source_set_callback(handshakes->source, on_turn, handshakes, NULL);
        g_source_set_ready_time(handshakes->source, 0);
        g_source_attach(handshakes->source, NULL);
    }
}

void handshakes_remove(struct handshakes *handshakes, struct handshake *handshake)
{
    struct handshake_line *line = handshake->line;

    if (!handshake->waits) {
        return;
    }
    handshake->waits = false;
    g_queue_remove(&line->waiting, handshake);
    if (g_queue_is_empty(&line->waiting)) {
        g_queue_remove(&handshakes->lines, line);
    }
    if (g_queue_is_empty(&handshakes->lines)) {
        g_source_destroy(handshakes->source);
        g_clear_pointer(&handshakes->source, g_source_unref);
    }
}
