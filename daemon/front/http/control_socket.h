// The listening unix socket of the control server: makes it at a path with a mode, finds out
// whether somebody else listens there, and removes it again.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>

struct control_socket {
    int fd; // listening, non-blocking, CLOEXEC; the caller closes it
    struct sockaddr_un address;
    struct stat identity; // of the socket file, so that no other file is removed
};

// Listens on `path`, mode 0660 whatever the umask. Makes the parent directories (0755) and replaces
// the socket of a process that is gone. -EINVAL: longer than the 107 bytes of a unix address;
// -EADDRINUSE: somebody listens there; -EEXIST: the file there is no socket; -EACCES and others as
// the file system says, each with its sentence in `error`.
int control_socket_open(struct control_socket *ret_socket, const char *path, struct error *error);
// Whether the other end of an accepted connection may ask. A process that edged started, or that
// such a one has started, may not: it may have been taken over by a picture. It is told by its
// parent, by seccomp's filters, which it inherits and cannot take off (it has more of them than
// edged), and by the control group of its unit.
bool control_socket_admits(int fd);
// Whether the other end is edged-mqtt, which may ask for less than others: it is told by its user,
// that of the service, or the one that $EDGED_MQTT_USER names.
bool control_socket_is_broker(int fd);
// Removes the file, if it is still the one that was made here.
void control_socket_remove(const struct control_socket *socket);
