#include "daemon/camera/compute_gpu.h"

#include "daemon/common/log.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>

int compute_gpu_find(enum config_memory wanted, struct error *error, struct error *passed_over,
                     struct gpu **ret_gpu, struct gpu_memory **ret_memory)
{
    int r = gpu_new(error, ret_gpu);

    if (!r) {
        r = gpu_selftest_start(*ret_gpu, error);
    }
    if (!r) {
        r = gpu_memory_new(*ret_gpu, wanted, passed_over, ret_memory);
        *error = *passed_over;
    }
    if (!r && gpu_memory_kind(*ret_memory) == CONFIG_MEMORY_HOST) {
        r = error_prefix(error, -ENOTSUP, "%s: CPU and GPU share no memory",
                         gpu_info(*ret_gpu)->name);
    }
    return r;
}

// That "auto" finds no driver is logged quietly, because most machines have none; a GPU that
// computes wrongly is logged loudly, because somebody should look at it.
int compute_gpu_priority(enum config_backend backend, int code)
{
    if (backend == CONFIG_BACKEND_CUDA || code == -EBADMSG) {
        return LOG_WARNING;
    }
    return backend == CONFIG_BACKEND_CPU || code == -ENODEV || !code ? LOG_INFO : LOG_NOTICE;
}

// Memory may be freed, and a slow driver may answer at last. A driver that is missing or too old
// stays so, a GPU that computes wrongly is not trusted again, and one that is lost needs another
// process.
bool compute_gpu_may_return(int code)
{
    switch (code) {
    case 0:
    case -ENODEV:
    case -ENOSYS:
    case -ENOTSUP:
    case -EINVAL:
    case -EBADMSG:
    case -ENOTRECOVERABLE:
        return false;
    default:
        return true;
    }
}
