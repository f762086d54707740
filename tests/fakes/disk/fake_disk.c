// A disk that fails, stalls or is cut off, for LD_PRELOAD in edged-recorder or edged.
//
// Each change of the disk (a file or folder is made, bytes are written, cut off or synced, a name
// is changed or deleted; but not the log, which may be a file, too) is an operation with a number,
// from 1 on.
//
//   EDGED_DISK_LOG      a file to which each operation is appended once it is done, in the form
//                       that tests/e2e/disk_log.py reads
//   EDGED_DISK_KILL     the process is killed in the operation of this number; if that writes, half
//                       of it is written
//   EDGED_DISK_CONTROL  a file that says what becomes of operations from now on: nothing; "stall",
//                       they wait until it says something else; or an errno, with which they fail
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define POLL_US 10000

static atomic_uint operations;

static size_t read_control(char text[32])
{
    const char *path = getenv("EDGED_DISK_CONTROL");
    int fd = path ? NEXT(open)(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t size = fd < 0 ? 0 : read(fd, text, 31);

    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = 0;
    return size > 0 ? (size_t)size : 0;
}

// Begins an operation. True: it fails, and errno says how.
static bool fails(void)
{
    char text[32];

    while (read_control(text) && strcmp(text, "stall") == 0)
        usleep(POLL_US);
    errno = atoi(text);
    return errno != 0;
}

// Counts it. True: the process is to be killed in it.
static bool is_last(void)
{
    const char *last = getenv("EDGED_DISK_KILL");
    unsigned number = ++operations;

    return last && number == (unsigned)atoi(last);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static void path_of(int fd, const char *name, char path[2048])
{
    char link[64];
    ssize_t size;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, 1024);
    path[size > 0 ? size : 0] = 0;
    if (name)
        strcat(strcat(path, "/"), name);
}

// One line, and the bytes that it counts behind it.
static void tell(const char *what, const char *path, const char *other, off_t number,
                 const void *bytes, size_t size)
{
    const char *log = getenv("EDGED_DISK_LOG");
    int fd = log ? NEXT(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    char line[5000];

    if (fd >= 0) {
        snprintf(line, sizeof line, "%s\t%s\t%s\t%lld\t%zu\n", what, path, other, (long long)number,
                 size);
        struct iovec pieces[] = {{line, strlen(line)}, {(void *)bytes, size}};
        if (writev(fd, pieces, 2) < 0)
            die();
        close(fd);
    }
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    char path[2048];

    if (fails())
        return -1;
    bool last = is_last();
    ssize_t written = NEXT(pwrite)(fd, bytes, last ? size / 2 : size, offset);
    if (last)
        die();
    path_of(fd, NULL, path);
    tell("write", path, "", offset, bytes, written > 0 ? (size_t)written : 0);
    return written;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    struct stat about;
    char path[2048];

    if (fd == STDERR_FILENO || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
        return NEXT(write)(fd, bytes, size);
    if (fails())
        return -1;
    bool last = is_last();
    ssize_t written = NEXT(write)(fd, bytes, last ? size / 2 : size);
    if (last)
        die();
    path_of(fd, NULL, path);
    tell("write", path, "", about.st_size, bytes, written > 0 ? (size_t)written : 0);
    return written;
}

// Of those that are done or not: the process dies in front of it.
static bool begin(void)
{
    if (fails())
        return false;
    if (is_last())
        die();
    return true;
}

int fsync(int fd)
{
    char path[2048];
    int r = begin() ? NEXT(fsync)(fd) : -1;

    if (r == 0) {
        path_of(fd, NULL, path);
        tell("sync", path, "", 0, NULL, 0);
    }
    return r;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int ftruncate(int fd, off_t size)
{
    char path[2048];
    int r = begin() ? NEXT(ftruncate)(fd, size) : -1;

    if (r == 0) {
        path_of(fd, NULL, path);
        tell("truncate", path, "", size, NULL, 0);
    }
    return r;
}

int renameat(int old_folder, const char *old_name, int new_folder, const char *new_name)
{
    char old_path[2048], new_path[2048];
    int r = begin() ? NEXT(renameat)(old_folder, old_name, new_folder, new_name) : -1;

    if (r == 0) {
        path_of(old_folder, old_name, old_path);
        path_of(new_folder, new_name, new_path);
        tell("rename", old_path, new_path, 0, NULL, 0);
    }
    return r;
}

int unlinkat(int folder, const char *name, int flags)
{
    char path[2048];
    int r = begin() ? NEXT(unlinkat)(folder, name, flags) : -1;

    if (r == 0) {
        path_of(folder, name, path);
        tell(flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, "", 0, NULL, 0);
    }
    return r;
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    char path[2048];
    int r = begin() ? NEXT(mkdirat)(folder, name, mode) : -1;

    if (r == 0) {
        path_of(folder, name, path);
        tell("mkdir", path, "", 0, NULL, 0);
    }
    return r;
}

int openat(int folder, const char *name, int flags, ...)
{
    va_list arguments;
    char path[2048];
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (!(flags & O_CREAT))
        return NEXT(openat)(folder, name, flags);
    int fd = begin() ? NEXT(openat)(folder, name, flags, mode) : -1;
    if (fd >= 0) {
        path_of(folder, name, path);
        tell(flags & O_TRUNC ? "create" : "open", path, "", 0, NULL, 0);
    }
    return fd;
}
