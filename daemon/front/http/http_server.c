#include "daemon/front/http/http_server.h"

#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/http/http_share.h"

#include <errno.h>
#include <glib-unix.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define MEMORY_BYTES ((size_t)16384) // a connection, its request line and headers included
// More than there can be: how many there may be is this server's to say.
#define CONNECTIONS_EVER 131072u
// MHD_USE_NO_THREAD_SAFETY of libmicrohttpd 1.0, which takes up a connection at once with it and in
// a later run without it. Earlier releases lack the name, ignore the bit, and always take it up at
// once. With it MHD_resume_connection() wakes nobody: http_server_wake() is called beside it.
#define ONE_THREAD (1u << 19)
#define RUNS_MAX 8 // of libmicrohttpd in a turn of the main loop
// How many events are taken before libmicrohttpd runs, and how many connections are accepted in a
// turn of the main loop.
#define EVENTS_MAX 256
#define ACCEPTED_MAX 64
// Descriptors that are left for camera processes, links and files.
#define OTHER_DESCRIPTORS 16
// A reply that makes room is over by then, or its client reads nothing.
#define LEAVES_WITHIN_NS NS_PER_S
#define CLOSED_WITHIN_S 1u // anything but silence_s
// A body that its client does not tell the size of is read to the end of this, and then refused.
#define BODY_READ_BYTES (2 * HTTP_BODY_MAX_BYTES)

struct http_server {
    struct http_handler handler;
    const char *name;                // borrowed
    struct certificate *certificate; // reference, which the next session shows; NULL: plain
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *plain; // of connections that lack TLS; NULL: the other is without it, too
    int listening;            // the socket that is listened on; -1: no more connections are taken
    guint accepting;          // GLib source id; 0: not now
    int epoll;                // what the source waits for: held connections, libmicrohttpd's own
    struct http_room room;
    GPtrArray *streams;                  // of struct http_stream, each its response's
    struct http_connection *handed_over; // that libmicrohttpd is about to take; NULL: none
    struct http_share *share;            // owned
    guint timer; // GLib source id; 0: nobody is connected, and connections are accepted
};

// State of a connection beside libmicrohttpd's.
struct http_connection {
    struct http_client client; // first: the room's clients are connections
    struct http_server *server;
    struct sockaddr_storage address;
    socklen_t address_size;
    bool lacks_tls;
    struct certificate *certificate; // reference, which its session shows; NULL: no session yet
    char *uri;                       // of the request under way; owned
    bool headers_seen;               // of that request
    GString *body;                   // of that request, up to HTTP_BODY_MAX_BYTES; owned
    size_t body_bytes;               // that came
    struct http_waiting waiting;
};

static struct http_connection *find_connection(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void watch(const struct http_server *server, int operation, int fd, uint32_t events,
                  void *context)
{
    struct epoll_event event = {.events = events, .data.ptr = context};

    epoll_ctl(server->epoll, operation, fd, &event);
}

static void free_connection(struct http_connection *connection)
{
    struct http_server *server = connection->server;

    http_room_remove(&server->room, &connection->client);
    certificate_unref(connection->certificate);
    g_string_free(connection->body, TRUE);
    g_free(connection->uri);
    g_free(connection);
}

// libmicrohttpd closes its connections when it next runs. One that is held is closed and freed at
// once.
static void hang_up(struct http_connection *connection)
{
    struct http_client *client = &connection->client;

    if (client->stage == HTTP_HELD || client->stage == HTTP_READY) {
        close(client->fd);
        free_connection(connection);
    } else {
        http_room_end(&connection->server->room, client);
        shutdown(client->fd, SHUT_RDWR);
    }
}

// Whether it waits for too long for a whole request, or its reply goes on although it may not any
// more. libmicrohttpd's timeout counts silence only, and a client that sends a byte now and then is
// never silent.
static bool is_to_end(const struct http_server *server, const struct http_client *client,
                      int64_t now_ns)
{
    if (client->leaves_ns && now_ns > client->leaves_ns)
        return true;
    return client->waiting_since_ns
               ? now_ns - client->waiting_since_ns > HTTP_REQUEST_WITHIN_S * NS_PER_S
               : !server->handler.may_go_on(server->handler.context, &client->login);
}

static gboolean on_clients(gint fd, GIOCondition condition, gpointer data);

// Accepting is not part of HTTP's share of the main loop: a newcomer's place in the queue of the
// kernel would depend on what others cost.
static void begin_accepting(struct http_server *server)
{
    if (server->listening >= 0 && !server->accepting)
        server->accepting = g_unix_fd_add(server->listening, G_IO_IN, on_clients, server);
}

static gboolean on_second(gpointer data)
{
    struct http_server *server = data;
    int64_t now_ns = clock_now_ns();

    begin_accepting(server);
    http_room_sweep(&server->room, now_ns);
    for (guint i = server->room.clients->len; i > 0; i--) {
        struct http_connection *connection = g_ptr_array_index(server->room.clients, i - 1);

        if (!connection->client.ended && is_to_end(server, &connection->client, now_ns))
            hang_up(connection);
    }
    if (server->room.clients->len) {
        http_server_wake(server); // a handshake may take too long
        return G_SOURCE_CONTINUE;
    }
    server->timer = 0;
    return G_SOURCE_REMOVE;
}

static const struct sockaddr *peer_address(struct MHD_Connection *with)
{
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(with, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *peer = address ? address->client_addr : NULL;

    return peer && peer->sa_family != AF_UNIX ? peer : NULL;
}

static void watch_seconds(struct http_server *server)
{
    if (!server->timer)
        server->timer = g_timeout_add_seconds(1, on_second, server);
}

// Accepting
// ---------------------------------------------------------------------

static struct http_connection *open_connection(struct http_server *server, int fd,
                                               const struct sockaddr_storage *address,
                                               socklen_t address_size)
{
    struct http_connection *connection = g_new0(struct http_connection, 1);
    struct http_client *client = &connection->client;
    int64_t now_ns = clock_now_ns();

    connection->server = server;
    connection->address = *address;
    connection->address_size = address_size;
    connection->body = g_string_new(NULL);
    client->fd = fd;
    client->waiting_since_ns = client->stage_ns = now_ns;
    http_room_add(&server->room, client, (const struct sockaddr *)address);
    watch_seconds(server);
    return connection;
}

// GnuTLS calls it with each Finished of a handshake, of which the client's is the last.
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                       const gnutls_datum_t *message)
{
    struct http_connection *connection = gnutls_db_get_ptr(session);

    (void)type, (void)when, (void)message;
    if (incoming)
        http_room_end_handshake(&connection->client);
    return 0;
}

// libmicrohttpd shows the certificate that it was started with, which has been replaced since by
// http_server_show(). It has no database of sessions, whose pointer is used here, and keeps the
// others.
static void prepare_handshake(struct http_connection *connection, struct MHD_Connection *with)
{
    gnutls_session_t session =
        MHD_get_connection_info(with, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;

    connection->certificate = certificate_ref(connection->server->certificate);
    certificate_show(connection->certificate, session);
    gnutls_db_set_ptr(session, connection);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                       on_finished);
}

static void on_connection(void *context, struct MHD_Connection *with, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        struct http_connection *connection = TAKE(server->handed_over);

        if (connection->client.stage == HTTP_SHAKES)
            prepare_handshake(connection, with);
        *socket_context = connection;
    } else if (*socket_context) {
        free_connection(*socket_context);
        *socket_context = NULL;
    }
}

static void add_connection(struct http_server *server, struct MHD_Daemon *daemon,
                           struct http_connection *connection)
{
    server->handed_over = connection;
    MHD_add_connection(daemon, connection->client.fd, (const struct sockaddr *)&connection->address,
                       connection->address_size);
}

// Gives the connection to libmicrohttpd, which from then on owns its descriptor.
static void hand_over(struct http_server *server, struct http_connection *connection)
{
    add_connection(server, connection->lacks_tls ? server->plain : server->daemon, connection);
    if (server->handed_over) // which it has not taken, and closed
        free_connection(TAKE(server->handed_over));
}

static void take_plain(struct http_server *server, struct http_connection *connection)
{
    watch(server, EPOLL_CTL_DEL, connection->client.fd, 0, NULL);
    connection->lacks_tls = true;
    hand_over(server, connection);
}

static void begin_handshake(struct http_server *server, struct http_connection *connection)
{
    watch(server, EPOLL_CTL_DEL, connection->client.fd, 0, NULL);
    http_room_begin_handshake(&server->room, &connection->client, clock_now_ns());
    hand_over(server, connection);
}

static struct http_client *find_next(const struct http_server *server)
{
    struct http_client *late, *next;

    if (!server->certificate)
        return NULL;
    next = http_room_next_handshake(&server->room, clock_now_ns(), &late);
    if (late)
        hang_up((struct http_connection *)late);
    return next;
}

static void adopt(struct http_server *server, int fd, const struct sockaddr_storage *address,
                  socklen_t address_size)
{
    struct http_connection *connection = open_connection(server, fd, address, address_size);
    struct http_client *leaves;
    bool stays =
        http_room_for_connection(&server->room, &connection->client, clock_now_ns(), &leaves);

    if (!stays)
        hang_up(connection);
    if (leaves)
        hang_up((struct http_connection *)leaves);
    if (stays && server->certificate) {
        watch(server, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, connection);
    } else if (stays) {
        connection->client.stage = HTTP_SERVED;
        hand_over(server, connection);
    }
}

// With no descriptor or memory left, the next are accepted in a second. To find room among very
// many connections takes its time, so it is looked at.
static gboolean on_clients(gint fd, GIOCondition condition, gpointer data)
{
    struct http_server *server = data;
    int64_t begin_ns = clock_now_ns();
    bool is_short = descriptors_left() < OTHER_DESCRIPTORS + ACCEPTED_MAX;

    (void)condition;
    for (unsigned i = 0; i < ACCEPTED_MAX && clock_now_ns() - begin_ns < HTTP_SHARE_BURST_NS; i++) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        int client = is_short ? -1
                              : accept4(fd, (struct sockaddr *)&address, &size,
                                        SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client >= 0) {
            adopt(server, client, &address, size);
        } else if (is_short || errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                   errno == ENOMEM) {
            server->accepting = 0;
            watch_seconds(server);
            return G_SOURCE_REMOVE;
        } else {
            break;
        }
    }
    return G_SOURCE_CONTINUE;
}

// Takes the events of held connections; libmicrohttpd looks at its own.
static void take_events(struct http_server *server)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(server->epoll, events, EVENTS_MAX, 0);

    for (int i = 0; i < count; i++) {
        struct http_connection *held = events[i].data.ptr;

        if (held && !http_room_look_at_hello(&held->client, clock_now_ns()))
            hang_up(held);
        else if (held && held->client.stage == HTTP_SERVED)
            take_plain(server, held);
    }
}

// Requests
// ---------------------------------------------------------------------

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

// libmicrohttpd has closed the connection. It frees it only when no other is idle for longer, but
// looks in each run at those with a time limit of their own.
static void end_closed(struct http_connection *connection, struct MHD_Connection *with)
{
    http_room_end(&connection->server->room, &connection->client);
    MHD_set_connection_option(with, MHD_CONNECTION_OPTION_TIMEOUT, CLOSED_WITHIN_S);
    http_server_wake(connection->server);
}

static void on_replied(void *context, struct MHD_Connection *with, void **request,
                       enum MHD_RequestTerminationCode code)
{
    struct http_connection *connection = find_connection(with);

    (void)context, (void)request;
    if (connection) {
        connection->client.waiting_since_ns = clock_now_ns();
        if (connection->waiting.drop)
            connection->waiting.drop(connection->waiting.context);
        connection->waiting = (struct http_waiting){0};
        if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
            end_closed(connection, with);
    }
}

static struct http_request describe(struct http_connection *connection, struct MHD_Connection *with,
                                    const char *path, const char *method, const char *version)
{
    return (struct http_request){
        .connection = with,
        .method = method,
        .path = path,
        .uri = connection->uri,
        .version = version,
        .lacks_tls = connection->lacks_tls,
        .peer = peer_address(with),
        .login = &connection->client.login,
        .body = connection->body->str,
        .body_size = connection->body_bytes,
        .waiting = &connection->waiting,
    };
}

// Bytes beyond HTTP_BODY_MAX_BYTES are counted and dropped, so that the client can be told.
static HTTP_RESULT take_body(struct http_connection *connection, const char *piece, size_t *size)
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
static HTTP_RESULT handle(void *context, struct MHD_Connection *with, const char *path,
                          const char *method, const char *version, const char *upload_data,
                          size_t *upload_data_size, void **unused)
{
    struct http_server *server = context;
    struct http_connection *connection = find_connection(with);
    struct http_request request;
    bool refused = false;
    HTTP_RESULT result;

    (void)unused;
    if (!connection->headers_seen) {
        connection->headers_seen = true;
        request = describe(connection, with, path, method, version);
        result = server->handler.refuse(server->handler.context, &request, &refused);
        connection->client.accepted |= !refused;
        return refused ? result : MHD_YES;
    }
    if (*upload_data_size > 0)
        return take_body(connection, upload_data, upload_data_size);
    connection->client.waiting_since_ns = 0;
    connection->client.answered_ns = clock_now_ns();
    request = describe(connection, with, path, method, version);
    return server->handler.reply(server->handler.context, &request);
}

static void run_daemons(const struct http_server *server)
{
    MHD_run(server->daemon);
    if (server->plain)
        MHD_run(server->plain);
}

// In how many milliseconds libmicrohttpd wants to run; -1: when a socket is ready.
static int next_run_ms(void *context)
{
    const struct http_server *server = context;
    MHD_UNSIGNED_LONG_LONG timeout_ms, next_ms = G_MAXUINT64;

    if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES)
        next_ms = timeout_ms;
    if (server->plain && MHD_get_timeout(server->plain, &timeout_ms) == MHD_YES)
        next_ms = MIN(next_ms, timeout_ms);
    return next_ms == G_MAXUINT64 ? -1 : (int)MIN(next_ms, G_MAXINT);
}

// Requests come before a handshake, so that who has one waits for no other's signature. A request
// may take several runs, as libmicrohttpd reads a record of TLS in each.
static void run(void *context)
{
    struct http_server *server = context;
    int64_t begin_ns = http_share_computed_ns(), before_ns;
    struct http_client *next;
    unsigned runs = 0;

    take_events(server);
    do {
        run_daemons(server);
        before_ns = http_share_computed_ns();
    } while (++runs < RUNS_MAX && next_run_ms(server) == 0 &&
             before_ns - begin_ns < HTTP_SHARE_BURST_NS);
    next = find_next(server);
    if (next) {
        begin_handshake(server, (struct http_connection *)next);
        MHD_run(server->daemon);
        http_room_charge_handshake(&server->room, http_share_computed_ns() - before_ns,
                                   clock_now_ns());
    }
    if (find_next(server))
        http_share_wake(server->share, 0);
    else if (server->room.crowd_ns > clock_now_ns())
        http_share_wake(server->share, server->room.crowd_ns);
}

// Mistakes of clients are told to them in the reply. In the log they help only while debugging.
__attribute__((format(printf, 2, 0))) static void log_server(void *context, const char *format,
                                                             va_list arguments)
{
    const struct http_server *server = context;
    char text[512];

    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = 0;
    log_debug("%s: %s", server->name, text);
}

// `certificate` is NULL for a plain one.
static struct MHD_Daemon *start(struct http_server *server, const struct certificate *certificate,
                                unsigned silence_s)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     MHD_USE_NO_LISTEN_SOCKET | ONE_THREAD;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_END, 0, NULL},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, NULL},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)certificate_priority},
                                   {MHD_OPTION_END, 0, NULL}};

    if (certificate) {
        flags |= MHD_USE_TLS;
        tls[0].option = MHD_OPTION_HTTPS_MEM_KEY;
        tls[0].ptr_value = (void *)certificate_key_text(certificate);
        tls[1].ptr_value = (void *)certificate_text(certificate);
    }
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, log_server, server,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_EVER, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        MEMORY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, silence_s, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_replied, server, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

static void watch_daemon(const struct http_server *server, struct MHD_Daemon *daemon)
{
    watch(server, EPOLL_CTL_ADD, MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
          EPOLLIN, NULL);
}

int http_server_new(const struct http_server_settings *settings, struct error *error,
                    struct http_server **ret_server)
{
    struct http_server *server = g_new0(struct http_server, 1);

    server->handler = settings->handler;
    server->name = settings->name;
    server->streams = g_ptr_array_new();
    http_room_init(&server->room, &settings->limits);
    server->listening = -1;
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->certificate = settings->certificate ? certificate_ref(settings->certificate) : NULL;
    server->daemon =
        server->epoll < 0 ? NULL : start(server, server->certificate, settings->silence_s);
    if (server->daemon && server->certificate)
        server->plain = start(server, NULL, settings->silence_s);
    if (!server->daemon || (server->certificate && !server->plain)) {
        http_server_free(server);
        return error_set(error, -EIO, "%s: the HTTP server does not start", settings->name);
    }
    server->listening = settings->fd;
    watch_daemon(server, server->daemon);
    if (server->plain)
        watch_daemon(server, server->plain);
    server->share = http_share_new(settings->name, server->epoll, next_run_ms, run, server);
    begin_accepting(server);
    *ret_server = server;
    return 0;
}

void http_server_limit(struct http_server *server, const struct http_limits *limits)
{
    server->room.limits = *limits;
}

void http_server_show(struct http_server *server, struct certificate *certificate)
{
    struct certificate *before = server->certificate;

    server->certificate = certificate_ref(certificate);
    certificate_unref(before);
}

void http_server_wake(const struct http_server *server)
{
    http_share_wake(server->share, 0);
}

void http_server_stop_listening(struct http_server *server)
{
    g_clear_handle_id(&server->accepting, g_source_remove);
    if (server->listening >= 0)
        close(server->listening);
    server->listening = -1;
}

void http_server_hang_up_strangers(const struct http_server *server, const struct account *account,
                                   enum config_role role)
{
    for (guint i = 0; i < server->room.clients->len; i++) {
        struct http_connection *connection = g_ptr_array_index(server->room.clients, i);
        const struct account_login *login = &connection->client.login;

        // Held connections, which hanging up would free, have no login.
        if (login->allowed && !account_is_still_allowed(account, login, MAX(role, login->role)))
            hang_up(connection);
    }
}

GPtrArray *http_server_streams(const struct http_server *server)
{
    return server->streams;
}

int http_server_add_stream(struct http_server *server, struct MHD_Connection *connection,
                           struct http_stream *stream, bool is_download, struct fault *fault,
                           struct http_stream **ret_leaves)
{
    struct http_client *client = &find_connection(connection)->client, *leaves;
    int r = http_room_for_stream(&server->room, client, fault, &leaves);

    if (r < 0)
        return r;
    client->stream = stream;
    client->is_download = is_download;
    client->leaves_ns = 0;
    g_ptr_array_add(server->streams, stream);
    if (leaves)
        leaves->leaves_ns = clock_now_ns() + LEAVES_WITHIN_NS;
    *ret_leaves = leaves ? leaves->stream : NULL;
    return 0;
}

bool http_server_has_room(const struct http_server *server, struct MHD_Connection *connection)
{
    struct http_client *client = &find_connection(connection)->client, *leaves;
    struct fault ignored;

    return http_room_for_stream(&server->room, client, &ignored, &leaves) == 0;
}

void http_server_remove_stream(struct http_server *server, const struct http_stream *stream)
{
    g_ptr_array_remove_fast(server->streams, (gpointer)stream);
    for (guint i = 0; i < server->room.clients->len; i++) {
        struct http_client *client = g_ptr_array_index(server->room.clients, i);

        if (client->stream == stream) {
            client->stream = NULL;
            client->leaves_ns = 0;
        }
    }
}

void http_server_charge(struct http_server *server, int64_t spent_ns)
{
    http_share_charge(server->share, spent_ns);
}

void http_server_run(const struct http_server *server)
{
    run_daemons(server);
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    http_server_stop_listening(server);
    for (guint i = server->room.clients->len; i > 0; i--) {
        struct http_connection *connection = g_ptr_array_index(server->room.clients, i - 1);

        if (connection->client.stage < HTTP_SHAKES)
            hang_up(connection);
    }
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (server->plain)
        MHD_stop_daemon(server->plain);
    if (server->epoll >= 0)
        close(server->epoll);
    http_share_free(server->share);
    g_clear_handle_id(&server->timer, g_source_remove);
    http_room_finish(&server->room);
    g_ptr_array_unref(server->streams);
    certificate_unref(server->certificate);
    g_free(server);
}
