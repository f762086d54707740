// Framing: a link_header, then its payload. Both directions are independent.
//
// Sending: under `lock`, straight into the socket as long as nothing waits; what the socket does
// not take is copied into `queue`, a list of chunks. Receiving: a two-step state (header, payload)
// that survives partial reads.

#include "daemon/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#define LINK_PIECES_MAX 4

struct chunk {
    struct chunk *next;
    size_t size, sent;
    bool jpeg; // does not count
    uint8_t bytes[];
};

struct link {
    int fd; // owned
    size_t queue_limit;
    void (*wake)(void *context);
    void *wake_context;

    pthread_mutex_t lock; // guards the queue
    struct chunk *head, **tail;
    size_t queued_bytes;
    size_t jpeg_bytes; // of JPEGs in it, which do not count

    // Receiver's thread only.
    struct link_header header;
    size_t header_filled;
    uint8_t *payload; // owned
    size_t payload_filled;
};

int link_new(int fd, size_t queue_bytes, struct link **ret_link)
{
    struct link *link = calloc(1, sizeof *link);

    if (!link)
        return -ENOMEM;
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        free(link);
        return -errno;
    }
    link->fd = fd;
    link->queue_limit = queue_bytes;
    link->tail = &link->head;
    pthread_mutex_init(&link->lock, NULL);
    *ret_link = link;
    return 0;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    close(link->fd);
    while (link->head) {
        struct chunk *chunk = link->head;

        link->head = chunk->next;
        free(chunk);
    }
    free(link->payload);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

int link_fd(const struct link *link)
{
    return link->fd;
}

void link_set_wake(struct link *link, void (*wake)(void *context), void *context)
{
    link->wake = wake;
    link->wake_context = context;
}

// Sends what the socket takes at once. Returns the number of bytes, 0 when full, or -EPIPE.
static ssize_t socket_send(int fd, struct iovec *pieces, int count)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
    ssize_t sent;

    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == EAGAIN || errno == ENOBUFS ? 0 : -EPIPE;
    return sent;
}

// Copies the bytes of `pieces` behind the first `skip` into one chunk at the end of the queue.
static int queue_append(struct link *link, bool jpeg, const struct iovec *pieces, int count,
                        size_t total, size_t skip)
{
    struct chunk *chunk = malloc(sizeof *chunk + total - skip);

    if (!chunk)
        return -ENOMEM;
    *chunk = (struct chunk){.size = total - skip, .jpeg = jpeg};
    uint8_t *to = chunk->bytes;
    for (int i = 0; i < count; i++) {
        size_t hidden = skip < pieces[i].iov_len ? skip : pieces[i].iov_len;

        skip -= hidden;
        if (pieces[i].iov_len > hidden) {
            memcpy(to, (const uint8_t *)pieces[i].iov_base + hidden, pieces[i].iov_len - hidden);
            to += pieces[i].iov_len - hidden;
        }
    }
    *link->tail = chunk;
    link->tail = &chunk->next;
    *(jpeg ? &link->jpeg_bytes : &link->queued_bytes) += chunk->size;
    return 0;
}

// Whether it has room of its own in the queue.
static bool is_event(enum link_type type)
{
    return type == LINK_EVENT || (type >= RECORD_STORAGE && type <= RECORD_TRIAL &&
                                  type != RECORD_UNIT && type != RECORD_PICTURE);
}

static int send_locked(struct link *link, enum link_type type, struct iovec *pieces, int count,
                       size_t total)
{
    size_t limit = link->queue_limit + (is_event(type) ? LINK_EVENTS_BYTES : 0);
    bool jpeg = type == LINK_JPEG;
    bool has_room = jpeg ? !link->jpeg_bytes || link->jpeg_bytes + total <= LINK_JPEGS_BYTES
                         : link->queued_bytes + total <= limit;
    ssize_t sent = 0;

    if (!link->head) {
        sent = socket_send(link->fd, pieces, count);
        if (sent < 0)
            return (int)sent;
        if ((size_t)sent == total)
            return 0;
    } else if (!has_room) {
        return -ENOBUFS;
    }
    // A message that has begun must be finished, whatever the limit says.
    return queue_append(link, jpeg, pieces, count, total, (size_t)sent);
}

int link_send(struct link *link, enum link_type type, uint32_t view, const struct iovec *pieces,
              int count)
{
    struct link_header header = {.type = type, .view = view};
    struct iovec all[LINK_PIECES_MAX + 1] = {{&header, sizeof header}};
    size_t size = 0;

    if (count > LINK_PIECES_MAX)
        return -EMSGSIZE;
    for (int i = 0; i < count; i++) {
        all[i + 1] = pieces[i];
        size += pieces[i].iov_len;
    }
    if (size > LINK_PAYLOAD_MAX)
        return -EMSGSIZE;
    header.size = (uint32_t)size;

    pthread_mutex_lock(&link->lock);
    int r = send_locked(link, type, all, count + 1, sizeof header + size);
    bool waiting = link->head != NULL;
    pthread_mutex_unlock(&link->lock);
    if (waiting && link->wake)
        link->wake(link->wake_context);
    return r;
}

int link_send_bytes(struct link *link, enum link_type type, uint32_t view, const void *bytes,
                    size_t size)
{
    struct iovec piece = {(void *)bytes, size};

    return link_send(link, type, view, &piece, size ? 1 : 0);
}

bool link_wants_write(struct link *link)
{
    pthread_mutex_lock(&link->lock);
    bool waiting = link->head != NULL;
    pthread_mutex_unlock(&link->lock);
    return waiting;
}

int link_flush(struct link *link)
{
    int r = 0;

    pthread_mutex_lock(&link->lock);
    while (link->head) {
        struct chunk *chunk = link->head;
        struct iovec piece = {chunk->bytes + chunk->sent, chunk->size - chunk->sent};
        ssize_t sent = socket_send(link->fd, &piece, 1);

        if (sent <= 0) {
            r = (int)sent;
            break;
        }
        chunk->sent += (size_t)sent;
        *(chunk->jpeg ? &link->jpeg_bytes : &link->queued_bytes) -= (size_t)sent;
        if (chunk->sent == chunk->size) {
            link->head = chunk->next;
            free(chunk);
        }
    }
    if (!link->head)
        link->tail = &link->head;
    pthread_mutex_unlock(&link->lock);
    return r;
}

// Reads up to `size` bytes. Returns the number read, -EAGAIN when nothing is there, -EPIPE at the
// end.
static ssize_t socket_receive(int fd, void *buffer, size_t size)
{
    ssize_t got;

    do {
        got = recv(fd, buffer, size, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN ? -EAGAIN : -EPIPE;
    return got ? got : -EPIPE;
}

static int receive_header(struct link *link)
{
    ssize_t got = socket_receive(link->fd, (uint8_t *)&link->header + link->header_filled,
                                 sizeof link->header - link->header_filled);

    if (got < 0)
        return (int)got;
    link->header_filled += (size_t)got;
    if (link->header_filled < sizeof link->header)
        return 0;
    if (link->header.type < LINK_CONFIGURE || link->header.type >= LINK_TYPE_COUNT ||
        link->header.size > LINK_PAYLOAD_MAX) {
        return -EPROTO;
    }
    link->payload = malloc((size_t)link->header.size + 1);
    if (!link->payload)
        return -ENOMEM;
    link->payload[link->header.size] = 0;
    link->payload_filled = 0;
    return 0;
}

static ssize_t receive_payload(struct link *link)
{
    ssize_t got = socket_receive(link->fd, link->payload + link->payload_filled,
                                 link->header.size - link->payload_filled);

    link->payload_filled += got > 0 ? (size_t)got : 0;
    return got;
}

static int deliver(struct link *link, link_handler *handler, void *context)
{
    struct link_message message = {.header = link->header, .payload = TAKE(link->payload)};

    link->header_filled = 0;
    int r = handler(context, &message);
    free(message.payload);
    return r;
}

int link_receive(struct link *link, link_handler *handler, void *context)
{
    unsigned messages = 0;
    size_t bytes = 0;

    while (messages < LINK_TURN_MESSAGES && bytes < LINK_TURN_BYTES) {
        ssize_t r;

        if (!link->payload) {
            r = receive_header(link);
        } else if (link->payload_filled < link->header.size) {
            r = receive_payload(link);
            bytes += r > 0 ? (size_t)r : 0;
        } else {
            r = deliver(link, handler, context);
            messages++;
        }
        if (r < 0)
            return r == -EAGAIN ? 0 : (int)r;
    }
    return 0;
}
