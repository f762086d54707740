#include "daemon/front/http/control_socket.h"

#include "daemon/common/service_files.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 128

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

    if (probe < 0)
        return error_set(error, -errno, "cannot make a unix socket: %s", strerror(errno));
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

    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return 0;
    if (errno == EADDRINUSE) {
        result = remove_stale(address, error);
        if (result < 0)
            return result;
        if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            return 0;
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
    int result = control_path_check(path, error);

    if (result < 0)
        return result;
    snprintf(made.address.sun_path, sizeof made.address.sun_path, "%s", path);
    result = make_parent(path, error);
    if (result < 0)
        return result;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(error, -errno, "cannot make a unix socket: %s", strerror(errno));
    result = bind_path(fd, &made.address, error);
    if (result < 0)
        return result;
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

// The parent of a process and how many filters of system calls it has; on a kernel before
// Linux 5.10, which does not say how many, more than 0 if there are any. False: the process is
// gone.
static bool read_process(pid_t pid, long *ret_parent, long *ret_filters)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid), *text = NULL;
    const char *parent, *filters;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return false;
    parent = strstr(text, "\nPPid:");
    filters = strstr(text, "\nSeccomp_filters:");
    filters = filters ? filters : strstr(text, "\nSeccomp:");
    *ret_parent = parent ? strtol(strchr(parent, ':') + 1, NULL, 10) : 0;
    *ret_filters = filters ? strtol(strchr(filters, ':') + 1, NULL, 10) : 0;
    return true;
}

// Whether the process is in the unit of a camera or of the recorder, which it cannot leave: units
// see no control group that they could write to.
static bool is_of_unit(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/cgroup", (int)pid), *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) &&
           (strstr(text, "/edged-camera@") || strstr(text, "/edged-recorder.service"));
}

bool control_socket_admits(int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    long parent, filters, own_parent, own_filters;

    // Processes of others, and those outside of this container (0), are none of edged's.
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != geteuid() ||
        peer.pid == 0 || peer.pid == getpid()) {
        return true;
    }
    // A process that is gone by now has no unit, and cannot be read afterwards either.
    return !is_of_unit(peer.pid) && read_process(peer.pid, &parent, &filters) &&
           read_process(getpid(), &own_parent, &own_filters) && parent != getpid() &&
           filters <= own_filters;
}

bool control_socket_is_broker(int fd)
{
    const char *own = g_getenv("EDGED_MQTT_USER"), *name = own ? own : "edged-mqtt";
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    struct passwd entry, *found = NULL;
    char text[1024];

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return true;
    // edged's own user and root administer it, and asking who they are may cost a look-up.
    if (!own && (peer.uid == geteuid() || peer.uid == 0))
        return false;
    int r = getpwuid_r(peer.uid, &entry, text, sizeof text, &found);
    // Where the look-up itself fails it may be the one, and gets the lesser role.
    return found
               ? strcmp(entry.pw_name, name) == 0
               : r == EMFILE || r == ENFILE || r == ENOMEM || r == EIO || r == ERANGE || r == EINTR;
}

void control_socket_remove(const struct control_socket *socket)
{
    struct stat now;

    if (lstat(socket->address.sun_path, &now) == 0 && now.st_dev == socket->identity.st_dev &&
        now.st_ino == socket->identity.st_ino) {
        unlink(socket->address.sun_path);
    }
}
