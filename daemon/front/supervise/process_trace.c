// The kernel's facts about a process that hangs. Files of /proc that may not be read are left out:
// the calls in the kernel only root sees.
#include "daemon/common/crash.h"
#include "daemon/common/log.h"
#include "daemon/front/supervise/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define THREADS_MAX 64
#define CALLS_MAX 4
#define LINE_BYTES 1000 // of a line, which the log cuts at 2 KiB

// The file `name` of a thread; NULL: it cannot be read. The caller g_free()s it.
static char *read_text(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? g_strchomp(text) : NULL;
}

// Adds the innermost calls of lines like "[<0>] futex_do_wait+0x46/0x90".
static void add_calls(GString *text, const char *stack)
{
    g_auto(GStrv) lines = g_strsplit(stack, "\n", CALLS_MAX + 1);

    for (unsigned i = 0; i < CALLS_MAX && lines[i]; i++) {
        const char *name = strstr(lines[i], "] ");

        if (name) {
            g_string_append_printf(text, "%s%.*s", i ? " < " : " in ", (int)strcspn(name + 2, "+"),
                                   name + 2);
        }
    }
}

// " lane D in usb_kill_urb < usb_hcd_flush_endpoint,"
static void add_thread(GString *text, pid_t pid, const char *thread)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/task/%s", (int)pid, thread);
    g_autofree char *name = read_text(folder, "comm"), *stat = read_text(folder, "stat");
    g_autofree char *place = read_text(folder, "wchan"), *stack = read_text(folder, "stack");
    const char *state = stat ? strrchr(stat, ')') : NULL; // the name may hold one, too

    if (!name || !state || strlen(state) < 3)
        return;
    g_string_append_printf(text, " %s %c", name, state[2]);
    if (stack && *stack)
        add_calls(text, stack);
    else if (place && *place && strcmp(place, "0") != 0)
        g_string_append_printf(text, " in %s", place);
    g_string_append_c(text, ',');
}

static void log_threads(const char *camera, pid_t pid, GString *text)
{
    if (text->len) {
        g_string_truncate(text, text->len - 1);
        log_write(LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, camera, "hanging",
                  "threads of process %d:%s", (int)pid, text->str);
    }
    g_string_truncate(text, 0);
}

// Whether the process does something else at the signal than to die.
static bool handles_trace(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid), *text = NULL;
    uint64_t caught = 0;

    if (g_file_get_contents(path, &text, NULL, NULL)) {
        const char *line = strstr(text, "\nSigCgt:");

        caught = line ? g_ascii_strtoull(line + strlen("\nSigCgt:"), NULL, 16) : 0;
    }
    return caught & UINT64_C(1) << (CRASH_TRACE_SIGNAL - 1);
}

void process_trace(const struct process *process, const char *camera)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)process->pid);
    g_autofree char *load = read_text("/proc", "loadavg");
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    GString *text = g_string_new(NULL);
    bool handles = handles_trace(process->pid);
    const char *thread;

    if (!process->pid) {
        g_string_free(text, TRUE);
        return; // systemd has not started it
    }
    log_write(LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, camera, "hanging",
              "where process %d hangs, on a machine with a load of %s:", (int)process->pid,
              load ? load : "unknown");
    for (unsigned i = 0; folder && i < THREADS_MAX && (thread = g_dir_read_name(folder)); i++) {
        add_thread(text, process->pid, thread);
        if (text->len > LINE_BYTES)
            log_threads(camera, process->pid, text);
        if (handles)
            syscall(SYS_tgkill, process->pid, atoi(thread), CRASH_TRACE_SIGNAL);
    }
    log_threads(camera, process->pid, text);
    g_string_free(text, TRUE);
}
