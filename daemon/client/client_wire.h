// Where edgectl finds edged, and a connection to it: its control socket, or the address at which it
// serves HTTP, plain or inside TLS.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <sys/types.h>

#define CLIENT_FINGERPRINT_BYTES 32u

// Either `socket` is set, or `host`, `port` and what follows.
struct client_place {
    char *socket; // path of the control socket; owned
    char *host;   // a name or an address; owned
    char *port;   // decimal; owned
    bool tls;
    char *token; // goes with each request, inside TLS and to this machine alone; owned; NULL: none
    char *ca;    // file with the CAs to trust; owned; NULL: the system's
    // The only certificate to trust, whoever signed it and whatever it names, if `is_pinned`.
    uint8_t fingerprint[CLIENT_FINGERPRINT_BYTES];
    bool is_pinned;
    char *name; // for messages: the path, or "https://camera:9854"; owned
};

struct client_wire;

// Connects, within `timeout_s` seconds, and checks the certificate. -ENOENT and -ECONNREFUSED:
// nobody listens there; -EACCES: this user may not use the control socket, or the connection would
// show the token; -ETIMEDOUT; -EPROTO: no TLS, or a certificate that is not trusted; else what the
// system says; each with its sentence in `error`. The caller client_wire_free()s *ret_wire.
int client_wire_open(const struct client_place *place, int timeout_s, struct error *error,
                     struct client_wire **ret_wire);
// Closes the connection. Takes NULL.
void client_wire_free(struct client_wire *wire);
void client_wire_cleanup(struct client_wire **wire); // for _cleanup_

// How long send and receive wait, instead of the time of client_wire_open().
void client_wire_set_timeout(struct client_wire *wire, int timeout_s);
// Sends all of `text`. -EAGAIN: it took longer than the time; else what the system or TLS says.
int client_wire_send(struct client_wire *wire, const char *text);
// Receives up to `size` bytes, at least one; 0: the other end has closed. Errors as above.
ssize_t client_wire_receive(struct client_wire *wire, char *bytes, size_t size);
// From now on client_wire_receive() does not wait: -EAGAIN when there is nothing, and only then the
// descriptor, which is returned and stays the wire's, becomes readable when there is more.
int client_wire_stop_waiting(struct client_wire *wire);
