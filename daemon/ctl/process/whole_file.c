#include "daemon/ctl/process/whole_file.h"

#include "daemon/common/standard_output.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

// The file that a signal removes; NULL: there is none.
static char *volatile unfinished;

static const int endings[] = {SIGHUP, SIGINT, SIGTERM};

static void handle_signal(int number)
{
    if (unfinished)
        unlink(unfinished);
    _exit(128 + number);
}

// A signal that is ignored stays ignored: nohup relies on that, and so do shells for programs in
// the background.
static void handle_unless_ignored(int number)
{
    const struct sigaction action = {.sa_handler = handle_signal};
    struct sigaction before;

    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

// mkstemp() with signals blocked, so that none comes before the file is noted as one to remove.
static int make_unfinished(char *temporary)
{
    sigset_t signals, before;
    int fd;

    sigemptyset(&signals);
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++)
        sigaddset(&signals, endings[i]);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    fd = mkstemp(temporary);
    if (fd >= 0) {
        unfinished = temporary;
        for (size_t i = 0; i < ARRAY_LENGTH(endings); i++)
            handle_unless_ignored(endings[i]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fd;
}

// The number of bytes, or -errno.
static int64_t copy(FILE *from, FILE *to)
{
    static char buffer[64 * 1024];
    int64_t total = 0;
    size_t length;

    while ((length = fread(buffer, 1, sizeof buffer, from)) > 0) {
        if (fwrite(buffer, 1, length, to) < length)
            return -errno;
        total += (int64_t)length;
    }
    return ferror(from) || fflush(to) != 0 ? -errno : total;
}

bool whole_file_is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int make_in_memory(struct error *error, struct whole_file *file)
{
    _cleanup_(cleanup_close) int fd = memfd_create("edgectl", MFD_CLOEXEC);

    file->stream = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!file->stream)
        return error_set(error, -errno, "no file in memory: %s", strerror(errno));
    file->path = g_strdup_printf("/proc/self/fd/%d", TAKE_FD(fd));
    return 0;
}

int whole_file_new(const char *target, struct error *error, struct whole_file *ret_file)
{
    const char *slash = strrchr(target, '/');
    int folder = slash ? (int)(slash - target) + 1 : 0;
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (whole_file_is_standard(target))
        return make_in_memory(error, ret_file);
    ret_file->path = g_strdup_printf("%.*s.%s.XXXXXX", folder, target, target + folder);
    fd = make_unfinished(ret_file->path);
    if (fd < 0)
        return error_set(error, -errno, "%s: cannot write there: %s", target, strerror(errno));
    fchmod(fd, 0666 & ~mask);
    close(fd);
    return 0;
}

int whole_file_publish(struct whole_file *file, const char *target, struct error *error)
{
    if (file->stream) {
        int64_t length = copy(file->stream, standard_output_keep());

        return length < 0
                   ? error_set(error, (int)length, "standard output: %s", strerror((int)-length))
                   : 0;
    }
    if (rename(file->path, target) < 0)
        return error_set(error, -errno, "%s: cannot write there: %s", target, strerror(errno));
    unfinished = NULL;
    return 0;
}

int whole_file_read_input(struct error *error, struct whole_file *ret_file)
{
    int r = make_in_memory(error, ret_file);
    int64_t length = r < 0 ? r : copy(stdin, ret_file->stream);

    if (r == 0 && length <= 0) {
        r = length == 0
                ? error_set(error, -ENODATA, "standard input is empty")
                : error_set(error, (int)length, "standard input: %s", strerror((int)-length));
    }
    return r;
}

void whole_file_finish(struct whole_file *file)
{
    if (file->stream) {
        fclose(file->stream);
    } else if (file->path && file->path == unfinished) {
        unlink(unfinished);
        unfinished = NULL;
    }
    g_free(file->path);
    *file = (struct whole_file){0};
}
