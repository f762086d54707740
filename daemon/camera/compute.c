// Two flags tell where the thread that opens the GPU is: `opening` as long as it may be in the
// driver, `expected` as long as what it brings counts. After the deadline it is left alone; should
// the driver answer after all, the thread gives back what it got, and the GPU may be tried again.

#include "daemon/camera/compute.h"

#include "board/board.h"
#include "daemon/common/log.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GPU_CHECK_NS (100 * NS_PER_MS)
// A GPU that is given up within this time after it was taken counts as tried in vain.
#define TRIED_NS (5 * NS_PER_S)

// A GPU with its memory; all owned. Zeroed: none.
struct compute_gpu {
    struct gpu *gpu;
    struct gpu_memory *memory;
    struct gpu_surfaces *surfaces; // for a sensor's pictures and an encoder's; NULL: there are none
};

struct compute {
    const struct config *config; // borrowed
    bool is_jetson;              // so that a GPU is there
    void (*changed)(void *context);
    void *context;
    pthread_t thread;
    bool started; // there is a thread to join
    bool told;    // that thread only: the GPU's facts are in the log

    pthread_mutex_t lock; // guards all below
    pthread_cond_t idle;  // `opening` has become false
    bool opening, expected;
    bool decided, on_gpu;
    bool may_return;             // the CPU computes for a reason that may pass
    bool is_refused;             // the service may not open the GPU's devices
    int64_t on_gpu_ns;           // when the GPU was taken last
    char cpu_reason[256];        // why the CPU computed last
    enum config_backend backend; // as wished for
    int64_t deadline_ns;
    struct compute_gpu found;             // owned; kept when given up, frames may be in its memory
    char backend_text[16], gpu_text[256]; // for telemetry
};

// A machine without surfaces has other memory.
static void find_surfaces(struct compute_gpu *found, struct error *passed_over)
{
    struct error why = {0}, others = *passed_over;

    if (gpu_surfaces_new(found->gpu, &why, &found->surfaces) < 0) {
        error_set(passed_over, 0, "%s memory: %s%s%s", config_memory_name(CONFIG_MEMORY_NVMM),
                  why.text, others.text[0] ? "; " : "", others.text);
    }
}

// Opens the GPU, and memory of the wanted kind or one after it, when the GPU passes its self-tests;
// for CONFIG_MEMORY_NVMM surfaces as well. Errors are those of gpu_new() and gpu_selftest_start(),
// and -ENOTSUP (CPU and GPU share no memory), with the reason in `error`. `passed_over` gets the
// kinds of memory that failed. The caller zeroes `found` before the call, and finishes it after it,
// whatever it returns.
static int find_gpu(enum config_memory wanted, struct error *error, struct error *passed_over,
                    struct compute_gpu *found)
{
    int r = gpu_new(error, &found->gpu);

    if (!r)
        r = gpu_selftest_start(found->gpu, error);
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

static void finish_gpu(struct compute_gpu *found)
{
    gpu_surfaces_free(found->surfaces);
    gpu_memory_free(found->memory);
    gpu_free(found->gpu);
    *found = (struct compute_gpu){0};
}

// The priority of the log message that the CPU computes instead of `backend`, because of the errno
// `code` (0: because the settings say so). That "auto" finds no driver is logged quietly, because
// most machines have none; a GPU that computes wrongly is logged loudly, because somebody should
// look at it.
static int priority_of(enum config_backend backend, int code)
{
    if (backend == CONFIG_BACKEND_CUDA || code == -EBADMSG)
        return LOG_WARNING;
    return backend == CONFIG_BACKEND_CPU || code == -ENODEV || !code ? LOG_INFO : LOG_NOTICE;
}

// Whether the GPU may work when it is tried again. Memory may be freed, a slow driver may answer at
// last, and a Jetson's GPU may get its devices late. A driver that is missing or too old stays so,
// a GPU that computes wrongly is not trusted again, and one that is lost needs another process.
static bool may_return(const struct compute *compute, int code)
{
    switch (code) {
    case -ENODEV:
        return compute->is_jetson;
    case 0:
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

int compute_new(const struct config *config, bool is_jetson, void (*changed)(void *context),
                void *context, struct compute **ret_compute)
{
    struct compute *compute = calloc(1, sizeof *compute);

    if (!compute)
        return -ENOMEM;
    compute->config = config;
    compute->is_jetson = is_jetson;
    compute->changed = changed;
    compute->context = context;
    compute->backend = config->backend;
    pthread_mutex_init(&compute->lock, NULL);
    condition_init(&compute->idle);
    *ret_compute = compute;
    return 0;
}

void compute_free(struct compute *compute)
{
    if (!compute)
        return;
    if (compute->started)
        pthread_join(compute->thread, NULL);
    finish_gpu(&compute->found);
    pthread_cond_destroy(&compute->idle);
    pthread_mutex_destroy(&compute->lock);
    free(compute);
}

static void tell_changed(struct compute *compute)
{
    compute->changed(compute->context);
}

// With the lock held. False for a reason that the log has told of and that is still there when the
// GPU is tried again.
static bool is_news(const struct compute *compute, const char *reason)
{
    bool tried = !compute->on_gpu || clock_now_ns() - compute->on_gpu_ns < TRIED_NS;

    return !compute->decided || !tried ||
           strncmp(compute->cpu_reason, reason, sizeof compute->cpu_reason - 1) != 0;
}

// With the lock held. Returns whether the CPU computes only now, or for another reason than before.
static bool set_cpu(struct compute *compute, int code, const char *reason)
{
    bool new = !compute->decided || compute->on_gpu || strcmp(compute->gpu_text, reason) != 0;

    compute->decided = true;
    compute->on_gpu = false;
    compute->may_return = may_return(compute, code);
    compute->expected = false;
    snprintf(compute->backend_text, sizeof compute->backend_text, "CPU");
    snprintf(compute->gpu_text, sizeof compute->gpu_text, "%s", reason);
    memcpy(compute->cpu_reason, compute->gpu_text, sizeof compute->cpu_reason);
    return new;
}

static void tell_cpu(const struct compute *compute, enum config_backend backend, int code,
                     const char *reason)
{
    enum config_memory memory = compute->config->memory;
    bool wished = memory != CONFIG_MEMORY_AUTO && memory != CONFIG_MEMORY_HOST;

    log_write(priority_of(backend, code), LOG_EVENT_NONE, compute->config->cameras[0].name, NULL,
              "%s%s, using the CPU%s%s%s",
              backend == CONFIG_BACKEND_CUDA ? "backend = \"cuda\": " : "", reason,
              wished ? " and host memory instead of \"" : "",
              wished ? config_memory_name(memory) : "", wished ? "\"" : "");
}

// Decides on the CPU; `code` is the errno that led there, 0 where the settings did. `opening`: only
// if the GPU is still being waited for.
static void use_cpu(struct compute *compute, bool opening, int code, const char *reason)
{
    pthread_mutex_lock(&compute->lock);
    bool news = is_news(compute, reason);
    bool changed = (!opening || compute->expected) && set_cpu(compute, code, reason);
    enum config_backend backend = compute->backend;
    pthread_mutex_unlock(&compute->lock);
    if (changed && news)
        tell_cpu(compute, backend, code, reason);
    if (changed)
        tell_changed(compute);
}

// Logs which GPU computes, once, and each kind of memory that was passed over.
static void tell_gpu(struct compute *compute, const struct compute_gpu *found,
                     const char *passed_over)
{
    const struct gpu_info *info = gpu_info(found->gpu);
    const char *camera = compute->config->cameras[0].name;
    const char *kind = gpu_memory_allocator(found->memory)->kind;
    bool wished = compute->config->memory != CONFIG_MEMORY_AUTO;

    if (!compute->told) {
        log_write(
            LOG_INFO, LOG_EVENT_NONE, camera, NULL,
            "GPU %s: sm_%d, %d multiprocessors, %s, %sconcurrent managed access, memory:%s%s%s,"
            " driver for CUDA %d.%d, using it",
            info->name, info->sm, info->multiprocessors,
            info->integrated ? "integrated" : "not integrated",
            info->concurrent_managed_access ? "" : "no ",
            info->can_map_host && info->can_register ? " registered" : "",
            info->can_map_host ? " pinned" : "", info->can_manage ? " managed" : "",
            info->driver_version / 1000, info->driver_version % 1000 / 10);
        compute->told = true;
    }
    if (passed_over[0]) {
        log_write(wished ? LOG_WARNING : LOG_NOTICE, LOG_EVENT_NONE, camera, NULL,
                  "%s, using %s memory", passed_over, kind);
    }
}

// With the lock held.
static void set_gpu(struct compute *compute)
{
    const struct gpu_info *info = gpu_info(compute->found.gpu);

    compute->decided = compute->on_gpu = true;
    compute->on_gpu_ns = clock_now_ns();
    compute->expected = false;
    snprintf(compute->backend_text, sizeof compute->backend_text, "CUDA sm_%d", info->sm);
    snprintf(compute->gpu_text, sizeof compute->gpu_text, "%s", info->name);
}

// Publishes the GPU that the opening thread has got. False when it comes too late.
static bool take_gpu(struct compute *compute, const struct compute_gpu *found,
                     const char *passed_over)
{
    pthread_mutex_lock(&compute->lock);
    bool counts = compute->expected;
    if (counts) {
        compute->found = *found;
        set_gpu(compute);
    }
    pthread_mutex_unlock(&compute->lock);
    if (counts) {
        tell_gpu(compute, found, passed_over);
        tell_changed(compute);
    }
    return counts;
}

// A GPU that is lost is kept, so that it is not tried again.
static void keep_lost(struct compute *compute, struct compute_gpu *found)
{
    pthread_mutex_lock(&compute->lock);
    compute->found = *found;
    pthread_mutex_unlock(&compute->lock);
    *found = (struct compute_gpu){0};
}

// Adds to the reason why a GPU could not be opened that its devices are refused, if they are.
static void note_refusal(struct compute *compute, struct error *error)
{
    char node[BOARD_NODE_SIZE];
    const struct error why = *error;
    bool refused = board_find_refused("", node);

    if (refused)
        error_set(error, -EPERM, "%.300s: this service may not open %s", why.text, node);
    pthread_mutex_lock(&compute->lock);
    compute->is_refused = refused;
    pthread_mutex_unlock(&compute->lock);
}

static enum config_memory first_memory(const struct compute *compute)
{
    enum config_memory memory = compute->config->memory;

    return memory == CONFIG_MEMORY_AUTO && compute->is_jetson ? CONFIG_MEMORY_NVMM : memory;
}

static void *open_gpu(void *context)
{
    struct compute *compute = context;
    struct compute_gpu found = {0};
    struct error error = {0}, passed_over = {0};
    int r = find_gpu(first_memory(compute), &error, &passed_over, &found);

    if (found.gpu && gpu_is_lost(found.gpu)) {
        error = r ? error : passed_over;
        r = -ENOTRECOVERABLE;
        keep_lost(compute, &found);
    }
    if (r) {
        note_refusal(compute, &error);
        use_cpu(compute, true, r, error.text);
    }
    if (r || !take_gpu(compute, &found, passed_over.text))
        finish_gpu(&found);
    pthread_mutex_lock(&compute->lock);
    compute->opening = false;
    pthread_cond_broadcast(&compute->idle);
    pthread_mutex_unlock(&compute->lock);
    return NULL;
}

static void begin_opening(struct compute *compute, enum config_backend backend)
{
    if (compute->started)
        pthread_join(compute->thread, NULL);
    pthread_mutex_lock(&compute->lock);
    compute->backend = backend;
    compute->opening = compute->expected = true;
    compute->deadline_ns = clock_now_ns() + COMPUTE_OPEN_NS;
    pthread_mutex_unlock(&compute->lock);

    int r = -pthread_create(&compute->thread, NULL, open_gpu, compute);
    compute->started = !r;
    if (r) {
        pthread_mutex_lock(&compute->lock);
        compute->opening = false;
        pthread_mutex_unlock(&compute->lock);
        use_cpu(compute, true, r, "no thread to open the GPU in");
    } else {
        pthread_setname_np(compute->thread, "gpu");
    }
}

void compute_start(struct compute *compute)
{
    if (compute->config->backend == CONFIG_BACKEND_CPU)
        use_cpu(compute, false, 0, "backend = \"cpu\"");
    else
        compute_try(compute, compute->config->backend);
}

void compute_try(struct compute *compute, enum config_backend backend)
{
    pthread_mutex_lock(&compute->lock);
    bool busy = compute->opening || compute->on_gpu, there = compute->found.gpu && !busy;
    bool lost = there && gpu_is_lost(compute->found.gpu);
    if (there && !lost)
        set_gpu(compute);
    pthread_mutex_unlock(&compute->lock);

    if (there && !lost)
        tell_changed(compute);
    else if (!busy && !there && compute->config->memory == CONFIG_MEMORY_HOST)
        use_cpu(compute, false, 0, "memory = \"host\" is not for a GPU");
    else if (!busy && !there)
        begin_opening(compute, backend);
}

int compute_wait(struct compute *compute, int64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = deadline_ns / NS_PER_S,
                                .tv_nsec = deadline_ns % NS_PER_S};
    int r = 0;

    pthread_mutex_lock(&compute->lock);
    while (compute->opening && !r)
        r = -pthread_cond_timedwait(&compute->idle, &compute->lock, &deadline);
    pthread_mutex_unlock(&compute->lock);
    return r;
}

bool compute_ask(struct compute *compute, int64_t now_ns, struct compute_means *ret_means)
{
    pthread_mutex_lock(&compute->lock);
    bool late = compute->expected && now_ns >= compute->deadline_ns;
    pthread_mutex_unlock(&compute->lock);
    if (late)
        use_cpu(compute, true, -ETIMEDOUT, "the GPU driver did not answer within 10 s");

    pthread_mutex_lock(&compute->lock);
    bool decided = compute->decided;
    if (compute->on_gpu) {
        *ret_means = (struct compute_means){compute->found.gpu, compute->found.memory,
                                            gpu_memory_allocator(compute->found.memory),
                                            compute->found.surfaces};
    } else if (decided) {
        *ret_means = (struct compute_means){.allocator = frame_allocator_host()};
    }
    pthread_mutex_unlock(&compute->lock);
    return decided;
}

void compute_give_up(struct compute *compute, int code, const struct error *why)
{
    bool in_vain = code == -ENOTSUP || code == -EINVAL || code == -ENOENT;

    use_cpu(compute, false, in_vain ? -ENOTSUP : -ENOMEM, why->text);
}

int compute_blame(struct compute *compute, int code, bool preparing, struct error *why)
{
    const struct compute_gpu *found = &compute->found;
    struct error error = *why, allocation = {0};
    int failed = gpu_memory_take_failure(found->memory, &allocation);

    if (failed)
        error_set(why, failed, "%.300s: %.200s", error.text, allocation.text);
    if (code == -ENOTRECOVERABLE || gpu_wait(found->gpu, clock_now_ns() + GPU_CHECK_NS, why))
        return -ENOTRECOVERABLE;
    if (!preparing && !failed)
        return 0;
    code = failed ? failed : code;
    if (code == -ENOMEM)
        error_prefix(why, code, "the GPU is out of memory");
    compute_give_up(compute, code, why);
    return code;
}

void compute_lose(struct compute *compute, const char *reason)
{
    pthread_mutex_lock(&compute->lock);
    gpu_lose(compute->found.gpu);
    compute->backend_text[0] = 0;
    snprintf(compute->gpu_text, sizeof compute->gpu_text, "%s", reason);
    pthread_mutex_unlock(&compute->lock);
}

bool compute_has_lost(struct compute *compute)
{
    pthread_mutex_lock(&compute->lock);
    bool lost = compute->found.gpu && gpu_is_lost(compute->found.gpu);
    pthread_mutex_unlock(&compute->lock);
    return lost;
}

void compute_describe(struct compute *compute, struct link_telemetry *telemetry)
{
    pthread_mutex_lock(&compute->lock);
    memcpy(telemetry->backend, compute->backend_text, sizeof telemetry->backend);
    memcpy(telemetry->gpu, compute->gpu_text, sizeof telemetry->gpu);
    telemetry->gpu_may_return = !compute->on_gpu && compute->may_return;
    telemetry->gpu_is_refused = !compute->on_gpu && compute->is_refused;
    pthread_mutex_unlock(&compute->lock);
}
