#include "kernels/graph/run.h"

#include "kernels/graph/cpu_runner.h"
#include "kernels/stage/simd.h"

#include <assert.h>
#include <errno.h>

static void cleanup_run(struct run **run)
{
    run_unref(*run);
}

// The node that the run ends in.
static const struct node *end_of(const struct run *run)
{
    return run->nodes[run->count - 1];
}

static int make_on_cpu(struct run *run, struct pool *pool, struct error *error)
{
    const struct frame_layout *camera = &run->nodes[0]->camera;

    if (!end_of(run)->last) {
        run->stride =
            ((size_t)camera->width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
        run->plane = aligned_alloc(SIMD_CACHE_LINE, run->stride * camera->height);
        if (!run->plane) {
            return error_set(error, -ENOMEM, "no memory for a plane of gray");
        }
    }
    return cpu_runner_new(run->nodes, run->count, pool, error, &run->cpu);
}

static int make_on_gpu(struct run *run, const struct run_setup *setup, struct error *error)
{
    struct plan_step list[PLAN_STEPS_MAX];
    const struct node *first = run->nodes[0];
    const struct gpu_steps steps = {
        list,
        run->count,
        &first->camera,
        setup->output,
        .first = !first->input,
        .last = end_of(run)->last,
    };
    int r = gpu_enter(first->gpu, error);

    for (unsigned i = 0; i < run->count; i++) {
        list[i] = run->nodes[i]->step;
    }
    if (r == 0) {
        r = gpu_runner_init_steps(&run->gpu, first->gpu, &steps, setup->mapped, error);
    }
    return r;
}

int run_new(const struct run_setup *setup, struct error *error, struct run **ret_run)
{
    _cleanup_(cleanup_run) struct run *run = calloc(1, sizeof *run);
    int r;

    assert(setup->count > 0);
    if (!run) {
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    }
    run->references = 1;
    run->count = setup->count;
    for (unsigned i = 0; i < setup->count; i++) {
        run->nodes[i] = node_ref(setup->nodes[i]);
    }
    run->before = setup->before ? run_ref(setup->before) : NULL;
    r = run->nodes[0]->gpu ? make_on_gpu(run, setup, error) : make_on_cpu(run, setup->pool, error);
    if (r == 0) {
        *ret_run = TAKE(run);
    }
    return r;
}

struct run *run_ref(struct run *run)
{
    run->references++;
    return run;
}

void run_unref(struct run *run)
{
    if (!run || --run->references > 0) {
        return;
    }
    gpu_runner_finish(&run->gpu);
    cpu_runner_free(run->cpu);
    free(run->plane);
    run_unref(run->before);
    while (run->count > 0) {
        node_unref(run->nodes[--run->count]);
    }
    free(run);
}

static void note_made(struct run *run, uint64_t number, struct run_counts *counts)
{
    run->number = number;
    for (unsigned i = 0; i < run->count; i++) {
        run->nodes[i]->number = number;
        counts->runs[run->nodes[i]->step.kind]++;
    }
}

static void note_shared(const struct run *run, struct run_counts *counts)
{
    for (; run; run = run->before) {
        for (unsigned i = 0; i < run->count; i++) {
            counts->shared[run->nodes[i]->step.kind]++;
        }
    }
}

// What the run reads, made where it is not yet.
static const uint8_t *make_input(struct run *before, const struct frame *camera, uint64_t number,
                                 struct run_counts *counts, size_t *ret_stride)
{
    if (!before) {
        *ret_stride = camera->layout.planes[0].stride;
        return frame_plane(camera, 0);
    }
    if (before->number == number) {
        note_shared(before, counts);
    } else {
        size_t stride;
        const uint8_t *input = make_input(before->before, camera, number, counts, &stride);

        cpu_runner_run(before->cpu, input, stride, before->plane, before->stride, camera, NULL);
        note_made(before, number, counts);
    }
    *ret_stride = before->stride;
    return before->plane;
}

void run_compute(struct run *run, const struct frame *camera, uint64_t number,
                 struct frame *picture, struct run_counts *counts)
{
    size_t stride;
    const uint8_t *input = make_input(run->before, camera, number, counts, &stride);

    cpu_runner_run(run->cpu, input, stride, frame_plane(picture, 0),
                   picture->layout.planes[0].stride, camera, picture);
    note_made(run, number, counts);
}

int run_launch_before(struct run *run, const struct gpu_pictures *pictures, uint64_t number,
                      struct run_counts *counts, struct error *error)
{
    struct run *before = run->before;
    int r;

    if (!before) {
        return 0;
    }
    if (before->number == number) {
        note_shared(before, counts);
        return 0;
    }
    r = run_launch_before(before, pictures, number, counts, error);
    return r < 0 ? r : run_launch(before, pictures, number, counts, error);
}

int run_launch(struct run *run, const struct gpu_pictures *pictures, uint64_t number,
               struct run_counts *counts, struct error *error)
{
    const struct run *before = run->before;
    struct gpu_pictures own = *pictures;
    int r;

    own.input = before ? gpu_runner_plane(&before->gpu, &run->nodes[0]->camera) : own.camera;
    r = gpu_runner_launch_steps(&run->gpu, own, error);
    if (r == 0) {
        note_made(run, number, counts);
    }
    return r;
}

void run_forget(struct run *run)
{
    gpu_runner_forget(&run->gpu);
}
