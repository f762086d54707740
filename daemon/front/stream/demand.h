// A stream's requests to the camera process: to encode the view while somebody reads it, and for
// key frames. Main loop only.
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct stream;

// Called when a reader came or went, and when a key frame is wanted now.
typedef void stream_demand_handler(void *context, struct stream *stream, bool key_frame);

// Embedded in its stream.
struct demand {
    struct stream *stream;
    stream_demand_handler *handler; // NULL: none
    void *context;
    guint call;       // GLib source id: calls the handler; 0: none
    bool key_frame;   // of that call
    int64_t asked_ns; // when a key frame was asked for last
    int64_t came_ns;  // when one was asked for or came last
    guint timer;      // GLib source id: asks for one more, once it may be; 0: none
    int64_t timer_ns; // when that will be
};

// NULL: nobody is told of anything any more.
void demand_set_handler(struct demand *demand, stream_demand_handler *handler, void *context);
// Drops what the handler was still to be told.
void demand_finish(struct demand *demand);

// A reader came or went. The handler is called later, from the main loop, because it may replace or
// stop the caller of this function.
void demand_report(struct demand *demand);
// Why a key frame is wanted, which says how soon it may be asked for.
enum demand_reason {
    DEMAND_BEGIN,  // a viewer is new: 250 ms after the one asked for last
    DEMAND_REPAIR, // a viewer lost a picture, or says so: 1 s after the one that came last. Clients
                   // can say so without end, and key frames are several times as big as others.
};

// A key frame is wanted. The handler is called in the same way, when that may be.
void demand_key_frame(struct demand *demand, enum demand_reason reason);
// A key frame came: none that waits has to be asked for.
void demand_take_key_frame(struct demand *demand);
// Nobody wants a key frame any more.
void demand_drop_key_frame(struct demand *demand);
// How long it takes at least until the handler is told of a key frame that is wanted at `now_ns`.
int64_t demand_wait_ns(const struct demand *demand, enum demand_reason reason, int64_t now_ns);
