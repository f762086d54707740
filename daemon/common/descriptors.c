#include "daemon/common/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>

// How many descriptors the front needs, for one viewer and the readers of the control socket as
// well, and how many more for each camera. A camera process needs fewer.
#define FRONT 60
#define FRONT_CAMERA 6
#define RAISED_MAX 65536 // some libraries walk through all that could be open

static rlim_t least(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

void descriptors_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur < least(limit.rlim_max, RAISED_MAX)) {
        limit.rlim_cur = least(limit.rlim_max, RAISED_MAX);
        setrlimit(RLIMIT_NOFILE, &limit); // else it stays as it is
    }
}

size_t descriptors_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur : 0;
}

int descriptors_check(size_t cameras, struct error *error)
{
    size_t limit = descriptors_limit(), needed = FRONT + FRONT_CAMERA * cameras;

    return limit >= needed
               ? 0
               : error_set(error, -EMFILE,
                           "at most %zu files may be open, needed for %zu camera%s: %zu; raise "
                           "`ulimit -n`, or LimitNOFILE= of the service",
                           limit, cameras, cameras == 1 ? "" : "s", needed);
}

size_t descriptors_left(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t limit = descriptors_limit(), open = 0;

    if (!folder)
        return 0;
    // cppcheck-suppress readdirCalled // nobody else reads this folder
    while (readdir(folder)) {
        open++; // ".", ".." and this folder count, too: room for a few being opened
    }
    closedir(folder);
    return limit > open ? limit - open : 0;
}
