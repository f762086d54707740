#include "daemon/front/http/control_socket.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 128

static int check_length(const char *path, struct error *error)
{
    size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;

    if (strlen(path) > most) {
        return error_set(error, -EINVAL,
                         "control.socket: %s is %zu bytes long, a unix socket takes at most %zu",
                         path, strlen(path), most);
    }
    return 0;
}

int control_socket_path(const char *configured, struct error *error, char **ret_path)
{
    const char *service = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    _cleanup_(cleanup_free) char *path = NULL;
    int result, length;

    if (configured[0]) {
        length = asprintf(&path, "%s", configured);
    } else if (service && service[0]) { // the first of a list separated by colons
        length = asprintf(&path, "%.*s/control.sock", (int)strcspn(service, ":"), service);
    } else if (getuid() != 0 && user && user[0]) {
        length = asprintf(&path, "%s/edged/control.sock", user);
    } else {
        length = asprintf(&path, "/run/edged/control.sock");
    }
    if (length < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, "out of memory");
    }
    result = check_length(path, error);
    if (result < 0) {
        return result;
    }
    *ret_path = TAKE(path);
    return 0;
}

static int make_parent(const char *path, struct error *error)
{
    g_autofree char *parent = g_path_get_dirname(path);

    if (g_mkdir_with_parents(parent, 0755) < 0) {
        int code = -errno;

        return error_set(error, code, "cannot make the folder %s of the control socket: %s", parent,
                         strerror(-code));
    }
    return 0;
}

// Removes the file that bind() found in the way, if it is a socket on which nobody listens any
// more.
static int remove_stale(const struct sockaddr_un *address, struct error *error)
{
    const char *path = address->sun_path;
    _cleanup_(cleanup_close) int probe =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat status;

    if (probe < 0) {
        return error_set(error, -errno, "cannot make a unix socket: %s", strerror(errno));
    }
    // connect() refuses a plain file with the same error as a stale socket.
    if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode)) {
        return error_set(error, -EEXIST,
                         "%s exists and is no socket: remove it or set control.socket", path);
    }
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 ||
        (errno != ECONNREFUSED && errno != ENOENT)) {
        return error_set(error, -EADDRINUSE,
                         "%s: another edged listens there: stop it or set control.socket", path);
    }
    if (unlink(path) < 0 && errno != ENOENT) {
        return error_set(error, -errno, "cannot replace the old socket %s: %s", path,
                         strerror(errno));
    }
    return 0;
}

static int bind_path(int fd, const struct sockaddr_un *address, struct error *error)
{
    int result;

    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
        return 0;
    }
    if (errno == EADDRINUSE) {
        result = remove_stale(address, error);
        if (result < 0) {
            return result;
        }
        if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
            return 0;
        }
    }
    result = -errno;
    return error_set(error, result,
                     "cannot make the control socket %s: %s: let edged write to its folder or set "
                     "control.socket",
                     address->sun_path, strerror(-result));
}

int control_socket_open(struct control_socket *ret_socket, const char *path, struct error *error)
{
    struct control_socket made = {.address.sun_family = AF_UNIX};
    _cleanup_(cleanup_close) int fd = -1;
    int result = check_length(path, error);

    if (result < 0) {
        return result;
    }
    snprintf(made.address.sun_path, sizeof made.address.sun_path, "%s", path);
    result = make_parent(path, error);
    if (result < 0) {
        return result;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return error_set(error, -errno, "cannot make a unix socket: %s", strerror(errno));
    }
    result = bind_path(fd, &made.address, error);
    if (result < 0) {
        return result;
    }
    // Nobody can connect before listen(), so the mode is right from the first connection on.
    if (chmod(path, 0660) < 0 || lstat(path, &made.identity) < 0 || listen(fd, BACKLOG) < 0) {
        result = error_set(error, -errno, "cannot listen on %s: %s", path, strerror(errno));
        unlink(path);
        return result;
    }
    made.fd = TAKE_FD(fd);
    *ret_socket = made;
    return 0;
}

void control_socket_remove(const struct control_socket *socket)
{
    struct stat now;

    if (lstat(socket->address.sun_path, &now) == 0 && now.st_dev == socket->identity.st_dev &&
        now.st_ino == socket->identity.st_ino) {
        unlink(socket->address.sun_path);
    }
}
