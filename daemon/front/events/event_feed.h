// The motion events of all cameras as server-sent events. The newest are kept, and those under way,
// so that a reader that comes back misses none. Main loop only.
//
// An id is "RUN-N": a number drawn when edged starts, and the count of events since then. A reader
// is a position in the feed and the names that it wants to hear of.
#pragma once

#include "daemon/front/events/motion.h"

#include <glib.h>
#include <stdbool.h>

#define EVENT_FEED_KEPT 256

struct event_feed;

struct event_reader {
    enum config_role role; // it hears what that may watch
    char *camera, *region; // the only ones it wants; NULL: all; owned
    uint64_t next;         // count of the event it is to hear next
};

// Never fails (GLib's allocator ends the process).
struct event_feed *event_feed_new(void);
// Takes NULL.
void event_feed_free(struct event_feed *feed);

void event_feed_add(struct event_feed *feed, const struct motion_event *event);

// Begins to read. `last_id` is the id that the reader heard last; NULL: none. If that event is of
// this run of edged and still kept, the reader hears what came after it. Otherwise it first hears
// what is under way, which is appended to `text` as starts without an id; and if `last_id` was of
// another run or too old, all events that are kept. `camera` and `region` may be NULL. It hears
// only of cameras of which `role` may watch a view. Ends with event_reader_finish().
void event_feed_open(const struct event_feed *feed, enum config_role role, const char *last_id,
                     const char *camera, const char *region, struct event_reader *ret_reader,
                     GString *text);
void event_reader_finish(struct event_reader *reader);
// Appends the next event the reader wants: 1, or 0 when there is none. -ENOBUFS: it is so far
// behind that events are no longer there.
int event_feed_read(const struct event_feed *feed, struct event_reader *reader, GString *text);
