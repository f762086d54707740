#include "kernels/events/moved.h"

#include "kernels/difference/difference.h"
#include "kernels/graph/plan.h"
#include "kernels/stage/rows.h"

#include <errno.h>

#define NODES_MAX 2 // gray, where the camera's picture has none, and the difference

struct moved {
    struct graph *graph;
    struct node *nodes[NODES_MAX]; // owned references; the last one is the difference
    unsigned count;
    struct stage stages[NODES_MAX]; // the nodes', whose states they have
    struct rows *rows;              // owned; computes them where no view does
};

static struct node *end_of(const struct moved *moved)
{
    return moved->nodes[moved->count - 1];
}

static int get_nodes(struct moved *moved, const struct frame_layout *camera, int threshold)
{
    const struct config_view settings = {.view = CONFIG_VIEW_MOTION, .threshold = threshold};
    const struct plan plan = plan_make(&settings, camera->format, VIEW_OUTPUT_STREAM);
    unsigned end = (unsigned)plan_find(&plan, STAGE_DIFFERENCE) + 1;
    int r = 0;

    while (moved->count < end && r == 0) {
        const struct node_setup setup = {
            .step = plan.steps[moved->count],
            .input = moved->count > 0 ? end_of(moved) : NULL,
            .camera = camera,
            .output = pixel_format_by_name(plan.format),
        };
        struct error error = {0};
        struct node *node;

        r = graph_get_node(moved->graph, &setup, &error, &node);
        if (r == 0) {
            node_set_active(node, true);
            moved->stages[moved->count] = node->stage;
            moved->nodes[moved->count++] = node;
        }
    }
    return r;
}

int moved_new(struct graph *graph, const struct frame_layout *camera, int threshold,
              struct moved **ret_moved)
{
    struct moved *moved = calloc(1, sizeof *moved);
    int r;

    if (!moved) {
        return -ENOMEM;
    }
    moved->graph = graph;
    r = get_nodes(moved, camera, threshold);
    r = r ? r : difference_note_bits(&end_of(moved)->stage);
    r = r ? r
          : rows_new_source(moved->stages, moved->count, camera->width, camera->height,
                            &moved->rows);
    if (r) {
        moved_free(moved);
        return -ENOMEM;
    }
    *ret_moved = moved;
    return 0;
}

void moved_free(struct moved *moved)
{
    if (!moved) {
        return;
    }
    rows_free(moved->rows);
    while (moved->count > 0) {
        struct node *node = moved->nodes[--moved->count];

        node_set_active(node, false);
        node_unref(node);
    }
    free(moved);
}

bool moved_is_shared(const struct moved *moved)
{
    return end_of(moved)->active > 1;
}

void moved_begin(struct moved *moved, const struct bits_limits *limits)
{
    difference_set_limits(&end_of(moved)->stage, limits);
}

void moved_run(struct moved *moved, const struct frame *frame, uint32_t first, uint32_t end)
{
    struct run_counts *counts = graph_counts(moved->graph);
    const struct row_source source = {moved->rows, frame_plane(frame, 0),
                                      frame->layout.planes[0].stride};

    if (end_of(moved)->number == graph_frame(moved->graph)) {
        counts->shared[STAGE_DIFFERENCE]++;
        return;
    }
    // A view that shares it has left this picture out, and compares all of the next one with it.
    if (moved_is_shared(moved)) {
        first = 0;
        end = frame->layout.height;
    }
    for (unsigned i = 0; i < moved->count; i++) {
        struct stage *stage = &moved->stages[i];

        if (stage->ops->begin) {
            stage->ops->begin(stage, frame, NULL);
        }
        counts->runs[moved->nodes[i]->step.kind]++;
    }
    row_source_begin(&source, 0, first, first, end);
    for (uint32_t y = first; y < end; y++) {
        row_source_at(&source, 0, y);
    }
}

const uint64_t *moved_row(const struct moved *moved, uint32_t y)
{
    return difference_bits(&end_of(moved)->stage, y);
}
