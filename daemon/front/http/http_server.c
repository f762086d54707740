#include "daemon/front/http/http_server.h"

#include "daemon/common/log.h"
#include "daemon/front/account/peer.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define MEMORY_BYTES ((size_t)16384) // a connection, its request line and headers included
// Connections that were hung up on stay with libmicrohttpd until it next runs, which accepts at
// most this many before.
#define ROOM_TO_CLOSE 16u
// libmicrohttpd counts to here; how many there may be now is this server's to say.
#define CONNECTIONS_EVER 65536u
// HTTP has a fifth of the main loop, which serves the viewers, and may take 4 ms at once.
#define SHARE 5
#define BURST_NS (4 * NS_PER_MS)
// A body that its client does not tell the size of is read to the end of this, and then refused.
#define BODY_READ_BYTES (2 * HTTP_BODY_MAX_BYTES)

struct http_server {
    struct http_handler handler;
    const char *name;                // borrowed
    struct certificate *certificate; // reference; NULL: plain
    struct MHD_Daemon *daemon;
    bool listening;                 // takes more connections
    GPtrArray *connections;         // of struct http_connection, owned by libmicrohttpd's own
    GPtrArray *streams;             // of struct http_stream, each its response's
    unsigned most, most_an_address; // of connections; 0: as many of an address as in all
    unsigned most_streams;
    GSource *source;
    guint timer; // GLib source id; 0: nobody is connected
};

// What edged keeps for a connection beside libmicrohttpd.
struct http_connection {
    struct http_server *server;
    int fd;                   // borrowed
    struct peer network;      // all 0 by a unix socket
    bool accepted;            // a request of it was not refused
    bool ended;               // hung up on; libmicrohttpd is about to close it
    char *uri;                // of the request under way; owned
    int64_t waiting_since_ns; // since when it waits for a whole request; 0: the request is complete
    bool headers_seen;        // of that request
    GString *body;            // of that request, up to HTTP_BODY_MAX_BYTES; owned
    size_t body_bytes;        // that came
    struct http_waiting waiting;
    struct account_login login;
};

struct server_source {
    GSource base;
    struct MHD_Daemon *daemon; // borrowed from the server
    void *tag;                 // of the epoll fd
    int64_t spent_ns;          // time on the main loop that has not been earned yet
    int64_t counted_ns;        // when `spent_ns` was that
    int64_t rests_until_ns;    // 0: it does not rest
};

static struct http_connection *find_connection(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void hang_up(struct http_connection *connection)
{
    connection->ended = true;
    shutdown(connection->fd, SHUT_RDWR);
}

// Whether it waits for too long for a whole request, or its reply goes on although it may not any
// more. libmicrohttpd's timeout counts silence only, and a client that sends a byte now and then is
// never silent.
static bool is_to_end(const struct http_server *server, const struct http_connection *connection,
                      int64_t now_ns)
{
    return connection->waiting_since_ns
               ? now_ns - connection->waiting_since_ns > HTTP_REQUEST_WITHIN_S * NS_PER_S
               : !server->handler.may_go_on(server->handler.context, &connection->login);
}

static gboolean on_second(gpointer data)
{
    const struct http_server *server = data;
    int64_t now_ns = clock_now_ns();

    for (guint i = 0; i < server->connections->len; i++) {
        struct http_connection *connection = g_ptr_array_index(server->connections, i);

        if (is_to_end(server, connection, now_ns)) {
            hang_up(connection);
        }
    }
    return G_SOURCE_CONTINUE;
}

static unsigned count_of(const struct http_server *server, const struct peer *network)
{
    unsigned count = 0;

    for (guint i = 0; i < server->connections->len; i++) {
        const struct http_connection *connection = g_ptr_array_index(server->connections, i);

        count += !connection->ended &&
                 (!network || memcmp(&connection->network, network, sizeof *network) == 0);
    }
    return count;
}

// Whether `a` makes room before `b`, NULL if there is none: those of which no request was accepted
// yet come first, of these the address that has the most connections, then who has waited for
// longest.
static bool goes_before(const struct http_server *server, const struct http_connection *a,
                        const struct http_connection *b)
{
    unsigned of_a, of_b;

    if (!b || a->accepted != b->accepted) {
        return !b || b->accepted;
    }
    of_a = count_of(server, &a->network);
    of_b = count_of(server, &b->network);
    return of_a != of_b ? of_a > of_b : a->waiting_since_ns < b->waiting_since_ns;
}

// Hangs up on somebody of `network` (NULL: of any) who waits for nothing, for a newcomer; if there
// is nobody, on the newcomer.
static void make_room(const struct http_server *server, const struct peer *network,
                      struct http_connection *newcomer)
{
    struct http_connection *found = NULL;

    for (guint i = 0; i < server->connections->len; i++) {
        struct http_connection *connection = g_ptr_array_index(server->connections, i);
        bool idles = connection != newcomer && !connection->ended && connection->waiting_since_ns;

        if (idles && (!network || memcmp(&connection->network, network, sizeof *network) == 0) &&
            goes_before(server, connection, found)) {
            found = connection;
        }
    }
    hang_up(found ? found : newcomer);
}

static const struct sockaddr *peer_address(struct MHD_Connection *with)
{
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(with, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *peer = address ? address->client_addr : NULL;

    return peer && peer->sa_family != AF_UNIX ? peer : NULL;
}

static struct http_connection *open_connection(struct http_server *server,
                                               struct MHD_Connection *with)
{
    struct http_connection *connection = g_new0(struct http_connection, 1);

    const struct sockaddr *address = peer_address(with);

    if (address) {
        struct peer peer = peer_of(address);

        connection->network = peer_network(&peer);
    }
    connection->server = server;
    connection->body = g_string_new(NULL);
    connection->fd = MHD_get_connection_info(with, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->waiting_since_ns = clock_now_ns();
    g_ptr_array_add(server->connections, connection);
    if (server->most_an_address &&
        count_of(server, &connection->network) > server->most_an_address) {
        make_room(server, &connection->network, connection);
    }
    if (count_of(server, NULL) > server->most) {
        make_room(server, NULL, connection);
    }
    if (!server->timer) {
        server->timer = g_timeout_add_seconds(1, on_second, server);
    }
    return connection;
}

static void close_connection(struct http_server *server, struct http_connection *connection)
{
    g_ptr_array_remove_fast(server->connections, connection);
    if (!server->connections->len) {
        g_clear_handle_id(&server->timer, g_source_remove);
    }
    g_string_free(connection->body, TRUE);
    g_free(connection->uri);
    g_free(connection);
}

static void on_connection(void *context, struct MHD_Connection *with, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = open_connection(context, with);
    } else if (*socket_context) {
        close_connection(context, *socket_context);
        *socket_context = NULL;
    }
}

// A request begins. Keeps its URI as it was sent, because handlers get it decoded.
static void *on_request_line(void *context, const char *uri, struct MHD_Connection *with)
{
    struct http_connection *connection = find_connection(with);

    (void)context;
    g_free(connection->uri);
    connection->uri = g_strdup(uri);
    connection->headers_seen = false;
    g_string_truncate(connection->body, 0);
    connection->body_bytes = 0;
    return NULL;
}

static void on_replied(void *context, struct MHD_Connection *with, void **request,
                       enum MHD_RequestTerminationCode code)
{
    struct http_connection *connection = find_connection(with);

    (void)context, (void)request, (void)code;
    if (connection) {
        connection->waiting_since_ns = clock_now_ns();
        if (connection->waiting.drop) {
            connection->waiting.drop(connection->waiting.context);
        }
        connection->waiting = (struct http_waiting){0};
    }
}

static struct http_request describe(struct http_connection *connection, struct MHD_Connection *with,
                                    const char *path, const char *method)
{
    return (struct http_request){
        .connection = with,
        .method = method,
        .path = path,
        .uri = connection->uri,
        .peer = peer_address(with),
        .login = &connection->login,
        .body = connection->body->str,
        .body_size = connection->body_bytes,
        .waiting = &connection->waiting,
    };
}

// What is more than HTTP_BODY_MAX_BYTES is counted and dropped, so that its client can be told.
static CONTROL_RESULT take_body(struct http_connection *connection, const char *piece, size_t *size)
{
    size_t room = HTTP_BODY_MAX_BYTES - connection->body->len;

    connection->body_bytes += *size;
    if (connection->body_bytes > BODY_READ_BYTES) {
        return MHD_NO; // libmicrohttpd takes no reply in the middle of a body
    }
    g_string_append_len(connection->body, piece, (gssize)MIN(room, *size));
    *size = 0;
    return MHD_YES;
}

// Called once with the headers, then with each piece of a body, then at the end of the request. An
// answer before the end closes the connection, so only what is refused is answered early.
static CONTROL_RESULT handle(void *context, struct MHD_Connection *with, const char *path,
                             const char *method, const char *version, const char *upload_data,
                             size_t *upload_data_size, void **unused)
{
    struct http_server *server = context;
    struct http_connection *connection = find_connection(with);
    struct http_request request;
    bool refused = false;
    CONTROL_RESULT result;

    (void)version, (void)unused;
    if (!connection->headers_seen) {
        connection->headers_seen = true;
        request = describe(connection, with, path, method);
        result = server->handler.refuse(server->handler.context, &request, &refused);
        connection->accepted |= !refused;
        return refused ? result : MHD_YES;
    }
    if (*upload_data_size > 0) {
        return take_body(connection, upload_data, upload_data_size);
    }
    connection->waiting_since_ns = 0;
    request = describe(connection, with, path, method);
    return server->handler.reply(server->handler.context, &request);
}

static gboolean source_prepare(GSource *base, int *ret_timeout_ms)
{
    struct server_source *source = (struct server_source *)base;
    MHD_UNSIGNED_LONG_LONG timeout_ms;

    if (source->rests_until_ns || MHD_get_timeout(source->daemon, &timeout_ms) != MHD_YES) {
        *ret_timeout_ms = -1;
        return FALSE;
    }
    *ret_timeout_ms = (int)MIN(timeout_ms, G_MAXINT);
    return timeout_ms == 0;
}

static gboolean source_check(GSource *base)
{
    struct server_source *source = (struct server_source *)base;
    int timeout_ms;

    return !source->rests_until_ns &&
           (g_source_query_unix_fd(base, source->tag) != 0 || source_prepare(base, &timeout_ms));
}

static unsigned count_connections(struct MHD_Daemon *daemon)
{
    return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

// Counts what a run has cost. One SHARE-th of the time that passes is earned; who has spent
// BURST_NS more than that rests until half of it is earned, and the sockets are not looked at
// meanwhile.
static void pay(struct server_source *source, int64_t begin_ns, int64_t end_ns)
{
    int64_t earned_ns = (begin_ns - source->counted_ns) / SHARE;

    source->spent_ns = MAX(source->spent_ns - earned_ns, 0) + end_ns - begin_ns;
    source->counted_ns = begin_ns;
    if (source->spent_ns > BURST_NS) {
        source->rests_until_ns = end_ns + (source->spent_ns - BURST_NS / 2) * SHARE;
        g_source_modify_unix_fd(&source->base, source->tag, 0);
        g_source_set_ready_time(&source->base, source->rests_until_ns / NS_PER_US);
    }
}

// At its connection limit libmicrohttpd takes the listening socket out of the epoll set, and puts
// it back only when it next runs: whenever connections ended, it has to run once more.
static gboolean source_dispatch(GSource *base, GSourceFunc callback, void *context)
{
    struct server_source *source = (struct server_source *)base;
    int64_t begin_ns = clock_now_ns();
    unsigned before;

    (void)callback, (void)context;
    if (begin_ns < source->rests_until_ns) { // it was woken
        g_source_set_ready_time(base, source->rests_until_ns / NS_PER_US);
        return G_SOURCE_CONTINUE;
    }
    if (source->rests_until_ns) {
        source->rests_until_ns = 0;
        g_source_modify_unix_fd(base, source->tag, G_IO_IN);
    }
    before = count_connections(source->daemon);
    g_source_set_ready_time(base, -1);
    MHD_run(source->daemon);
    if (count_connections(source->daemon) < before) {
        g_source_set_ready_time(base, 0);
    }
    pay(source, begin_ns, clock_now_ns());
    return G_SOURCE_CONTINUE;
}

static GSource *source_new(const struct http_server *server)
{
    static GSourceFuncs functions = {
        .prepare = source_prepare, .check = source_check, .dispatch = source_dispatch};
    GSource *base = g_source_new(&functions, sizeof(struct server_source));
    struct server_source *source = (struct server_source *)base;

    g_source_set_name(base, server->name);
    source->daemon = server->daemon;
    source->tag = g_source_add_unix_fd(
        base, MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, G_IO_IN);
    g_source_attach(base, NULL);
    return base;
}

// What clients do wrong is told to them in the reply. In the log it helps only while debugging.
__attribute__((format(printf, 2, 0))) static void log_server(void *context, const char *format,
                                                             va_list arguments)
{
    const struct http_server *server = context;
    char text[512];

    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = 0;
    log_debug("%s: %s", server->name, text);
}

static struct MHD_Daemon *start(struct http_server *server,
                                const struct http_server_settings *settings)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_END, 0, NULL},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, NULL},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)certificate_priority},
                                   {MHD_OPTION_END, 0, NULL}};

    if (settings->certificate) {
        flags |= MHD_USE_TLS;
        tls[0].option = MHD_OPTION_HTTPS_MEM_KEY;
        tls[0].ptr_value = (void *)certificate_key_text(settings->certificate);
        tls[1].ptr_value = (void *)certificate_text(settings->certificate);
    }
    // A server that starts closes the fd when it ends; one that does not start leaves it open.
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, log_server, server,
        MHD_OPTION_LISTEN_SOCKET, settings->fd, MHD_OPTION_CONNECTION_LIMIT,
        CONNECTIONS_EVER + ROOM_TO_CLOSE, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->silence_s, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_replied, server, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

int http_server_new(const struct http_server_settings *settings, struct error *error,
                    struct http_server **ret_server)
{
    struct http_server *server = g_new0(struct http_server, 1);

    server->handler = settings->handler;
    server->name = settings->name;
    server->connections = g_ptr_array_new();
    server->streams = g_ptr_array_new();
    server->most = settings->connections;
    server->most_streams = settings->streams;
    server->most_an_address = settings->connections_an_address;
    server->certificate = settings->certificate ? certificate_ref(settings->certificate) : NULL;
    server->daemon = start(server, settings);
    if (!server->daemon) {
        http_server_free(server);
        return error_set(error, -EIO, "%s: the HTTP server does not start", settings->name);
    }
    server->listening = true;
    server->source = source_new(server);
    *ret_server = server;
    return 0;
}

void http_server_limit(struct http_server *server, unsigned connections,
                       unsigned connections_an_address, unsigned streams)
{
    server->most_streams = streams;
    server->most = connections;
    server->most_an_address = connections_an_address;
}

void http_server_wake(const struct http_server *server)
{
    g_source_set_ready_time(server->source, 0);
}

void http_server_stop_listening(struct http_server *server)
{
    // A second MHD_quiesce_daemon() may return a descriptor that has been closed and opened by
    // somebody else.
    MHD_socket fd = server->listening ? MHD_quiesce_daemon(server->daemon) : MHD_INVALID_SOCKET;

    server->listening = false;
    if (fd != MHD_INVALID_SOCKET) {
        close(fd);
    }
}

void http_server_hang_up_strangers(const struct http_server *server, const struct account *account,
                                   enum config_role role)
{
    for (guint i = 0; i < server->connections->len; i++) {
        struct http_connection *connection = g_ptr_array_index(server->connections, i);

        if (connection->login.allowed &&
            !account_is_still_allowed(account, &connection->login,
                                      MAX(role, connection->login.role))) {
            hang_up(connection);
        }
    }
}

GPtrArray *http_server_streams(const struct http_server *server)
{
    return server->streams;
}

bool http_server_takes_stream(const struct http_server *server)
{
    return server->streams->len < server->most_streams;
}

void http_server_run(const struct http_server *server)
{
    MHD_run(server->daemon);
}

void http_server_free(struct http_server *server)
{
    if (!server) {
        return;
    }
    if (server->daemon) {
        // Else libmicrohttpd may shut the socket down for everybody who has a copy of it.
        http_server_stop_listening(server);
        MHD_stop_daemon(server->daemon);
    }
    if (server->source) {
        g_source_destroy(server->source);
        g_source_unref(server->source);
    }
    g_clear_handle_id(&server->timer, g_source_remove);
    g_ptr_array_unref(server->connections);
    g_ptr_array_unref(server->streams);
    certificate_unref(server->certificate);
    g_free(server);
}
