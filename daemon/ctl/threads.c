#include "daemon/ctl/threads.h"

#include "config/base.h"

#include <stdio.h>

int threads_start(unsigned threads, struct error *error, struct pool **ret_pool)
{
    struct error fewer = {0};
    int r = pool_new(threads, &fewer, ret_pool);

    if (r < 0) {
        return error_set(error, r, "%s", fewer.text);
    }
    if (fewer.text[0]) {
        fprintf(stderr, "edgectl: %s\n", fewer.text);
    }
    return 0;
}
