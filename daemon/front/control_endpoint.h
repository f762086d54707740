// The pages of the control API over one socket: which there are, who may ask for them, and the
// server they are served by.
#pragma once

#include "daemon/front/control.h"
#include "daemon/front/event_feed.h"
#include "daemon/front/http_server.h"

struct control_endpoint;

// Serves the pages by `settings`, whose handler it fills in, from `front` and `feed`, both
// borrowed. The errors of http_server_new().
int control_endpoint_new(const struct control_front *front, const struct event_feed *feed,
                         const struct http_server_settings *settings, struct error *error,
                         struct control_endpoint **ret_endpoint);
// Tells those who follow /v1/events what has come into the feed.
void control_endpoint_tell(const struct control_endpoint *endpoint);
// Ends all connections; those who follow events hear the last of them, as far as their sockets take
// it. Takes NULL.
void control_endpoint_free(struct control_endpoint *endpoint);
