// Another board, for LD_PRELOAD: the files that tell it, its heat and its power are those below the
// folder that EDGED_FAKE_BOARD names, one of tests/data/boards, and none where that has none. A
// device node that EDGED_FAKE_REFUSED names is refused as by a service's list of devices.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool tells_the_board(const char *path)
{
    static const char *const beginnings[] = {
        "/proc/device-tree/", "/proc/cpuinfo",         "/proc/driver/nvidia/",
        "/sys/class/dmi/",    "/etc/nv_tegra_release", "/etc/nvpmodel.conf",
        "/var/lib/nvpmodel/", "/sys/class/thermal/",   "/sys/class/devfreq/"};

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    }
    return false;
}

// Puts the path below the folder into `other` where it tells the board.
static const char *find(const char *path, char other[1024])
{
    const char *root = getenv("EDGED_FAKE_BOARD");

    if (!root || !tells_the_board(path))
        return path;
    snprintf(other, 1024, "%s%s", root, path);
    return other;
}

int glob(const char *pattern, int flags, int (*failed)(const char *path, int code), glob_t *found)
{
    int (*next)(const char *, int, int (*)(const char *, int), glob_t *) =
        (__typeof__(next))dlsym(RTLD_NEXT, "glob");
    char other[1024];

    return next(find(pattern, other), flags, failed, found);
}

int open(const char *path, int flags, ...)
{
    char other[1024];
    const char *refused = getenv("EDGED_FAKE_REFUSED");
    mode_t mode = 0;
    va_list arguments;

    if (refused && strcmp(path, refused) == 0) {
        errno = EPERM;
        return -1;
    }
    va_start(arguments, flags);
    if (flags & (O_CREAT | __O_TMPFILE))
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return (int)syscall(SYS_openat, AT_FDCWD, find(path, other), flags, mode);
}
