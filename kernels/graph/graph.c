// On the CPU a plane lies where the graph forks: behind steps that at least two active branches
// have, and that more than one other step reads. On a GPU it lies wherever there are fewer passes
// over pictures with it.
#include "kernels/graph/graph.h"

#include <errno.h>
#include <string.h>

#define BRANCHES_MAX 128

struct graph {
    struct branch *branches[BRANCHES_MAX]; // not owned
    unsigned count;
    struct graph_part *parts; // the list; not owned
    bool arranged;
    uint64_t frame; // the number of the one that began last, from 1
    // By the kinds of stages; both only grow.
    _Atomic uint64_t runs[STAGE_KIND_COUNT], shared[STAGE_KIND_COUNT];
};

// Steps start..count-1 of a plan, which one runner does.
struct graph_part {
    unsigned references;
    struct graph *graph;
    struct graph_part *next;                // of the list
    struct plan_step steps[PLAN_STEPS_MAX]; // from the camera's picture on; with their masks
    unsigned start, count;
    struct frame_layout camera;
    bool last;                 // writes a view's picture, and is one branch's alone
    struct graph_part *before; // owned reference; makes what it reads; NULL: the camera does
    uint64_t frame;            // the number of the one that it was computed for last
    struct runner runner;
};

int graph_new(struct graph **ret_graph)
{
    *ret_graph = calloc(1, sizeof **ret_graph);
    return *ret_graph ? 0 : -ENOMEM;
}

void graph_free(struct graph *graph)
{
    free(graph);
}

struct graph_count graph_count(const struct graph *graph, enum stage_kind kind)
{
    return (struct graph_count){graph->runs[kind], graph->shared[kind]};
}

// Parts
// ---------------------------------------------------------------------

static bool same_mask(const struct mask_plane *a, const struct mask_plane *b)
{
    return a == b || (a && b && mask_plane_equal(a, b));
}

static bool same_step(const struct plan_step *one, const struct plan_step *other)
{
    const struct stage_options *a = &one->options, *b = &other->options;
    bool same_gradient = a->norm == b->norm && a->gain == b->gain && a->op == b->op;

    return one->kind == other->kind && same_gradient && a->blur == b->blur &&
           a->threshold == b->threshold && a->shades == b->shades && a->times == b->times &&
           memcmp(a->colour, b->colour, sizeof a->colour) == 0 && a->mark == b->mark &&
           a->thresholds == b->thresholds && a->low == b->low && a->high == b->high &&
           same_mask(a->mask, b->mask);
}

static bool same_steps(const struct plan_step *a, const struct plan_step *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!same_step(&a[i], &b[i]))
            return false;
    }
    return true;
}

static struct graph_part *part_ref(struct graph_part *part)
{
    part->references++;
    return part;
}

static void part_unref(struct graph_part *part)
{
    struct graph_part **link;

    if (!part || --part->references > 0)
        return;
    link = &part->graph->parts;
    while (*link != part)
        link = &(*link)->next;
    *link = part->next;
    runner_finish(&part->runner);
    part_unref(part->before);
    for (unsigned i = 0; i < part->count; i++)
        mask_plane_unref(part->steps[i].options.mask);
    free(part);
}

static void cleanup_part(struct graph_part **part)
{
    part_unref(*part);
}

static int make_runner(struct graph_part *part, const struct branch_setup *setup,
                       struct error *error)
{
    const struct runner_setup runner = {
        .steps = part->steps + part->start,
        .count = part->count - part->start,
        .camera = &part->camera,
        .output = pixel_format_by_name(setup->plan->format),
        .first = part->start == 0,
        .last = part->last,
        .pool = setup->pool,
        .gpu = setup->gpu,
        .mapped = setup->mapped,
    };
    int r = setup->gpu ? gpu_enter(setup->gpu, error) : 0;

    return r < 0 ? r : runner_init(&part->runner, &runner, error);
}

// The first `count` steps of the setup's plan, behind `before`.
static int part_new(struct graph *graph, const struct branch_setup *setup, unsigned count,
                    struct graph_part *before, struct error *error, struct graph_part **ret_part)
{
    _cleanup_(cleanup_part) struct graph_part *part = calloc(1, sizeof *part);
    int r;

    if (!part)
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    part->references = 1;
    part->graph = graph;
    part->next = graph->parts;
    graph->parts = part;
    part->start = before ? before->count : 0;
    part->camera = *setup->camera;
    part->last = count == setup->plan->count;
    part->before = before ? part_ref(before) : NULL;
    for (; part->count < count; part->count++) {
        struct plan_step *step = &part->steps[part->count];

        *step = setup->plan->steps[part->count];
        if (step->options.mask)
            mask_plane_ref(step->options.mask);
    }
    r = make_runner(part, setup, error);
    if (r == 0)
        *ret_part = TAKE(part);
    return r;
}

static void note_made(struct graph_part *part)
{
    part->frame = part->graph->frame;
    for (unsigned i = part->start; i < part->count; i++)
        part->graph->runs[part->steps[i].kind]++;
}

// Whether the part is computed for this frame; then it is counted as shared.
static bool reuse(const struct graph_part *part)
{
    struct graph *graph = part->graph;

    for (unsigned i = 0; i < part->count && part->frame == graph->frame; i++)
        graph->shared[part->steps[i].kind]++;
    return part->frame == graph->frame;
}

// On the CPU, with what the part reads where that is not made yet. `picture` is NULL unless the
// part writes a view's.
static void compute(struct graph_part *part, const struct frame *camera, struct frame *picture)
{
    struct graph_part *before = part->before;

    if (before && !reuse(before))
        compute(before, camera, NULL);
    runner_compute(&part->runner, before ? &before->runner : NULL, camera, picture);
    note_made(part);
}

static int launch(struct graph_part *part, const struct gpu_pictures *pictures, struct error *error)
{
    struct gpu_pictures own = *pictures;
    int r;

    own.input = part->before ? runner_gpu_plane(&part->before->runner) : own.camera;
    r = runner_launch(&part->runner, own, error);
    if (r == 0)
        note_made(part);
    return r;
}

// Launches the parts whose output this one reads.
static int launch_before(struct graph_part *part, const struct gpu_pictures *pictures,
                         struct error *error)
{
    struct graph_part *before = part->before;
    int r;

    if (!before || reuse(before))
        return 0;
    r = launch_before(before, pictures, error);
    return r < 0 ? r : launch(before, pictures, error);
}

// Branches
// ---------------------------------------------------------------------

int branch_init(struct branch *branch, struct graph *graph, const struct branch_setup *setup,
                struct error *error)
{
    int r;

    if (graph->count == BRANCHES_MAX)
        return error_set(error, -ENOMEM, "no memory for one more view of a camera");
    *branch = (struct branch){.graph = graph, .setup = *setup, .camera = *setup->camera};
    branch->setup.camera = &branch->camera;
    graph->branches[graph->count++] = branch;
    graph->arranged = false;
    branch->remembers = plan_find(setup->plan, STAGE_DIFFERENCE) >= 0;
    r = part_new(graph, &branch->setup, setup->plan->count, NULL, error, &branch->end);
    if (r < 0)
        branch_finish(branch);
    return r;
}

static void leave(struct graph *graph, const struct branch *branch)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        if (graph->branches[i] != branch)
            graph->branches[kept++] = graph->branches[i];
    }
    graph->count = kept;
    graph->arranged = false;
}

void branch_finish(struct branch *branch)
{
    if (branch->graph) {
        branch_set_active(branch, false);
        leave(branch->graph, branch);
        part_unref(branch->end);
        *branch = (struct branch){0};
    }
}

void branch_set_active(struct branch *branch, bool active)
{
    if (branch->active == active)
        return;
    branch->active = active;
    branch->graph->arranged = false;
    if (active)
        runner_forget(&branch->end->runner);
}

void branch_forget(struct branch *branch)
{
    runner_forget(&branch->end->runner);
}

void branch_compute(struct branch *branch, const struct frame *camera, struct frame *picture)
{
    compute(branch->end, camera, picture);
}

int branch_launch(struct branch *branch, unsigned stream, const struct gpu_pictures *pictures,
                  struct error *error)
{
    struct gpu *gpu = branch->setup.gpu;
    int r = gpu_use_stream(gpu, 0, error);

    if (r == 0)
        r = launch_before(branch->end, pictures, error);
    if (r == 0)
        r = gpu_use_stream(gpu, stream, error);
    return r < 0 ? r : launch(branch->end, pictures, error);
}

// Steps that branches share
// ---------------------------------------------------------------------

// How many of its steps a branch may share.
static unsigned count_common(const struct branch *branch)
{
    return branch->active && !branch->remembers ? branch->setup.plan->count - 1 : 0;
}

// Whether the first `count` steps of both are the same, and they may share them.
static bool agree(const struct branch *a, const struct branch *b, unsigned count)
{
    return a->common >= count && b->common >= count && a->setup.gpu == b->setup.gpu &&
           frame_layout_equal(&a->camera, &b->camera) &&
           same_steps(a->setup.plan->steps, b->setup.plan->steps, count);
}

static unsigned count_agreeing(const struct graph *graph, const struct branch *branch,
                               unsigned count)
{
    unsigned agreeing = 0;

    for (unsigned i = 0; i < graph->count; i++)
        agreeing += agree(graph->branches[i], branch, count);
    return agreeing;
}

static unsigned count_stages(const struct branch *branch, unsigned first, unsigned end)
{
    const struct plan *plan = branch->setup.plan;
    const struct runner_setup setup = {
        .steps = plan->steps + first,
        .count = end - first,
        .camera = &branch->camera,
        .output = pixel_format_by_name(plan->format),
        .first = first == 0,
        .last = end == plan->count,
    };

    return runner_count_stages(&setup);
}

// On a GPU each stage is a pass over a picture, and a kernel does several steps in one where it
// can: a plane pays when there are fewer of them with it than without.
static bool pays_on_gpu(const struct graph *graph, const struct branch *branch, unsigned end)
{
    unsigned with = count_stages(branch, branch->start, end), without = 0;
    bool possible = with > 0;

    for (unsigned i = 0; i < graph->count; i++) {
        const struct branch *other = graph->branches[i];

        if (agree(other, branch, end)) {
            unsigned rest = count_stages(other, end, other->setup.plan->count);

            possible = possible && rest > 0;
            with += rest;
            without += count_stages(other, other->start, other->setup.plan->count);
        }
    }
    return possible && with < without;
}

// Whether a plane belongs behind the first `end` steps of this branch. The CPU, which does all of
// them on rows in the cache, gains the more the longer they are what branches have in common.
static bool pays(const struct graph *graph, const struct branch *branch, unsigned end)
{
    unsigned agreeing = count_agreeing(graph, branch, end);

    return agreeing >= 2 && (branch->setup.gpu ? pays_on_gpu(graph, branch, end)
                                               : count_agreeing(graph, branch, end + 1) < agreeing);
}

// The part that makes that plane behind branch->before already; NULL: none does.
static struct graph_part *find_plane(const struct branch *branch, unsigned end)
{
    for (struct graph_part *other = branch->graph->parts; other; other = other->next) {
        if (!other->last && other->before == branch->before && other->count == end &&
            other->runner.gpu == branch->setup.gpu &&
            frame_layout_equal(&other->camera, &branch->camera) &&
            same_steps(other->steps, branch->setup.plan->steps, end)) {
            return part_ref(other);
        }
    }
    return NULL;
}

// All branches that agree with this one so far go on from a plane there.
static void make_plane(struct graph *graph, struct branch *branch, unsigned end)
{
    struct graph_part *plane = find_plane(branch, end);

    if (!plane && part_new(graph, &branch->setup, end, branch->before, NULL, &plane) < 0)
        return;
    for (unsigned i = 0; i < graph->count; i++) {
        struct branch *other = graph->branches[i];

        if (agree(other, branch, end)) {
            part_unref(other->before);
            other->before = part_ref(plane);
            other->start = end;
        }
    }
    part_unref(plane);
}

// Without the memory for another part the branch keeps the one it has, which makes the same
// picture.
static void renew_end(struct branch *branch)
{
    struct graph_part *end;

    if (branch->active && !branch->remembers && branch->end->before != branch->before &&
        part_new(branch->graph, &branch->setup, branch->setup.plan->count, branch->before, NULL,
                 &end) == 0) {
        part_unref(branch->end);
        branch->end = end;
    }
    part_unref(TAKE(branch->before));
    branch->start = 0;
}

// Managed memory may belong to one stream alone.
static void spread_streams(struct graph *graph)
{
    unsigned next = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        struct branch *branch = graph->branches[i];

        if (branch->active && branch->setup.gpu && branch->setup.mapped)
            branch->stream = next++ % GPU_STREAMS_MAX;
    }
}

void graph_begin(struct graph *graph)
{
    graph->frame++;
    if (graph->arranged)
        return;
    for (unsigned i = 0; i < graph->count; i++)
        graph->branches[i]->common = count_common(graph->branches[i]);
    for (unsigned end = 1; end < PLAN_STEPS_MAX; end++) {
        for (unsigned i = 0; i < graph->count; i++) {
            struct branch *branch = graph->branches[i];

            if (branch->start < end && pays(graph, branch, end))
                make_plane(graph, branch, end);
        }
    }
    for (unsigned i = 0; i < graph->count; i++)
        renew_end(graph->branches[i]);
    spread_streams(graph);
    graph->arranged = true;
}
