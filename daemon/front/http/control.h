// HTTP on a unix socket, for edgectl, and over TCP, for Prometheus and scripts elsewhere.
//
// Served on the front's main loop (http_server.h): no thread, no lock.
#pragma once

#include "config/config.h"

#define CONTROL_SOCKET_STREAMS 24 // replies that go on, on the unix socket

struct certificate;
struct control;
struct model;

// Listens on `path` (0660; parent directory made when missing; a stale socket is replaced, a live
// one is -EADDRINUSE) in the default main context. `model` is borrowed; its account says who may
// ask over TCP, without one control_listen() is never called. -errno of getrandom().
int control_new(const char *path, struct model *model, struct error *error,
                struct control **ret_control);
// Listens over TCP as the group http of `config` says, with `certificate` if it says http.tls. To
// be called at first and after each change. Requests under way on an old socket have a second to
// end; of another certificate they notice nothing. After an error, one of listener_open() or
// http_server_new(), everything is as it was.
int control_listen(struct control *control, const struct config *config,
                   struct certificate *certificate, struct error *error);
// "https://127.0.0.1:9854"; NULL: not over TCP. Borrowed, until it listens elsewhere.
const char *control_url(const struct control *control);
// After account_take_users(): hangs up on clients that may not ask any more.
void control_recheck(struct control *control);
// Something ended that requests wait for, such as a reload: they go on.
void control_wake(const struct control *control);
// edged stops: answers each new request with 503, and ends the replies with video.
void control_stop(struct control *control);
// Removes the socket and ends all connections. Takes NULL.
void control_free(struct control *control);
