// The motion events of all cameras as server-sent events: the newest are kept, so that a reader who
// comes back misses none, with those that are under way. Main loop only.
//
// An id is "RUN-N": a number drawn when edged starts, and the count of events since then. A reader
// is nothing but a position in the feed and what it wants to hear of.
#pragma once

#include "daemon/front/events/motion.h"

#include <glib.h>
#include <stdbool.h>

#define EVENT_FEED_KEPT 256

struct event_feed;

struct event_reader {
    char *camera, *region; // the only ones it wants; NULL: all; owned
    uint64_t next;         // count of the event it is to hear next
};

// Never fails (GLib's allocator ends the process).
struct event_feed *event_feed_new(void);
// Takes NULL.
void event_feed_free(struct event_feed *feed);

void event_feed_add(struct event_feed *feed, const struct motion_event *event);

// Begins to read. `last_id` is what the reader heard last, NULL: nothing; of that run of edged and
// still there, it hears what came after. Otherwise it hears what is under way: appended to `text`
// as starts without an id. With a `last_id` of another run, or too old, what is kept follows.
// `camera` and `region` may be NULL. Ends with event_reader_finish().
void event_feed_open(const struct event_feed *feed, const char *last_id, const char *camera,
                     const char *region, struct event_reader *ret_reader, GString *text);
void event_reader_finish(struct event_reader *reader);
// Appends the next event the reader wants: 1, or 0 when there is none. -ENOBUFS: it is so far
// behind that events are no longer there.
int event_feed_read(const struct event_feed *feed, struct event_reader *reader, GString *text);
