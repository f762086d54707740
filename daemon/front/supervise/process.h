// Starting and ending the processes of cameras and the one that keeps clips.
#pragma once

#include "config/base.h"
#include "daemon/link/camera_start.h"

#include <glib.h>
#include <sys/types.h>

// Where the program `name` is: what the environment's `variable` says, or beside this program, or
// where it is installed. -ENOENT: nothing there can be run. The caller frees *ret_path.
int process_find_program(const char *name, const char *variable, struct error *error,
                         char **ret_path);

// One process; embedded. There is one while `watch` is not 0.
struct process {
    pid_t pid;             // 0: none, or one that systemd starts and that has not said hello yet
    guint watch;           // for its end; GLib source id
    int line_fd;           // to a process that systemd starts; -1: there is none
    int pid_fd;            // of one that has said hello; -1: not yet, or Linux is older than 5.3
    unsigned words;        // that came on the line
    int32_t status;        // how it ends, as it has said
    GChildWatchFunc ended; // of the line; `context` is its last parameter
    void *context;
    unsigned
        *left_behind; // how many that were abandoned are not gone yet; shared with their watches
};

void process_init(struct process *process);
// Abandons a process that is there.
void process_finish(struct process *process);

// Starts `program` with `arguments` (the last one NULL) and behind them `hidden`, files that it
// must not open (the same; NULL: none), one end of a socketpair as fd 3, its own process group (a
// terminal's Ctrl-C is the front's to handle) and default signals. Returns the other end,
// non-blocking and CLOEXEC, which the caller closes. `on_exit` is called when it has ended; the
// caller then zeroes pid and watch.
int process_spawn(struct process *process, const char *program, const char *const *arguments,
                  char *const *hidden, GChildWatchFunc on_exit, void *context, struct error *error,
                  int *ret_fd);
// The same for a camera process that systemd starts, in a unit of its own, when `socket` is
// connected to (daemon/link/camera_start.h). Fills in the link of `start`. Of the wait status
// `on_exit` gets what the process has said; one that ends without a word was killed.
int process_summon(struct process *process, const char *socket, struct camera_start *start,
                   GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd);
// Connects to a process that listens at `path`; the caller closes *ret_fd, which is non-blocking
// and CLOEXEC. 0; -ENAMETOOLONG; or -errno of connect().
int process_connect(const char *path, int *ret_fd);
// Sends it SIGKILL.
void process_kill(struct process *process);
// Logs where each thread of a process that hangs stands, as the kernel knows it, and how busy the
// machine is. Each thread is asked as well (daemon/common/crash.h), which takes until
// PROCESS_TRACE_MS later. `camera` is for the log; NULL: of none.
#define PROCESS_TRACE_MS 300
void process_trace(const struct process *process, const char *camera);
// Kills the process and forgets it; it is reaped whenever it ends.
void process_abandon(struct process *process);

// The wait status of a process that systemd did not start.
#define PROCESS_NOT_STARTED (-1)
// How a process ended, as a clause ("was killed by signal 9 (Killed)", "exited with status 1").
void process_describe_end(int wait_status, char *buffer, size_t size);
