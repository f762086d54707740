// The events of all cameras as server-sent events. The newest are kept, and those under way, so
// that a reader that comes back misses none: the start of motion whose end has not come, and the
// newest state of each camera. Main loop only.
//
// A reader that follows /v1/events is bounded: it holds one event's text and a position in the
// feed, which all share. One that lags by more events than are kept is disconnected, and comes back
// with Last-Event-ID.
//
// An id is "RUN-N": a number drawn when edged starts, and the count of events since then. A reader
// is a position in the feed and the names that it wants to hear of.
#pragma once

#include "daemon/front/events/event.h"

#include <glib.h>
#include <stdbool.h>

#define EVENT_FEED_KEPT 1000

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

// Adds an event, which it takes over, and sends it to the readers.
void event_feed_add(struct event_feed *feed, struct event event);
// Adds an event_of_camera(), unless the camera's last one has said the same. Sentences that differ
// only in digits, such as a time that passes, are the same.
void event_feed_note_camera(struct event_feed *feed, const char *camera, enum config_role role,
                            const char *state, const char *error);
// The least role that hears of such an event by `config`.
typedef enum config_role event_role(const struct config *config, const struct event *event);
// The configuration is another one: forgets the states of cameras that it does not have, and hides
// what was added before from those from whom its camera or view is hidden now.
void event_feed_keep_cameras(struct event_feed *feed, const struct config *config,
                             event_role *role_of);

// Begins to read. `last_id` is the id that the reader heard last; NULL: none. If that event is of
// this run of edged and still kept, the reader hears what came after it. If it is not, the reader
// hears all events that are kept. `camera` and `region` may be NULL; with a region it hears of
// motion alone. It hears only what `role` may. Ends with event_reader_finish().
void event_feed_open(struct event_feed *feed, enum config_role role, const char *last_id,
                     const char *camera, const char *region, struct event_reader *ret_reader);
// The events under way that began before all that the reader hears, counted from `index` 0, to be
// told first; borrowed until the main loop goes on. NULL: there are no more.
const struct event *event_reader_under_way(const struct event_reader *reader, unsigned index);
// Appends what a stream of server-sent events begins with: an id, and what is under way, without
// one.
void event_reader_begin(const struct event_reader *reader, GString *text);
void event_reader_finish(struct event_reader *reader);
// From now on `wake` is called when an event has come, until the end. The reader may not move.
void event_reader_watch(struct event_reader *reader, void (*wake)(void *context), void *context);
// The next event the reader wants, borrowed until the main loop goes on: 1, or 0 when there is
// none. -ENOBUFS: it is so far behind that events are no longer there.
int event_reader_next(struct event_reader *reader, const struct event **ret_event);
// It goes on with the event to come.
void event_reader_skip(struct event_reader *reader);
// As event_reader_next(), and appends it to `text` as a server-sent event.
int event_reader_read(struct event_reader *reader, GString *text);
