// Processes that do not die: a thread that hangs in a driver outlives SIGKILL, and with it the
// process and the camera that it holds. One such process is left behind, and another takes its
// place, which may find another camera or a driver that works again; while that one is there, no
// second is left behind, so that they do not pile up.
#include "daemon/common/log.h"
#include "daemon/front/supervise/supervisor_private.h"

#include <signal.h>
#include <stdio.h>

#define UNKILLABLE_MS 5000

static void on_exit_left_behind(GPid pid, gint status, gpointer data)
{
    unsigned *left_behind = data;

    (void)status;
    (*left_behind)--;
    g_spawn_close_pid(pid);
}

void supervisor_abandon(struct supervisor *supervisor)
{
    kill(supervisor->pid, SIGKILL);
    g_clear_handle_id(&supervisor->child_watch, g_source_remove);
    (*supervisor->left_behind)++;
    g_child_watch_add_full(G_PRIORITY_DEFAULT, supervisor->pid, on_exit_left_behind,
                           g_rc_box_acquire(supervisor->left_behind), g_rc_box_release);
    supervisor->pid = 0;
}

static gboolean on_unkillable(gpointer data)
{
    struct supervisor *supervisor = data;
    char how[128];

    if (*supervisor->left_behind > 0) {
        return G_SOURCE_CONTINUE; // the slate shows until one of them is gone
    }
    snprintf(how, sizeof how, "cannot be killed, leaving process %d behind", supervisor->pid);
    supervisor->timer = 0;
    supervisor_abandon(supervisor);
    supervisor_process_gone(supervisor, how, true);
    return G_SOURCE_REMOVE;
}

void supervisor_kill(struct supervisor *supervisor)
{
    kill(supervisor->pid, SIGKILL);
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    supervisor->timer = g_timeout_add(UNKILLABLE_MS, on_unkillable, supervisor);
}
