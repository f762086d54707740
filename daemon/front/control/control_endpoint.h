// The pages of the control API over one socket: which there are, who may ask for them, and the
// server they are served by.
#pragma once

#include "daemon/front/control/control.h"
#include "daemon/front/control/http_server.h"
#include "daemon/front/events/event_feed.h"

struct control_endpoint;

// Serves the pages by `settings`, whose handler it fills in, from `front` and `feed`. `account`
// says who may ask; NULL: whoever can open the socket, which its mode says. All three are borrowed.
// The errors of http_server_new().
int control_endpoint_new(const struct control_front *front, const struct event_feed *feed,
                         struct account *account, const struct http_server_settings *settings,
                         struct error *error, struct control_endpoint **ret_endpoint);
// Tells those who follow /v1/events what has come into the feed.
void control_endpoint_tell(const struct control_endpoint *endpoint);
// Hangs up on those who may not ask any more, after account_take_users().
void control_endpoint_recheck(const struct control_endpoint *endpoint);
// Takes no more connections and gives up its socket.
void control_endpoint_stop_listening(struct control_endpoint *endpoint);
// Ends all connections; those who follow events hear the last of them, as far as their sockets take
// it. Takes NULL.
void control_endpoint_free(struct control_endpoint *endpoint);
