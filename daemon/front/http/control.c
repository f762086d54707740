#include "daemon/front/http/control.h"

#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/http/control_socket.h"
#include "daemon/front/http/routes.h"
#include "daemon/front/onvif/pull_points.h"
#include "daemon/front/socket/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#define LOCAL_CONNECTIONS_MAX 32u
#define SILENCE_S 5u
#define TCP_SILENCE_S 10u
// A peer that acknowledges nothing for so long is gone, perhaps with its network.
#define UNACKNOWLEDGED_MS 10000
// Replies that go on are kept for clients that have logged in, where there are as many more.
#define STREAMS_RESERVED 8
#define RETIRED_S 1

struct control {
    struct model *model;             // borrowed
    struct sessions *sessions;       // owned
    struct pull_points *pull_points; // owned
    struct control_socket socket;
    struct http_routes *local; // on the unix socket; owned

    // Over TCP
    char *address; // where it listens; owned
    int port;
    struct config_http_clients clients;
    int fd;                          // the listening socket, of which the endpoint has a copy
    struct certificate *certificate; // reference; NULL: plain
    struct http_routes *remote;      // owned; NULL: it listens nowhere
    GPtrArray *retired;              // endpoints that end
    guint retiring;                  // GLib source id; 0: none does
    char *url;                       // owned
    struct http_page_address page;   // owned
};

static void free_endpoint(gpointer endpoint)
{
    http_routes_free(endpoint);
}

static gboolean end_retired(gpointer data)
{
    struct control *control = data;

    control->retiring = 0;
    g_ptr_array_set_size(control->retired, 0);
    return G_SOURCE_REMOVE;
}

// Ends the endpoint later, because the request for the reload may have come by one of its
// connections.
static void retire(struct control *control)
{
    if (!control->remote)
        return;
    http_routes_stop_listening(control->remote);
    g_ptr_array_add(control->retired, TAKE(control->remote));
    g_clear_handle_id(&control->retiring, g_source_remove);
    control->retiring = g_timeout_add_seconds(RETIRED_S, end_retired, control);
}

static struct http_routes_base base_of(const struct control *control, bool is_local)
{
    return (struct http_routes_base){&control->page,
                                     control->model,
                                     control->pull_points,
                                     {.account = control->model->account,
                                      .sessions = control->sessions,
                                      .is_local = is_local,
                                      .clients = is_local ? NULL : &control->clients}};
}

static unsigned limit(int connections)
{
    return (unsigned)MAX(MIN((size_t)connections, descriptors_limit() / 4), 1);
}

static struct http_limits limits_of(const struct config_http_clients *clients)
{
    unsigned streams = (unsigned)clients->streams, each = (unsigned)clients->streams_a_client;
    struct http_limits limits = {
        .connections = limit(clients->connections),
        .connections_an_address = limit(clients->connections_an_address),
        .streams = streams,
        .streams_a_client = each ? each : (streams + 3) / 4,
        .streams_reserved =
            streams > STREAMS_RESERVED ? MIN(streams - STREAMS_RESERVED, STREAMS_RESERVED) : 0,
        .proxy_count = clients->proxies.count,
    };

    for (size_t i = 0; i < clients->proxies.count; i++)
        limits.proxies[i] = peer_parse(clients->proxies.list[i]);
    return limits;
}

static int begin(const struct control *control, const struct config_http_clients *clients, int fd,
                 struct certificate *certificate, struct error *error,
                 struct http_routes **ret_endpoint)
{
    const struct http_server_settings settings = {
        .name = "control API over TCP",
        .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
        .limits = limits_of(clients),
        .silence_s = TCP_SILENCE_S,
        .certificate = certificate,
    };
    const struct http_routes_base base = base_of(control, false);
    int r = settings.fd < 0 ? error_set(error, -errno, "http.port: %s", strerror(errno))
                            : http_routes_new(&base, &settings, error, ret_endpoint);

    if (r < 0 && settings.fd >= 0)
        close(settings.fd);
    return r;
}

static int open_place(const char *address, int port, struct error *error, int *ret_fd)
{
    const struct listener_place place = {"http.address", address, "http.port", port};
    const unsigned unacknowledged_ms = UNACKNOWLEDGED_MS;
    int r = listener_open(&place, error, ret_fd);

    if (r == 0) { // accepted connections inherit it from the listening socket
        setsockopt(*ret_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
                   sizeof unacknowledged_ms);
    }
    return r;
}

static void close_place(struct control *control)
{
    if (control->fd >= 0)
        listener_end(control->fd);
    control->fd = -1;
}

static char *format_url(const char *address, const struct certificate *certificate, int fd)
{
    return g_strdup_printf(strchr(address, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
                           certificate ? "https" : "http", address, listener_port(fd));
}

// NULL: it listens nowhere.
static void set_url(struct control *control, const char *address)
{
    const char *own = address;

    g_clear_pointer(&control->url, g_free);
    g_clear_pointer(&control->page.url, g_free);
    control->page.shown = NULL;
    if (address) {
        if (strcmp(address, "0.0.0.0") == 0)
            own = "127.0.0.1";
        else if (strcmp(address, "::") == 0)
            own = "::1";
        control->url = format_url(address, control->certificate, control->fd);
        control->page.url = format_url(own, control->certificate, control->fd);
        control->page.shown = control->url;
        control->page.is_loopback = config_is_loopback(own);
    }
}

// Listens again at the old address.
static void restore(struct control *control)
{
    struct error error = {0};

    if (open_place(control->address, control->port, &error, &control->fd) < 0 ||
        begin(control, &control->clients, control->fd, control->certificate, &error,
              &control->remote) < 0) {
        log_error("%s, going on without the control API over TCP", error.text);
        set_url(control, NULL);
        close_place(control);
    }
}

// Listens at another address. If the port stays the same, as with "0.0.0.0" after "127.0.0.1", the
// old socket is in the way and is closed first.
static int move(struct control *control, const char *address, int port, struct error *error,
                int *ret_fd)
{
    int r = open_place(address, port, error, ret_fd);

    if (r != -EADDRINUSE || !control->remote || port != control->port)
        return r;
    retire(control);
    close_place(control);
    r = open_place(address, port, error, ret_fd);
    if (r < 0)
        restore(control);
    return r;
}

static void keep_certificate(struct control *control, struct certificate *certificate)
{
    struct certificate *before = control->certificate;

    control->certificate = certificate ? certificate_ref(certificate) : NULL;
    certificate_unref(before);
}

static void take(struct control *control, const char *address, int port, int fd,
                 struct certificate *certificate, struct http_routes *endpoint)
{
    if (fd != control->fd) {
        close_place(control);
        control->fd = fd;
        g_free(control->address);
        control->address = g_strdup(address);
        control->port = port;
    }
    retire(control);
    control->remote = endpoint;
    keep_certificate(control, certificate);
    set_url(control, address);
}

static void stop(struct control *control)
{
    retire(control);
    close_place(control);
    set_url(control, NULL);
}

static void take_clients(struct control *control, const struct config_http_clients *clients)
{
    const struct http_limits limits = limits_of(clients);

    control->clients = *clients;
    http_routes_limit(control->remote, &limits);
}

int control_listen(struct control *control, const struct config *config,
                   struct certificate *certificate, struct error *error)
{
    struct certificate *shown = config->http.tls ? certificate : NULL;
    struct http_routes *endpoint = NULL;
    bool stays = control->remote && control->port == config->http.port &&
                 strcmp(control->address, config->http.address) == 0;
    bool listened = control->remote;
    int fd = control->fd, r = 0;

    if (config->http.port == 0) {
        stop(control);
        return 0;
    }
    if (stays && !control->certificate == !shown) {
        if (shown)
            http_routes_show(control->remote, shown);
        keep_certificate(control, shown);
        take_clients(control, &config->http.clients);
        return 0;
    }
    r = stays ? 0 : move(control, config->http.address, config->http.port, error, &fd);
    if (r < 0)
        return r;
    r = begin(control, &config->http.clients, fd, shown, error, &endpoint);
    if (r < 0) {
        if (!stays)
            listener_end(fd);
        if (listened && !control->remote)
            restore(control);
        return r;
    }
    take(control, config->http.address, config->http.port, fd, shown, endpoint);
    take_clients(control, &config->http.clients);
    return 0;
}

int control_new(const char *path, struct model *model, struct error *error,
                struct control **ret_control)
{
    struct control *control = g_new0(struct control, 1);
    struct http_server_settings settings = {
        .name = "control socket",
        .limits = {.connections =
                       (unsigned)CLAMP(descriptors_limit() / 32, 4, LOCAL_CONNECTIONS_MAX),
                   .streams = CONTROL_SOCKET_STREAMS},
        .silence_s = SILENCE_S,
    };
    int r = control_socket_open(&control->socket, path, error);

    if (r < 0) {
        g_free(control);
        return r;
    }
    control->model = model;
    control->pull_points = pull_points_new(model->feed);
    control->fd = -1;
    control->retired = g_ptr_array_new_with_free_func(free_endpoint);
    settings.fd = control->socket.fd;
    r = sessions_new(error, &control->sessions);
    const struct http_routes_base base = base_of(control, true);
    r = r < 0 ? r : http_routes_new(&base, &settings, error, &control->local);
    if (r < 0) {
        close(control->socket.fd);
        control_free(control);
        return r;
    }
    *ret_control = control;
    return 0;
}

const char *control_url(const struct control *control)
{
    return control->url;
}

void control_recheck(struct control *control)
{
    if (control->remote)
        http_routes_recheck(control->remote);
}

// Calls `act` with each endpoint.
static void each_endpoint(const struct control *control, void (*act)(struct http_routes *endpoint))
{
    act(control->local);
    if (control->remote)
        act(control->remote);
    for (guint i = 0; i < control->retired->len; i++)
        act(g_ptr_array_index(control->retired, i));
}

void control_wake(const struct control *control)
{
    each_endpoint(control, http_routes_wake);
}

void control_stop(struct control *control)
{
    each_endpoint(control, http_routes_stop);
    pull_points_stop(control->pull_points);
}

void control_free(struct control *control)
{
    if (!control)
        return;
    control_socket_remove(&control->socket);
    g_clear_handle_id(&control->retiring, g_source_remove);
    http_routes_free(control->remote);
    g_ptr_array_unref(control->retired);
    if (control->fd >= 0) {
        close(control->fd); // systemd may keep it for the next edged
    }
    certificate_unref(control->certificate);
    g_free(control->address);
    set_url(control, NULL);
    http_routes_free(control->local);
    pull_points_free(control->pull_points);
    sessions_free(control->sessions);
    g_free(control);
}
