// Framed messages over a stream socket (a socketpair between the front and a camera process).
//
// Sending is thread-safe, never blocks and keeps what the socket does not take in a bounded queue;
// the owner flushes it when link_wants_write() and the fd is writable. Receiving is for one thread.
#pragma once

#include "config/base.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

// How much link_receive() reads at a time: some milliseconds of work.
#define LINK_TURN_MESSAGES 64
#define LINK_TURN_BYTES (1u << 20)

struct link;

// One message. The payload belongs to the link until the handler TAKE()s it, and then to the
// handler, who free()s it: so an access unit is read once, into the memory it is streamed from.
struct link_message {
    struct link_header header;
    uint8_t *payload; // header.size bytes, followed by a NUL byte that does not count
};

// Room in each queue for LINK_EVENT and for all that is said to a recorder but video and pictures:
// some hundred events, which video never takes.
#define LINK_EVENTS_BYTES (64u << 10)

// A LINK_JPEG is large and late, so it waits outside the queue's bounds, where it takes no room
// from video. One may always wait, and more up to this.
#define LINK_JPEGS_BYTES (4u << 20)

// Takes over `fd` (a connected stream socket; made non-blocking, CLOEXEC). `queue_bytes` bounds
// what waits unsent; events have LINK_EVENTS_BYTES more.
int link_new(int fd, size_t queue_bytes, struct link **ret_link);
// Closes the fd. Takes NULL.
void link_free(struct link *link);
int link_fd(const struct link *link);

// Sends a header with `count` pieces of payload. -ENOBUFS: the queue is full, or too many LINK_JPEG
// wait, and nothing was sent; -EPIPE: the other end is gone; -EMSGSIZE.
int link_send(struct link *link, enum link_type type, uint32_t view, const struct iovec *pieces,
              int count);
// The same with one piece of payload, or none (NULL, 0).
int link_send_bytes(struct link *link, enum link_type type, uint32_t view, const void *bytes,
                    size_t size);

// Tells the owner's thread to look at link_wants_write(): called from the sending thread, without
// locks held, when something stays in the queue. Set it before the first send; NULL: no call.
void link_set_wake(struct link *link, void (*wake)(void *context), void *context);
bool link_wants_write(struct link *link);
// Sends from the queue what the socket takes. 0 or -EPIPE.
int link_flush(struct link *link);

// Called for each complete message; a negative return ends link_receive with it.
typedef int link_handler(void *context, struct link_message *message);
// Reads what is there and calls `handler` for each complete message, up to LINK_TURN_MESSAGES or
// LINK_TURN_BYTES, so that an end that never stops sending leaves the reader time for other work.
// Returns 0, -EPIPE when the other end has closed, -EPROTO for a malformed header, or what the
// handler returned.
int link_receive(struct link *link, link_handler *handler, void *context);
