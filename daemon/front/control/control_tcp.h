// The control API over TCP: where it listens, changed while it runs.
#pragma once

#include "daemon/front/control/control_endpoint.h"

struct control_tcp;

// Listens nowhere yet. `front`, `feed` and `account` are borrowed.
struct control_tcp *control_tcp_new(const struct control_front *front,
                                    const struct event_feed *feed, struct account *account);
// Listens as `config` says, with `certificate` (referenced) if it says http.tls. Requests under way
// on the old socket, or with the old certificate, have a second to end. After an error, one of
// listener_open() or http_server_new(), everything is as it was.
int control_tcp_apply(struct control_tcp *tcp, const struct config *config,
                      struct certificate *certificate, struct error *error);
void control_tcp_tell(const struct control_tcp *tcp);
void control_tcp_recheck(const struct control_tcp *tcp);
// "https://127.0.0.1:9854"; NULL: nowhere. Borrowed.
const char *control_tcp_url(const struct control_tcp *tcp);
// Takes NULL.
void control_tcp_free(struct control_tcp *tcp);
