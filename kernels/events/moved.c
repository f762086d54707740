#include "kernels/events/moved.h"

#include "kernels/difference/difference.h"
#include "kernels/graph/plan.h"
#include "kernels/stage/rows.h"
#include "kernels/stage/simd.h"

#include <errno.h>

#define NODES_MAX 2 // gray, where the camera's picture has none, and the difference

struct moved {
    struct graph *graph;
    struct node *nodes[NODES_MAX]; // owned references; the last one is the difference
    unsigned count;
    struct stage stages[NODES_MAX]; // the nodes', whose states they have
    struct rows *rows;              // owned; make gray where no view does; NULL: the camera does
    uint8_t *band;                  // owned; of that gray, which need not leave the cache
    size_t stride;
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
    r = r ? r : difference_watch(&end_of(moved)->stage);
    if (r == 0 && moved->count > 1) {
        moved->stride =
            ((size_t)camera->width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
        moved->band = aligned_alloc(SIMD_CACHE_LINE, moved->stride * ROWS_BAND);
        r = moved->band ? rows_new(moved->stages, moved->count - 1, camera->width, camera->height,
                                   &moved->rows)
                        : -ENOMEM;
    }
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
    free(moved->band);
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
    const uint8_t *plane = frame_plane(frame, 0);
    size_t stride = frame->layout.planes[0].stride;
    struct stage difference = end_of(moved)->stage;

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
        counts->runs[moved->nodes[i]->step.kind]++;
    }
    difference_skip(&difference, 0, first);
    difference_skip(&difference, end, frame->layout.height);
    for (uint32_t y = first, next; y < end; y = next) {
        const uint8_t *rows = plane + y * stride;

        next = moved->rows && end - y > ROWS_BAND ? y + ROWS_BAND : end;
        if (moved->rows) {
            rows_run(moved->rows, rows, stride, moved->band, moved->stride, 0, next - y);
        }
        difference.ops->look(&difference, moved->rows ? moved->band : rows,
                             moved->rows ? moved->stride : stride, y, next);
    }
}

bool moved_erode(const struct moved *moved, uint32_t y, unsigned times, uint64_t *row)
{
    return difference_erode(&end_of(moved)->stage, true, y, times, row);
}
