// The listening TCP sockets of the front: the one that systemd passed for an address, or else a new
// one, which systemd keeps for the next edged.
//
// systemd passes the sockets that it had before it started this process (sd_listen_fds(3)): those
// of edged.socket, and those that the previous edged stored with it (FileDescriptorStoreMax= in
// systemd.service(5)). A connection that comes while edged is started again waits in their backlog.
// They belong to the process, as its environment does, until each is taken or closed.
#pragma once

#include "config/base.h"

// Where to listen, with the keys of the configuration that say so.
struct listener_place {
    const char *address_key; // "rtsp.address"
    const char *address;     // numeric, or a host name; "localhost" is 127.0.0.1, whatever else it
                             // is; "::" takes IPv4, too
    const char *port_key;    // "rtsp.port"
    int port;                // 0..65535; 0: any free one
};

// Listens there: non-blocking, CLOEXEC, a backlog of 1024. A host name is looked up, which waits
// for the name server; the first of its addresses that can be bound is taken. *ret_fd is the
// descriptor, which the caller closes, but never shuts down, because a socket that systemd passed
// outlasts the process. -EADDRINUSE: somebody listens there; -EADDRNOTAVAIL: no address of this
// machine, or no name that is known; -EACCES: a port below 1024; -EIO: anything else. Each with its
// sentence in `error`, "cannot listen on rtsp.address 10.0.0.7, rtsp.port 554: Permission denied".
int listener_open(const struct listener_place *place, struct error *error, int *ret_fd);

// Closes a socket of listener_open() so that nobody listens there any more. systemd drops it as
// well, unless it is one of edged.socket.
void listener_end(int fd);

// The port that a socket of listener_open() really has.
int listener_port(int fd);

// Closes the sockets that systemd passed and nobody has taken, with a warning for those of
// edged.socket: nobody is served there. To be called once all that are wanted are open.
void listener_close_rest(void);
