#include "daemon/front/rtsp/incoming.h"

#include "daemon/front/rtsp/methods.h"

#define FRAME_SIZE 4

static struct session *find_channel(const struct connection *connection, int channel)
{
    for (guint i = 0; i < connection->sessions->len; i++) {
        struct session *session = g_ptr_array_index(connection->sessions, i);

        if (session_uses_channel(session, channel)) {
            return session;
        }
    }
    return NULL;
}

// Takes an interleaved packet at the beginning of `bytes`. Returns how many bytes that took; 0: the
// packet is not complete yet.
static size_t take_frame(struct connection *connection, const uint8_t *bytes, size_t size)
{
    if (size < FRAME_SIZE) {
        return 0;
    }
    size_t length = (size_t)bytes[2] << 8 | bytes[3];
    if (length > CONNECTION_UNREAD_MAX - FRAME_SIZE) { // no report is that long
        connection->skipped = length;
        return FRAME_SIZE;
    }
    if (size - FRAME_SIZE < length) {
        return 0;
    }
    struct session *session = find_channel(connection, bytes[1]);
    if (session) {
        session_take_rtcp(session, bytes + FRAME_SIZE, length);
    }
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

// Refuses a request, after which the connection ends.
static void refuse(struct connection *connection, const struct rtsp_request *request,
                   enum rtsp_status status)
{
    methods_refuse(connection, request, status);
    connection_leave(connection);
}

// Takes a request at the beginning of `bytes`; returns as take_frame() does.
static size_t take_request(struct connection *connection, const uint8_t *bytes, size_t size)
{
    static struct rtsp_request request; // static, because it is large, and there is one thread
    ssize_t taken = rtsp_request_read((const char *)bytes, size, &request);

    if (taken > 0 && !count_request(connection)) {
        taken = -RTSP_TOO_MANY_REQUESTS;
    }
    if (taken < 0) {
        refuse(connection, &request, (enum rtsp_status) - taken);
        return size;
    }
    if (taken > 0) {
        methods_handle(connection, &request);
    }
    return (size_t)taken;
}

// Takes a request or a packet, whichever `bytes` begin with.
static size_t take_one(struct connection *connection, const uint8_t *bytes, size_t size)
{
    if (connection->skipped > 0) {
        size_t skipped = MIN(connection->skipped, size);

        connection->skipped -= skipped;
        if (connection->skipped == 0 && connection->leave_by_ns) {
            connection_end(connection);
        }
        return skipped;
    }
    if (*bytes == '\r' || *bytes == '\n') { // between requests (RFC 2326, section 4.1)
        return 1;
    }
    return *bytes == '$' ? take_frame(connection, bytes, size)
                         : take_request(connection, bytes, size);
}

// Handles all complete requests and packets. Returns how many bytes they took.
static size_t take_all(struct connection *connection, const uint8_t *bytes, size_t size)
{
    size_t at = 0;

    while (at < size && !connection->wait && !connection->ended) {
        size_t taken = take_one(connection, bytes + at, size - at);

        if (taken == 0) {
            break;
        }
        at += taken;
    }
    return at;
}

void incoming_take(struct connection *connection, const uint8_t *bytes, size_t size)
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
