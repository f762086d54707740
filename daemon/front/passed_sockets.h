// The listening sockets that systemd opened before it started this process (sd_listen_fds(3)):
// those of edged.socket. A connection that comes while edged is started again waits in their
// backlog.
//
// They belong to the process, as its environment does, until each is taken or closed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

// Takes the stream socket that listens on exactly `address` (family, address and port): its
// descriptor, non-blocking and CLOEXEC, the caller's to close. -ENOENT: systemd passed none such.
int passed_sockets_take(const struct sockaddr *address, socklen_t size);
// Writes where those listen that nobody has taken, "127.0.0.1:8554, [::1]:8554". False: there are
// none, and `text` is empty.
bool passed_sockets_name_rest(char *text, size_t size);
// Closes them with a warning: nobody will be served there. To be called once all that are wanted
// have been taken.
void passed_sockets_close_rest(void);

// Room for any address as text, with its port.
#define SOCKET_TEXT_BYTES 80
// "127.0.0.1:8554", "[::1]:8554", or "?" for what is no address of the Internet.
void socket_address_text(const struct sockaddr *address, socklen_t size,
                         char text[SOCKET_TEXT_BYTES]);
