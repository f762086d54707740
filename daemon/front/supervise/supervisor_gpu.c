// After the GPU has failed, processes begin on the CPU until one that was told to try the GPU
// computes on it. A GPU that a process could not use, for want of memory or because its driver did
// not answer, is tried again by that process, after the same delays.
#include "daemon/common/log.h"
#include "daemon/front/supervise/supervisor_private.h"

const char *supervisor_gpu_begin(struct supervisor *supervisor)
{
    bool without = supervisor->without_gpu && supervisor->configuration_cpu;

    supervisor->gpu_offered = !without && supervisor->configuration_cpu;
    gpu_retry_begin(&supervisor->gpu, supervisor->gpu_offered);
    return without ? supervisor->configuration_cpu : supervisor->configuration;
}

static gboolean on_try_timer(gpointer data)
{
    struct supervisor *supervisor = data;

    if (supervisor->link) {
        supervisor->gpu_error.text[0] = 0; // from now on the process says what is wrong with it
        supervisor->gpu_offered = true;
        camera_link_try_gpu(supervisor->link, supervisor->backend);
    }
    supervisor->gpu_timer =
        g_timeout_add(gpu_retry_try_ms(&supervisor->gpu), on_try_timer, supervisor);
    return G_SOURCE_REMOVE;
}

void supervisor_gpu_fail(struct supervisor *supervisor, const char *sentence)
{
    unsigned delay_ms = gpu_retry_fail_ms(&supervisor->gpu, clock_now_ns());

    supervisor->gpu_faults++;
    supervisor->without_gpu = true;
    supervisor->telemetry.backend[0] = 0;
    error_set(&supervisor->gpu_error, 0, "failed: %s", sentence);
    g_clear_handle_id(&supervisor->gpu_timer, g_source_remove);
    supervisor->gpu_timer = g_timeout_add(delay_ms, on_try_timer, supervisor);
    log_write(LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, supervisor->name, "gpu-failed",
              "the GPU failed: %s, going on with the CPU, trying the GPU again in %.1f s", sentence,
              delay_ms / 1e3);
}

void supervisor_gpu_note(struct supervisor *supervisor)
{
    int64_t now_ns = clock_now_ns();

    gpu_retry_note_backend(&supervisor->gpu, supervisor->telemetry.backend, now_ns);
    if (supervisor->gpu.use == GPU_COMPUTES) {
        supervisor->without_gpu = false;
        supervisor->gpu_error.text[0] = 0;
        g_clear_handle_id(&supervisor->gpu_timer, g_source_remove);
    } else if (supervisor->telemetry.gpu_may_return && supervisor->configuration_cpu &&
               !supervisor->gpu_timer) {
        supervisor->gpu_timer =
            g_timeout_add(gpu_retry_fail_ms(&supervisor->gpu, now_ns), on_try_timer, supervisor);
    }
}

void supervisor_gpu_forget(struct supervisor *supervisor)
{
    supervisor->gpu = (struct gpu_retry){0};
    supervisor->without_gpu = false;
    supervisor->gpu_error.text[0] = 0;
    g_clear_handle_id(&supervisor->gpu_timer, g_source_remove);
}
