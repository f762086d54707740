#include "daemon/ctl/bench/bench_rows.h"
#include "daemon/ctl/bench/gpu_rig.h"
#include "daemon/ctl/bench/interleave.h"

#include <errno.h>
#include <string.h>

// What is measured: the kernels and a copy in device memory, the same in the frames' memory, and
// whole frames.
enum { DEVICE_KERNEL, DEVICE_COPY, FRAME_KERNEL, FRAME_COPY, WHOLE_VIEW, WORK_COUNT };

struct whole {
    struct gpu_session *session;
    struct view *view;       // owned
    struct frame_pool *pool; // owned reference
    struct frame *input;     // owned reference
};

struct cuda_bench {
    struct gpu_rig device, frames;
    struct whole whole;
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

static int run_whole(void *context, struct error *error, double *ret_us)
{
    struct whole *whole = context;
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int64_t start = clock_now_ns();
    int r = gpu_session_view_run(whole->session, whole->view, whole->input, error, &output);

    *ret_us = (double)(clock_now_ns() - start) / NS_PER_US;
    return r;
}

static int whole_init(struct whole *whole, struct gpu_session *session,
                      const struct bench_request *request, struct error *error)
{
    const struct view_setup setup = {
        .settings = request->view, .input = request->input, .frames = 2, .blocks = request->blocks};
    int r = frame_pool_new(request->input, 1, gpu_session_allocator(session), &whole->pool);

    whole->session = session;
    if (r < 0) {
        return error_set(error, r, "no memory for a picture");
    }
    whole->input = frame_pool_take(whole->pool);
    draw_scene(whole->input->data, request->input->size, request->input->planes[0].stride);
    return gpu_session_view_new(session, &setup, error, &whole->view);
}

static void whole_finish(struct whole *whole)
{
    view_free(whole->view);
    frame_unref(whole->input);
    frame_pool_unref(whole->pool);
}

static int prepare(struct cuda_bench *bench, struct gpu_session *session,
                   const struct bench_request *request, struct error *error)
{
    int r = gpu_rig_init(&bench->device, session->gpu, NULL, request->view, request->input, error);

    if (r == 0) {
        r = gpu_rig_init(&bench->frames, session->gpu, session->memory, request->view,
                         request->input, error);
    }
    if (r == 0) {
        r = gpu_pipeline_set_blocks(&bench->device.pipeline, request->blocks, error);
    }
    if (r == 0) {
        r = gpu_pipeline_set_blocks(&bench->frames.pipeline, request->blocks, error);
    }
    return r < 0 ? r : whole_init(&bench->whole, session, request, error);
}

static int measure(struct cuda_bench *bench, const struct bench_request *request,
                   struct error *error)
{
    struct progress progress;
    int r;

    bench->timed[DEVICE_KERNEL] = (struct timed){.run = run_kernel, .context = &bench->device};
    bench->timed[DEVICE_COPY] = (struct timed){.run = run_copy, .context = &bench->device};
    bench->timed[FRAME_KERNEL] = (struct timed){.run = run_kernel, .context = &bench->frames};
    bench->timed[FRAME_COPY] = (struct timed){.run = run_copy, .context = &bench->frames};
    bench->timed[WHOLE_VIEW] = (struct timed){.run = run_whole, .context = &bench->whole};
    progress_start(&progress, request->view->name, (request->runs + 1) * WORK_COUNT);
    r = interleave_run(bench->timed, WORK_COUNT, request->runs, &progress, error);
    progress_end(&progress);
    return r;
}

// The kernels of a view by their groups in the configuration: "gradient+morphology".
static void name_kernels(const struct gpu_pipeline *pipeline, char *ret_name, size_t size)
{
    enum config_kernel groups[CONFIG_KERNEL_COUNT];
    size_t count = gpu_pipeline_groups(pipeline, groups), length = 0;

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
        .memory =
            device ? "device" : config_memory_name(gpu_memory_kind(bench->whole.session->memory)),
        .bytes = bench->frames.bytes,
        .time = samples_summarize(samples),
        .copy = samples_summarize(&bench->timed[copy].samples),
    };
    snprintf(row->backend, sizeof row->backend, "%s", view_backend(bench->whole.view));
    if (view) {
        snprintf(row->name, sizeof row->name, "%s", request->view->name);
    } else {
        name_kernels(&bench->frames.pipeline, row->name, sizeof row->name);
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
        whole_finish(&bench->whole);
        gpu_rig_finish(&bench->frames);
        gpu_rig_finish(&bench->device);
        free(bench);
    }
    return r == -EAGAIN ? 0 : r;
}
