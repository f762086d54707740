#include "daemon/front/rtsp/connection.h"

#include "daemon/common/log.h"
#include "daemon/common/peer.h"
#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/methods.h"
#include "daemon/front/rtsp/session.h"

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
#define FRAME_SIZE 4 // "$", channel, length

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
                      connection->awaits_turn ? 0 : events);
}

static void on_blocked(void *context)
{
    set_events(context);
}

static void write_some(struct connection *connection)
{
    int r = wire_flush(connection->wire);

    if (r < 0 && r != -EAGAIN)
        rtsp_service_end(connection);
    if (r == 0 && connection->leave_by_ns)
        wire_end(connection->wire);
    // One session alone may fill the room there is, so each in turn is the first.
    guint first = r == 0 ? connection->turn++ : 0;
    for (guint i = 0; r == 0 && i < connection->sessions->len && !connection->ended; i++) {
        guint index = (first + i) % connection->sessions->len;

        session_writable(g_ptr_array_index(connection->sessions, index));
    }
}

// Ends the sessions at once, and the connection when the client has hung up, for which it has a
// little time. Closing a connection with unread bytes would reset it, and the client could lose the
// answer.
static void leave(struct connection *connection)
{
    if (!connection->ended) {
        g_ptr_array_set_size(connection->sessions, 0);
        connection->leave_by_ns = clock_now_ns() + LEAVE_NS;
        connection->skipped = LEAVE_BYTES;
        write_some(connection);
    }
}

// Takes RTCP that came on a channel, which may be none of a session's.
static void take_rtcp(struct connection *connection, int channel, const uint8_t *bytes, size_t size)
{
    for (guint i = 0; i < connection->sessions->len; i++) {
        struct session *session = g_ptr_array_index(connection->sessions, i);
        int track = session_find_channel(session, channel);

        if (track >= 0)
            session_take_rtcp(session, (unsigned)track, bytes, size);
    }
}

// Takes an interleaved packet at the beginning of `bytes`. Returns how many bytes that took; 0: the
// packet is not complete yet.
static size_t take_frame(struct connection *connection, const uint8_t *bytes, size_t size)
{
    if (size < FRAME_SIZE)
        return 0;
    size_t length = (size_t)bytes[2] << 8 | bytes[3];
    if (length > CONNECTION_UNREAD_MAX - FRAME_SIZE) { // no report is that long
        connection->skipped = length;
        return FRAME_SIZE;
    }
    if (size - FRAME_SIZE < length)
        return 0;
    take_rtcp(connection, bytes[1], bytes + FRAME_SIZE, length);
    return FRAME_SIZE + length;
}

// Whether one more request may be answered in this second.
static bool count_request(struct connection *connection)
{
    int64_t now_ns = clock_now_ns();

    if (now_ns - connection->second_ns >= NS_PER_S) {
        connection->second_ns = now_ns;
        connection->requests = 0;
    }
    return ++connection->requests <= (unsigned)connection->service->limits.requests_a_second;
}

// Takes a request at the beginning of `bytes`; returns as take_frame() does.
static size_t take_request(struct connection *connection, const uint8_t *bytes, size_t size)
{
    static struct rtsp_request request; // static, because it is large, and there is one thread
    ssize_t taken = rtsp_request_read((const char *)bytes, size, &request);

    if (taken > 0 && !count_request(connection))
        taken = -RTSP_TOO_MANY_REQUESTS;
    if (taken < 0) {
        methods_refuse(connection, &request, (enum rtsp_status) - taken);
        leave(connection);
        return size;
    }
    if (taken > 0)
        methods_handle(connection, &request);
    return (size_t)taken;
}

// Takes a request or a packet, whichever `bytes` begin with.
static size_t take_one(struct connection *connection, const uint8_t *bytes, size_t size)
{
    if (connection->skipped > 0) {
        size_t skipped = MIN(connection->skipped, size);

        connection->skipped -= skipped;
        if (connection->skipped == 0 && connection->leave_by_ns)
            rtsp_service_end(connection);
        return skipped;
    }
    if (*bytes == '\r' || *bytes == '\n') // between requests (RFC 2326, section 4.1)
        return 1;
    return *bytes == '$' ? take_frame(connection, bytes, size)
                         : take_request(connection, bytes, size);
}

// Handles all complete requests and packets. Returns how many bytes they took.
static size_t take_all(struct connection *connection, const uint8_t *bytes, size_t size)
{
    size_t at = 0;

    while (at < size && !connection->wait && !connection->ended) {
        size_t taken = take_one(connection, bytes + at, size - at);

        if (taken == 0)
            break;
        at += taken;
    }
    return at;
}

// Handles what is complete of `connection->unread` and the `bytes` that follow it (at most what
// CONNECTION_UNREAD_MAX leaves room for), and keeps the rest there. Stops at a request whose answer
// has to wait; then this is called again, without bytes, when it has been given.
static void take(struct connection *connection, const uint8_t *bytes, size_t size)
{
    if (connection->unread->len == 0 && size > 0) {
        size_t taken = take_all(connection, bytes, size);

        g_byte_array_append(connection->unread, bytes + taken, (guint)(size - taken));
        return;
    }
    g_byte_array_append(connection->unread, bytes, (guint)size);
    size_t taken = take_all(connection, connection->unread->data, connection->unread->len);
    g_byte_array_remove_range(connection->unread, 0, (guint)taken);
}

// Reads once. Returns whether any bytes came.
static bool read_some(struct connection *connection)
{
    static uint8_t bytes[CONNECTION_UNREAD_MAX]; // static, because there is one thread
    // Reads no more than can be kept, so that further requests wait in the kernel.
    ssize_t size = wire_read(connection->wire, bytes, sizeof bytes - connection->unread->len);

    if (size == -EAGAIN || size == -EINTR)
        return false;
    if (size <= 0) {
        rtsp_service_end(connection);
        return false;
    }
    take(connection, bytes, (size_t)size);
    return true;
}

// Reads what TLS has decrypted already, because no event of the socket announces it.
static void read_unread(struct connection *connection)
{
    while (!connection->ended && !connection->wait && wire_has_unread(connection->wire) &&
           read_some(connection)) {
    }
}

static void serve(struct connection *connection, uint32_t events)
{
    if (events & EPOLLOUT)
        write_some(connection);
    if (!connection->ended && connection->resumed) {
        connection->resumed = false;
        take(connection, NULL, 0);
    }
    if (!connection->ended && !connection->wait && events & EPOLLIN)
        read_some(connection);
    read_unread(connection);
    if (!connection->ended)
        set_events(connection);
}

// The functions below are the queue of TLS handshakes. A signature by RSA of 4096 bits takes
// milliseconds, and all that is served meanwhile waits: one step runs in an iteration of the main
// loop, addresses take turns, and after a step the queue rests for as long as the step took. So a
// crowd has half of the loop's time at most, and a client from another address waits for one step
// of each address, not for the crowd.

static void leave_queue(struct connection *connection)
{
    struct rtsp_service *service = connection->service;
    struct rtsp_address *address = connection->address;

    if (!connection->awaits_turn)
        return;
    connection->awaits_turn = false;
    g_queue_remove(&address->handshakes, connection);
    if (g_queue_is_empty(&address->handshakes))
        g_queue_remove(&service->handshakes, address);
    if (g_queue_is_empty(&service->handshakes)) {
        g_source_destroy(service->handshake_turns);
        g_clear_pointer(&service->handshake_turns, g_source_unref);
    }
}

static void shake_hands(struct connection *connection)
{
    int r = wire_handshake(connection->wire);

    connection->handshake_done = r == 0;
    if (r == 0) {
        serve(connection, EPOLLIN); // with its last message a request may have been read
    } else if (r != -EAGAIN) {
        rtsp_service_end(connection);
    } else {
        set_events(connection);
    }
}

static gboolean on_turn(gpointer data)
{
    struct rtsp_service *service = data;
    struct rtsp_address *address = g_queue_pop_head(&service->handshakes);
    struct connection *connection = g_queue_peek_head(&address->handshakes);
    g_autoptr(GSource) source = g_source_ref(service->handshake_turns);
    gint64 begin_us = g_get_monotonic_time();

    g_queue_push_tail(&service->handshakes, address); // which loses it again with its last one
    leave_queue(connection);
    if (!connection->ended)
        shake_hands(connection);
    if (!g_source_is_destroyed(source)) {
        gint64 now_us = g_get_monotonic_time();

        g_source_set_ready_time(source, now_us + (now_us - begin_us));
    }
    return G_SOURCE_CONTINUE; // unless the last one has left the queue
}

// A connection that is in the queue keeps its place.
static void join_queue(struct connection *connection)
{
    struct rtsp_service *service = connection->service;
    struct rtsp_address *address = connection->address;

    if (connection->awaits_turn)
        return;
    connection->awaits_turn = true;
    if (g_queue_is_empty(&address->handshakes))
        g_queue_push_tail(&service->handshakes, address);
    g_queue_push_tail(&address->handshakes, connection);
    if (!service->handshake_turns) {
        // Of the sockets' own priority, so that both are served in every iteration of the main
        // loop.
        service->handshake_turns = rtsp_service_source(on_turn, service, G_PRIORITY_DEFAULT);
        g_source_set_ready_time(service->handshake_turns, 0);
    }
}

static void on_ready(void *context, uint32_t events)
{
    struct connection *connection = context;

    if (connection->ended)
        return;
    if (events & (EPOLLERR | EPOLLHUP)) {
        rtsp_service_end(connection);
    } else if (connection->handshake_done) {
        serve(connection, events);
    } else {
        join_queue(connection);
        set_events(connection);
    }
}

int connection_new(struct rtsp_service *service, struct wire *wire,
                   const struct sockaddr_storage *peer, struct connection **ret_connection)
{
    struct connection *connection = g_new0(struct connection, 1);
    socklen_t size = sizeof connection->local;

    connection->service = service;
    connection->wire = wire;
    connection->peer = *peer;
    connection->idle_ns = clock_now_ns();
    connection->unread = g_byte_array_new();
    connection->sessions = g_ptr_array_new_with_free_func(free_session);
    connection->handshake_done = !wire_kind(wire)->handshake;
    const struct peer from = set_name(connection->peer_name, peer);
    connection->address = rtsp_service_address(service, &from);
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
    if (!connection)
        return;
    connection->ended = true; // so that nothing that ends with it asks for it to be freed
    wire_on_blocked(connection->wire, NULL, NULL);
    methods_forget(connection);
    g_ptr_array_unref(connection->sessions);
    leave_queue(connection);
    rtsp_service_release(connection->service, connection->address);
    poller_remove(connection->service->poller, &connection->watch);
    wire_free(connection->wire);
    g_byte_array_unref(connection->unread);
    g_free(connection);
}

unsigned connection_count_viewers(const struct connection *connection)
{
    unsigned count = 0;

    for (guint i = 0; i < connection->sessions->len && !connection->ended; i++) {
        const struct session *session = g_ptr_array_index(connection->sessions, i);

        count += session_is_playing(session);
    }
    return count;
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
        *due_ns = MIN(*due_ns, session_stalled_ns(session));
        if (r == -EPIPE)
            rtsp_service_end(connection);
        else if (r < 0)
            g_ptr_array_remove_index(connection->sessions, i - 1);
    }
    return used;
}

int64_t connection_tick(struct connection *connection, int64_t now_ns)
{
    int64_t idle_max_ns = connection->service->limits.play_within_s * NS_PER_S - ACCEPTED_NS;
    int64_t due_ns = INT64_MAX;

    if (tick_sessions(connection, now_ns, &due_ns))
        connection->idle_ns = now_ns;
    due_ns = MIN(due_ns, connection->leave_by_ns ? connection->leave_by_ns
                                                 : connection->idle_ns + idle_max_ns);
    if (now_ns >= due_ns)
        rtsp_service_end(connection);
    return connection->ended ? INT64_MAX : due_ns;
}

static bool may_watch(const struct connection *connection, const struct session *session,
                      const struct mount *mount)
{
    const struct rtsp_service *service = connection->service;

    return account_is_still_allowed(service->account, &connection->login, mount->role) &&
           (!session_is_multicast(session) || rtsp_service_has_multicast(service, mount));
}

void connection_recheck(struct connection *connection)
{
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    for (guint i = 0; i < connection->sessions->len && !connection->ended; i++) {
        const struct session *session = g_ptr_array_index(connection->sessions, i);
        const char *path = session_path(session);
        const struct mount *mount = mounts_find(connection->service->mounts, path);

        if (!mount ||
            !session_is_of(session, mount)) { // the view is gone, or goes on as another stream
            rtsp_service_end(connection);
        } else if (!may_watch(connection, session, mount)) {
            if (rtsp_service_logs(connection->service, connection->address, suffix)) {
                log_info("%s: %s may not watch any more, hanging up%s", path, connection->peer_name,
                         suffix);
            }
            rtsp_service_end(connection);
        }
    }
}
