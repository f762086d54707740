#include "kernels/graph/chain.h"

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

struct passes {
    struct pass list[PLAN_STEPS_MAX];
    unsigned count;
};

struct chain {
    struct stage stages[PLAN_STEPS_MAX];
    unsigned count;
    struct passes whole, rest; // of all steps, and of those from the start on, if that is not 0
    uint32_t width, height;
    struct pool *pool; // not owned; NULL: there is none
};

static void cleanup_chain(struct chain **chain)
{
    chain_free(*chain);
}

static void free_passes(struct passes *passes)
{
    while (passes->count > 0) {
        rows_free(passes->list[--passes->count].rows);
    }
}

// The first stage from `at` on that looks, or the end.
static unsigned next_look(const struct chain *chain, unsigned at)
{
    while (at < chain->count && !chain->stages[at].looks) {
        at++;
    }
    return at;
}

static int make_pass(const struct chain *chain, struct pass *pass)
{
    const struct stage *stages = chain->stages + pass->first;
    unsigned count = pass->end - pass->first;
    int r = 0;

    if (pass->end == chain->count) {
        r = rows_new(stages, count, chain->width, chain->height, &pass->rows);
    } else if (count > 0) {
        r = rows_new_source(stages, count, chain->width, chain->height, &pass->rows);
    }
    return r == 0 && pass->rows ? rows_set_pool(pass->rows, chain->pool) : r;
}

// For the stages from `first` on. One that looks begins a pass, so the next to look is behind it.
static int make_passes(const struct chain *chain, unsigned first, struct passes *ret_passes)
{
    struct passes passes = {.count = 0};
    unsigned end = first;
    int r = 0;

    do {
        struct pass *pass = &passes.list[passes.count++];

        *pass = (struct pass){.first = end, .end = next_look(chain, end + (passes.count > 1))};
        end = pass->end;
        r = make_pass(chain, pass);
    } while (end < chain->count && r == 0);
    if (r < 0) {
        free_passes(&passes);
        return r;
    }
    *ret_passes = passes;
    return 0;
}

static int add_stage(struct chain *chain, enum stage_kind kind, const struct stage_setup *setup,
                     struct error *error)
{
    struct stage *stage = &chain->stages[chain->count++];
    int r = stage_init(stage, stages_of_kind(kind), setup, error);

    if (r == 0 && stage->ops->set_pool && stage->ops->set_pool(stage, chain->pool) < 0) {
        r = error_set(error, -ENOMEM, "no memory for %u threads", pool_threads(chain->pool));
    }
    return r;
}

int chain_new(const struct plan_step *steps, unsigned count, const struct stage_setup *setup,
              struct error *error, struct chain **ret_chain)
{
    _cleanup_(cleanup_chain) struct chain *chain = calloc(1, sizeof *chain);
    int r = 0;

    assert(count > 0);
    if (!chain) {
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    }
    chain->width = setup->input->width;
    chain->height = setup->input->height;
    chain->pool = setup->pool;
    while (chain->count < count && r == 0) {
        const struct plan_step *step = &steps[chain->count];
        struct stage_setup stage = {&step->options, setup->input, setup->output, NULL};

        r = add_stage(chain, step->kind, &stage, error);
    }
    if (r < 0) {
        return r;
    }
    if (!chain->stages[0].ops->run_frame && make_passes(chain, 0, &chain->whole) < 0) {
        return error_set(error, -ENOMEM, "no memory for the rows between stages");
    }
    *ret_chain = TAKE(chain);
    return 0;
}

void chain_free(struct chain *chain)
{
    if (chain) {
        free_passes(&chain->whole);
        free_passes(&chain->rest);
        while (chain->count > 0) {
            stage_finish(&chain->stages[--chain->count]);
        }
        free(chain);
    }
}

int chain_set_start(struct chain *chain, unsigned start)
{
    struct passes rest = {.count = 0};
    int r = start > 0 ? make_passes(chain, start, &rest) : 0;

    if (r == 0) {
        free_passes(&chain->rest);
        chain->rest = rest;
    }
    return r;
}

void chain_forget(struct chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++) {
        struct stage *stage = &chain->stages[i];

        if (stage->ops->forget) {
            stage->ops->forget(stage);
        }
    }
}

// What has been looked at already is asked for no row.
static const uint8_t nothing[1];

// All passes but the last: each for the look of the stage behind it.
static void look(struct chain *chain, const struct passes *passes, const uint8_t *input,
                 size_t input_stride)
{
    for (unsigned i = 0; i + 1 < passes->count; i++) {
        const struct pass *pass = &passes->list[i];
        struct stage *stage = &chain->stages[pass->end];
        const struct row_source source = {pass->rows, i == 0 ? input : nothing,
                                          i == 0 ? input_stride : 0};

        stage->ops->look(stage, &source);
    }
}

void chain_run(struct chain *chain, const uint8_t *input, size_t input_stride, uint8_t *output,
               size_t output_stride, const struct frame *camera, struct frame *picture)
{
    const struct passes *passes = chain->rest.count > 0 ? &chain->rest : &chain->whole;
    struct stage *first = &chain->stages[0];
    const struct pass *last;

    if (first->ops->run_frame) {
        first->ops->run_frame(first, camera, picture, 0, chain->height);
        return;
    }
    for (unsigned i = passes->list[0].first; i < chain->count; i++) {
        if (chain->stages[i].ops->begin) {
            chain->stages[i].ops->begin(&chain->stages[i], camera, picture);
        }
    }
    look(chain, passes, input, input_stride);
    last = &passes->list[passes->count - 1];
    rows_run(last->rows, passes->count > 1 ? nothing : input, passes->count > 1 ? 0 : input_stride,
             output, output_stride, 0, chain->height);
}
