#include "daemon/camera/unit_line.h"

#include "daemon/common/crash.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>

static int told_fd = -1;

void unit_line_tell_exit(int exit_status)
{
    int32_t word = W_EXITCODE(exit_status & 0xff, 0);
    int fd = told_fd;

    told_fd = -1;
    if (fd >= 0 && write(fd, &word, sizeof word) < 0)
        log_debug("line: %s", strerror(errno));
}

static void on_exit_of_process(int exit_status, void *context)
{
    (void)context;
    unit_line_tell_exit(exit_status);
}

// Readable is the line again only when the front has closed its end. The signal is one that nothing
// in this process can hold up, like that of PR_SET_PDEATHSIG.
static int die_with_front(int line_fd)
{
    struct pollfd line = {.fd = line_fd, .events = POLLIN};

    if (fcntl(line_fd, F_SETOWN, getpid()) < 0 || fcntl(line_fd, F_SETSIG, SIGKILL) < 0 ||
        fcntl(line_fd, F_SETFL, O_ASYNC) < 0) {
        return -errno;
    }
    return poll(&line, 1, 0) > 0 ? -EPIPE : 0; // it may have closed it before
}

// Puts a link to the file at its path, unless it is there.
static void show(const char *path, int fd)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *file = g_strdup_printf("/proc/self/fd/%d", fd);

    if (access(path, F_OK) == 0)
        return;
    if (g_mkdir_with_parents(folder, 0700) < 0 || symlink(file, path) < 0)
        log_warning("%s cannot be shown to the camera process: %s", path, strerror(errno));
}

static void set_variable(const char *variable)
{
    const char *sign = strchr(variable, '=');

    if (sign) {
        g_autofree char *name = g_strndup(variable, (gsize)(sign - variable));

        g_setenv(name, sign + 1, FALSE);
    }
}

int unit_line_open(int line_fd, struct error *error, struct camera_start_received *ret_start)
{
    struct camera_start_received received;
    int32_t word = CAMERA_LINE_HELLO;
    int r = camera_start_receive(line_fd, error, &received);

    if (r < 0)
        return r;
    r = die_with_front(line_fd);
    if (r == 0 && write(line_fd, &word, sizeof word) < 0)
        r = -errno;
    if (r < 0) {
        camera_start_finish(&received);
        return error_set(error, r, "no line to edged: %s", strerror(-r));
    }
    told_fd = line_fd;
    crash_tell(line_fd);
    on_exit(on_exit_of_process, NULL);
    for (const char *const *variable = received.start.variables; *variable; variable++)
        set_variable(*variable);
    for (size_t i = 0; i < received.file_count; i++)
        show(received.start.file_paths[i], received.start.file_fds[i]);
    sd_notifyf(0, "STATUS=camera %s", received.start.name);
    *ret_start = received;
    return 0;
}
