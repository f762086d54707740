#include "daemon/front/supervise/process.h"

#include <errno.h>
#include <glib-unix.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define LINK_FD 3
#define WORDS_MAX 8 // of a line; a process says two

extern char **environ;

static int copy_path(const char *path, char **ret_path)
{
    char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    *ret_path = copy;
    return 0;
}

// Looks where it is beside this program, then where it is installed.
static int find_installed(const char *name, struct error *error, char **ret_path)
{
    char beside[PATH_MAX], path[PATH_MAX + 32], installed[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 1);
    beside[length > 0 ? length : 0] = 0;
    const char *slash = strrchr(beside, '/');

    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - beside) : 0, beside, name);
    snprintf(installed, sizeof installed, EDGED_LIBEXECDIR "/%s", name);
    if (access(path, X_OK) == 0)
        return copy_path(path, ret_path);
    if (access(installed, X_OK) == 0)
        return copy_path(installed, ret_path);
    return error_set(error, -ENOENT, "%s is missing: neither %s nor %s can be run", name, path,
                     installed);
}

int process_find_program(const char *name, const char *variable, struct error *error,
                         char **ret_path)
{
    const char *given = getenv(variable);

    if (!given || !*given)
        return find_installed(name, error, ret_path);
    return access(given, X_OK) == 0
               ? copy_path(given, ret_path)
               : error_set(error, -ENOENT, "%s: %s: %s", variable, given, strerror(errno));
}

static void set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETPGROUP);
}

static int spawn(const char *program, const char *const *arguments, int fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_attributes(&attributes);
    int r = -posix_spawn_file_actions_adddup2(&actions, fd, LINK_FD);
    if (!r) {
        r = -posix_spawn(ret_pid, program, &actions, &attributes, (char *const *)arguments,
                         environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

void process_init(struct process *process)
{
    process->line_fd = process->pid_fd = -1;
    process->left_behind = g_rc_box_new0(unsigned);
}

void process_finish(struct process *process)
{
    if (process->watch)
        process_abandon(process);
    g_rc_box_release(process->left_behind);
}

// The kernel kills a process with a line once this end is shut, before it has said hello as well.
void process_kill(struct process *process)
{
    if (process->line_fd >= 0)
        shutdown(process->line_fd, SHUT_WR);
    if (process->pid_fd >= 0)
        syscall(SYS_pidfd_send_signal, process->pid_fd, SIGKILL, NULL, 0);
    else if (process->pid)
        kill(process->pid, SIGKILL);
}

static void close_pid(struct process *process)
{
    cleanup_close(&process->pid_fd);
    process->pid_fd = -1;
}

static void on_exit_left_behind(GPid pid, gint status, gpointer data)
{
    unsigned *left_behind = data;

    (void)status;
    (*left_behind)--;
    g_spawn_close_pid(pid);
}

// Reads what came on a line. False: it has ended. `process` NULL: one that was left behind.
static bool read_line(int fd, struct process *process)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    int32_t word = 0;
    struct iovec piece = {&word, sizeof word};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    if (!process)
        return true;
    const struct cmsghdr *found = CMSG_FIRSTHDR(&message);
    process->words++;
    if (process->words == 1 && found && found->cmsg_type == SCM_CREDENTIALS) {
        process->pid = ((const struct ucred *)CMSG_DATA(found))->pid;
        process->pid_fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    }
    if (process->words > 1 && got == sizeof word)
        process->status = word;
    return true;
}

static gboolean on_line_left_behind(gint fd, GIOCondition condition, gpointer data)
{
    unsigned *left_behind = data;

    (void)condition;
    if (read_line(fd, NULL))
        return G_SOURCE_CONTINUE;
    (*left_behind)--;
    close(fd);
    return G_SOURCE_REMOVE;
}

void process_abandon(struct process *process)
{
    unsigned *left_behind = g_rc_box_acquire(process->left_behind);

    process_kill(process);
    close_pid(process);
    g_clear_handle_id(&process->watch, g_source_remove);
    (*left_behind)++;
    if (process->line_fd >= 0) {
        g_unix_fd_add_full(G_PRIORITY_DEFAULT, TAKE_FD(process->line_fd), G_IO_IN,
                           on_line_left_behind, left_behind, g_rc_box_release);
    } else {
        g_child_watch_add_full(G_PRIORITY_DEFAULT, process->pid, on_exit_left_behind, left_behind,
                               g_rc_box_release);
    }
    process->pid = 0;
}

// The lists one behind the other. The caller g_free()s the result alone.
static const char **join(const char *const *first, char *const *more)
{
    size_t count = g_strv_length((char **)first);
    size_t more_count = more ? g_strv_length((char **)more) : 0;
    const char **joined = g_new0(const char *, count + more_count + 1);

    memcpy(joined, first, count * sizeof *first);
    if (more_count > 0)
        memcpy(joined + count, more, more_count * sizeof *more);
    return joined;
}

int process_spawn(struct process *process, const char *program, const char *const *arguments,
                  char *const *hidden, GChildWatchFunc on_exit, void *context, struct error *error,
                  int *ret_fd)
{
    g_autofree const char **all = join(arguments, hidden);
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return error_set(error, -errno, "no socket pair for %s: %s", arguments[0], strerror(errno));
    int r = spawn(program, all, fds[1], &process->pid);
    close(fds[1]);
    if (r < 0) {
        close(fds[0]);
        return error_set(error, r, "cannot start %s: %s", program, strerror(-r));
    }
    process->watch = g_child_watch_add(process->pid, on_exit, context);
    *ret_fd = fds[0];
    return 0;
}

// A process that says more than it has to is killed, so that it does not keep the loop busy; its
// end comes as that of any other.
static gboolean on_line(gint fd, GIOCondition condition, gpointer data)
{
    struct process *process = data;

    (void)condition;
    if (read_line(fd, process)) {
        if (process->words > WORDS_MAX)
            process_kill(process);
        return G_SOURCE_CONTINUE;
    }
    // One that has only shut its end of the line; any other is gone.
    if (process->pid_fd >= 0)
        process_kill(process);
    close_pid(process);
    cleanup_close(&process->line_fd);
    process->line_fd = -1;
    process->ended(process->pid, process->words ? process->status : PROCESS_NOT_STARTED,
                   process->context);
    return G_SOURCE_REMOVE;
}

int process_connect(const char *path, int *ret_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_(cleanup_close) int fd = -1;

    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

// The process at the other end of the line is told by the credentials of its first word.
static int connect_line(const char *path, struct error *error, int *ret_fd)
{
    _cleanup_(cleanup_close) int fd = -1;
    int on = 1;
    int r = process_connect(path, &fd);

    if (r == 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
        r = -errno;
    if (r < 0) {
        return error_set(error, r, "systemd cannot be asked for a camera process at %s: %s", path,
                         strerror(-r));
    }
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int process_summon(struct process *process, const char *socket_path, struct camera_start *start,
                   GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd)
{
    _cleanup_(cleanup_close) int line_fd = -1;
    int fds[2];
    int r = connect_line(socket_path, error, &line_fd);

    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return error_set(error, -errno, "no socket pair for a camera process: %s", strerror(errno));
    start->link_fd = fds[1];
    r = camera_start_send(line_fd, start);
    close(fds[1]);
    if (r < 0) {
        close(fds[0]);
        return error_set(error, r, "systemd cannot be told of a camera process: %s", strerror(-r));
    }
    process->line_fd = TAKE_FD(line_fd);
    process->words = 0;
    process->status = SIGKILL;
    process->ended = on_exit;
    process->context = context;
    process->watch = g_unix_fd_add(process->line_fd, G_IO_IN, on_line, process);
    *ret_fd = fds[0];
    return 0;
}

void process_describe_end(int wait_status, char *buffer, size_t size)
{
    if (wait_status == PROCESS_NOT_STARTED) {
        snprintf(buffer, size,
                 "was not started by systemd; `journalctl -eu 'edged-camera@*'` says "
                 "why");
    } else if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);

        snprintf(buffer, size, "was killed by signal %d (%s)", number, strsignal(number));
    } else {
        snprintf(buffer, size, "exited with status %d", WEXITSTATUS(wait_status));
    }
}
