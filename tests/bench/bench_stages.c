// Time of single row stages over a 1080p plane, beside a memcpy of it in the same run, medians.
// What OpenCV takes for the same is in bench_opencv.py.
//
//   bench_stages [--runs N]        never fails by time
#include "tests/bench/bench.h"

#include "kernels/graph/stages.h"
#include "kernels/stage/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RUNS_MAX 2000
#define WIDTH 1920U
#define HEIGHT 1080U

static const struct {
    const char *name;
    enum stage_kind kind;
    struct stage_options options;
} jobs[] = {
    {"blur 3", STAGE_BLUR, {.blur = 3}},      {"blur 5", STAGE_BLUR, {.blur = 5}},
    {"erode 1", STAGE_ERODE, {.times = 1}},   {"erode 4", STAGE_ERODE, {.times = 4}},
    {"dilate 1", STAGE_DILATE, {.times = 1}},
};

static uint8_t input[HEIGHT][WIDTH], output[HEIGHT][WIDTH];

static void draw(void)
{
    uint32_t noise = 1;

    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            noise = noise * 1664525 + 1013904223;
            input[y][x] = (uint8_t)((x / 7 ^ y) + (noise >> 28));
        }
    }
}

// Copies and stages take turns, so that both see the same machine.
static void measure(const char *name, struct rows *rows, unsigned runs)
{
    static int64_t copies[RUNS_MAX], stages[RUNS_MAX];
    double copy_us, stage_us;

    for (unsigned i = 0; i < runs; i++) {
        int64_t start = clock_now_ns(), middle;

        memcpy(output, input, sizeof output);
        __asm__ volatile("" : : "r"(output) : "memory"); // somebody reads the copy
        middle = clock_now_ns();
        rows_run(rows, input[0], WIDTH, output[0], WIDTH, 0, HEIGHT);
        stages[i] = clock_now_ns() - middle;
        copies[i] = middle - start;
    }
    copy_us = median_us(copies, runs);
    stage_us = median_us(stages, runs);
    printf("%-12s %9.1f %9.1f %7.2f\n", name, copy_us, stage_us, stage_us / copy_us);
}

static int measure_stage(size_t job, unsigned runs)
{
    const struct frame_layout layout = {.width = WIDTH, .height = HEIGHT};
    const struct stage_setup setup = {.options = &jobs[job].options, .input = &layout};
    struct stage stage;
    struct rows *rows;
    int r = stage_init(&stage, stages_of_kind(jobs[job].kind), &setup, NULL);

    if (r == 0) {
        r = rows_new(&stage, 1, WIDTH, HEIGHT, &rows);
    }
    if (r == 0) {
        measure(jobs[job].name, rows, runs);
        rows_free(rows);
    }
    stage_finish(&stage);
    return r;
}

int main(int argc, char **argv)
{
    unsigned runs = 201;

    if (argc == 3 && strcmp(argv[1], "--runs") == 0) {
        runs = (unsigned)strtoul(argv[2], NULL, 10);
    }
    if (runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "bench_stages: --runs takes 1 to %d\n", RUNS_MAX);
        return 2;
    }
    draw();
    printf("CPU stages over %ux%u, medians of %u runs\n", WIDTH, HEIGHT, runs);
    printf("%-12s %9s %9s %7s\n", "stage", "copy us", "stage us", "ratio");
    for (size_t i = 0; i < ARRAY_LENGTH(jobs); i++) {
        int r = measure_stage(i, runs);

        if (r < 0) {
            fprintf(stderr, "bench_stages: %s\n", strerror(-r));
            return 1;
        }
    }
    return 0;
}
