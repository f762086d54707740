// Follows /v1/events of the running edged, beyond restarts of it. Runs GLib's default main context.
#pragma once

#include "config/base.h"

#include <glib.h>

struct event_follower {
    const char *socket; // path of the control socket
    const char *page;   // "/v1/events", with its query
    int reconnect_s;    // how long edged may be away; 0: its end is the end
    // Called with each event's JSON, one line. A negative return ends event_follower_run() with it.
    int (*event)(void *context, const char *json);
    void *context;
};

// Connects once and returns what keeps it from that, as client_open_stream(). Then calls `event`
// until `loop` is quit: 0; or edged was away for too long: -ETIMEDOUT, or it refuses what is asked
// for now: -EINVAL, with the sentence in `error`. That it was away and is back is said on stderr.
int event_follower_run(const struct event_follower *follower, GMainLoop *loop, struct error *error);
