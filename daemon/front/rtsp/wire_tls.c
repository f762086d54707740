// GnuTLS never sees that a socket would block: the part of a record, or of a message of the
// protocol itself, that the socket does not take waits in the channel. So no call to GnuTLS has to
// be repeated, which GnuTLS 3.7 does not do right when a client asks for new keys in the middle of
// a record. Data is encrypted only while nothing waits, so a channel holds at most one record and a
// few messages.
#include "daemon/front/rtsp/wire_tls.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#define RECORD_MAX 16384u            // bytes of data, RFC 8446, section 5.1
#define WAITING_MAX (4 * RECORD_MAX) // what a client that reads nothing can make it hold

struct tls_channel {
    gnutls_session_t session;        // owned
    struct certificate *certificate; // reference
    int fd;                          // owned
    bool handshake_done;             // the handshake is done
    bool ended;                      // nothing more is sent
    GByteArray *waiting;             // encrypted; owned; NULL: nothing
    size_t sent;                     // bytes of it
};

// How far writev() has got in its parts.
struct parts_cursor {
    const struct iovec *part, *end;
    size_t offset; // bytes of `part`
};

static int translate(int failure)
{
    switch (failure) {
    case GNUTLS_E_AGAIN:
    case GNUTLS_E_INTERRUPTED:
        return -EAGAIN;
    case GNUTLS_E_MEMORY_ERROR:
        return -ENOMEM;
    case GNUTLS_E_PUSH_ERROR:
    case GNUTLS_E_PULL_ERROR:
        return -ECONNRESET;
    default:
        return -EPROTO;
    }
}

static size_t parts_size(const struct iovec *parts, int count)
{
    size_t size = 0;

    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size;
}

// Keeps what follows the first `skipped` bytes.
static void keep(struct tls_channel *channel, const struct iovec *parts, int count, size_t skipped)
{
    if (!channel->waiting) {
        channel->waiting = g_byte_array_new();
        channel->sent = 0;
    }
    for (int i = 0; i < count; i++) {
        size_t passed = MIN(skipped, parts[i].iov_len);

        g_byte_array_append(channel->waiting, (const guint8 *)parts[i].iov_base + passed,
                            (guint)(parts[i].iov_len - passed));
        skipped -= passed;
    }
}

// The function by which GnuTLS sends.
static ssize_t push(gnutls_transport_ptr_t data, const giovec_t *parts, int count)
{
    struct tls_channel *channel = data;
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    size_t size = parts_size(parts, count);
    ssize_t sent = channel->waiting ? 0 : sendmsg(channel->fd, &message, MSG_NOSIGNAL);

    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        gnutls_transport_set_errno(channel->session, errno);
        return -1;
    }
    if (channel->waiting && channel->waiting->len - channel->sent + size > WAITING_MAX) {
        gnutls_transport_set_errno(channel->session, ENOBUFS);
        return -1;
    }
    sent = MAX(sent, 0);
    if ((size_t)sent < size)
        keep(channel, parts, count, (size_t)sent);
    return (ssize_t)size;
}

// Sends what waits. -EAGAIN: some still does.
static int flush(struct tls_channel *channel)
{
    while (channel->waiting) {
        ssize_t count = send(channel->fd, channel->waiting->data + channel->sent,
                             channel->waiting->len - channel->sent, MSG_NOSIGNAL);

        if (count < 0 && errno != EINTR)
            return -errno;
        channel->sent += (size_t)MAX(count, 0);
        if (channel->sent == channel->waiting->len) {
            g_byte_array_unref(channel->waiting);
            channel->waiting = NULL;
        }
    }
    return 0;
}

static int shake_hands(void *data)
{
    struct tls_channel *channel = data;
    int r = flush(channel), result;

    if (r < 0)
        return r;
    result = gnutls_handshake(channel->session);
    channel->handshake_done = result == 0;
    if (result < 0 && !gnutls_error_is_fatal(result))
        return -EAGAIN;
    if (result < 0) {
        gnutls_alert_send_appropriate(channel->session, result);
        return translate(result);
    }
    return 0;
}

static bool wants_write(void *data)
{
    return ((const struct tls_channel *)data)->waiting;
}

static bool has_unread(void *data)
{
    const struct tls_channel *channel = data;

    return gnutls_record_check_pending(channel->session) > 0;
}

// A client that asks to renegotiate (GNUTLS_E_REHANDSHAKE, TLS 1.2) is disconnected, because it
// could ask for a handshake at any time. One that closes without close_notify has ended, as over
// TCP.
static ssize_t read_bytes(void *data, void *bytes, size_t size)
{
    struct tls_channel *channel = data;
    ssize_t count = size ? gnutls_record_recv(channel->session, bytes, size) : GNUTLS_E_AGAIN;

    if (count >= 0)
        return count;
    if (count == GNUTLS_E_PREMATURE_TERMINATION)
        return 0;
    if (count == GNUTLS_E_REHANDSHAKE) {
        gnutls_alert_send(channel->session, GNUTLS_AL_FATAL, GNUTLS_A_NO_RENEGOTIATION);
        return -EPROTO;
    }
    return gnutls_error_is_fatal((int)count) ? translate((int)count) : -EAGAIN;
}

// Copies the next bytes, up to `size`, and goes on behind them.
static size_t gather(struct parts_cursor *cursor, uint8_t *bytes, size_t size)
{
    size_t filled = 0;

    while (cursor->part < cursor->end && filled < size) {
        size_t left = cursor->part->iov_len - cursor->offset;
        size_t count = left < size - filled ? left : size - filled;

        if (count)
            memcpy(bytes + filled, (const uint8_t *)cursor->part->iov_base + cursor->offset, count);
        filled += count;
        cursor->offset += count;
        if (cursor->offset == cursor->part->iov_len) {
            cursor->part++;
            cursor->offset = 0;
        }
    }
    return filled;
}

// A client may have agreed on shorter records, so that one is sent as several.
static int encrypt(struct tls_channel *channel, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = gnutls_record_send(channel->session, bytes, size);

        if (count < 0)
            return translate((int)count);
        bytes += count;
        size -= (size_t)count;
    }
    return 0;
}

static ssize_t write_parts(void *data, const struct iovec *parts, int count)
{
    struct tls_channel *channel = data;
    struct parts_cursor cursor = {parts, parts + count, 0};
    uint8_t record[RECORD_MAX];
    ssize_t taken = 0;
    int r = flush(channel);

    while (r == 0 && !channel->waiting) {
        size_t size = gather(&cursor, record, sizeof record);

        if (size == 0)
            break;
        r = encrypt(channel, record, size);
        taken += (ssize_t)size;
    }
    return r < 0 ? r : taken;
}

// The client may miss it if the socket is full.
static void say_goodbye(struct tls_channel *channel)
{
    if (channel->handshake_done && !channel->ended)
        gnutls_bye(channel->session, GNUTLS_SHUT_WR);
    channel->ended = true;
}

static void end(void *data)
{
    struct tls_channel *channel = data;

    say_goodbye(channel);
    if (!channel->waiting) // else this is called again when it is sent
        shutdown(channel->fd, SHUT_WR);
}

static void free_channel(void *data)
{
    struct tls_channel *channel = data;

    if (channel->session) {
        say_goodbye(channel);
        gnutls_deinit(channel->session);
    }
    if (channel->waiting)
        g_byte_array_unref(channel->waiting);
    certificate_unref(channel->certificate);
    close(channel->fd);
    free(channel);
}

static const struct wire_ops tls = {
    .name = "TLS",
    .encrypted = true,
    .handshake = shake_hands,
    .wants_write = wants_write,
    .has_unread = has_unread,
    .read = read_bytes,
    .writev = write_parts,
    .end = end,
    .free = free_channel,
};

int wire_new_tls(int fd, struct certificate *certificate, struct wire **ret_wire)
{
    struct tls_channel *channel = calloc(1, sizeof *channel);
    int r;

    if (!channel) {
        close(fd);
        return -ENOMEM;
    }
    channel->fd = fd;
    channel->certificate = certificate_ref(certificate);
    r = certificate_begin_session(certificate, &channel->session);
    if (r < 0) {
        free_channel(channel);
        return r;
    }
    gnutls_transport_set_ptr2(channel->session, GINT_TO_POINTER(fd), channel);
    gnutls_transport_set_vec_push_function(channel->session, push);
    return wire_new(&tls, channel, fd, ret_wire);
}
