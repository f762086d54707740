#include "daemon/front/rtsp/connection.h"

#include "daemon/common/log.h"
#include "daemon/front/account/peer.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

// How many unsent bytes the kernel holds for a viewer. More waits in the stream, which can skip
// what is too old.
#define UNSENT_BYTES 131072
// The seconds within which a client has to play count from a little before it is accepted, because
// the client counts from its connect().
#define ACCEPTED_NS (100 * NS_PER_MS)
// How long a client that was refused may take to hang up, and how much it may send before that.
#define LEAVE_NS (2 * NS_PER_S)
#define LEAVE_BYTES 262144

static void free_session(gpointer session)
{
    session_free(session);
}

static struct peer set_name(char ret_name[INET6_ADDRSTRLEN], const struct sockaddr_storage *address)
{
    const struct peer peer = peer_of((const struct sockaddr *)address);

    peer_name(&peer, ret_name);
    return peer;
}

static void set_options(int fd)
{
    const int yes = 1, unsent = UNSENT_BYTES;

    // Without it the kernel holds a frame's last packet back until the viewer has acknowledged
    // those before, which it may put off for 40 ms.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

static void set_events(struct connection *connection)
{
    uint32_t events = connection->wait ? 0 : EPOLLIN;

    events |= wire_wants_write(connection->wire) ? EPOLLOUT : 0;
    poller_set_events(connection->service->poller, &connection->watch,
                      connection->handshake.waits ? 0 : events);
}

static void on_blocked(void *context)
{
    set_events(context);
}

void connection_end(struct connection *connection)
{
    if (!connection->ended) {
        connection->ended = true;
        handshakes_remove(&connection->service->handshakes, &connection->handshake);
        poller_remove(connection->service->poller, &connection->watch);
        connection->watch.fd = -1;
        rtsp_service_reap(connection->service);
    }
}

void connection_reply(struct connection *connection, GString *reply)
{
    if (!connection->ended && wire_send(connection->wire, reply->str, reply->len) < 0) {
        connection_end(connection);
    }
    g_string_free(reply, TRUE);
}

static void write_some(struct connection *connection)
{
    int r = wire_flush(connection->wire);

    if (r < 0 && r != -EAGAIN) {
        connection_end(connection);
    }
    if (r == 0 && connection->leave_by_ns) {
        wire_end(connection->wire);
    }
    // One session alone may fill the room there is, so each in turn is the first.
    guint first = r == 0 ? connection->turn++ : 0;
    for (guint i = 0; r == 0 && i < connection->sessions->len && !connection->ended; i++) {
        guint index = (first + i) % connection->sessions->len;

        session_writable(g_ptr_array_index(connection->sessions, index));
    }
}

void connection_leave(struct connection *connection)
{
    if (!connection->ended) {
        g_ptr_array_set_size(connection->sessions, 0);
        connection->leave_by_ns = clock_now_ns() + LEAVE_NS;
        connection->skipped = LEAVE_BYTES;
        write_some(connection);
    }
}

// Reads once. Returns whether any bytes came.
static bool read_some(struct connection *connection)
{
    static uint8_t bytes[CONNECTION_UNREAD_MAX]; // static, because there is one thread
    // Reads no more than can be kept, so that further requests wait in the kernel.
    ssize_t size = wire_read(connection->wire, bytes, sizeof bytes - connection->unread->len);

    if (size == -EAGAIN || size == -EINTR) {
        return false;
    }
    if (size <= 0) {
        connection_end(connection);
        return false;
    }
    connection->take(connection, bytes, (size_t)size);
    return true;
}

// Reads what TLS has decrypted already, because no event of the socket announces it.
static void read_unread(struct connection *connection)
{
    while (!connection->ended && !connection->wait && wire_has_unread(connection->wire) &&
           read_some(connection)) {
    }
}

void connection_resume(struct connection *connection)
{
    connection->take(connection, NULL, 0);
    read_unread(connection);
    if (!connection->ended) {
        set_events(connection);
    }
}

static void serve(struct connection *connection, uint32_t events)
{
    if (events & EPOLLOUT) {
        write_some(connection);
    }
    if (!connection->ended && events & EPOLLIN) {
        read_some(connection);
        read_unread(connection);
    }
    if (!connection->ended) {
        set_events(connection);
    }
}

static void shake_hands(void *context)
{
    struct connection *connection = context;
    int r = wire_handshake(connection->wire);

    connection->handshake_done = r == 0;
    if (r == 0) {
        serve(connection, EPOLLIN); // with its last message a request may have been read
    } else if (r != -EAGAIN) {
        connection_end(connection);
    } else {
        set_events(connection);
    }
}

static void on_ready(void *context, uint32_t events)
{
    struct connection *connection = context;

    if (events & (EPOLLERR | EPOLLHUP)) {
        connection_end(connection);
    } else if (connection->handshake_done) {
        serve(connection, events);
    } else {
        handshakes_add(&connection->service->handshakes, &connection->handshake);
        set_events(connection);
    }
}

int connection_new(struct rtsp_service *service, struct wire *wire,
                   const struct sockaddr_storage *peer, connection_take *take,
                   struct connection **ret_connection)
{
    struct connection *connection = g_new0(struct connection, 1);
    socklen_t size = sizeof connection->local;

    connection->service = service;
    connection->wire = wire;
    connection->take = take;
    connection->peer = *peer;
    connection->idle_ns = clock_now_ns();
    connection->unread = g_byte_array_new();
    connection->sessions = g_ptr_array_new_with_free_func(free_session);
    connection->handshake_done = !wire_kind(wire)->handshake;
    const struct peer from = set_name(connection->peer_name, peer);
    connection->address = rtsp_service_address(service, &from);
    connection->handshake = (struct handshake){
        .line = &connection->address->handshakes, .turn = shake_hands, .context = connection};
    connection->watch = (struct poller_watch){
        .fd = wire_fd(wire), .ready = on_ready, .context = connection, .events = EPOLLIN};
    getsockname(wire_fd(wire), (struct sockaddr *)&connection->local, &size);
    set_name(connection->local_name, &connection->local);
    set_options(wire_fd(wire));
    wire_on_blocked(wire, on_blocked, connection);
    int r = poller_add(service->poller, &connection->watch);
    if (r < 0) {
        connection->watch.fd = -1;
        connection_free(connection);
        return r;
    }
    *ret_connection = connection;
    return 0;
}

void connection_free(struct connection *connection)
{
    if (!connection) {
        return;
    }
    connection->ended = true; // so that nothing that ends with it asks for it to be freed
    wire_on_blocked(connection->wire, NULL, NULL);
    if (connection->wait) {
        connection->drop_wait(connection->wait);
    }
    g_ptr_array_unref(connection->sessions);
    handshakes_remove(&connection->service->handshakes, &connection->handshake);
    rtsp_service_release(connection->service, connection->address);
    poller_remove(connection->service->poller, &connection->watch);
    wire_free(connection->wire);
    g_byte_array_unref(connection->unread);
    g_free(connection);
}

void connection_drop_session(struct connection *connection, struct session *session)
{
    g_ptr_array_remove(connection->sessions, session);
}

bool connection_is_playing(const struct connection *connection)
{
    return connection_count_viewers(connection, NULL) > 0;
}

unsigned connection_count_viewers(const struct connection *connection, const char *path)
{
    unsigned count = 0;

    for (guint i = 0; i < connection->sessions->len && !connection->ended; i++) {
        const struct session *session = g_ptr_array_index(connection->sessions, i);

        count += session_is_playing(session) &&
                 (!path || strcmp(stream_path(session_stream(session)), path) == 0);
    }
    return count;
}

bool connection_has_stream(const struct connection *connection, const char *path)
{
    for (guint i = 0; i < connection->sessions->len; i++) {
        if (strcmp(stream_path(session_stream(g_ptr_array_index(connection->sessions, i))), path) ==
            0) {
            return true;
        }
    }
    return false;
}

// Ends the sessions that have timed out. Returns whether one is left that has played. Lowers
// `*due_ns` to when the first of them counts as stalled.
static bool tick_sessions(struct connection *connection, int64_t now_ns, int64_t *due_ns)
{
    bool used = false;

    for (guint i = connection->sessions->len; i > 0 && !connection->ended; i--) {
        struct session *session = g_ptr_array_index(connection->sessions, i - 1);
        int r = session_tick(session, now_ns);

        used |= session_has_played(session);
        *due_ns = MIN(*due_ns, viewer_stalled_ns(session_viewer(session)));
        if (r == -EPIPE) {
            connection_end(connection);
        } else if (r < 0) {
            g_ptr_array_remove_index(connection->sessions, i - 1);
        }
    }
    return used;
}

int64_t connection_tick(struct connection *connection, int64_t now_ns)
{
    int64_t idle_max_ns = connection->service->limits.play_within_s * NS_PER_S - ACCEPTED_NS;
    int64_t due_ns = INT64_MAX;

    if (tick_sessions(connection, now_ns, &due_ns)) {
        connection->idle_ns = now_ns;
    }
    due_ns = MIN(due_ns, connection->leave_by_ns ? connection->leave_by_ns
                                                 : connection->idle_ns + idle_max_ns);
    if (now_ns >= due_ns) {
        connection_end(connection);
    }
    return connection->ended ? INT64_MAX : due_ns;
}

static bool may_watch(const struct connection *connection, const struct session *session)
{
    const struct rtsp_service *service = connection->service;
    const struct rtsp_mount *mount =
        rtsp_service_find(service, stream_path(session_stream(session)));

    return mount && account_is_still_allowed(service->account, &connection->login, mount->role) &&
           (!session_is_multicast(session) || rtsp_service_has_multicast(service, mount));
}

void connection_recheck(struct connection *connection)
{
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    for (guint i = 0; i < connection->sessions->len && !connection->ended; i++) {
        const struct session *session = g_ptr_array_index(connection->sessions, i);

        if (!may_watch(connection, session)) {
            if (rtsp_service_logs(connection->service, connection->address, suffix)) {
                log_info("%s: %s may not watch any more, hanging up%s",
                         stream_path(session_stream(session)), connection->peer_name, suffix);
            }
            connection_end(connection);
        }
    }
}
