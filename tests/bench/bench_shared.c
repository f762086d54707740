// Time of all views of a camera for one frame, each by itself and with the stages they share, in
// turns, medians.
//
//   bench_shared [--runs N]        never fails by time
#include "tests/bench/bench.h"

#include "config/config.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/view.h"

#include <stdio.h>
#include <string.h>

#define RUNS_MAX 2000
#define VIEWS_MAX 4

static const char *const groups[] = {
    "{ view = \"edges\"; }, { name = \"l1\"; norm = \"l1\"; }",
    "{ view = \"edges\"; }, { view = \"binary\"; }",
    "{ view = \"edges\"; blur = 5; }, { view = \"binary\"; blur = 5; }",
    "{ view = \"edges\"; }, { view = \"canny\"; }",
    "{ view = \"canny\"; }, { view = \"motion\"; }",
    "{ view = \"edges\"; }, { view = \"canny\"; }, { view = \"motion\"; }",
    "{ view = \"edges\"; blur = 3; }, { view = \"binary\"; blur = 3; }, "
    "{ view = \"canny\"; blur = 3; }, { view = \"motion\"; }",
};
static const char *const formats[] = {"NV12", "YUYV", "BGR3"};

struct work {
    struct graph *graph;
    struct view *views[VIEWS_MAX];
    size_t count;
};

static struct work make(const struct config_camera *camera, const struct frame_layout *layout,
                        bool sharing)
{
    struct work work = {.count = camera->view_count};

    if (sharing && graph_new(&work.graph) < 0)
        abort();
    for (size_t i = 0; i < work.count; i++) {
        const struct view_setup setup = {.settings = &camera->views[i],
                                         .input = layout,
                                         .allocator = frame_allocator_host(),
                                         .graph = work.graph};

        if (view_new(&setup, NULL, &work.views[i]) < 0)
            abort();
        view_set_active(work.views[i], true);
    }
    return work;
}

static int64_t run(struct work *work, struct frame *input)
{
    int64_t start = clock_now_ns();

    if (work->graph)
        graph_begin(work->graph);
    for (size_t i = 0; i < work->count; i++) {
        struct frame *output;

        if (view_run(work->views[i], input, NULL, &output) < 0)
            abort();
        frame_unref(output);
    }
    return clock_now_ns() - start;
}

static void finish(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        view_free(work->views[i]);
    graph_free(work->graph);
}

static struct frame *draw(const char *format)
{
    struct frame_layout layout;
    struct frame_pool *pool;
    struct frame *frame;
    uint32_t noise = 1;

    frame_layout_init(&layout, pixel_format_by_name(format), 1280, 720, 64);
    if (frame_pool_new(&layout, 1, frame_allocator_host(), &pool) < 0)
        abort();
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    for (size_t i = 0; i < layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)((i / 61 ^ i / 2560 / 7 * 31) + (noise >> 28));
    }
    return frame;
}

static void measure(const char *format, const char *group, unsigned runs)
{
    static int64_t alone_ns[RUNS_MAX], shared_ns[RUNS_MAX];
    struct frame *input = draw(format);
    struct config *config;
    char text[512];

    snprintf(text, sizeof text, "cameras = ( { views = ( %s ); } );", group);
    if (config_parse(text, "views", stderr, &config) < 0)
        abort();
    struct work alone = make(&config->cameras[0], &input->layout, false);
    struct work sharing = make(&config->cameras[0], &input->layout, true);

    for (unsigned i = 0; i < runs; i++) {
        alone_ns[i] = run(&alone, input);
        shared_ns[i] = run(&sharing, input);
    }
    double alone_us = median_us(alone_ns, runs), shared_us = median_us(shared_ns, runs);

    printf("%-5s %8.1f %8.1f %6.2f  %s\n", format, alone_us, shared_us, shared_us / alone_us,
           group);
    finish(&alone);
    finish(&sharing);
    config_free(config);
    frame_unref(input);
}

int main(int argc, char **argv)
{
    unsigned runs =
        argc == 3 && strcmp(argv[1], "--runs") == 0 ? (unsigned)strtoul(argv[2], NULL, 10) : 301;

    if (runs < 1 || runs > RUNS_MAX) {
        fputs("bench_shared [--runs N]\n", stderr);
        return 2;
    }
    printf("1280x720, all views of a frame\n%-5s %8s %8s %6s\n", "", "alone us", "shared", "ratio");
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        for (size_t k = 0; k < ARRAY_LENGTH(groups); k++)
            measure(formats[i], groups[k], runs);
    }
    return 0;
}
