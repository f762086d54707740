#include "daemon/front/control/control.h"

#include "daemon/common/descriptors.h"
#include "daemon/front/control/control_endpoint.h"
#include "daemon/front/control/control_socket.h"
#include "daemon/front/control/control_tcp.h"

#include <glib.h>

#define CONNECTIONS_MAX 32u
#define SILENCE_S 5u

struct control {
    struct control_front front;
    struct control_socket socket;
    struct event_feed *feed;        // owned
    struct control_endpoint *local; // on the unix socket; owned
    struct control_tcp *tcp;        // owned; NULL: never
};

int control_new(const char *path, const struct control_front *front, struct account *account,
                struct error *error, struct control **ret_control)
{
    struct control *control = g_new0(struct control, 1);
    struct http_server_settings settings = {
        .name = "control socket",
        .connections = (unsigned)CLAMP(descriptors_limit() / 32, 4, CONNECTIONS_MAX),
        .silence_s = SILENCE_S,
    };
    int r = control_socket_open(&control->socket, path, error);

    if (r < 0) {
        g_free(control);
        return r;
    }
    control->front = *front;
    control->feed = event_feed_new();
    settings.fd = control->socket.fd;
    r = control_endpoint_new(&control->front, control->feed, NULL, &settings, error,
                             &control->local);
    if (r < 0) {
        close(control->socket.fd);
        control_free(control);
        return r;
    }
    control->tcp = account ? control_tcp_new(&control->front, control->feed, account) : NULL;
    *ret_control = control;
    return 0;
}

int control_listen(struct control *control, const struct config *config,
                   struct certificate *certificate, struct error *error)
{
    return control_tcp_apply(control->tcp, config, certificate, error);
}

const char *control_url(const struct control *control)
{
    return control->tcp ? control_tcp_url(control->tcp) : NULL;
}

void control_recheck(struct control *control)
{
    if (control->tcp) {
        control_tcp_recheck(control->tcp);
    }
}

void control_free(struct control *control)
{
    if (!control) {
        return;
    }
    control_socket_remove(&control->socket);
    control_tcp_free(control->tcp);
    control_endpoint_free(control->local);
    event_feed_free(control->feed);
    g_free(control);
}

void control_publish(struct control *control, const struct motion_event *event)
{
    event_feed_add(control->feed, event);
    control_endpoint_tell(control->local);
    if (control->tcp) {
        control_tcp_tell(control->tcp);
    }
}
