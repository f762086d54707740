// One end of a link on a GLib main loop: reads when something came, writes when there is room, and
// takes each message by a table that knows its size. It ends when the other end is gone, is of
// another version, sends what is not in the table, or says nothing for too long.
#pragma once

#include "config/base.h"
#include "daemon/link/link.h"

#include <glib.h>

// A kind of message.
struct link_kind {
    const char *name; // for sentences about bad ones; NULL: this end takes no such message
    // Returns 0, or a negative errno, with which the link ends. -EPROTO without a sentence in
    // link_end's error: the message is bad. It must not close its link and return 0, because other
    // messages may have come. NULL: there is nothing to do.
    int (*take)(void *context, struct link_message *message);
    size_t size;   // of the payload
    bool has_more; // more bytes than that may come
};

// How two programs talk, as one of them hears it.
struct link_protocol {
    struct link_kind kinds[LINK_TYPE_COUNT];
    enum link_type hello; // the first message and no other; its payload is the version
    size_t queue_bytes;   // as of link_new()
    // The last call: -EPIPE: the other end has hung up; -EPROTO: it breaks the protocol; -ETIME: it
    // says nothing; or what a `take` returned. `sentence` is a clause about the other end ("has
    // closed its connection"). The link is to be closed, and its owner may be freed.
    void (*ended)(void *context, int reason, const char *sentence);
    void (*writable)(void *context); // there is room again after an -ENOBUFS; NULL: no call
};

// Embedded; {0} is closed.
struct link_end {
    struct link *link; // owned; NULL: closed
    const struct link_protocol *protocol;
    void *context;
    struct error error;                     // set by a `take` that ends the link
    bool greeted, blocked;                  // the other end has said hello; something was not sent
    guint read_watch, write_watch, silence; // GLib source ids; 0: none
    int silence_ms;
    bool looks_again; // at a silent link, before it ends
};

// Takes over `fd` (a connected stream socket), in any case. `protocol` and `context` are borrowed.
// 0 or -errno.
int link_end_open(struct link_end *end, int fd, const struct link_protocol *protocol,
                  void *context);
// Forgets what was not sent. `ended` is not called. Takes a closed one.
void link_end_close(struct link_end *end);

// As link_send(); -ENOTCONN: it is closed.
int link_end_send(struct link_end *end, enum link_type type, uint32_t view,
                  const struct iovec *pieces, int count);
// Sends the version as the hello of its protocol.
int link_end_send_hello(struct link_end *end);
// The other end gives a sign of life within `ms`, upon which this is called again; else it counts
// as silent.
void link_end_expect(struct link_end *end, int ms);
// Reads what is there, as link_receive(). False: `ended` was called.
bool link_end_receive(struct link_end *end);
