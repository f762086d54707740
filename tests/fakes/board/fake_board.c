// Another board, for LD_PRELOAD: the files that tell it are those below the folder that
// EDGED_FAKE_BOARD names, one of tests/data/boards, and none where that has none.
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool tells_the_board(const char *path)
{
    static const char *const beginnings[] = {"/proc/device-tree/", "/proc/cpuinfo",
                                             "/proc/driver/nvidia/", "/sys/class/dmi/",
                                             "/etc/nv_tegra_release"};

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

int open(const char *path, int flags, ...)
{
    const char *root = getenv("EDGED_FAKE_BOARD");
    char other[1024];
    mode_t mode = 0;
    va_list arguments;

    va_start(arguments, flags);
    if (flags & (O_CREAT | __O_TMPFILE)) {
        mode = va_arg(arguments, mode_t);
    }
    va_end(arguments);
    if (root && tells_the_board(path)) {
        snprintf(other, sizeof other, "%s%s", root, path);
        path = other;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
