// The listening sockets that systemd had before it started this process (sd_listen_fds(3)): those
// of edged.socket, and those that the previous edged stored with it (FileDescriptorStoreMax= in
// systemd.service(5)). A connection that comes while edged is started again waits in their backlog.
//
// They belong to the process, as its environment does, until each is taken or closed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

// Takes the stream socket that listens on exactly `address` (family, address and port): its
// descriptor, non-blocking and CLOEXEC, the caller's to close. -ENOENT: systemd passed none such,
// or the port is 0, which names none.
int passed_sockets_take(const struct sockaddr *address, socklen_t size);
// Stores a listening socket with systemd for the next edged, which finds it among those that are
// passed. Without systemd it does nothing.
void passed_sockets_store(int fd);
// Closes a socket that was taken or stored. systemd drops it as well, unless it is one of
// edged.socket.
void passed_sockets_end(int fd);
// Ends the sockets stored by the previous edged that nobody has taken and that listen on the port
// of `address`, because they keep it from being bound. Returns whether there were any.
bool passed_sockets_end_stored(const struct sockaddr *address);

// Writes the addresses of the sockets of edged.socket that nobody has taken, "127.0.0.1:8554,
// [::1]:8554". False: there are none, and `text` is empty.
bool passed_sockets_name_rest(char *text, size_t size);
// Closes all that are left, with a warning for those of edged.socket: nobody is served there. To be
// called once all that are wanted have been taken.
void passed_sockets_close_rest(void);

// Room for any address as text, with its port.
#define SOCKET_TEXT_BYTES 80
// "127.0.0.1:8554", "[::1]:8554", or "?" for what is no address of the Internet.
void socket_address_text(const struct sockaddr *address, char text[SOCKET_TEXT_BYTES]);
// Its port; 0 for what is no address of the Internet.
int socket_address_port(const struct sockaddr *address);
