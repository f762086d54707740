#include "kernels/graph/cpu_runner.h"

#include "kernels/graph/stages.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/rows.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

_Static_assert(ROWS_STAGES_MAX >= PLAN_STEPS_MAX, "a plan's steps may all be rows");

// Steps that run row by row together: all but the last pass end in a look of the stage behind.
struct pass {
    unsigned first, end;
    struct rows *rows; // owned; NULL: that stage looks at the input itself
};

struct cpu_runner {
    struct stage stages[PLAN_STEPS_MAX]; // the nodes', whose states they have
    unsigned count;
    struct pass passes[PLAN_STEPS_MAX];
    unsigned pass_count;
    uint32_t width, height;
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

static int make_pass(const struct cpu_runner *runner, struct pass *pass)
{
    const struct stage *stages = runner->stages + pass->first;
    unsigned count = pass->end - pass->first;
    int r = 0;

    if (pass->end == runner->count) {
        r = rows_new(stages, count, runner->width, runner->height, &pass->rows);
    } else if (count > 0) {
        r = rows_new_source(stages, count, runner->width, runner->height, &pass->rows);
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
        }
        free(runner);
    }
}

// What has been looked at already is asked for no row.
static const uint8_t nothing[1];

// All passes but the last: each for the look of the stage behind it.
static void look(struct cpu_runner *runner, const uint8_t *input, size_t input_stride)
{
    for (unsigned i = 0; i + 1 < runner->pass_count; i++) {
        const struct pass *pass = &runner->passes[i];
        struct stage *stage = &runner->stages[pass->end];
        const struct row_source source = {pass->rows, i == 0 ? input : nothing,
                                          i == 0 ? input_stride : 0};

        stage->ops->look(stage, &source);
    }
}

void cpu_runner_run(struct cpu_runner *runner, const uint8_t *input, size_t input_stride,
                    uint8_t *output, size_t output_stride, const struct frame *camera,
                    struct frame *picture)
{
    struct stage *first = &runner->stages[0];
    bool looked = runner->pass_count > 1;

    if (first->ops->run_frame) {
        first->ops->run_frame(first, camera, picture, 0, runner->height);
        return;
    }
    for (unsigned i = 0; i < runner->count; i++) {
        if (runner->stages[i].ops->begin) {
            runner->stages[i].ops->begin(&runner->stages[i], camera, picture);
        }
    }
    look(runner, input, input_stride);
    rows_run(runner->passes[runner->pass_count - 1].rows, looked ? nothing : input,
             looked ? 0 : input_stride, output, output_stride, 0, runner->height);
}
