#include "daemon/common/mask_file.h"
#include "daemon/ctl/bench/bench_rows.h"
#include "daemon/ctl/bench/gpu_rig.h"
#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/bench/view_rig.h"

#include <errno.h>
#include <string.h>

// What is measured: the kernels and a copy in device memory, the same in the frames' memory, and
// whole frames.
enum { DEVICE_KERNEL, DEVICE_COPY, FRAME_KERNEL, FRAME_COPY, WHOLE_VIEW, WORK_COUNT };

struct cuda_bench {
    struct gpu_rig device, frames;
    struct view_rig whole;
    const char *memory; // of the frames
    struct timed timed[WORK_COUNT];
};

static int run_kernel(void *context, struct error *error, double *ret_us)
{
    return gpu_rig_time_kernel(context, error, ret_us);
}

static int run_copy(void *context, struct error *error, double *ret_us)
{
    return gpu_rig_time_copy(context, error, ret_us);
}

static int prepare(struct cuda_bench *bench, struct gpu_session *session,
                   const struct bench_request *request, struct error *error)
{
    const struct view_setup setup = {.settings = request->view,
                                     .input = request->input,
                                     .frames = 2,
                                     .allocator = gpu_session_allocator(session),
                                     .gpu = session->gpu,
                                     .read_mask = mask_file_read};
    int r = gpu_rig_init(&bench->device, session->gpu, NULL, request->view, request->input, error);

    if (r == 0) {
        r = gpu_rig_init(&bench->frames, session->gpu, session->memory, request->view,
                         request->input, error);
    }
    bench->memory = config_memory_name(gpu_memory_kind(session->memory));
    return r < 0 ? r : view_rig_init(&bench->whole, &setup, error);
}

static int measure(struct cuda_bench *bench, const struct bench_request *request,
                   struct error *error)
{
    bench->timed[DEVICE_KERNEL] = (struct timed){.run = run_kernel, .context = &bench->device};
    bench->timed[DEVICE_COPY] = (struct timed){.run = run_copy, .context = &bench->device};
    bench->timed[FRAME_KERNEL] = (struct timed){.run = run_kernel, .context = &bench->frames};
    bench->timed[FRAME_COPY] = (struct timed){.run = run_copy, .context = &bench->frames};
    bench->timed[WHOLE_VIEW] = (struct timed){.run = view_rig_time, .context = &bench->whole};
    return interleave_run(bench->timed, WORK_COUNT, request->runs, request->view->name, error);
}

// The kernels of a view by their groups in the configuration: "gradient+morphology".
static void name_kernels(const struct gpu_runner *runner, char *ret_name, size_t size)
{
    enum config_kernel groups[CONFIG_KERNEL_COUNT];
    size_t count = gpu_runner_groups(runner, groups), length = 0;

    for (size_t i = 0; i < count && length < size; i++) {
        length += (size_t)snprintf(ret_name + length, size - length, "%s%s", i > 0 ? "+" : "",
                                   config_kernel_name(groups[i]));
    }
}

static void add_row(struct cuda_bench *bench, const struct bench_request *request, int work,
                    int copy, struct bench_rows *rows)
{
    struct samples *samples = &bench->timed[work].samples;
    bool device = work == DEVICE_KERNEL, view = work == WHOLE_VIEW;
    struct bench_row *row = &rows->rows[rows->count];

    if (samples->count == 0 || rows->count == BENCH_ROWS_MAX) {
        return;
    }
    *row = (struct bench_row){
        .what = view ? "view" : "kernel",
        .memory = device ? "device" : bench->memory,
        .bytes = bench->frames.bytes,
        .time = samples_summarize(samples),
        .copy = samples_summarize(&bench->timed[copy].samples),
    };
    snprintf(row->backend, sizeof row->backend, "%s", view_backend(bench->whole.view));
    if (view) {
        snprintf(row->name, sizeof row->name, "%s", request->view->name);
    } else {
        name_kernels(&bench->frames.runner, row->name, sizeof row->name);
    }
    rows->count++;
}

int bench_cuda(const struct bench_request *request, struct gpu_session *session,
               struct error *error, struct bench_rows *rows)
{
    struct cuda_bench *bench = calloc(1, sizeof *bench);
    int r = bench ? prepare(bench, session, request, error)
                  : error_set(error, -ENOMEM, "out of memory");

    if (r == 0) {
        r = measure(bench, request, error);
        if (r < 0) {
            gpu_session_lose(session);
        }
    }
    if (r == 0) {
        add_row(bench, request, DEVICE_KERNEL, DEVICE_COPY, rows);
        add_row(bench, request, FRAME_KERNEL, FRAME_COPY, rows);
        add_row(bench, request, WHOLE_VIEW, FRAME_COPY, rows);
    }
    if (bench) {
        view_rig_finish(&bench->whole);
        gpu_rig_finish(&bench->frames);
        gpu_rig_finish(&bench->device);
        free(bench);
    }
    return r == -EAGAIN ? 0 : r;
}
