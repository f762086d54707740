// HTTP on a unix socket, for edgectl, and over TCP, for Prometheus and scripts elsewhere.
//
// Served on the front's main loop (http_server.h): no thread, no lock.
#pragma once

#include "config/config.h"
#include "daemon/front/status/snapshot.h"

struct account;
struct certificate;
struct control;

// What the server asks the front for. `snapshot`: one of now, which the server frees. `reload`: to
// load the configuration again; the verdict as JSON, which the server g_free()s. `refuse`: as
// event_filter_refuse().
struct control_front {
    struct snapshot *(*snapshot)(void *context);
    char *(*reload)(void *context);
    char *(*refuse)(void *context, const char *camera, const char *region);
    void *context;
};

// The path in the config, or the default for who is running: $XDG_RUNTIME_DIR/edged/control.sock
// for a user, /run/edged/control.sock for root and services ($RUNTIME_DIRECTORY where systemd sets
// it). The caller frees *ret_path. -EINVAL for a path longer than a unix address takes.
int control_socket_path(const char *configured, struct error *error, char **ret_path);

// Listens on `path` (0660; parent directory made when missing; a stale socket is replaced, a live
// one is -EADDRINUSE) in the default main context. `account`, which is borrowed, says who may ask
// over TCP; NULL: it is never to be asked that way.
int control_new(const char *path, const struct control_front *front, struct account *account,
                struct error *error, struct control **ret_control);
// Listens over TCP as the http of `config` says, then and after each change of it, with
// `certificate` (NULL without http.tls). What fails (an address that is taken: -EADDRINUSE and
// others, see listener_open()) leaves all as it was.
int control_listen(struct control *control, const struct config *config,
                   struct certificate *certificate, struct error *error);
// "https://127.0.0.1:9854"; NULL: not over TCP. Borrowed, until it listens elsewhere.
const char *control_url(const struct control *control);
// Hangs up on those who may not ask any more, after account_take_users().
void control_recheck(struct control *control);
// Tells an event to those who follow /v1/events.
void control_publish(struct control *control, const struct motion_event *event);
// Removes the socket and ends all connections. Takes NULL.
void control_free(struct control *control);
