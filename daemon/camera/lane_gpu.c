// The lane and the GPU: beginning to use it, giving it up, losing it.
#include "daemon/camera/lane_private.h"

#include <errno.h>

#define GPU_CHECK_NS (100 * NS_PER_MS)

// The camera is closed first, so that the next process can open it.
static void lose_gpu(struct lane *lane, const char *reason)
{
    compute_lose(lane->environment.compute, reason);
    lane_close_source(lane, false);
    lane_end(lane, LINK_GPU_FAULT, reason);
}

// Leaves views and memory to the CPU.
static void leave_gpu(struct lane *lane, int code, struct error *why)
{
    if (code == -ENOTSUP || code == -EINVAL || code == -ENOENT) {
        compute_rule_out(lane->environment.compute, why->text);
        return;
    }
    if (code == -ENOMEM) {
        error_prefix(why, code, "the GPU is out of memory");
    }
    compute_give_up(lane->environment.compute, why->text);
}

bool lane_blame_gpu(struct lane *lane, int code, bool preparing, const struct error *error)
{
    struct error why = *error, allocation = {0};

    if (!lane->means.gpu || lane->fatal) {
        return false;
    }
    int failed = gpu_memory_take_failure(lane->means.memory, &allocation);
    if (failed) {
        error_set(&why, failed, "%.300s: %.200s", error->text, allocation.text);
    }
    if (code == -ENOTRECOVERABLE ||
        gpu_wait(lane->means.gpu, clock_now_ns() + GPU_CHECK_NS, &why)) {
        lose_gpu(lane, why.text);
    } else if (preparing || failed) {
        leave_gpu(lane, failed ? failed : code, &why);
    } else {
        return false;
    }
    return true;
}

// Makes the views on the GPU while the camera still delivers to the CPU's memory: a GPU that has no
// room for them costs no frame.
static bool fits_gpu(struct lane *lane, const struct compute_means *means)
{
    const struct compute_means before = lane->means;
    struct error error = {0};

    lane->means = *means;
    int r = lane_prepare_channels(lane, &lane->source->mode, &error);
    if (r) {
        lane_blame_gpu(lane, r, true, &error);
        lane->means = before;
    }
    return !r;
}

void lane_follow_compute(struct lane *lane)
{
    struct compute_means means;
    struct error error = {0};

    if (!compute_ask(lane->environment.compute, lane->alive_ns, &means) ||
        (lane->decided && means.gpu == lane->means.gpu)) {
        return;
    }
    if (means.gpu && gpu_enter(means.gpu, &error)) {
        compute_give_up(lane->environment.compute, error.text);
        return;
    }
    if (lane->source && means.gpu && !fits_gpu(lane, &means)) {
        return;
    }
    lane_close_source(lane, false);
    lane->means = means;
    lane->source_environment = (struct source_environment){
        .allocator = means.allocator,
        .copies = lane->environment.copies,
        .surfaces = means.surfaces ? gpu_surfaces_allocator(means.surfaces) : NULL};
    lane->decided = true;
    lane->schedule.retry_ns = lane->alive_ns;
}
