#include "kernels/graph/node.h"

#include "kernels/graph/stages.h"

#include <errno.h>
#include <string.h>

static bool same_mask(const struct mask_plane *a, const struct mask_plane *b)
{
    return a == b || (a && b && mask_plane_equal(a, b));
}

static bool same_gradient(const struct stage_options *a, const struct stage_options *b)
{
    return a->norm == b->norm && a->gain == b->gain && a->operator== b->operator;
}

static bool same_step(const struct plan_step *one, const struct plan_step *other)
{
    const struct stage_options *a = &one->options, *b = &other->options;

    return one->kind == other->kind && same_gradient(a, b) && a->blur == b->blur &&
           a->threshold == b->threshold && a->shades == b->shades && a->times == b->times &&
           memcmp(a->colour, b->colour, sizeof a->colour) == 0 && a->mark == b->mark &&
           a->thresholds == b->thresholds && a->low == b->low && a->high == b->high &&
           same_mask(a->mask, b->mask);
}

static bool fits(const struct node *node, const struct node_setup *setup)
{
    return !node->last && !setup->last && node->input == setup->input && node->gpu == setup->gpu &&
           same_step(&node->step, &setup->step) && frame_layout_equal(&node->camera, setup->camera);
}

static int make_stage(struct node *node, const struct node_setup *setup, struct error *error)
{
    const struct stage_setup stage = {&node->step.options, &node->camera, setup->output,
                                      setup->pool};

    return stage_init(&node->stage, stages_of_kind(node->step.kind), &stage, error);
}

static void cleanup_node(struct node **node)
{
    node_unref(*node);
}

int node_get(struct node **list, const struct node_setup *setup, struct error *error,
             struct node **ret_node)
{
    _cleanup_(cleanup_node) struct node *node = NULL;
    int r;

    for (struct node *other = *list; other; other = other->next) {
        if (fits(other, setup)) {
            *ret_node = node_ref(other);
            return 0;
        }
    }
    node = calloc(1, sizeof *node);
    if (!node) {
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    }
    node->references = 1;
    node->step = setup->step;
    if (node->step.options.mask) {
        mask_plane_ref(node->step.options.mask);
    }
    node->camera = *setup->camera;
    node->gpu = setup->gpu;
    node->last = setup->last;
    node->list = list;
    node->next = *list;
    *list = node;
    r = setup->gpu ? 0 : make_stage(node, setup, error);
    if (r < 0) {
        return r;
    }
    node->input = setup->input ? node_ref(setup->input) : NULL;
    *ret_node = TAKE(node);
    return 0;
}

struct node *node_ref(struct node *node)
{
    node->references++;
    return node;
}

void node_unref(struct node *node)
{
    struct node **link;

    if (!node || --node->references > 0) {
        return;
    }
    link = node->list;
    while (*link != node) {
        link = &(*link)->next;
    }
    *link = node->next;
    stage_finish(&node->stage);
    mask_plane_unref(node->step.options.mask);
    node_unref(node->input);
    free(node);
}

void node_set_active(struct node *node, bool active)
{
    if (active && node->active == 0) {
        node_forget(node);
    }
    node->active += active ? 1 : -1U;
}

void node_forget(struct node *node)
{
    if (node->stage.ops && node->stage.ops->forget) {
        node->stage.ops->forget(&node->stage);
    }
}
