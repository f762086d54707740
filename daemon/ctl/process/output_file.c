#include "daemon/ctl/process/output_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// The file that a signal removes; NULL: there is none.
static char *volatile unfinished;

static const int endings[] = {SIGHUP, SIGINT, SIGTERM};

static void handle_signal(int number)
{
    if (unfinished) {
        unlink(unfinished);
    }
    _exit(128 + number);
}

// A signal that is ignored stays ignored: nohup relies on that, and so do shells for programs in
// the background.
static void handle_unless_ignored(int number)
{
    const struct sigaction action = {.sa_handler = handle_signal};
    struct sigaction before;

    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(number, &action, NULL);
    }
}

// mkstemp() with signals blocked, so that none comes before the file is noted as one to remove.
static int make_unfinished(char *temporary)
{
    sigset_t signals, before;
    int fd;

    sigemptyset(&signals);
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
        sigaddset(&signals, endings[i]);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    fd = mkstemp(temporary);
    if (fd >= 0) {
        unfinished = temporary;
        for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
            handle_unless_ignored(endings[i]);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fd;
}

int output_file_new(const char *path, struct error *error, char **ret_temporary)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    _cleanup_(cleanup_free) char *temporary = NULL;
    _cleanup_(cleanup_close) int fd = -1;
    mode_t mask = umask(0);

    umask(mask);
    if (asprintf(&temporary, "%.*s.%s.XXXXXX", folder, path, path + folder) < 0) {
        temporary = NULL;
        return error_set(error, -ENOMEM, "no memory for a file name");
    }
    fd = make_unfinished(temporary);
    if (fd < 0) {
        return error_set(error, -errno, "%s: cannot write there: %s", path, strerror(errno));
    }
    fchmod(fd, 0666 & ~mask);
    *ret_temporary = TAKE(temporary);
    return 0;
}

int output_file_publish(const char *temporary, const char *path, struct error *error)
{
    if (rename(temporary, path) < 0) {
        return error_set(error, -errno, "%s: cannot write there: %s", path, strerror(errno));
    }
    unfinished = NULL;
    return 0;
}

void output_file_discard(const char *temporary)
{
    unlink(temporary);
    unfinished = NULL;
}
