// The listening unix socket of the control server: makes it at a path with a mode, finds out
// whether somebody else listens there, and removes it again.
#pragma once

#include "config/base.h"

#include <sys/stat.h>
#include <sys/un.h>

struct control_socket {
    int fd; // listening, non-blocking, CLOEXEC; the caller closes it
    struct sockaddr_un address;
    struct stat identity; // of the socket file, so that no other file is removed
};

// The path in the config, or the default for who is running: $XDG_RUNTIME_DIR/edged/control.sock
// for a user, /run/edged/control.sock for root and services ($RUNTIME_DIRECTORY where systemd sets
// it). The caller frees *ret_path. -EINVAL for a path longer than a unix address takes.
int control_socket_path(const char *configured, struct error *error, char **ret_path);

// Listens on `path`, mode 0660 whatever the umask. Makes the parent directories (0755) and replaces
// the socket of a process that is gone. -EINVAL: longer than the 107 bytes of a unix address;
// -EADDRINUSE: somebody listens there; -EEXIST: the file there is no socket; -EACCES and others as
// the file system says, each with its sentence in `error`.
int control_socket_open(struct control_socket *ret_socket, const char *path, struct error *error);
// Removes the file, if it is still the one that was made here.
void control_socket_remove(const struct control_socket *socket);
