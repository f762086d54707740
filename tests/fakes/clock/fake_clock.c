// A clock of day that somebody sets, for LD_PRELOAD in edged: time() is ahead by as many seconds as
// the file EDGED_CLOCK_AHEAD says, if there is one.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

time_t time(time_t *ret_seconds)
{
    const char *path = getenv("EDGED_CLOCK_AHEAD");
    FILE *file = path ? fopen(path, "re") : NULL;
    long long ahead_s = 0;
    struct timespec now;

    if (file) {
        if (fscanf(file, "%lld", &ahead_s) != 1)
            ahead_s = 0;
        fclose(file);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_seconds)
        *ret_seconds = now.tv_sec + ahead_s;
    return now.tv_sec + ahead_s;
}
