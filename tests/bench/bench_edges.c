// Time of each view beside a memcpy of the same input frame in the same run, medians.
//
//   bench_edges [--json] [--runs N]        never fails by time
#include "tests/bench/bench.h"

#include "kernels/gradient/magnitude.h"
#include "kernels/graph/view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RUNS_MAX 2000

struct job {
    const char *name;
    struct config_view settings;
};

static const struct job jobs[] = {
    {"edges l2", {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1.0}},
    {"edges l1", {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L1, .gain = 1.0}},
    {"edges l2 gain 1.5", {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1.5}},
    {"edges l1 gain 1.5", {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L1, .gain = 1.5}},
    {"scharr l2", {.view = CONFIG_VIEW_EDGES, .operator= CONFIG_OPERATOR_SCHARR, .gain = 1.0}},
    {"prewitt l2", {.view = CONFIG_VIEW_EDGES, .operator= CONFIG_OPERATOR_PREWITT, .gain = 1.0}},
    {"sobel5 l2", {.view = CONFIG_VIEW_EDGES, .operator= CONFIG_OPERATOR_SOBEL5, .gain = 1.0}},
    {"blur 3, sobel l2", {.view = CONFIG_VIEW_EDGES, .blur = 3, .gain = 1.0}},
    {"blur 5, sobel l2", {.view = CONFIG_VIEW_EDGES, .blur = 5, .gain = 1.0}},
    {"binary", {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = 80}},
    {"binary otsu", {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = CONFIG_THRESHOLD_OTSU}},
    {"motion", {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1}},
    {"gray", {.view = CONFIG_VIEW_GRAY}},
    {"camera", {.view = CONFIG_VIEW_CAMERA}},
};

static const struct {
    const char *name;
    uint32_t width, height;
} sizes[] = {{"720p", 1280, 720}, {"1080p", 1920, 1080}, {"4K", 3840, 2160}};

static const char *const formats[] = {"GREY", "NV12", "YUYV"};

// A scene with soft shapes and noise, neither flat nor pure noise. In frame 1 a quarter of what
// frame 0 shows has become brighter.
static void draw(struct frame *frame)
{
    size_t quarter = frame->layout.size / 4;
    uint32_t noise = 1;

    for (size_t i = 0; i < frame->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)((i / 7 ^ i / frame->layout.planes[0].stride) + (noise >> 28) +
                                   (frame->index == 1 && i < quarter ? 64 : 0));
    }
}

struct result {
    double copy_us, view_us;
};

// Copies and views take turns, so that both see the same machine; so do the two frames.
static int measure(const struct job *job, struct frame *const inputs[2], uint8_t *copy,
                   unsigned runs, struct result *ret_result)
{
    static int64_t copies[RUNS_MAX], views[RUNS_MAX];
    struct view *view = NULL;
    struct frame *output = NULL;
    const struct view_setup setup = {.settings = &job->settings,
                                     .input = &inputs[0]->layout,
                                     .frames = 2,
                                     .allocator = frame_allocator_host()};
    int r = view_new(&setup, NULL, &view);

    for (unsigned i = 0; i < runs && r == 0; i++) {
        struct frame *input = inputs[i % 2];
        int64_t start = clock_now_ns(), middle;

        memcpy(copy, input->data, input->layout.size);
        __asm__ volatile("" : : "r"(copy) : "memory"); // somebody reads the copy
        middle = clock_now_ns();
        r = view_run(view, input, NULL, &output);
        views[i] = clock_now_ns() - middle;
        copies[i] = middle - start;
        frame_unref(TAKE(output));
    }
    view_free(view);
    *ret_result = (struct result){median_us(copies, runs), median_us(views, runs)};
    return r;
}

static int measure_input(size_t size, const char *format, unsigned runs, bool json, bool first)
{
    struct frame_layout layout;
    struct frame_pool *pool = NULL;
    _cleanup_(cleanup_frame) struct frame *first_input = NULL, *second_input = NULL;
    _cleanup_(cleanup_free) uint8_t *copy = NULL;
    int r;

    frame_layout_init(&layout, pixel_format_by_name(format), sizes[size].width, sizes[size].height,
                      64);
    r = frame_pool_new(&layout, 2, frame_allocator_host(), &pool);
    copy = calloc(1, layout.size);
    if (r < 0 || !copy) {
        return -ENOMEM;
    }
    first_input = frame_pool_take(pool);
    second_input = frame_pool_take(pool);
    frame_pool_unref(pool);
    draw(first_input);
    draw(second_input);
    for (size_t i = 0; i < ARRAY_LENGTH(jobs); i++) {
        struct result result;

        r = measure(&jobs[i], (struct frame *[]){first_input, second_input}, copy, runs, &result);
        if (r < 0) {
            return r;
        }
        printf(json ? "%s{\"format\": \"%s\", \"size\": \"%s\", \"view\": \"%s\", "
                      "\"memcpy_us\": %.1f, \"view_us\": %.1f, \"ratio\": %.2f}"
                    : "%s%-5s %-6s %-18s %9.1f %9.1f %7.2f\n",
               !json             ? ""
               : first && i == 0 ? "["
                                 : ",\n ",
               format, sizes[size].name, jobs[i].name, result.copy_us, result.view_us,
               result.view_us / result.copy_us);
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned runs = 201;
    bool json = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            runs = (unsigned)strtoul(argv[++i], NULL, 10);
        }
    }
    if (runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "bench_edges: --runs takes 1 to %d\n", RUNS_MAX);
        return 2;
    }
    if (!json) {
        printf("CPU views, %s magnitudes, medians of %u runs\n", magnitude_version_best()->name,
               runs);
        printf("%-5s %-6s %-18s %9s %9s %7s\n", "input", "size", "view", "copy us", "view us",
               "ratio");
    }
    for (size_t size = 0; size < ARRAY_LENGTH(sizes); size++) {
        for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
            int r = measure_input(size, formats[i], runs, json, size + i == 0);

            if (r < 0) {
                fprintf(stderr, "bench_edges: %s\n", strerror(-r));
                return 1;
            }
        }
    }
    fputs(json ? "]\n" : "", stdout);
    return 0;
}
