#include "daemon/front/supervise/process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LINK_FD 3

extern char **environ;

static int copy_path(const char *path, char **ret_path)
{
    char *copy = strdup(path);

    if (!copy) {
        return -ENOMEM;
    }
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
    if (access(path, X_OK) == 0) {
        return copy_path(path, ret_path);
    }
    if (access(installed, X_OK) == 0) {
        return copy_path(installed, ret_path);
    }
    return error_set(error, -ENOENT, "%s is missing: neither %s nor %s can be run", name, path,
                     installed);
}

int process_find_program(const char *name, const char *variable, struct error *error,
                         char **ret_path)
{
    const char *given = getenv(variable);

    if (!given || !*given) {
        return find_installed(name, error, ret_path);
    }
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
    process->left_behind = g_rc_box_new0(unsigned);
}

void process_finish(struct process *process)
{
    if (process->pid) {
        process_abandon(process);
    }
    g_rc_box_release(process->left_behind);
}

static void on_exit_left_behind(GPid pid, gint status, gpointer data)
{
    unsigned *left_behind = data;

    (void)status;
    (*left_behind)--;
    g_spawn_close_pid(pid);
}

void process_abandon(struct process *process)
{
    kill(process->pid, SIGKILL);
    g_clear_handle_id(&process->watch, g_source_remove);
    (*process->left_behind)++;
    g_child_watch_add_full(G_PRIORITY_DEFAULT, process->pid, on_exit_left_behind,
                           g_rc_box_acquire(process->left_behind), g_rc_box_release);
    process->pid = 0;
}

int process_spawn(struct process *process, const char *program, const char *const *arguments,
                  GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0) {
        return error_set(error, -errno, "no socket pair for %s: %s", arguments[0], strerror(errno));
    }
    int r = spawn(program, arguments, fds[1], &process->pid);
    close(fds[1]);
    if (r < 0) {
        close(fds[0]);
        return error_set(error, r, "cannot start %s: %s", program, strerror(-r));
    }
    process->watch = g_child_watch_add(process->pid, on_exit, context);
    *ret_fd = fds[0];
    return 0;
}

void process_describe_end(int wait_status, char *buffer, size_t size)
{
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);

        snprintf(buffer, size, "was killed by signal %d (%s)", number, strsignal(number));
    } else {
        snprintf(buffer, size, "exited with status %d", WEXITSTATUS(wait_status));
    }
}
