// Time of the kernels on the GPU's own memory beside device-to-device copies of the same bytes in
// the same run. Microseconds, medians over frames that rotate through more memory than the L2
// holds. `one`: a frame with an event before and after it. `queued`: frames back to back, the time
// of many divided by their number.
#include "tests/gpu/bench.h"

#include <stdio.h>
#include <string.h>

#define RUNS 48 // whole bursts
#define BURST 8
#define QUEUES 11
#define QUEUE 64
#define ALIGN 512

struct times {
    double one_us, queued_us;
};

static int copy(struct bench *bench, size_t bytes, unsigned index)
{
    size_t at = index % (BENCH_ROOM / bytes);

    return cuda_driver_check(bench->driver,
                             bench->driver->copy_async(bench->output + at * bytes,
                                                       bench->input + at * bytes, bytes,
                                                       gpu_stream(bench->gpu)),
                             "copying", NULL);
}

static int run_kernel(struct bench *bench, const struct bench_job *job, unsigned index)
{
    size_t input = (job->input.size + ALIGN - 1) / ALIGN * ALIGN;
    size_t output = (job->output.size + ALIGN - 1) / ALIGN * ALIGN;
    size_t at = index % (BENCH_ROOM / (input > output ? input : output));
    uint64_t from = bench->input + at * input, to = bench->output + at * output;

    if (job->npp)
        return job->npp(bench, from, to, job->input.width, job->input.height);
    const struct gpu_picture pictures[] = {gpu_picture_at(&job->input, from),
                                           gpu_picture_at(&job->output, to)};

    return runner_launch(job->runner, (struct gpu_pictures){pictures[0], pictures[0], pictures[1]},
                         NULL);
}

static int run_job(struct bench *bench, const struct bench_job *job, unsigned index)
{
    return job->npp || job->runner ? run_kernel(bench, job, index)
                                   : copy(bench, job->bytes / 2, index);
}

static int time_runs(struct bench *bench, const struct bench_job *job, unsigned first,
                     unsigned count, double *ret_us)
{
    float ms = 0;
    int r = 0;

    bench->driver->event_record(bench->start, gpu_stream(bench->gpu));
    for (unsigned i = 0; i < count && r == 0; i++)
        r = run_job(bench, job, first + i);
    bench->driver->event_record(bench->end, gpu_stream(bench->gpu));
    r = r < 0 ? r : gpu_wait(bench->gpu, clock_now_ns() + 5 * NS_PER_S, NULL);
    bench->driver->event_elapsed(&ms, bench->start, bench->end);
    *ret_us = 1e3 * ms / count;
    return r;
}

// A job and a copy in turns of BURST runs: each finds the L2 as runs of its own leave it.
static int measure(struct bench *bench, const struct bench_job *job, struct times *ret_job,
                   struct times *ret_copy)
{
    const struct bench_job copying = {.bytes = job->bytes};
    double one[2][RUNS], queued[2][QUEUES];
    int r = 0;

    for (unsigned i = 0; i < 2 * RUNS && r == 0; i++) {
        unsigned which = i / BURST % 2, run = i / (2 * BURST) * BURST + i % BURST;

        r = time_runs(bench, which ? &copying : job, 7 * run, 1, &one[which][run]);
    }
    for (unsigned i = 0; i < 2 * QUEUES && r == 0; i++)
        r = time_runs(bench, i % 2 ? &copying : job, 0, QUEUE, &queued[i % 2][i / 2]);
    if (r == 0) {
        *ret_job = (struct times){bench_median(one[0], RUNS), bench_median(queued[0], QUEUES)};
        *ret_copy = (struct times){bench_median(one[1], RUNS), bench_median(queued[1], QUEUES)};
    }
    return r;
}

void bench_begin_jobs(struct bench *bench, const char *key, const char *title)
{
    char columns[128];

    snprintf(columns, sizeof columns, "%-32s %9s %9s %9s %7s %9s %9s %7s", "", "size", "one us",
             "copy us", "ratio", "queued us", "copy us", "ratio");
    bench_begin(bench, key, title, columns);
}

int bench_run_job(struct bench *bench, const struct bench_job *job)
{
    struct times times, copying;
    int r = measure(bench, job, &times, &copying);

    if (r < 0)
        return r;
    bench_next(bench);
    if (bench->json) {
        printf("{\"name\": \"%s\", \"width\": %u, \"height\": %u, \"bytes\": %zu, "
               "\"one_us\": %.2f, \"queued_us\": %.2f, \"copy_one_us\": %.2f, "
               "\"copy_queued_us\": %.2f}",
               job->name, job->input.width, job->input.height, job->bytes, times.one_us,
               times.queued_us, copying.one_us, copying.queued_us);
    } else {
        printf("%-32s %4ux%-4u %9.2f %9.2f %7.2f %9.2f %9.2f %7.2f\n", job->name, job->input.width,
               job->input.height, times.one_us, copying.one_us, times.one_us / copying.one_us,
               times.queued_us, copying.queued_us, times.queued_us / copying.queued_us);
    }
    fflush(stdout);
    return 0;
}

size_t bench_bytes_moved(const struct bench_job *job, bool every_input, bool every_output)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < job->input.format->plane_count && (i == 0 || every_input); i++)
        bytes += (size_t)job->input.planes[i].width_bytes * job->input.planes[i].rows;
    for (unsigned i = 0; i < job->output.format->plane_count && (i == 0 || every_output); i++)
        bytes += (size_t)job->output.planes[i].width_bytes * job->output.planes[i].rows;
    return bytes;
}

int bench_run_view(struct bench *bench, const struct config_view *settings, const char *name,
                   const char *from, const char *to, const struct bench_size *size)
{
    const struct plan plan =
        plan_make(settings, pixel_format_by_name(from),
                  strcmp(to, "NV12") == 0 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT);
    bool picture = settings->view == CONFIG_VIEW_CAMERA || settings->view == CONFIG_VIEW_OVERLAY;
    struct runner runner;
    struct bench_job job = {.runner = &runner};
    int r;

    frame_layout_init(&job.input, pixel_format_by_name(from), size->width, size->height, 1);
    frame_layout_init(&job.output, pixel_format_by_name(plan.format), size->width, size->height, 1);
    job.bytes =
        bench_bytes_moved(&job, picture, picture || settings->view == CONFIG_VIEW_DIRECTION);
    r = runner_init_plan(&runner, bench->gpu, &plan, &job.input, false, NULL);
    if (r == 0) {
        struct config_block block = runner.gpu_stages[0].kernels[0].block;

        snprintf(job.name, sizeof job.name, "%s to %s%s [%d, %d]", from, to, name, block.x,
                 block.y);
        r = bench_run_job(bench, &job);
    }
    runner_finish(&runner);
    return r;
}
