#include "daemon/front/control/control_tcp.h"

#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#define CONNECTIONS_MAX 32u
#define CONNECTIONS_AN_ADDRESS 8u
#define SILENCE_S 10u
// A peer that acknowledges nothing for so long is gone, perhaps with its network.
#define UNACKNOWLEDGED_MS 30000
#define RETIRED_S 1

struct control_tcp {
    const struct control_front *front; // borrowed
    const struct event_feed *feed;     // borrowed
    struct account *account;           // borrowed
    char *address;                     // where it listens; owned
    int port;
    int fd;                            // the listening socket, of which the endpoint has a copy
    struct certificate *certificate;   // reference; NULL: plain
    struct control_endpoint *endpoint; // owned; NULL: it listens nowhere
    GPtrArray *retired;                // endpoints that end
    guint retiring;                    // GLib source id; 0: none does
    char *url;                         // owned
};

static void free_endpoint(gpointer endpoint)
{
    control_endpoint_free(endpoint);
}

struct control_tcp *control_tcp_new(const struct control_front *front,
                                    const struct event_feed *feed, struct account *account)
{
    struct control_tcp *tcp = g_new0(struct control_tcp, 1);

    tcp->front = front;
    tcp->feed = feed;
    tcp->account = account;
    tcp->fd = -1;
    tcp->retired = g_ptr_array_new_with_free_func(free_endpoint);
    return tcp;
}

static gboolean end_retired(gpointer data)
{
    struct control_tcp *tcp = data;

    tcp->retiring = 0;
    g_ptr_array_set_size(tcp->retired, 0);
    return G_SOURCE_REMOVE;
}

// Ends the endpoint later, because the request for the reload may have come by one of its
// connections.
static void retire(struct control_tcp *tcp)
{
    if (!tcp->endpoint) {
        return;
    }
    control_endpoint_stop_listening(tcp->endpoint);
    g_ptr_array_add(tcp->retired, TAKE(tcp->endpoint));
    g_clear_handle_id(&tcp->retiring, g_source_remove);
    tcp->retiring = g_timeout_add_seconds(RETIRED_S, end_retired, tcp);
}

static int begin(const struct control_tcp *tcp, int fd, struct certificate *certificate,
                 struct error *error, struct control_endpoint **ret_endpoint)
{
    const struct http_server_settings settings = {
        .name = "control API over TCP",
        .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
        .connections = (unsigned)CLAMP(descriptors_limit() / 32, 4, CONNECTIONS_MAX),
        .connections_an_address = CONNECTIONS_AN_ADDRESS,
        .silence_s = SILENCE_S,
        .certificate = certificate,
    };
    int r = settings.fd < 0 ? error_set(error, -errno, "http.port: %s", strerror(errno))
                            : control_endpoint_new(tcp->front, tcp->feed, tcp->account, &settings,
                                                   error, ret_endpoint);

    if (r < 0 && settings.fd >= 0) {
        close(settings.fd);
    }
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

static void close_place(struct control_tcp *tcp)
{
    if (tcp->fd >= 0) {
        listener_end(tcp->fd);
    }
    tcp->fd = -1;
}

// Listens again at the old address.
static void restore(struct control_tcp *tcp)
{
    struct error error = {0};

    if (open_place(tcp->address, tcp->port, &error, &tcp->fd) < 0 ||
        begin(tcp, tcp->fd, tcp->certificate, &error, &tcp->endpoint) < 0) {
        log_error("%s, going on without the control API over TCP", error.text);
        g_clear_pointer(&tcp->url, g_free);
        close_place(tcp);
    }
}

// Listens at another address. If the port stays the same, as with "0.0.0.0" after "127.0.0.1", the
// old socket is in the way and is closed first.
static int move(struct control_tcp *tcp, const char *address, int port, struct error *error,
                int *ret_fd)
{
    int r = open_place(address, port, error, ret_fd);

    if (r != -EADDRINUSE || !tcp->endpoint || port != tcp->port) {
        return r;
    }
    retire(tcp);
    close_place(tcp);
    r = open_place(address, port, error, ret_fd);
    if (r < 0) {
        restore(tcp);
    }
    return r;
}

static bool is_same_certificate(const struct certificate *a, const struct certificate *b)
{
    return a == b || (a && b && certificate_is_equal(a, b));
}

static void take(struct control_tcp *tcp, const char *address, int port, int fd,
                 struct certificate *certificate, struct control_endpoint *endpoint)
{
    struct certificate *before = tcp->certificate;

    if (fd != tcp->fd) {
        close_place(tcp);
        tcp->fd = fd;
        g_free(tcp->address);
        tcp->address = g_strdup(address);
        tcp->port = port;
    }
    retire(tcp);
    tcp->endpoint = endpoint;
    tcp->certificate = certificate ? certificate_ref(certificate) : NULL;
    certificate_unref(before);
    g_free(tcp->url);
    tcp->url = g_strdup_printf(strchr(address, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
                               certificate ? "https" : "http", address, listener_port(fd));
}

static void stop(struct control_tcp *tcp)
{
    retire(tcp);
    close_place(tcp);
    g_clear_pointer(&tcp->url, g_free);
}

int control_tcp_apply(struct control_tcp *tcp, const struct config *config,
                      struct certificate *certificate, struct error *error)
{
    struct certificate *shown = config->http.tls ? certificate : NULL;
    struct control_endpoint *endpoint = NULL;
    bool stays = tcp->endpoint && tcp->port == config->http.port &&
                 strcmp(tcp->address, config->http.address) == 0;
    bool listened = tcp->endpoint;
    int fd = tcp->fd, r = 0;

    if (config->http.port == 0) {
        stop(tcp);
        return 0;
    }
    if (stays && is_same_certificate(tcp->certificate, shown)) {
        return 0;
    }
    r = stays ? 0 : move(tcp, config->http.address, config->http.port, error, &fd);
    if (r < 0) {
        return r;
    }
    r = begin(tcp, fd, shown, error, &endpoint);
    if (r < 0) {
        if (!stays) {
            listener_end(fd);
        }
        if (listened && !tcp->endpoint) {
            restore(tcp);
        }
        return r;
    }
    take(tcp, config->http.address, config->http.port, fd, shown, endpoint);
    return 0;
}

void control_tcp_tell(const struct control_tcp *tcp)
{
    if (tcp->endpoint) {
        control_endpoint_tell(tcp->endpoint);
    }
}

void control_tcp_recheck(const struct control_tcp *tcp)
{
    if (tcp->endpoint) {
        control_endpoint_recheck(tcp->endpoint);
    }
}

const char *control_tcp_url(const struct control_tcp *tcp)
{
    return tcp->url;
}

void control_tcp_free(struct control_tcp *tcp)
{
    if (!tcp) {
        return;
    }
    g_clear_handle_id(&tcp->retiring, g_source_remove);
    control_endpoint_free(tcp->endpoint);
    g_ptr_array_unref(tcp->retired);
    if (tcp->fd >= 0) {
        close(tcp->fd); // systemd may keep it for the next edged
    }
    certificate_unref(tcp->certificate);
    g_free(tcp->address);
    g_free(tcp->url);
    g_free(tcp);
}
