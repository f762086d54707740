// The share that an HTTP server has of the front's main loop: the GSource that runs it.
//
// The loop serves the viewers as well, so a server has a fifth of its time at most, however fast
// clients ask. A server that has spent more rests, and its sockets are not looked at meanwhile.
// Time is what the thread has computed: on a busy machine it is not HTTP that keeps the processor.
#pragma once

#include "config/base.h"

#define HTTP_SHARE_BURST_NS (4 * NS_PER_MS) // that a server may spend at once

struct http_share;

// Calls `run` in the default main context when `fd` is readable, and after `next_run_ms`, which
// returns milliseconds, or -1 where only the descriptor counts. `name` is for debuggers.
struct http_share *http_share_new(const char *name, int fd, int (*next_run_ms)(void *server),
                                  void (*run)(void *server), void *server);
// Runs the server at `at_ns` at the latest, 0: at once; but not while it rests.
void http_share_wake(struct http_share *share, int64_t at_ns);
// Counts time that was spent on the server's requests outside of `run`.
void http_share_charge(struct http_share *share, int64_t spent_ns);
// How long this thread has computed since it began.
int64_t http_share_computed_ns(void);
// Takes NULL.
void http_share_free(struct http_share *share);
