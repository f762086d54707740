#include "daemon/camera/compute_gpu.h"

#include "daemon/common/log.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>

// A machine without surfaces has other memory.
static void find_surfaces(struct compute_gpu *found, struct error *passed_over)
{
    struct error why = {0}, others = *passed_over;

    if (gpu_surfaces_new(found->gpu, &why, &found->surfaces) < 0) {
        error_set(passed_over, 0, "%s memory: %s%s%s", config_memory_name(CONFIG_MEMORY_NVMM),
                  why.text, others.text[0] ? "; " : "", others.text);
    }
}

int compute_gpu_find(enum config_memory wanted, struct error *error, struct error *passed_over,
                     struct compute_gpu *found)
{
    int r = gpu_new(error, &found->gpu);

    if (!r) {
        r = gpu_selftest_start(found->gpu, error);
    }
    if (!r) {
        r = gpu_memory_new(found->gpu, wanted, passed_over, &found->memory);
        *error = *passed_over;
    }
    if (!r && gpu_memory_kind(found->memory) == CONFIG_MEMORY_HOST) {
        r = error_prefix(error, -ENOTSUP, "%s: CPU and GPU share no memory",
                         gpu_info(found->gpu)->name);
    }
    // A view that makes surfaces reads pictures in any stream, which managed memory does not bear.
    if (!r && wanted == CONFIG_MEMORY_NVMM &&
        gpu_memory_kind(found->memory) != CONFIG_MEMORY_MANAGED) {
        find_surfaces(found, passed_over);
    }
    return r;
}

void compute_gpu_finish(struct compute_gpu *found)
{
    gpu_surfaces_free(found->surfaces);
    gpu_memory_free(found->memory);
    gpu_free(found->gpu);
    *found = (struct compute_gpu){0};
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
