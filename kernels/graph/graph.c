// On the CPU a plane lies where the graph forks: behind steps that at least two active branches
// have, and that more than one other step reads. On a GPU it lies wherever there are fewer passes
// over pictures with it.
#include "kernels/graph/graph.h"

#include "kernels/difference/difference.h"

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
    // Of a difference that views and motion events share, which ends in what has moved as bits:
    // what comes behind it begins with the rows of the same stage.
    bool difference;
    unsigned active; // how many of those who hold references are
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
        if (!same_step(&a[i], &b[i])) {
            return false;
        }
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

    if (!part || --part->references > 0) {
        return;
    }
    link = &part->graph->parts;
    while (*link != part) {
        link = &(*link)->next;
    }
    *link = part->next;
    runner_finish(&part->runner);
    part_unref(part->before);
    for (unsigned i = 0; i < part->count; i++) {
        mask_plane_unref(part->steps[i].options.mask);
    }
    free(part);
}

static void cleanup_part(struct graph_part **part)
{
    part_unref(*part);
}

static int make_runner(struct graph_part *part, const struct branch_setup *setup,
                       struct error *error)
{
    const struct graph_part *before = part->before;
    struct runner_setup runner = {
        .steps = part->steps + part->start,
        .count = part->count - part->start,
        .camera = &part->camera,
        .output = pixel_format_by_name(setup->plan->format),
        .first = part->start == 0,
        .last = part->last || part->difference, // which writes no plane
        .pool = setup->pool,
        .gpu = setup->gpu,
        .mapped = setup->mapped,
    };
    int r = setup->gpu ? gpu_enter(setup->gpu, error) : 0;

    if (before && before->difference) {
        runner.begun = graph_difference(before);
        runner.steps--;
        runner.count++;
    }
    return r < 0 ? r : runner_init(&part->runner, &runner, error);
}

// The first `count` steps of the setup's plan, behind `before`.
static int part_new(struct graph *graph, const struct branch_setup *setup, unsigned count,
                    struct graph_part *before, bool difference, struct error *error,
                    struct graph_part **ret_part)
{
    _cleanup_(cleanup_part) struct graph_part *part = calloc(1, sizeof *part);
    int r;

    if (!part) {
        return error_set(error, -ENOMEM, "no memory for a view's stages");
    }
    part->references = 1;
    part->graph = graph;
    part->next = graph->parts;
    graph->parts = part;
    part->start = before ? before->count : 0;
    part->camera = *setup->camera;
    part->last = count == setup->plan->count && !difference;
    part->difference = difference;
    part->before = before ? part_ref(before) : NULL;
    for (; part->count < count; part->count++) {
        struct plan_step *step = &part->steps[part->count];

        *step = setup->plan->steps[part->count];
        if (step->options.mask) {
            mask_plane_ref(step->options.mask);
        }
    }
    r = make_runner(part, setup, error);
    if (r == 0) {
        *ret_part = TAKE(part);
    }
    return r;
}

static void note_made(struct graph_part *part)
{
    part->frame = part->graph->frame;
    for (unsigned i = part->start; i < part->count; i++) {
        part->graph->runs[part->steps[i].kind]++;
    }
}

// Whether the part is computed for this frame; then it is counted as shared.
static bool reuse(const struct graph_part *part)
{
    struct graph *graph = part->graph;

    for (unsigned i = 0; i < part->count && part->frame == graph->frame; i++) {
        graph->shared[part->steps[i].kind]++;
    }
    return part->frame == graph->frame;
}

// On the CPU, with what the part reads where that is not made yet. `picture` is NULL unless the
// part writes a view's.
static void compute(struct graph_part *part, const struct frame *camera, struct frame *picture)
{
    struct graph_part *before = part->before;
    const uint8_t *input = frame_plane(camera, 0);
    size_t stride = camera->layout.planes[0].stride;

    if (before && !reuse(before)) {
        compute(before, camera, NULL);
    }
    if (before && before->runner.plane) {
        input = before->runner.plane;
        stride = before->runner.stride;
    }
    if (part->difference && before) {
        struct stage *stage = &part->runner.stages[part->count - 1];

        stage->ops->scan(stage, input, stride, 0, camera->layout.height);
    } else if (part->difference) {
        runner_scan(&part->runner, input, stride, camera, NULL, 0, camera->layout.height);
    } else {
        runner_compute(&part->runner, input, stride, camera, picture);
    }
    note_made(part);
}

static int launch(struct graph_part *part, const struct gpu_pictures *pictures, struct error *error)
{
    struct gpu_pictures own = *pictures;
    int r;

    own.input = part->before ? runner_gpu_plane(&part->before->runner) : own.camera;
    r = runner_launch(&part->runner, own, error);
    if (r == 0) {
        note_made(part);
    }
    return r;
}

// What the part reads.
static int launch_before(struct graph_part *part, const struct gpu_pictures *pictures,
                         struct error *error)
{
    struct graph_part *before = part->before;
    int r;

    if (!before || reuse(before)) {
        return 0;
    }
    r = launch_before(before, pictures, error);
    return r < 0 ? r : launch(before, pictures, error);
}

// Differences that are shared
// ---------------------------------------------------------------------

static void set_active(struct graph_part *difference, bool active)
{
    if (active && difference->active == 0) {
        runner_forget(&difference->runner);
    }
    difference->active += active ? 1 : -1U;
}

// The difference that the setup's plan has at its step number `index`.
static int get_difference(struct graph *graph, const struct branch_setup *setup, unsigned index,
                          struct error *error, struct graph_part **ret_part)
{
    for (struct graph_part *other = graph->parts; other; other = other->next) {
        if (other->difference && other->count == index + 1 &&
            frame_layout_equal(&other->camera, setup->camera) &&
            same_steps(other->steps, setup->plan->steps, index + 1)) {
            *ret_part = part_ref(other);
            return 0;
        }
    }
    return part_new(graph, setup, index + 1, NULL, true, error, ret_part);
}

int graph_watch(struct graph *graph, const struct frame_layout *layout, int threshold,
                struct graph_part **ret_difference)
{
    const struct config_view settings = {.view = CONFIG_VIEW_MOTION, .threshold = threshold};
    const struct plan plan = plan_make(&settings, layout->format, VIEW_OUTPUT_STREAM);
    const struct branch_setup setup = {.plan = &plan, .camera = layout};
    struct graph_part *difference;
    int r = get_difference(graph, &setup, (unsigned)plan_find(&plan, STAGE_DIFFERENCE), NULL,
                           &difference);

    if (r < 0) {
        return r;
    }
    r = difference_watch(graph_difference(difference));
    if (r < 0) {
        part_unref(difference);
        return r;
    }
    set_active(difference, true);
    *ret_difference = difference;
    return 0;
}

void graph_unwatch(struct graph_part *difference)
{
    if (difference) {
        set_active(difference, false);
        part_unref(difference);
    }
}

const struct stage *graph_difference(const struct graph_part *difference)
{
    return &difference->runner.stages[difference->count - 1];
}

bool graph_difference_is_shared(const struct graph_part *difference)
{
    return difference->active > 1;
}

void graph_compare(struct graph_part *difference, const struct frame *frame, uint32_t first,
                   uint32_t end)
{
    uint32_t height = frame->layout.height;

    if (difference->frame == difference->graph->frame) {
        difference->graph->shared[STAGE_DIFFERENCE]++;
        return;
    }
    // A view that shares it has left this picture out, and compares all of the next one with it.
    if (graph_difference_is_shared(difference)) {
        compute(difference, frame, NULL);
        return;
    }
    difference_skip(graph_difference(difference), 0, first);
    difference_skip(graph_difference(difference), end, height);
    runner_scan(&difference->runner, frame_plane(frame, 0), frame->layout.planes[0].stride, frame,
                NULL, first, end);
    note_made(difference);
}

// Branches
// ---------------------------------------------------------------------

// The first difference of a plan is shared if the CPU computes it and its threshold is fixed.
static int make_end(struct branch *branch, struct error *error)
{
    const struct plan *plan = branch->setup.plan;
    int index = plan_find(plan, STAGE_DIFFERENCE);
    int r = 0;

    branch->remembers = index >= 0;
    if (index >= 0 && !branch->setup.gpu &&
        plan->steps[index].options.threshold != CONFIG_THRESHOLD_OTSU) {
        r = get_difference(branch->graph, &branch->setup, (unsigned)index, error, &branch->before);
    }
    if (r == 0) {
        r = part_new(branch->graph, &branch->setup, plan->count, branch->before, false, error,
                     &branch->end);
    }
    part_unref(TAKE(branch->before));
    return r;
}

int branch_init(struct branch *branch, struct graph *graph, const struct branch_setup *setup,
                struct error *error)
{
    int r;

    if (graph->count == BRANCHES_MAX) {
        return error_set(error, -ENOMEM, "no memory for one more view of a camera");
    }
    *branch = (struct branch){.graph = graph, .setup = *setup, .camera = *setup->camera};
    branch->setup.camera = &branch->camera;
    graph->branches[graph->count++] = branch;
    graph->arranged = false;
    r = make_end(branch, error);
    if (r < 0) {
        branch_finish(branch);
    }
    return r;
}

static void leave(struct graph *graph, const struct branch *branch)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        if (graph->branches[i] != branch) {
            graph->branches[kept++] = graph->branches[i];
        }
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

// The difference that the branch shares, if it does.
static struct graph_part *difference_of(const struct branch *branch)
{
    struct graph_part *before = branch->end ? branch->end->before : NULL;

    return before && before->difference ? before : NULL;
}

void branch_set_active(struct branch *branch, bool active)
{
    struct graph_part *difference = difference_of(branch);

    if (branch->active == active) {
        return;
    }
    branch->active = active;
    branch->graph->arranged = false;
    if (difference) {
        set_active(difference, active);
    }
    if (active) {
        runner_forget(&branch->end->runner);
    }
}

void branch_forget(struct branch *branch)
{
    struct graph_part *difference = difference_of(branch);

    if (difference) {
        runner_forget(&difference->runner);
    }
    runner_forget(&branch->end->runner);
}

void branch_compute(struct branch *branch, const struct frame *camera, struct frame *picture)
{
    compute(branch->end, camera, picture);
}

int branch_launch_shared(struct branch *branch, const struct gpu_pictures *pictures,
                         struct error *error)
{
    return launch_before(branch->end, pictures, error);
}

int branch_launch(struct branch *branch, const struct gpu_pictures *pictures, struct error *error)
{
    return launch(branch->end, pictures, error);
}

// What branches have in common
// ---------------------------------------------------------------------

// How many of its steps a branch may share. What comes before a difference is read once, however
// many branches have that.
static unsigned count_common(const struct graph *graph, const struct branch *branch)
{
    const struct graph_part *difference = difference_of(branch);

    if (!branch->active || (branch->remembers && !difference)) {
        return 0;
    }
    for (unsigned i = 0; difference && graph->branches[i] != branch; i++) {
        if (graph->branches[i]->active && difference_of(graph->branches[i]) == difference) {
            return 0;
        }
    }
    return (difference ? difference->count : branch->setup.plan->count) - 1;
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

    for (unsigned i = 0; i < graph->count; i++) {
        agreeing += agree(graph->branches[i], branch, count);
    }
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

// What makes that plane behind branch->before already, if anything does.
static struct graph_part *find_plane(const struct branch *branch, unsigned end)
{
    for (struct graph_part *other = branch->graph->parts; other; other = other->next) {
        if (!other->last && !other->difference && other->before == branch->before &&
            other->count == end && other->runner.gpu == branch->setup.gpu &&
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

    if (!plane && part_new(graph, &branch->setup, end, branch->before, false, NULL, &plane) < 0) {
        return;
    }
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
        part_new(branch->graph, &branch->setup, branch->setup.plan->count, branch->before, false,
                 NULL, &end) == 0) {
        part_unref(branch->end);
        branch->end = end;
    }
    part_unref(TAKE(branch->before));
    branch->start = 0;
}

// A difference keeps its runner, which makes what it compares itself where there is no plane of it.
static void renew_difference(const struct graph *graph, struct graph_part *difference)
{
    struct graph_part *before = NULL;

    for (unsigned i = 0; i < graph->count; i++) {
        const struct branch *branch = graph->branches[i];
        const struct graph_part *own = difference_of(branch);

        if (own && own == difference && branch->start + 1 == own->count) {
            before = branch->before;
        }
    }
    if (before) {
        part_ref(before);
    }
    part_unref(difference->before);
    difference->before = before;
    difference->start = before ? before->count : 0;
}

// Managed memory may belong to one stream alone.
static void spread_streams(struct graph *graph)
{
    unsigned next = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        struct branch *branch = graph->branches[i];

        if (branch->active && branch->setup.gpu && branch->setup.mapped) {
            branch->stream = next++ % GPU_STREAMS_MAX;
        }
    }
}

void graph_begin(struct graph *graph)
{
    graph->frame++;
    if (graph->arranged) {
        return;
    }
    for (unsigned i = 0; i < graph->count; i++) {
        graph->branches[i]->common = count_common(graph, graph->branches[i]);
    }
    for (unsigned end = 1; end < PLAN_STEPS_MAX; end++) {
        for (unsigned i = 0; i < graph->count; i++) {
            struct branch *branch = graph->branches[i];

            if (branch->start < end && pays(graph, branch, end)) {
                make_plane(graph, branch, end);
            }
        }
    }
    for (struct graph_part *part = graph->parts; part; part = part->next) {
        if (part->difference) {
            renew_difference(graph, part);
        }
    }
    for (unsigned i = 0; i < graph->count; i++) {
        renew_end(graph->branches[i]);
    }
    spread_streams(graph);
    graph->arranged = true;
}
