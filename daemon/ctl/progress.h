// A progress bar on the terminal for work of a known number of steps, and its interruption by a
// signal.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
    const char *what; // not owned: "edges, registered memory"
    size_t steps, done;
    int percent; // shown last; -1: nothing was shown
};

// Draws on stderr when that is a terminal.
void progress_start(struct progress *progress, const char *what, size_t steps);
// So many of the steps are done; a larger number counts as all.
void progress_reach(struct progress *progress, size_t done);
// Removes the bar.
void progress_end(struct progress *progress);

// From now on the first SIGINT or SIGTERM only makes interrupt_seen() true; the second ends the
// program.
void interrupt_watch(void);
bool interrupt_seen(void);
// The exit status of a command that was interrupted, as shells report one that a SIGINT ended.
#define INTERRUPT_STATUS 130

// Calls `step` up to `steps` times under a bar, as long as it returns 1 and there is no interrupt.
// Returns 0, or the error of the step that failed.
int progress_run(const char *what, size_t steps, int (*step)(void *context, struct error *error),
                 void *context, struct error *error);
