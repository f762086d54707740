#include "kernels/chain.h"

#include "kernels/rows.h"

#include <errno.h>
#include <string.h>

// Steps that run row by row together: all but the last pass end in a look of the stage behind.
struct pass {
    unsigned first, end;
    struct rows *rows; // owned; NULL: that stage looks at the input itself
};

struct chain {
    struct stage stages[PLAN_STEPS_MAX];
    unsigned count;
    struct pass passes[PLAN_STEPS_MAX];
    unsigned pass_count;
    uint32_t width, height;
};

static void cleanup_chain(struct chain **chain)
{
    chain_free(*chain);
}

int chain_new(const struct plan_step *steps, unsigned count, const struct stage_setup *setup,
              struct error *error, struct chain **ret_chain)
{
    _cleanup_(cleanup_chain) struct chain *chain = calloc(1, sizeof *chain);
    int r = 0;

    if (!chain) {
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    }
    chain->width = setup->input->width;
    chain->height = setup->input->height;
    while (chain->count < count && r == 0) {
        const struct plan_step *step = &steps[chain->count];
        struct stage_setup stage = {&step->options, setup->input, setup->output};

        r = stage_init(&chain->stages[chain->count++], step->kind, &stage, error);
    }
    if (r < 0) {
        return r;
    }
    if (chain_set_start(chain, 0) < 0) {
        return error_set(error, -ENOMEM, "no memory for the rows between stages");
    }
    *ret_chain = TAKE(chain);
    return 0;
}

static void free_passes(struct pass *passes, unsigned count)
{
    while (count > 0) {
        rows_free(passes[--count].rows);
    }
}

void chain_free(struct chain *chain)
{
    if (chain) {
        free_passes(chain->passes, chain->pass_count);
        while (chain->count > 0) {
            stage_finish(&chain->stages[--chain->count]);
        }
        free(chain);
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

    if (pass->end == chain->count) {
        return rows_new(stages, count, chain->width, chain->height, &pass->rows);
    }
    return count == 0 ? 0
                      : rows_new_source(stages, count, chain->width, chain->height, &pass->rows);
}

int chain_set_start(struct chain *chain, unsigned start)
{
    struct pass passes[PLAN_STEPS_MAX] = {{0}};
    unsigned count = 0, at = start;
    int r = 0;

    if (chain->stages[0].ops->run_frame) {
        return 0;
    }
    // A stage that looks begins a pass, so the next one to look is found behind it.
    for (bool more = true; more && r == 0; count++) {
        unsigned end = next_look(chain, count > 0 ? at + 1 : at);

        passes[count] = (struct pass){.first = at, .end = end};
        r = make_pass(chain, &passes[count]);
        at = end;
        more = end < chain->count;
    }
    if (r < 0) {
        free_passes(passes, count);
        return r;
    }
    free_passes(chain->passes, chain->pass_count);
    memcpy(chain->passes, passes, sizeof passes);
    chain->pass_count = count;
    return 0;
}

// What has been looked at already is asked for no row.
static const uint8_t nothing[1];

// All passes but the last: each for the look of the stage behind it.
static void look(struct chain *chain, const uint8_t *input, size_t input_stride)
{
    for (unsigned i = 0; i + 1 < chain->pass_count; i++) {
        const struct pass *pass = &chain->passes[i];
        struct stage *stage = &chain->stages[pass->end];
        struct row_source source = {pass->rows, i == 0 ? input : nothing, i == 0 ? input_stride : 0,
                                    chain->height};

        if (pass->rows) {
            rows_begin(pass->rows, source.plane, source.stride);
        }
        stage->ops->look(stage, &source);
    }
}

void chain_run(struct chain *chain, const uint8_t *input, size_t input_stride, uint8_t *output,
               size_t output_stride, const struct frame *camera, struct frame *picture)
{
    struct stage *first = &chain->stages[0];
    const struct pass *last;

    if (first->ops->run_frame) {
        first->ops->run_frame(first, camera, picture, 0, chain->height);
        return;
    }
    for (unsigned i = chain->passes[0].first; i < chain->count; i++) {
        if (chain->stages[i].ops->begin) {
            chain->stages[i].ops->begin(&chain->stages[i], camera, picture);
        }
    }
    look(chain, input, input_stride);
    last = &chain->passes[chain->pass_count - 1];
    rows_run(last->rows, chain->pass_count > 1 ? nothing : input,
             chain->pass_count > 1 ? 0 : input_stride, output, output_stride, 0, chain->height);
}
