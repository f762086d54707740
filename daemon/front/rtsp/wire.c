#include "daemon/front/rtsp/wire.h"

#include "config/base.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

// How many bytes of replies a client may leave unread.
#define PENDING_MAX 65536u

struct wire {
    const struct wire_ops *ops;
    void *channel;       // owned
    int fd;              // the channel's
    GByteArray *pending; // owned; to be written before anything else
    bool blocked;        // waits for the descriptor to be writable
    void (*on_blocked)(void *context);
    void *context;
};

static bool plain_never(void *channel)
{
    (void)channel;
    return false;
}

static ssize_t plain_read(void *channel, void *bytes, size_t size)
{
    ssize_t count = recv(GPOINTER_TO_INT(channel), bytes, size, 0);

    return count < 0 ? -errno : count;
}

static ssize_t plain_writev(void *channel, const struct iovec *parts, int count)
{
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    ssize_t sent = count ? sendmsg(GPOINTER_TO_INT(channel), &message, MSG_NOSIGNAL) : 0;

    return sent < 0 ? -errno : sent;
}

static void plain_end(void *channel)
{
    shutdown(GPOINTER_TO_INT(channel), SHUT_WR);
}

static void plain_free(void *channel)
{
    close(GPOINTER_TO_INT(channel));
}

static const struct wire_ops plain = {
    .name = "TCP",
    .wants_write = plain_never,
    .has_unread = plain_never,
    .read = plain_read,
    .writev = plain_writev,
    .end = plain_end,
    .free = plain_free,
};

int wire_new(const struct wire_ops *ops, void *channel, int fd, struct wire **ret_wire)
{
    struct wire *wire = calloc(1, sizeof *wire);

    if (!wire) {
        ops->free(channel);
        return -ENOMEM;
    }
    *wire = (struct wire){.ops = ops, .channel = channel, .fd = fd, .pending = g_byte_array_new()};
    *ret_wire = wire;
    return 0;
}

int wire_new_plain(int fd, struct wire **ret_wire)
{
    return wire_new(&plain, GINT_TO_POINTER(fd), fd, ret_wire);
}

void wire_free(struct wire *wire)
{
    if (!wire)
        return;
    wire->ops->free(wire->channel);
    g_byte_array_unref(wire->pending);
    free(wire);
}

int wire_fd(const struct wire *wire)
{
    return wire->fd;
}

const struct wire_ops *wire_kind(const struct wire *wire)
{
    return wire->ops;
}

int wire_handshake(struct wire *wire)
{
    return wire->ops->handshake(wire->channel);
}

ssize_t wire_read(struct wire *wire, void *bytes, size_t size)
{
    return wire->ops->read(wire->channel, bytes, size);
}

bool wire_has_unread(const struct wire *wire)
{
    return wire->ops->has_unread(wire->channel);
}

void wire_end(struct wire *wire)
{
    wire->ops->end(wire->channel);
}

void wire_on_blocked(struct wire *wire, void (*blocked)(void *context), void *context)
{
    wire->on_blocked = blocked;
    wire->context = context;
}

static void block(struct wire *wire)
{
    wire->blocked = true;
    if (wire->on_blocked)
        wire->on_blocked(wire->context);
}

// Bytes taken, 0 where it would block, or -errno.
static ssize_t write_parts(struct wire *wire, const struct iovec *parts, int count)
{
    ssize_t taken = wire->ops->writev(wire->channel, parts, count);

    wire->blocked = false;
    if (taken == -EAGAIN || wire->ops->wants_write(wire->channel))
        block(wire);
    return taken == -EAGAIN || taken == -EINTR ? 0 : taken;
}

int wire_flush(struct wire *wire)
{
    const struct iovec part = {wire->pending->data, wire->pending->len};
    ssize_t taken = write_parts(wire, &part, part.iov_len > 0);

    if (taken < 0)
        return (int)taken;
    g_byte_array_remove_range(wire->pending, 0, (guint)taken);
    if (wire->pending->len > 0) {
        block(wire);
        return -EAGAIN;
    }
    return wire->ops->wants_write(wire->channel) ? -EAGAIN : 0;
}

bool wire_wants_write(const struct wire *wire)
{
    return wire->blocked || wire->pending->len > 0 || wire->ops->wants_write(wire->channel);
}

int wire_send(struct wire *wire, const void *bytes, size_t size)
{
    if (wire->pending->len + size > PENDING_MAX)
        return -ENOBUFS;
    g_byte_array_append(wire->pending, bytes, (guint)size);
    int r = wire_flush(wire);
    return r == -EAGAIN ? 0 : r;
}

// Keeps what a packet lacks of its bytes from `taken` on, if any of them was taken.
static int keep_rest(struct wire *wire, const struct iovec *parts, int parts_each, size_t taken)
{
    if (taken == 0)
        return 0;
    for (int i = 0; i < parts_each; i++) {
        size_t skipped = MIN(taken, parts[i].iov_len);

        g_byte_array_append(wire->pending, (const guint8 *)parts[i].iov_base + skipped,
                            (guint)(parts[i].iov_len - skipped));
        taken -= skipped;
    }
    return 1;
}

int wire_send_packets(struct wire *wire, const struct iovec *parts, int parts_each, int packets)
{
    int r = wire_wants_write(wire) ? wire_flush(wire) : 0;

    if (r < 0)
        return r == -EAGAIN ? 0 : r;
    ssize_t taken = write_parts(wire, parts, packets * parts_each);
    if (taken < 0)
        return (int)taken;
    for (int packet = 0; packet < packets; packet++) {
        size_t size = 0;

        for (int i = 0; i < parts_each; i++)
            size += parts[packet * parts_each + i].iov_len;
        if ((size_t)taken < size) {
            block(wire);
            return packet + keep_rest(wire, parts + (ptrdiff_t)packet * parts_each, parts_each,
                                      (size_t)taken);
        }
        taken -= (ssize_t)size;
    }
    return packets;
}
