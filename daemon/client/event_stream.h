// Follows edged's events, which are server-sent events whose data is JSON, in GLib's default main
// context.
//
// The connection is read as bytes come. Without any for 45 s it counts as lost: edged sends some
// each second. The next event_stream_connect() sends the id of the last event, so
// none is missed.
#pragma once

#include "daemon/client/client.h"

#include <glib.h>

struct event_stream_handler {
    // An event, its JSON in one line, without control characters. -errno: the stream ends.
    int (*event)(void *context, const char *json);
    // The stream has ended and is closed, because the connection was lost (0), because of what
    // event() returned, or by -EPROTO: what comes is not edged's. It may be connected again.
    void (*lost)(void *context, int result, const char *how);
    void *context;
};

struct event_stream {
    const struct client *client; // borrowed
    const char *page;            // "/v1/events"; borrowed
    struct event_stream_handler handler;
    struct client_wire *wire;       // owned; NULL: not connected
    guint readable, first, silence; // GLib source ids; 0: none
    GString *text;                  // owned; bytes of a line that has not ended
    char *last_id;                  // owned; of the last event; NULL: none
};

// Nothing is connected yet. Ends with event_stream_finish().
void event_stream_init(struct event_stream *stream, const struct client *client, const char *page,
                       const struct event_stream_handler *handler);
// Errors are those of client_open_stream().
int event_stream_connect(struct event_stream *stream, struct error *error);
// Closes the connection, if there is one; nobody is told.
void event_stream_disconnect(struct event_stream *stream);
// Takes one that is zeroed.
void event_stream_finish(struct event_stream *stream);
