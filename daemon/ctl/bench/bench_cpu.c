#include "daemon/common/mask_file.h"
#include "daemon/ctl/bench/bench_rows.h"
#include "daemon/ctl/bench/bench_target.h"
#include "daemon/ctl/bench/gpu_rig.h"
#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/bench/view_rig.h"
#include "kernels/graph/cpu_runner.h"
#include "kernels/graph/stages.h"

#include <errno.h>
#include <string.h>

// What is measured: one stage or the whole view, and a copy of as many bytes.
struct work {
    enum stage_kind kind;      // of a stage
    struct node *nodes;        // owned, that stage alone; NULL: a view
    struct cpu_runner *runner; // owned, of that
    struct view_rig whole;     // the view
    struct frame *input;       // owned reference; of a stage
    struct frame *output;      // owned reference; of a stage
    size_t bytes;
    uint8_t *copy_from, *copy_to; // not owned; room for bytes / 2
};

static int run_stage(void *context, struct error *error, double *ret_us)
{
    struct work *work = context;
    int64_t start_ns = clock_now_ns();

    (void)error;
    cpu_runner_run(work->runner, frame_plane(work->input, 0), work->input->layout.planes[0].stride,
                   frame_plane(work->output, 0), work->output->layout.planes[0].stride, work->input,
                   work->output);
    *ret_us = (double)(clock_now_ns() - start_ns) / NS_PER_US;
    return 0;
}

static int run_copy(void *context, struct error *error, double *ret_us)
{
    const struct work *work = context;
    int64_t start = clock_now_ns();

    (void)error;
    memcpy(work->copy_to, work->copy_from, work->bytes / 2);
    // As if the copy was read, so that the compiler does not leave it out.
    __asm__ volatile("" : : "r"(work->copy_to) : "memory");
    *ret_us = (double)(clock_now_ns() - start) / NS_PER_US;
    return 0;
}

static void work_finish(struct work *work)
{
    view_rig_finish(&work->whole);
    cpu_runner_free(work->runner);
    node_unref(work->nodes);
    frame_unref(work->input);
    frame_unref(work->output);
}

static int work_init_stage(struct work *work, const struct plan_step *step,
                           const struct bench_request *request, struct error *error)
{
    bool frame = step->kind == STAGE_CONVERT;
    struct frame_layout gray, input, output;
    struct node_setup setup = {.step = *step,
                               .camera = &input,
                               .output = pixel_format_by_name("NV12"),
                               .pool = request->pool};
    struct node *node;
    int r;

    frame_layout_init(&gray, pixel_format_by_name("GREY"), request->input->width,
                      request->input->height, FRAME_STRIDE_ALIGN);
    input = frame || step->kind == STAGE_GRAY ? *request->input : gray;
    frame_layout_init(&output, setup.output, gray.width, gray.height, FRAME_STRIDE_ALIGN);
    output = frame ? output : gray;
    work->bytes =
        view_bytes(step->kind == STAGE_CONVERT, step->kind == STAGE_CONVERT, &input, &output);
    work->kind = step->kind;
    r = node_get(&work->nodes, &setup, error, &node);
    if (r == 0) {
        r = cpu_runner_new(&node, 1, request->pool, error, &work->runner);
    }
    if (r == 0) {
        r = scene_frame_new(&input, frame_allocator_host(), error, &work->input);
    }
    if (r == 0) {
        r = scene_frame_new(&output, frame_allocator_host(), error, &work->output);
    }
    return r;
}

static int work_init_view(struct work *work, const struct bench_request *request,
                          const struct view_setup *setup, struct error *error)
{
    int r = view_rig_init(&work->whole, setup, error);

    if (r < 0) {
        return r;
    }
    work->bytes =
        view_bytes(config_view_reads_colour(request->view), config_view_is_colour(request->view),
                   request->input, view_output_layout(work->whole.view));
    return view_passes_through(work->whole.view) ? -EAGAIN : 0;
}

// How many stages are measured by themselves. None of motion, because its stages need one frame
// after the other; not a last stage that writes colour, because it needs the view's own pictures.
static size_t count_stages(const struct plan *plan)
{
    if (plan_find(plan, STAGE_DIFFERENCE) >= 0) {
        return 0;
    }
    return plan->count -
           (plan_find(plan, STAGE_OVERLAY) >= 0 || plan_find(plan, STAGE_DIRECTION) >= 0);
}

static void add_rows(const struct bench_request *request, const struct work *works,
                     struct timed *timed, size_t count, struct bench_rows *rows)
{
    unsigned threads = pool_threads(request->pool);

    for (size_t i = 0; i < count; i++) {
        struct bench_row *row = &rows->rows[rows->count];
        const char *name =
            works[i].whole.view ? request->view->name : stage_kind_name(works[i].kind);

        if (timed[2 * i].samples.count == 0 || rows->count == BENCH_ROWS_MAX) {
            continue;
        }
        *row = (struct bench_row){.what = works[i].whole.view ? "view" : "stage",
                                  .memory = "host",
                                  .bytes = works[i].bytes,
                                  .time = samples_summarize(&timed[2 * i].samples),
                                  .copy = samples_summarize(&timed[2 * i + 1].samples)};
        snprintf(row->name, sizeof row->name, "%s", name);
        snprintf(row->backend, sizeof row->backend, threads > 1 ? "CPU x%u" : "CPU", threads);
        rows->count++;
    }
}

static int measure(const struct bench_request *request, struct work *works, size_t count,
                   struct error *error, struct bench_rows *rows)
{
    size_t largest = 1;
    _cleanup_(cleanup_free) struct timed *timed = calloc(2 * count, sizeof *timed);
    _cleanup_(cleanup_free) uint8_t *from = NULL, *to = NULL;
    int r;

    for (size_t i = 0; i < count; i++) {
        largest = works[i].bytes > largest ? works[i].bytes : largest;
    }
    from = malloc(largest);
    to = malloc(largest);
    if (!timed || !from || !to) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    memset(from, 1, largest);
    memset(to, 2, largest);
    for (size_t i = 0; i < count; i++) {
        works[i].copy_from = from;
        works[i].copy_to = to;
        timed[2 * i] = works[i].runner
                           ? (struct timed){.run = run_stage, .context = &works[i]}
                           : (struct timed){.run = view_rig_time, .context = &works[i].whole};
        timed[2 * i + 1] = (struct timed){.run = run_copy, .context = &works[i]};
    }
    r = interleave_run(timed, 2 * count, request->runs, request->view->name, error);
    if (r == 0) {
        add_rows(request, works, timed, count, rows);
    }
    return r;
}

int bench_cpu(const struct bench_request *request, struct error *error, struct bench_rows *rows)
{
    struct work works[PLAN_STEPS_MAX + 1] = {0};
    struct plan plan = plan_make(request->view, request->input->format, VIEW_OUTPUT_STREAM);
    const struct view_setup setup = {.settings = request->view,
                                     .input = request->input,
                                     .frames = 2,
                                     .allocator = frame_allocator_host(),
                                     .pool = request->pool,
                                     .read_mask = mask_file_read};
    struct mask_plane *mask = NULL;
    size_t count = count_stages(&plan);
    int r = work_init_view(&works[count], request, &setup, error);

    if (r == 0) {
        r = plan_load_mask(&plan, &setup, error, &mask);
    }
    for (size_t i = 0; i < count && r == 0; i++) {
        r = work_init_stage(&works[i], &plan.steps[i], request, error);
    }
    if (r == 0) {
        r = measure(request, works, count + 1, error, rows);
    }
    for (size_t i = 0; i <= count; i++) {
        work_finish(&works[i]);
    }
    mask_plane_unref(mask);
    return r == -EAGAIN ? 0 : r;
}
