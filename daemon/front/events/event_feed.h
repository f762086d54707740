// The motion events of all cameras as server-sent events. The newest are kept, and those under way,
// so that a reader that comes back misses none. Main loop only.
//
// A reader that follows /v1/events is bounded: it holds one event's text and a position in the
// feed, which all share. One that lags by more events than are kept is disconnected, and comes back
// with Last-Event-ID.
//
// An id is "RUN-N": a number drawn when edged starts, and the count of events since then. A reader
// is a position in the feed and the names that it wants to hear of.
#pragma once

#include "daemon/front/events/motion.h"
#include "daemon/front/http/http_server.h"

#include <glib.h>
#include <stdbool.h>

#define EVENT_FEED_KEPT 256

struct event_feed;

struct event_reader {
    struct event_feed *feed;     // borrowed
    enum config_role role;       // it hears what that may watch
    char *camera, *region;       // the only ones it wants; NULL: all; owned
    uint64_t next;               // count of the event it is to hear next
    uint64_t first;              // the first of these; 0: it goes on where another has ended
    void (*wake)(void *context); // see event_reader_watch(); NULL: nobody is told
    void *context;
};

// Never fails (GLib's allocator ends the process).
struct event_feed *event_feed_new(void);
// Takes NULL.
void event_feed_free(struct event_feed *feed);

// Adds an event, and sends it to the readers.
void event_feed_add(struct event_feed *feed, const struct motion_event *event);

// Begins to read. `last_id` is the id that the reader heard last; NULL: none. If that event is of
// this run of edged and still kept, the reader hears what came after it. If it is not, the reader
// hears all events that are kept. `camera` and `region` may be NULL. It hears only of cameras of
// which `role` may watch a view. Ends with event_reader_finish().
void event_feed_open(struct event_feed *feed, enum config_role role, const char *last_id,
                     const char *camera, const char *region, struct event_reader *ret_reader);
// The starts of what is under way and began before all that the reader hears, counted from `index`
// 0, to be told first; borrowed until the main loop goes on. NULL: there are no more.
const struct motion_event *event_reader_under_way(const struct event_reader *reader,
                                                  unsigned index);
// Appends what a stream of server-sent events begins with: an id, and these starts, without one.
void event_reader_begin(const struct event_reader *reader, GString *text);
void event_reader_finish(struct event_reader *reader);
// From now on `wake` is called when an event has come, until the end. The reader may not move.
void event_reader_watch(struct event_reader *reader, void (*wake)(void *context), void *context);
// The next event the reader wants, borrowed until the main loop goes on: 1, or 0 when there is
// none. -ENOBUFS: it is so far behind that events are no longer there.
int event_reader_next(struct event_reader *reader, const struct motion_event **ret_event);
// It goes on with the event to come.
void event_reader_skip(struct event_reader *reader);
// As event_reader_next(), and appends it to `text` as a server-sent event.
int event_reader_read(struct event_reader *reader, GString *text);

// Replies with the events as they come. Reads the request's Last-Event-ID and the query's `camera`
// and `region`. The reader hears what `role` may watch.
CONTROL_RESULT event_feed_follow(struct event_feed *feed, struct http_server *server,
                                 struct MHD_Connection *with, enum config_role role);

// The least role that may watch a view of a camera; CONFIG_ROLE_ADMIN where there is no such
// camera.
enum config_role event_feed_role(const struct config *config, const char *camera);
// Checks the names of a query; each is NULL where the query has none. Returns NULL when the
// configuration has them, among the cameras that `role` may watch, else a sentence that lists the
// names that there are for it, which the caller g_free()s.
char *event_feed_refuse(const struct config *config, enum config_role role, const char *camera,
                        const char *region);
