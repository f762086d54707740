// Starting and ending the processes of cameras and the one that keeps clips.
#pragma once

#include "config/base.h"

#include <glib.h>
#include <sys/types.h>

// Where the program `name` is: what the environment's `variable` says, or beside this program, or
// where it is installed. -ENOENT: nothing there can be run. The caller frees *ret_path.
int process_find_program(const char *name, const char *variable, struct error *error,
                         char **ret_path);

// One process; embedded.
struct process {
    pid_t pid;   // 0: none
    guint watch; // GLib source id; 0: none
    unsigned
        *left_behind; // how many that were abandoned are not gone yet; shared with their watches
};

void process_init(struct process *process);
// Abandons a process that is there.
void process_finish(struct process *process);

// Starts `program` with `arguments` (the last one NULL), one end of a socketpair as fd 3, its own
// process group (a terminal's Ctrl-C is the front's to handle) and default signals. Returns the
// other end, non-blocking and CLOEXEC, which the caller closes. `on_exit` is called when it has
// ended; the caller then zeroes pid and watch.
int process_spawn(struct process *process, const char *program, const char *const *arguments,
                  GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd);
// Kills the process and forgets it; it is reaped whenever it ends.
void process_abandon(struct process *process);

// How a process ended, as a clause ("was killed by signal 9 (Killed)", "exited with status 1").
void process_describe_end(int wait_status, char *buffer, size_t size);
