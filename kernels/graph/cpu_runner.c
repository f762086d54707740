#include "kernels/graph/cpu_runner.h"

#include "kernels/graph/stages.h"
#include "kernels/gray/gray.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/rows.h"
#include "kernels/stage/simd.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

_Static_assert(ROWS_STAGES_MAX >= PLAN_STEPS_MAX, "a plan's steps may all be rows");

// Steps that run row by row together, from plane to plane: the stage behind all but the last pass
// looks at what that makes, and begins the next one.
struct pass {
    unsigned first, end;
    struct rows *rows; // owned; NULL: that stage looks at the input itself
    uint8_t *plane;    // owned; that the rows go to; NULL: to the runner's output
    uint32_t band;     // rows of it
};

struct cpu_runner {
    struct stage stages[PLAN_STEPS_MAX]; // the nodes', whose states they have
    unsigned count;
    struct pass passes[PLAN_STEPS_MAX];
    unsigned pass_count;
    uint32_t width, height;
    size_t stride;     // of planes
    struct pool *pool; // not owned; NULL: there is none
};

static void cleanup_cpu_runner(struct cpu_runner **runner)
{
    cpu_runner_free(*runner);
}

// The first stage from `at` on that looks, or the end.
static unsigned next_look(const struct cpu_runner *runner, unsigned at)
{
    while (at < runner->count && !runner->stages[at].looks) {
        at++;
    }
    return at;
}

// Gray that is compared row by row need not leave the cache. With a pool it does, which would have
// little to share in a band.
static uint32_t band_of(const struct cpu_runner *runner, const struct pass *pass)
{
    bool gray = pass->first + 1 == pass->end && runner->stages[pass->first].ops == &gray_ops;
    bool bands = gray && runner->stages[pass->end].ops->looks_in_bands;

    return bands && pool_threads(runner->pool) == 1 && runner->height > ROWS_BAND ? ROWS_BAND
                                                                                  : runner->height;
}

static int make_pass(const struct cpu_runner *runner, struct pass *pass)
{
    const struct stage *stages = runner->stages + pass->first;
    unsigned count = pass->end - pass->first;
    int r = 0;

    if (pass->end < runner->count && count > 0) {
        pass->band = band_of(runner, pass);
        pass->plane = aligned_alloc(SIMD_CACHE_LINE, runner->stride * pass->band);
        r = pass->plane ? 0 : -ENOMEM;
    }
    if (count > 0 && r == 0) {
        r = rows_new(stages, count, runner->width, runner->height, &pass->rows);
    }
    return r == 0 && pass->rows ? rows_set_pool(pass->rows, runner->pool) : r;
}

// A stage that looks begins a pass, so the next to look is behind it.
static int make_passes(struct cpu_runner *runner)
{
    unsigned end = 0;
    int r = 0;

    do {
        struct pass *pass = &runner->passes[runner->pass_count++];

        *pass =
            (struct pass){.first = end, .end = next_look(runner, end + (runner->pass_count > 1))};
        end = pass->end;
        r = make_pass(runner, pass);
    } while (end < runner->count && r == 0);
    return r;
}

int cpu_runner_new(struct node *const *nodes, unsigned count, struct pool *pool,
                   struct error *error, struct cpu_runner **ret_runner)
{
    _cleanup_(cleanup_cpu_runner) struct cpu_runner *runner = calloc(1, sizeof *runner);

    assert(count > 0);
    if (!runner) {
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    }
    runner->width = nodes[0]->camera.width;
    runner->height = nodes[0]->camera.height;
    runner->stride =
        ((size_t)runner->width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
    runner->pool = pool;
    runner->count = count;
    for (unsigned i = 0; i < count; i++) {
        runner->stages[i] = nodes[i]->stage;
    }
    if (!runner->stages[0].ops->run_frame && make_passes(runner) < 0) {
        return error_set(error, -ENOMEM, "no memory for the rows between stages");
    }
    *ret_runner = TAKE(runner);
    return 0;
}

void cpu_runner_free(struct cpu_runner *runner)
{
    if (runner) {
        for (unsigned i = 0; i < runner->pass_count; i++) {
            rows_free(runner->passes[i].rows);
            free(runner->passes[i].plane);
        }
        free(runner);
    }
}

// What the pass makes goes to the stage behind it.
static void look(struct cpu_runner *runner, const struct pass *pass, const uint8_t *input,
                 size_t input_stride)
{
    struct stage *stage = &runner->stages[pass->end];

    if (!pass->rows) {
        stage->ops->look(stage, input, input_stride, 0, runner->height);
        return;
    }
    for (uint32_t y = 0; y < runner->height; y += pass->band) {
        uint32_t left = runner->height - y, count = left < pass->band ? left : pass->band;

        rows_run(pass->rows, input + y * input_stride, input_stride, pass->plane, runner->stride, 0,
                 count);
        stage->ops->look(stage, pass->plane, runner->stride, y, y + count);
    }
}

void cpu_runner_run(struct cpu_runner *runner, const uint8_t *input, size_t input_stride,
                    uint8_t *output, size_t output_stride, const struct frame *camera,
                    struct frame *picture)
{
    struct stage *first = &runner->stages[0];

    if (first->ops->run_frame) {
        first->ops->run_frame(first, camera, picture, 0, runner->height);
        return;
    }
    for (unsigned i = 0; i < runner->count; i++) {
        if (runner->stages[i].ops->begin) {
            runner->stages[i].ops->begin(&runner->stages[i], camera, picture);
        }
    }
    for (unsigned i = 0; i + 1 < runner->pass_count; i++) {
        const struct pass *pass = &runner->passes[i];

        look(runner, pass, input, input_stride);
        if (pass->plane) {
            input = pass->plane; // of bands no row is asked for any more
            input_stride = pass->band == runner->height ? runner->stride : 0;
        }
    }
    rows_run(runner->passes[runner->pass_count - 1].rows, input, input_stride, output,
             output_stride, 0, runner->height);
}
