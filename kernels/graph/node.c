#include "kernels/graph/node.h"

#include "kernels/graph/stages.h"

#include <errno.h>
#include <string.h>

// Steps are equal where their bytes are, but for the mask's address.
static bool same_step(const struct plan_step *a, const struct plan_step *b)
{
    struct plan_step left = *a, right = *b;
    struct mask_plane *one = a->options.mask, *other = b->options.mask;

    left.options.mask = right.options.mask = NULL;
    return memcmp(&left, &right, sizeof left) == 0 &&
           (one == other || (one && other && mask_plane_equal(one, other)));
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
    memcpy(&node->step, &setup->step, sizeof node->step); // the gaps, too
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
    if (node->stage.remembers) {
        node->stage.ops->begin(&node->stage, NULL, NULL);
    }
}
