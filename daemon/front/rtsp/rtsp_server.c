#include "daemon/front/rtsp/rtsp_server.h"

#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/rtsp/connection.h"
#include "daemon/front/rtsp/wire_tls.h"
#include "daemon/front/socket/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// No client is given less time than this, so that each tick sees what ends before the next.
#define TICK_NS NS_PER_S
// How many connections are accepted in one turn of the main loop; more wait for the next.
#define ACCEPTED_MAX 64
// Descriptors that are left for the control socket, camera processes and files.
#define OTHER_DESCRIPTORS 16

// A port that clients connect to.
struct rtsp_listener {
    struct rtsp_server *server;      // the one it is part of
    struct poller_watch watch;       // its fd is owned; -1: closed
    struct certificate *certificate; // reference; NULL: without TLS
    int port;                        // of the configuration
    char url[160];                   // with the real port; "": closed
};

struct rtsp_server {
    struct rtsp_service service;
    char *address; // owned
    struct rtsp_listener plain, tls;
    GPtrArray *connections;     // owned struct connection, the oldest first
    guint tick;                 // GLib source id
    struct log_limit log_limit; // of clients that cannot be served
};

static void free_connection(gpointer connection)
{
    connection_free(connection);
}

// Frees the connections that have ended.
static gboolean reap(gpointer data)
{
    struct rtsp_server *server = data;

    g_source_set_ready_time(server->service.reaper, -1);
    for (guint i = server->connections->len; i > 0; i--) {
        const struct connection *connection = g_ptr_array_index(server->connections, i - 1);

        if (connection->ended)
            g_ptr_array_remove_index(server->connections, i - 1);
    }
    return G_SOURCE_CONTINUE;
}

// Of `address`; NULL: of all.
static unsigned count_connections(const struct rtsp_server *server,
                                  const struct rtsp_address *address)
{
    unsigned count = 0;

    for (guint i = 0; i < server->connections->len; i++) {
        const struct connection *connection = g_ptr_array_index(server->connections, i);

        count += !connection->ended && (!address || connection->address == address);
    }
    return count;
}

// Whether the connection may be ended to make room: it neither plays nor has logged in.
static bool is_idle(const struct connection *connection)
{
    return !connection->ended && !*connection->login.name &&
           connection_count_viewers(connection) == 0;
}

// Whether idle connection `b` is ended before `a`, which is older: its address has more idle ones,
// or as many and `b` alone has not finished its handshake.
static bool goes_before(const struct connection *b, const struct connection *a)
{
    return b->address->idle != a->address->idle ? b->address->idle > a->address->idle
                                                : a->handshake_done && !b->handshake_done;
}

// Ends one idle connection of `address` (NULL: of any). Returns whether there was one.
static bool end_idle(struct rtsp_server *server, const struct rtsp_address *address)
{
    struct connection *first = NULL;

    for (guint i = 0; i < server->connections->len; i++)
        ((struct connection *)g_ptr_array_index(server->connections, i))->address->idle = 0;
    for (guint i = 0; i < server->connections->len; i++) {
        const struct connection *connection = g_ptr_array_index(server->connections, i);

        connection->address->idle += is_idle(connection);
    }
    for (guint i = 0; i < server->connections->len; i++) {
        struct connection *connection = g_ptr_array_index(server->connections, i);

        if (is_idle(connection) && (!address || connection->address == address) &&
            (!first || goes_before(connection, first))) {
            first = connection;
        }
    }
    if (first)
        rtsp_service_end(first);
    return first;
}

// Whether one more connection may stay; an idle one may be ended for it.
static bool make_connection_room(struct rtsp_server *server, const struct rtsp_address *address)
{
    const struct config_limits *limits = &server->service.limits;

    return (count_connections(server, address) <= (unsigned)limits->connections_an_address ||
            end_idle(server, address)) &&
           (count_connections(server, NULL) <= (unsigned)limits->connections ||
            end_idle(server, NULL));
}

static void adopt(struct rtsp_listener *listener, int fd, const struct sockaddr_storage *peer)
{
    struct rtsp_server *server = listener->server;
    char suffix[LOG_LIMIT_SUFFIX_SIZE];
    struct connection *connection;
    struct wire *wire;
    int r = listener->certificate ? wire_new_tls(fd, listener->certificate, &wire)
                                  : wire_new_plain(fd, &wire);

    r = r < 0 ? r : connection_new(&server->service, wire, peer, &connection);
    if (r < 0) {
        if (log_limit_line(&server->log_limit, clock_now_ns(), suffix))
            log_warning("cannot serve a client: %s, hanging up on it%s", strerror(-r), suffix);
        return;
    }
    g_ptr_array_add(server->connections, connection);
    if (!make_connection_room(server, connection->address))
        rtsp_service_end(connection);
}

// With no descriptor or memory left, an idle connection makes room for the next.
static void on_scarcity(struct rtsp_listener *listener)
{
    struct rtsp_server *server = listener->server;

    if (!end_idle(server, NULL)) {
        poller_set_events(server->service.poller, &listener->watch, 0); // until the next tick
    }
}

static void on_client(void *context, uint32_t events)
{
    struct rtsp_listener *listener = context;

    (void)events;
    for (int i = 0; i < ACCEPTED_MAX; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof peer;

        if (descriptors_left() < OTHER_DESCRIPTORS) {
            on_scarcity(listener);
            return;
        }
        int fd = accept4(listener->watch.fd, (struct sockaddr *)&peer, &size,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            // Otherwise there is no connection, or it has gone. One that cannot be accepted would
            // be announced in every turn of the main loop.
            if (errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                on_scarcity(listener);
            return;
        }
        adopt(listener, fd, &peer);
    }
}

static void listen_again(struct rtsp_listener *listener)
{
    if (listener->watch.fd >= 0)
        poller_set_events(listener->server->service.poller, &listener->watch, EPOLLIN);
}

static gboolean on_tick(gpointer data);

static void set_tick(struct rtsp_server *server, int64_t delay_ns)
{
    server->tick =
        g_timeout_add((guint)((MAX(delay_ns, 0) + NS_PER_MS - 1) / NS_PER_MS), on_tick, server);
}

// Once a second, and when a client's time is over.
static gboolean on_tick(gpointer data)
{
    struct rtsp_server *server = data;
    int64_t now_ns = clock_now_ns(), due_ns = now_ns + TICK_NS;

    for (guint i = 0; i < server->connections->len; i++) {
        int64_t over_ns = connection_tick(g_ptr_array_index(server->connections, i), now_ns);

        due_ns = MIN(due_ns, over_ns);
    }
    listen_again(&server->plain);
    listen_again(&server->tls);
    set_tick(server, due_ns - now_ns);
    return G_SOURCE_REMOVE;
}

static void init_listener(struct rtsp_listener *listener, struct rtsp_server *server)
{
    listener->server = server;
    listener->watch =
        (struct poller_watch){.fd = -1, .ready = on_client, .context = listener, .events = EPOLLIN};
}

// At the end of the process systemd may keep the socket for the next edged.
static void close_listener(struct rtsp_listener *listener, bool at_end)
{
    int fd = listener->watch.fd;

    if (fd < 0)
        return;
    poller_remove(listener->server->service.poller, &listener->watch);
    if (at_end)
        close(fd);
    else
        listener_end(fd);
    listener->watch.fd = -1;
    listener->port = 0;
    listener->url[0] = '\0';
}

// Takes over a listening socket, in any case.
static int open_listener(struct rtsp_listener *listener, int port, int fd, const char *scheme)
{
    const char *address = listener->server->address;
    int r;

    listener->watch.fd = fd;
    r = poller_add(listener->server->service.poller, &listener->watch);
    if (r < 0) {
        listener->watch.fd = -1;
        close(fd);
        return r;
    }
    listener->port = port;
    getsockname(fd, (struct sockaddr *)&listener->server->service.local,
                &(socklen_t){sizeof listener->server->service.local});
    snprintf(listener->url, sizeof listener->url,
             strchr(address, ':') ? "%s://[%s]:%d" : "%s://%s:%d", scheme, address,
             listener_port(fd));
    return 0;
}

static int listen_on(struct rtsp_server *server, int port, struct error *error)
{
    const struct listener_place place = {"rtsp.address", server->address, "rtsp.port", port};
    int fd, r = listener_open(&place, error, &fd);

    if (r < 0)
        return r;
    r = open_listener(&server->plain, port, fd, "rtsp");
    return r < 0 ? error_set(error, r, "cannot listen: %s", strerror(-r)) : 0;
}

int rtsp_server_open_tls(const struct rtsp_server *server, int port, struct error *error,
                         int *ret_fd)
{
    const struct listener_place place = {"rtsp.address", server->address, "rtsp.tls_port", port};

    if (port == 0 || port == server->tls.port) {
        *ret_fd = -1;
        return 0;
    }
    return listener_open(&place, error, ret_fd);
}

void rtsp_server_take_tls(struct rtsp_server *server, int port, int fd,
                          struct certificate *certificate)
{
    struct certificate *before = server->tls.certificate;

    server->tls.certificate = certificate ? certificate_ref(certificate) : NULL;
    certificate_unref(before);
    if (port == server->tls.port)
        return;
    close_listener(&server->tls, false);
    if (port != 0 && open_listener(&server->tls, port, fd, "rtsps") < 0)
        log_error("cannot poll the socket of rtsp.tls_port, going on without it");
}

const char *rtsp_server_tls_url(const struct rtsp_server *server)
{
    return server->tls.url;
}

int rtsp_server_new(const struct config *config, GHashTable *mounts, struct account *account,
                    struct error *error, struct rtsp_server **ret_server)
{
    struct rtsp_server *server = g_new0(struct rtsp_server, 1);

    server->service = (struct rtsp_service){
        .mounts = mounts,
        .account = account,
        .limits = config->rtsp.limits,
        .reaper = rtsp_service_source(reap, server, G_PRIORITY_HIGH),
    };
    server->connections = g_ptr_array_new_with_free_func(free_connection);
    server->address = g_strdup(config->rtsp.address);
    init_listener(&server->plain, server);
    init_listener(&server->tls, server);
    int r = poller_new(&server->service.poller);
    server->service.multicast = multicast_new(server->service.poller, config);
    if (r < 0)
        error_set(error, r, "cannot poll: %s", strerror(-r));
    else if (config->rtsp.plain)
        r = listen_on(server, config->rtsp.port, error);
    if (r < 0) {
        rtsp_server_free(server);
        return r;
    }
    set_tick(server, TICK_NS);
    *ret_server = server;
    return 0;
}

void rtsp_server_configure(struct rtsp_server *server, const struct config *config)
{
    server->service.limits = config->rtsp.limits;
    multicast_configure(server->service.multicast, config);
    for (guint i = 0; i < server->connections->len; i++)
        connection_recheck(g_ptr_array_index(server->connections, i));
}

void rtsp_server_close(struct rtsp_server *server)
{
    close_listener(&server->plain, true);
    close_listener(&server->tls, true);
    g_ptr_array_set_size(server->connections, 0);
}

void rtsp_server_free(struct rtsp_server *server)
{
    if (!server)
        return;
    rtsp_server_close(server);
    g_clear_handle_id(&server->tick, g_source_remove);
    g_source_destroy(server->service.reaper);
    g_source_unref(server->service.reaper);
    g_ptr_array_unref(server->connections);
    multicast_free(server->service.multicast);
    udp_sockets_free(server->service.udp);
    udp_sockets_free(server->service.udp6);
    poller_free(server->service.poller);
    certificate_unref(server->tls.certificate);
    g_free(server->address);
    g_free(server);
}

const char *rtsp_server_url(const struct rtsp_server *server)
{
    return *server->plain.url ? server->plain.url : server->tls.url;
}
