// GET /v1/events: connections of an HTTP server that follow the motion events. Main loop only.
//
// A reader is bounded: it holds one event's text and a position in the feed, which all share. While
// there is nothing to tell its connection is suspended, and only its end is waited for. One that
// does not read is closed by libmicrohttpd's timeout; one that lags by more events than are kept is
// closed too, and comes back with Last-Event-ID.
#pragma once

#include "daemon/front/control/control_reply.h"
#include "daemon/front/events/event_feed.h"

#define EVENT_STREAM_READERS 16

struct event_stream;

// Streams the events in `feed`, which is borrowed. `wake` is called when MHD_run() has something to
// do that no socket announces, because libmicrohttpd announces it only to a loop of its own. Never
// fails (GLib's allocator ends the process).
struct event_stream *event_stream_new(const struct event_feed *feed, void (*wake)(void *context),
                                      void *context);
// After the server has been stopped, so that no reader is left. Takes NULL.
void event_stream_free(struct event_stream *stream);

// Tells all readers what has come into the feed.
void event_stream_tell(const struct event_stream *stream);
// Makes `connection` a reader, or replies 503 when there are EVENT_STREAM_READERS. Reads the
// request's Last-Event-ID and the query's `camera` and `region`. It hears what `role` may watch.
CONTROL_RESULT event_stream_answer(struct event_stream *stream, struct MHD_Connection *connection,
                                   enum config_role role);
// Lets every reader end, so that MHD_run() closes it: MHD_stop_daemon() takes no suspended ones.
void event_stream_close(struct event_stream *stream);
