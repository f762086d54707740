// The pages of the control API over one socket: which pages there are, who may ask for them, and
// the HTTP server.
#pragma once

#include "daemon/front/events/event_feed.h"
#include "daemon/front/status/facts.h"

struct account;
struct control_endpoint;

// What the server calls in the front; it g_free()s the texts that they return. `status` and
// `list_mounts` are front_status_text() and front_status_list_mounts(). `reload` loads the
// configuration again and returns the verdict as JSON. `refuse` is event_feed_refuse().
//
// Over TCP each role is shown only the cameras and views that it may watch; everyone who can open
// the control socket is shown all.
struct control_front {
    char *(*status)(void *context, enum facts_format format, enum config_role role);
    char *(*list_mounts)(void *context, enum config_role role);
    char *(*reload)(void *context);
    char *(*refuse)(void *context, enum config_role role, const char *camera, const char *region);
    void *context;
};

// Serves the pages from `front` and `feed` by a server of `settings`, whose handler it fills in.
// `account` says who may ask; NULL: whoever can open the socket, which its mode decides. All three
// are borrowed. Errors are those of http_server_new().
int control_endpoint_new(const struct control_front *front, struct event_feed *feed,
                         struct account *account, const struct http_server_settings *settings,
                         struct error *error, struct control_endpoint **ret_endpoint);
// At a reload, after account_take_users(): hangs up on clients that may not ask any more, or not as
// much as before.
void control_endpoint_recheck(struct control_endpoint *endpoint);
// Accepts no more connections and gives up its socket.
void control_endpoint_stop_listening(struct control_endpoint *endpoint);
// Ends all connections; those who follow events are sent the last of them, if their sockets take
// it. Takes NULL.
void control_endpoint_free(struct control_endpoint *endpoint);
