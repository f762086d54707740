// Follows /v1/events of the running edged, and reconnects when edged restarts. Runs GLib's default
// main context.
#pragma once

#include "config/base.h"

#include <glib.h>

struct event_follower {
    const char *socket; // path of the control socket
    const char *page;   // "/v1/events", with its query
    int reconnect_s;    // how long edged may be away; 0: not at all
    // Called with each event's JSON, one line. A negative return ends event_follower_run() with it.
    int (*event)(void *context, const char *json);
    void *context;
};

// Connects once; if that fails it returns the error of client_open_stream(). Then it calls `event`
// until `loop` is quit, and returns 0. -ETIMEDOUT: edged was away for too long; -EINVAL: after a
// restart it refuses the request, with the sentence in `error`. Says on stderr when edged is away
// and when it is back.
int event_follower_run(const struct event_follower *follower, GMainLoop *loop, struct error *error);
