// A client of the RTSP server over a wire of memory, which looks at each reply and packet.
#pragma once

#include "tests/fuzz/fuzz.h"

#include "daemon/front/rtsp/connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

struct client {
    struct connection *connection; // NULL: it has not come yet, or has gone
    int fd;                        // to be polled; never has anything to say
    GByteArray *sent;              // and not read by the server yet
    GByteArray *received;          // and not looked at yet
    size_t room;                   // how much more it takes
    bool encrypted, hangs_up, broken;
    bool is_left; // the server sends nothing more
};

static int wire_shake_hands(void *channel)
{
    (void)channel;
    return 0;
}

static bool wire_waits(void *channel)
{
    (void)channel;
    return false;
}

static bool wire_is_unread(void *channel)
{
    const struct client *client = channel;

    return client->encrypted && client->sent->len > 0;
}

static ssize_t wire_take(void *channel, void *bytes, size_t size)
{
    struct client *client = channel;
    size_t count = MIN(size, client->sent->len);

    if (client->broken)
        return -ECONNRESET;
    if (count == 0)
        return client->hangs_up ? 0 : -EAGAIN;
    memcpy(bytes, client->sent->data, count);
    g_byte_array_remove_range(client->sent, 0, (guint)count);
    return (ssize_t)count;
}

static ssize_t wire_give(void *channel, const struct iovec *parts, int count)
{
    struct client *client = channel;
    ssize_t taken = 0;

    if (client->broken)
        return -EPIPE;
    for (int i = 0; i < count; i++) {
        size_t size = MIN(parts[i].iov_len, client->room);

        fuzz_claim(size == 0 || !client->is_left);
        g_byte_array_append(client->received, parts[i].iov_base, (guint)size);
        client->room -= size;
        taken += (ssize_t)size;
    }
    return taken > 0 || client->room > 0 ? taken : -EAGAIN;
}

static void wire_say_end(void *channel)
{
    ((struct client *)channel)->is_left = true;
}

static void wire_close(void *channel)
{
    close(((const struct client *)channel)->fd);
}

#define OPERATIONS                                                                                 \
    .wants_write = wire_waits, .has_unread = wire_is_unread, .read = wire_take,                    \
    .writev = wire_give, .end = wire_say_end, .free = wire_close

static const struct wire_ops plain_wire = {.name = "TCP", OPERATIONS};
static const struct wire_ops encrypted_wire = {
    .name = "TLS", .encrypted = true, .handshake = wire_shake_hands, OPERATIONS};

// The size of the reply that lies in front; 0: it is not complete.
static inline size_t client_reply_size(const char *bytes, size_t size)
{
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    size_t head = end ? (size_t)(end + 4 - bytes) : 0, body = 0;
    unsigned status;

    fuzz_claim(size < 13 || ((memcmp(bytes, "RTSP/1.0 ", 9) == 0 ||
                              memcmp(bytes, "HTTP/1.", 7) == 0) && // for who takes us for that
                             bytes[12] == ' '));
    if (!end)
        return 0;
    fuzz_claim(sscanf(bytes + 9, "%3u", &status) == 1 && status >= 200);
    const char *length = memmem(bytes, head, "Content-Length: ", 16);
    body = length ? strtoul(length + 16, NULL, 10) : 0;
    return head + body <= size ? head + body : 0;
}

// Checks that replies and interleaved packets follow one another, wherever they were cut.
static inline void client_check_received(struct client *client)
{
    size_t at = 0, size = 1;

    g_byte_array_append(client->received, (const guint8 *)"", 1); // where texts end
    while (at < client->received->len - 1 && size > 0) {
        const uint8_t *bytes = client->received->data + at;
        size_t left = client->received->len - 1 - at;

        if (*bytes == '$') {
            size = left >= 4 ? 4 + (size_t)(bytes[2] << 8 | bytes[3]) : 0;
            size = size <= left ? size : 0;
        } else {
            size = client_reply_size((const char *)bytes, left);
        }
        at += size;
    }
    g_byte_array_remove_range(client->received, 0, (guint)at);
    g_byte_array_set_size(client->received, client->received->len - 1);
}

// Connects it to `service` from `peer`, over an encrypted wire or a plain one.
static inline void client_come(struct client *client, struct rtsp_service *service,
                               const struct sockaddr_storage *peer, bool encrypted)
{
    struct wire *wire;

    *client = (struct client){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                              .sent = g_byte_array_new(),
                              .received = g_byte_array_new(),
                              .room = SIZE_MAX,
                              .encrypted = encrypted};
    fuzz_claim(wire_new(encrypted ? &encrypted_wire : &plain_wire, client, client->fd, &wire) == 0);
    fuzz_claim(connection_new(service, wire, peer, &client->connection) == 0);
}

static inline void client_go(struct client *client)
{
    if (client->connection) {
        connection_free(TAKE(client->connection));
        g_byte_array_unref(client->sent);
        g_byte_array_unref(client->received);
    }
}

static inline bool client_is_here(const struct client *client)
{
    return client->connection && !client->connection->ended;
}

// The events that the poller would report to the connection.
static inline uint32_t client_events(const struct client *client)
{
    bool readable = client->sent->len > 0 || client->hangs_up || client->broken;
    bool writable = client->room > 0 || client->broken;
    uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

    return (events & client->connection->watch.events) | (client->broken ? EPOLLHUP : 0);
}
