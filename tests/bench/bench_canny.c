// Time of the canny view beside a memcpy of the same gray picture in the same run, medians.
//
//   bench_canny [--runs N] [--set KEY=VALUE]… [PICTURE.pgm]      without a picture: 1080p of noise
//
// Prints one line: the size, microseconds of the copy, microseconds of the view, edge pixels. Never
// fails by time. bench_canny.py puts OpenCV beside it.
#include "daemon/ctl/pnm.h"
#include "kernels/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RUNS_MAX 2000

struct options {
    unsigned runs;
    const char *picture; // NULL: noise
    struct config_view *view;
};

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double median_us(int64_t *times, unsigned runs)
{
    qsort(times, runs, sizeof *times, compare_times);
    return (double)times[runs / 2] / NS_PER_US;
}

static int make_noise(struct error *error, struct frame **ret_frame)
{
    int r = picture_frame_new("GREY", 1920, 1080, frame_allocator_host(), error, ret_frame);
    uint32_t noise = 1;

    for (size_t i = 0; r == 0 && i < (*ret_frame)->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        (*ret_frame)->data[i] = (uint8_t)(noise >> 24);
    }
    return r;
}

static size_t count_edges(const struct frame *frame)
{
    size_t count = 0;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        const uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        for (uint32_t x = 0; x < frame->layout.width; x++) {
            count += row[x] != 0;
        }
    }
    return count;
}

// Copies and views take turns, so that both see the same machine.
static int measure(const struct options *options, struct frame *input, struct error *error)
{
    static int64_t copies[RUNS_MAX], views[RUNS_MAX];
    _cleanup_(cleanup_free) uint8_t *copy = malloc(input->layout.size);
    struct frame *output = NULL;
    struct view *view = NULL;
    const struct view_setup setup = {.settings = options->view,
                                     .input = &input->layout,
                                     .output = VIEW_OUTPUT_EXACT,
                                     .frames = 2,
                                     .allocator = frame_allocator_host()};
    int r = copy ? view_new(&setup, error, &view) : -ENOMEM;

    for (unsigned i = 0; i < options->runs && r == 0; i++) {
        int64_t start = clock_now_ns(), middle;

        memcpy(copy, input->data, input->layout.size);
        __asm__ volatile("" : : "r"(copy) : "memory"); // somebody reads the copy
        middle = clock_now_ns();
        frame_unref(TAKE(output));
        r = view_run(view, input, error, &output);
        views[i] = clock_now_ns() - middle;
        copies[i] = middle - start;
    }
    if (r == 0) {
        printf("%ux%u %.1f %.1f %zu\n", input->layout.width, input->layout.height,
               median_us(copies, options->runs), median_us(views, options->runs),
               count_edges(output));
    }
    frame_unref(output);
    view_free(view);
    return r;
}

static int read_options(int argc, char **argv, struct options *options, struct error *error)
{
    int r = config_view_new("canny", error, &options->view);

    for (int i = 1; i < argc && r == 0; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            options->runs = (unsigned)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && strchr(argv[i + 1], '=')) {
            char *value = strchr(argv[++i], '=');

            *value++ = '\0';
            r = config_view_set(options->view, argv[i], value, error);
        } else {
            options->picture = argv[i];
        }
    }
    if (r == 0 && (options->runs < 1 || options->runs > RUNS_MAX)) {
        r = error_set(error, -EINVAL, "--runs takes 1 to %d", RUNS_MAX);
    }
    return r;
}

int main(int argc, char **argv)
{
    struct options options = {.runs = 101};
    struct frame *input = NULL;
    struct error error = {0};
    int r = read_options(argc, argv, &options, &error);

    if (r == 0) {
        r = options.picture ? pnm_read(options.picture, frame_allocator_host(), &error, &input)
                            : make_noise(&error, &input);
    }
    if (r == 0) {
        r = measure(&options, input, &error);
    }
    if (r < 0) {
        fprintf(stderr, "bench_canny: %s\n", error.text);
    }
    frame_unref(input);
    config_view_free(options.view);
    return r < 0;
}
