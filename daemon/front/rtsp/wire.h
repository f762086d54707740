// The byte stream of a connection, plain or encrypted, shared by replies and by packets.
//
// A packet that the socket takes only in part is completed before anything else is sent, so that a
// viewer never has to remember where in a packet it stopped. The wire itself keeps the rest of such
// a packet, and replies that wait. Main loop only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

// A kind of wire. Nothing blocks; -EAGAIN where it would.
struct wire_ops {
    const char *name; // "TCP", "TLS"
    bool encrypted;
    // 0: the handshake is done. -EAGAIN: wants_write() says what it waits for. -errno: it failed.
    // NULL: there is none.
    int (*handshake)(void *channel);
    // Whether the channel waits to write rather than to read.
    bool (*wants_write)(void *channel);
    // Whether the channel itself holds bytes to read, of which the descriptor tells nothing.
    bool (*has_unread)(void *channel);
    // Bytes read, 0 at the end, or -errno.
    ssize_t (*read)(void *channel, void *bytes, size_t size);
    // Returns how many bytes were accepted, from the first on, or -errno. Accepted bytes may stay
    // buffered; the next call, even an empty one, sends them.
    ssize_t (*writev)(void *channel, const struct iovec *parts, int count);
    // Tells the other end that nothing more comes, behind what was taken.
    void (*end)(void *channel);
    // Closes the descriptor too.
    void (*free)(void *channel);
};

struct wire;

// Over a connected non-blocking socket, which it takes over in any case. 0 or -ENOMEM.
int wire_new_plain(int fd, struct wire **ret_wire);
// Over a channel of the caller's own kind, which it takes over in any case; `fd` is the descriptor
// to poll.
int wire_new(const struct wire_ops *ops, void *channel, int fd, struct wire **ret_wire);
// Closes the connection. Takes NULL.
void wire_free(struct wire *wire);

int wire_fd(const struct wire *wire);
const struct wire_ops *wire_kind(const struct wire *wire);
// Goes on with the handshake of a kind that has one; returns what that says.
int wire_handshake(struct wire *wire);
ssize_t wire_read(struct wire *wire, void *bytes, size_t size);
bool wire_has_unread(const struct wire *wire);

// Sends bytes that must not be lost, after what waits. -ENOBUFS: too much waits, the other end does
// not read; -errno: the connection has failed.
int wire_send(struct wire *wire, const void *bytes, size_t size);
// Sends packets of `parts_each` parts each. Returns how many were taken, or -errno.
int wire_send_packets(struct wire *wire, const struct iovec *parts, int parts_each, int packets);
// Sends what waits. -EAGAIN: some still does.
int wire_flush(struct wire *wire);
// Sends nothing more, and tells the other end so: to be called whenever wire_flush() has sent what
// waited. Bytes from the other end can still be read.
void wire_end(struct wire *wire);
// Calls `blocked` when the wire has begun to wait for the descriptor to be writable.
void wire_on_blocked(struct wire *wire, void (*blocked)(void *context), void *context);
// Something waits to be written: wire_flush() when the descriptor is writable.
bool wire_wants_write(const struct wire *wire);
