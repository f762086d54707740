#include "kernels/graph/runner.h"

#include "kernels/graph/stages.h"
#include "kernels/gray/gray.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/rows.h"
#include "kernels/stage/simd.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

_Static_assert(ROWS_STAGES_MAX >= PLAN_STEPS_MAX, "a plan's steps may all be rows");

// On the CPU
// ---------------------------------------------------------------------

// The first stage from `at` on that scans, or the end.
static unsigned next_scan(const struct runner *runner, unsigned at)
{
    while (at < runner->count && !runner->stages[at].scans)
        at++;
    return at;
}

// Gray that is compared row by row need not leave the cache. With a pool it does, which would have
// little to share in a band.
static uint32_t band_of(const struct runner *runner, const struct runner_pass *pass)
{
    bool gray = pass->first + 1 == pass->end &&
                runner->stages[pass->first].ops == stages_of_kind(STAGE_GRAY);
    bool bands = gray && runner->stages[pass->end].ops->scans_in_bands;

    return bands && pool_threads(runner->pool) == 1 && runner->height > ROWS_BAND ? ROWS_BAND
                                                                                  : runner->height;
}

static int make_pass(const struct runner *runner, struct runner_pass *pass)
{
    unsigned count = pass->end - pass->first;
    int r = 0;

    if (pass->end < runner->count && count > 0) {
        pass->band = band_of(runner, pass);
        pass->plane = aligned_alloc(SIMD_CACHE_LINE, runner->stride * pass->band);
        r = pass->plane ? 0 : -ENOMEM;
    } else {
        pass->band = runner->height;
    }
    if (count > 0 && r == 0) {
        r = rows_new(runner->stages + pass->first, count, runner->width, runner->height,
                     &pass->rows);
    }
    return r == 0 && pass->rows ? rows_set_pool(pass->rows, runner->pool) : r;
}

// A stage that scans begins a pass, so the next to scan is behind it.
static int make_passes(struct runner *runner)
{
    unsigned end = 0;
    int r = 0;

    do {
        struct runner_pass *pass = &runner->passes[runner->pass_count++];
        *pass = (struct runner_pass){.first = end,
                                     .end = next_scan(runner, end + (runner->pass_count > 1))};
        end = pass->end;
        r = make_pass(runner, pass);
    } while (end < runner->count && r == 0);
    return r;
}

static int make_stages(struct runner *runner, const struct runner_setup *setup, struct error *error)
{
    int r = 0;

    while (runner->count < setup->count && r == 0) {
        const struct plan_step *step = &setup->steps[runner->count];
        const struct stage_setup stage = {&step->options, setup->camera, setup->output,
                                          setup->pool};

        r = stage_init(&runner->stages[runner->count], stages_of_kind(step->kind), &stage, error);
        runner->count += r == 0;
    }
    return r;
}

static int init_on_cpu(struct runner *runner, const struct runner_setup *setup, struct error *error)
{
    int r = make_stages(runner, setup, error);

    if (r < 0)
        return r;
    if (!setup->last) {
        runner->plane = aligned_alloc(SIMD_CACHE_LINE, runner->stride * runner->height);
        r = runner->plane ? 0 : -ENOMEM;
    }
    if (r == 0 && !runner->stages[0].ops->run_frame)
        r = make_passes(runner);
    return r < 0 ? error_set(error, r, "no memory for the rows between stages") : 0;
}

static void finish_on_cpu(struct runner *runner)
{
    for (unsigned i = 0; i < runner->pass_count; i++) {
        rows_free(runner->passes[i].rows);
        free(runner->passes[i].plane);
    }
    for (unsigned i = 0; i < runner->count; i++)
        stage_finish(&runner->stages[i]);
    free(runner->plane);
}

// Runs the pass, and hands its output to the scan of the stage behind it.
static void scan(struct runner *runner, const struct runner_pass *pass, const uint8_t *input,
                 size_t stride)
{
    struct stage *stage = &runner->stages[pass->end];

    for (uint32_t y = 0, next; y < runner->height; y = next) {
        const uint8_t *rows = input + y * stride;

        next = runner->height - y < pass->band ? runner->height : y + pass->band;
        if (pass->rows) {
            rows_run(pass->rows, rows, stride, pass->plane, runner->stride, 0, next - y);
            stage->ops->scan(stage, pass->plane, runner->stride, y, next);
        } else {
            stage->ops->scan(stage, rows, stride, y, next);
        }
    }
}

// The passes from row 0 of what the first stage reads to the runner's output.
static void run_passes(struct runner *runner, const uint8_t *input, size_t stride,
                       struct frame *picture)
{
    const struct runner_pass *last = &runner->passes[runner->pass_count - 1];

    for (const struct runner_pass *pass = runner->passes; pass < last; pass++) {
        scan(runner, pass, input, stride);
        if (pass->plane) {
            input = pass->plane; // of bands no row is asked for any more
            stride = pass->band == runner->height ? runner->stride : 0;
        }
    }
    rows_run(last->rows, input, stride, runner->plane ? runner->plane : frame_plane(picture, 0),
             runner->plane ? runner->stride : picture->layout.planes[0].stride, 0, runner->height);
}

void runner_compute(struct runner *runner, const struct runner *before, const struct frame *camera,
                    struct frame *picture)
{
    struct stage *first = &runner->stages[0];

    if (first->ops->run_frame) {
        first->ops->run_frame(first, camera, picture, 0, runner->height);
        return;
    }
    for (unsigned i = 0; i < runner->count; i++) {
        if (runner->stages[i].ops->begin)
            runner->stages[i].ops->begin(&runner->stages[i], camera, picture);
    }
    run_passes(runner, before ? before->plane : frame_plane(camera, 0),
               before ? before->stride : camera->layout.planes[0].stride, picture);
}

// On a GPU
// ---------------------------------------------------------------------

// The arguments of the stage from step `at` on.
static struct gpu_stage_setup setup_at(const struct runner_setup *setup, unsigned at)
{
    return (struct gpu_stage_setup){
        .gpu = setup->gpu,
        .steps = setup->steps + at,
        .count = setup->count - at,
        .camera = setup->camera,
        .output = setup->output,
        .first = setup->first && at == 0,
        .mapped = setup->mapped,
    };
}

static struct runner_setup setup_of(const struct plan *plan, const struct frame_layout *camera)
{
    return (struct runner_setup){
        .steps = plan->steps,
        .count = plan->count,
        .camera = camera,
        .output = pixel_format_by_name(plan->format),
        .first = true,
        .last = true,
    };
}

unsigned runner_count_stages(const struct runner_setup *setup)
{
    unsigned taken = 0, count = 0;

    for (unsigned at = 0; at < setup->count; at += taken) {
        const struct gpu_stage_setup stage = setup_at(setup, at);

        if (!stages_find_gpu(&stage, &taken))
            return 0;
        count++;
    }
    return count;
}

bool runner_supports(const struct plan *plan, const struct frame_layout *camera)
{
    const struct runner_setup setup = setup_of(plan, camera);

    return plan->count == 0 || runner_count_stages(&setup) > 0;
}

static int init_on_gpu(struct runner *runner, const struct runner_setup *setup, struct error *error)
{
    struct gpu *gpu = setup->gpu;
    unsigned taken = 0;
    // Managed memory may be one stream's alone, and a graph's kernels are in none.
    int r = gpu_chain_new(gpu, setup->mapped || gpu_info(gpu)->concurrent_managed_access, error,
                          &runner->chain);

    for (unsigned at = 0; at < setup->count && r == 0; at += taken) {
        struct gpu_stage_setup stage = setup_at(setup, at);
        const struct gpu_stage_ops *ops = stages_find_gpu(&stage, &taken);

        if (!ops)
            return error_set(error, -ENOTSUP, "this view has no CUDA kernel");
        stage.count = taken;
        stage.last = setup->last && at + taken == setup->count;
        stage.mapped = setup->mapped && (stage.first || stage.last);
        r = gpu_stage_init(&runner->gpu_stages[runner->count], ops, &stage, error);
        if (r == 0 && !stage.last) {
            r = gpu_plane_init(&runner->planes[runner->count], gpu, runner->width, runner->height,
                               error);
        }
        runner->count++;
    }
    return r;
}

int runner_init_plan(struct runner *runner, struct gpu *gpu, const struct plan *plan,
                     const struct frame_layout *camera, bool mapped, struct error *error)
{
    struct runner_setup setup = setup_of(plan, camera);

    setup.gpu = gpu;
    setup.mapped = mapped;
    return runner_init(runner, &setup, error);
}

static void finish_on_gpu(struct runner *runner)
{
    if (!gpu_is_lost(runner->gpu)) {
        gpu_enter(runner->gpu, NULL); // if it cannot be, the context may be current already
    }
    gpu_chain_free(runner->chain);
    for (unsigned i = 0; i < runner->count; i++) {
        gpu_stage_finish(&runner->gpu_stages[i]);
        gpu_plane_finish(&runner->planes[i], runner->gpu);
    }
}

static struct gpu_picture picture_of(const struct runner *runner, const struct gpu_plane *plane)
{
    return (struct gpu_picture){{{plane->address, plane->stride}}, runner->width, runner->height};
}

int runner_launch(struct runner *runner, struct gpu_pictures pictures, struct error *error)
{
    const struct gpu_picture output = pictures.output;
    int r = 0;

    gpu_chain_begin(runner->chain);
    for (unsigned i = 0; i < runner->count && r == 0; i++) {
        struct gpu_stage *stage = &runner->gpu_stages[i];
        const struct gpu_plane *plane = &runner->planes[i];

        pictures.output = plane->address ? picture_of(runner, plane) : output;
        r = stage->ops->launch(stage, &pictures, runner->chain, error);
        pictures.input = pictures.output;
    }
    return r < 0 ? r : gpu_chain_end(runner->chain, error);
}

struct gpu_picture runner_gpu_plane(const struct runner *runner)
{
    return picture_of(runner, &runner->planes[runner->count - 1]);
}

// Kernel number `index` over all stages, NULL past the last.
static struct gpu_kernel *kernel_at(struct runner *runner, unsigned index)
{
    for (unsigned i = 0; i < runner->count; i++) {
        struct gpu_stage *stage = &runner->gpu_stages[i];

        if (index < stage->kernel_count)
            return &stage->kernels[index];
        index -= stage->kernel_count;
    }
    return NULL;
}

size_t runner_groups(const struct runner *runner, enum config_kernel *ret_groups)
{
    unsigned seen = 0;
    size_t count = 0;

    for (unsigned i = 0; i < runner->count; i++) {
        for (unsigned k = 0; k < runner->gpu_stages[i].kernel_count; k++) {
            enum config_kernel group = runner->gpu_stages[i].kernels[k].group;

            if (!(seen >> group & 1))
                ret_groups[count++] = group;
            seen |= 1U << group;
        }
    }
    return count;
}

struct gpu_kernel *runner_kernel(struct runner *runner, enum config_kernel group)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(runner, i)); i++) {
        if (kernel->group == group)
            return kernel;
    }
    return NULL;
}

void runner_try_block(struct runner *runner, enum config_kernel group, struct config_block block)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(runner, i)); i++) {
        if (kernel->group == group)
            gpu_kernel_try(kernel, block);
    }
}

void runner_leave_block(struct runner *runner, enum config_kernel group)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(runner, i)); i++) {
        if (kernel->group == group && kernel->tried)
            gpu_kernel_join(kernel);
    }
}

// On either
// ---------------------------------------------------------------------

int runner_init(struct runner *runner, const struct runner_setup *setup, struct error *error)
{
    assert(setup->count > 0);
    *runner = (struct runner){
        .gpu = setup->gpu,
        .pool = setup->pool,
        .width = setup->camera->width,
        .height = setup->camera->height,
    };
    runner->stride =
        ((size_t)runner->width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
    return setup->gpu ? init_on_gpu(runner, setup, error) : init_on_cpu(runner, setup, error);
}

void runner_finish(struct runner *runner)
{
    if (runner->gpu)
        finish_on_gpu(runner);
    else
        finish_on_cpu(runner);
    *runner = (struct runner){0};
}

void runner_forget(struct runner *runner)
{
    for (unsigned i = 0; i < runner->count; i++) {
        struct stage *stage = &runner->stages[i];
        struct gpu_stage *gpu_stage = &runner->gpu_stages[i];

        if (stage->ops && stage->ops->forget)
            stage->ops->forget(stage);
        if (gpu_stage->ops && gpu_stage->ops->forget)
            gpu_stage->ops->forget(gpu_stage);
    }
}
