// On the CPU a plane lies where the graph forks: behind a node that at least two active paths have,
// and that more than one node reads. On a GPU it lies wherever there are fewer passes over pictures
// with it.
#include "kernels/graph/graph.h"

#include <errno.h>
#include <string.h>

#define PATHS_MAX 128

struct graph {
    struct path *paths[PATHS_MAX]; // not owned
    unsigned count;
    struct node *nodes; // the list; not owned
    bool arranged;
    uint64_t frame;
    struct run_counts counts;
};

struct path {
    struct graph *graph;
    struct node *nodes[PLAN_STEPS_MAX]; // owned references
    unsigned count;
    bool active;
    struct run *run; // owned reference; writes the picture
    // For the next run: it goes on from what `before` makes, node number `start`.
    unsigned start;
    struct run *before; // owned reference; NULL: from the camera's picture
    const struct pixel_format *output;
    struct pool *pool;
    struct gpu *gpu;
    bool mapped;
    bool stays_whole; // on a GPU, because it knows of the frame before
    unsigned stream;  // of the GPU
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

static int get_nodes(struct path *path, const struct path_setup *setup, struct error *error)
{
    int r = 0;

    while (path->count < setup->plan->count && r == 0) {
        const struct node_setup node = {
            .step = setup->plan->steps[path->count],
            .input = path->count > 0 ? path->nodes[path->count - 1] : NULL,
            .camera = setup->camera,
            .output = path->output,
            .pool = setup->pool,
            .gpu = setup->gpu,
            .last = path->count + 1 == setup->plan->count,
        };

        r = node_get(&path->graph->nodes, &node, error, &path->nodes[path->count]);
        path->stays_whole |= setup->gpu && node.step.kind == STAGE_DIFFERENCE;
        path->count += r == 0;
    }
    return r;
}

// A run from node number `first` to number `end`, behind what path->before makes.
static int make_run(const struct path *path, unsigned first, unsigned end, struct error *error,
                    struct run **ret_run)
{
    const struct run_setup setup = {
        .nodes = path->nodes + first,
        .count = end - first,
        .before = path->before,
        .output = path->output,
        .pool = path->pool,
        .mapped = path->mapped,
    };

    return run_new(&setup, error, ret_run);
}

int path_new(struct graph *graph, const struct path_setup *setup, struct error *error,
             struct path **ret_path)
{
    struct path *path = graph->count < PATHS_MAX ? calloc(1, sizeof *path) : NULL;
    int r;

    if (!path) {
        return error_set(error, -ENOMEM, "no memory for one more view of a camera");
    }
    graph->paths[graph->count++] = path;
    graph->arranged = false;
    path->graph = graph;
    path->output = pixel_format_by_name(setup->plan->format);
    path->pool = setup->pool;
    path->gpu = setup->gpu;
    path->mapped = setup->mapped;
    r = get_nodes(path, setup, error);
    if (r == 0) {
        r = make_run(path, 0, path->count, error, &path->run);
    }
    if (r < 0) {
        path_free(path);
        return r;
    }
    *ret_path = path;
    return 0;
}

static void leave(struct graph *graph, const struct path *path)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        if (graph->paths[i] != path) {
            graph->paths[kept++] = graph->paths[i];
        }
    }
    graph->count = kept;
    graph->arranged = false;
}

void path_free(struct path *path)
{
    if (!path) {
        return;
    }
    path_set_active(path, false);
    leave(path->graph, path);
    run_unref(path->run);
    run_unref(path->before);
    while (path->count > 0) {
        node_unref(path->nodes[--path->count]);
    }
    free(path);
}

void path_set_active(struct path *path, bool active)
{
    if (path->active == active) {
        return;
    }
    path->active = active;
    path->graph->arranged = false;
    for (unsigned i = 0; i < path->count; i++) {
        node_set_active(path->nodes[i], active);
    }
    if (active) {
        run_forget(path->run);
    }
}

void path_forget(struct path *path)
{
    for (unsigned i = 0; i < path->count; i++) {
        node_forget(path->nodes[i]);
    }
    run_forget(path->run);
}

// Whether the first `count` nodes of both are the same ones, which active paths may share. On a GPU
// what knows of the frame before stays in one run, with which that knowledge would go.
static bool agree(const struct path *a, const struct path *b, unsigned count)
{
    return a->active && b->active && a->count > count && b->count > count &&
           a->nodes[count - 1] == b->nodes[count - 1] && !a->stays_whole && !b->stays_whole;
}

static unsigned count_agreeing(const struct graph *graph, const struct path *path, unsigned count)
{
    unsigned agreeing = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        agreeing += agree(graph->paths[i], path, count);
    }
    return agreeing;
}

static unsigned count_stages(const struct path *path, unsigned first, unsigned end)
{
    struct plan_step list[PLAN_STEPS_MAX];
    const struct gpu_steps steps = {list,         end - first,         &path->nodes[0]->camera,
                                    path->output, .first = first == 0, .last = end == path->count};

    for (unsigned i = first; i < end; i++) {
        list[i - first] = path->nodes[i]->step;
    }
    return gpu_steps_count_stages(&steps);
}

// On a GPU each stage is a pass over a picture, and a kernel does several steps in one where it
// can: a plane pays when there are fewer of them with it than without.
static bool pays_on_gpu(const struct graph *graph, const struct path *path, unsigned end)
{
    unsigned with = count_stages(path, path->start, end), without = 0;
    bool possible = with > 0;

    for (unsigned i = 0; i < graph->count; i++) {
        const struct path *other = graph->paths[i];

        if (agree(other, path, end)) {
            unsigned rest = count_stages(other, end, other->count);

            possible = possible && rest > 0;
            with += rest;
            without += count_stages(other, other->start, other->count);
        }
    }
    return possible && with < without;
}

// Whether a plane belongs behind the first `end` nodes of this path. The CPU, which does all of
// them on rows in the cache, gains the more the longer they are what paths have in common.
static bool pays(const struct graph *graph, const struct path *path, unsigned end)
{
    unsigned agreeing = count_agreeing(graph, path, end);

    return agreeing >= 2 && (path->gpu ? pays_on_gpu(graph, path, end)
                                       : count_agreeing(graph, path, end + 1) < agreeing);
}

static void set_before(struct path *path, unsigned start, struct run *before)
{
    run_unref(path->before);
    path->start = start;
    path->before = before ? run_ref(before) : NULL;
}

// What the paths run now and makes that plane behind path->before, if anything does.
static struct run *find_plane(const struct graph *graph, const struct path *path, unsigned end)
{
    for (unsigned i = 0; i < graph->count; i++) {
        for (struct run *run = graph->paths[i]->run->before; run; run = run->before) {
            if (run->nodes[run->count - 1] == path->nodes[end - 1] && run->before == path->before) {
                return run_ref(run);
            }
        }
    }
    return NULL;
}

// All paths that agree with this one so far go on from a plane there.
static void make_plane(struct graph *graph, struct path *path, unsigned end)
{
    struct run *plane = find_plane(graph, path, end);

    if (!plane && make_run(path, path->start, end, NULL, &plane) < 0) {
        return;
    }
    for (unsigned i = 0; i < graph->count; i++) {
        if (agree(graph->paths[i], path, end)) {
            set_before(graph->paths[i], end, plane);
        }
    }
    run_unref(plane);
}

// Without the memory for another run the path keeps the one it has, which makes the same picture.
static void renew_run(struct path *path)
{
    struct run *run;

    if (path->run->before != path->before &&
        make_run(path, path->start, path->count, NULL, &run) == 0) {
        run_unref(path->run);
        path->run = run;
    }
    set_before(path, 0, NULL);
}

// Managed memory may belong to one stream alone.
static void spread_streams(struct graph *graph)
{
    unsigned next = 0;

    for (unsigned i = 0; i < graph->count; i++) {
        struct path *path = graph->paths[i];

        if (path->active && path->gpu && path->mapped) {
            path->stream = next++ % GPU_STREAMS_MAX;
        }
    }
}

static void arrange(struct graph *graph)
{
    for (unsigned end = 1; end < PLAN_STEPS_MAX; end++) {
        for (unsigned i = 0; i < graph->count; i++) {
            struct path *path = graph->paths[i];

            if (path->active && path->start < end && pays(graph, path, end)) {
                make_plane(graph, path, end);
            }
        }
    }
    for (unsigned i = 0; i < graph->count; i++) {
        if (graph->paths[i]->active) {
            renew_run(graph->paths[i]);
        }
    }
    spread_streams(graph);
    graph->arranged = true;
}

void graph_begin(struct graph *graph)
{
    graph->frame++;
    if (!graph->arranged) {
        arrange(graph);
    }
}

uint64_t graph_frame(const struct graph *graph)
{
    return graph->frame;
}

int graph_get_node(struct graph *graph, const struct node_setup *setup, struct error *error,
                   struct node **ret_node)
{
    return node_get(&graph->nodes, setup, error, ret_node);
}

struct run_counts *graph_counts(struct graph *graph)
{
    return &graph->counts;
}

struct graph_count graph_count(const struct graph *graph, enum stage_kind kind)
{
    return (struct graph_count){graph->counts.runs[kind], graph->counts.shared[kind]};
}

void path_compute(struct path *path, const struct frame *camera, struct frame *picture)
{
    struct graph *graph = path->graph;

    run_compute(path->run, camera, graph->frame, picture, &graph->counts);
}

int path_launch_shared(struct path *path, const struct gpu_pictures *pictures, struct error *error)
{
    struct graph *graph = path->graph;

    return run_launch_before(path->run, pictures, graph->frame, &graph->counts, error);
}

int path_launch(struct path *path, const struct gpu_pictures *pictures, struct error *error)
{
    struct graph *graph = path->graph;

    return run_launch(path->run, pictures, graph->frame, &graph->counts, error);
}

unsigned path_stream(const struct path *path)
{
    return path->stream;
}
