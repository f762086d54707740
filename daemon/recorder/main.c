// edged-recorder: keeps clips of what cameras show. systemd passes it the socket on which the front
// connects; without systemd the front starts it, with a connected socket.

#include "daemon/common/confine.h"
#include "daemon/common/crash.h"
#include "daemon/common/log.h"
#include "daemon/recorder/server.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#define FD_ARGUMENTS 3 // this program, the option and the socket

static void end_loop(void *context)
{
    g_main_loop_quit(context);
}

static gboolean on_signal(gpointer loop)
{
    end_loop(loop);
    return G_SOURCE_CONTINUE;
}

// The socket to use; -1: none is named.
static int find_socket(int argc, char **argv)
{
    if (argc >= FD_ARGUMENTS && strcmp(argv[1], "--fd") == 0)
        return atoi(argv[2]);
    return argc == 1 && sd_listen_fds(1) == 1 ? SD_LISTEN_FDS_START : -1;
}

// It keeps its connections and makes no other, so edged's control socket is out of its reach.
static void confine(const char *const *hidden)
{
    int r = confine_first(hidden, NULL, 0);

    if (r)
        log_debug("landlock: %s, going on without it", strerror(-r));
    r = confine_calls(&(struct confinement){.no_connect = true});
    if (r)
        log_warning("seccomp: %s, going on without the filter of system calls", strerror(-r));
}

int main(int argc, char **argv)
{
    g_autoptr(GMainLoop) loop = NULL;
    struct recorder_server *server = NULL;
    struct error error = {0};

    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0)) {
        puts("edged-recorder " EDGED_VERSION);
        return 0;
    }
    int fd = find_socket(argc, argv);
    // Other processes of edged would reach the clips by /proc.
    if (!confine_landlock_version())
        confine_memory();
    log_set_program("edged-recorder");
    crash_watch("edged-recorder");
    if (fd < 0) {
        fprintf(stderr, "edged-recorder is started by systemd or by edged; allowed: --fd FD "
                        "[FOLDER [HIDDEN-FILE]...]\n");
        return 2;
    }
    // Ctrl-C on a terminal reaches the front as well, which hangs up.
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    umask(0027);
    // The folder is made while all is allowed; the link names it once more.
    if (argc > FD_ARGUMENTS && g_mkdir_with_parents(argv[FD_ARGUMENTS], 0750) < 0)
        log_debug("%s: %s", argv[FD_ARGUMENTS], strerror(errno));
    confine(argc > FD_ARGUMENTS ? (const char *const *)argv + FD_ARGUMENTS + 1 : NULL);
    loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGTERM, on_signal, loop);
    int r = recorder_server_new(fd, end_loop, loop, &error, &server);
    if (r < 0) {
        log_error("%s, ending", error.text);
        return 1;
    }
    sd_notify(0, "READY=1");
    g_main_loop_run(loop);
    sd_notify(0, "STOPPING=1");
    recorder_server_free(server);
    return 0;
}
