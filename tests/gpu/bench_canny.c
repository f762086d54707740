// Time of Canny by what is in the picture, on which the time of its second half depends.
#include "tests/gpu/bench.h"
#include "tests/gpu/pictures.h"

#include <stdio.h>
#include <string.h>

#define LOW 50
#define HIGH 150
#define SPIRAL_PITCH 5

static uint64_t npp_work; // device memory

// Frames in the rotation are without gaps, at multiples of this.
#define FRAME_ALIGN 512

static int run_npp(struct bench *bench, uint64_t input, uint64_t output, uint32_t width,
                   uint32_t height)
{
    return npp_canny(bench->npp, input, npp_work, output, width, height, LOW, HIGH);
}

static int measure_npp(struct bench *bench, struct bench_job *job)
{
    size_t bytes =
        bench->npp ? npp_canny_bytes(bench->npp, job->input.width, job->input.height) : 0;
    int r = 0;

    if (bytes > 0 && bench->driver->mem_alloc(&npp_work, bytes) == CUDA_SUCCESS) {
        job->runner = NULL;
        job->npp = run_npp;
        r = bench_run_job(bench, job);
        bench->driver->mem_free(npp_work);
    }
    return r;
}

static int measure_view(struct bench *bench, const struct bench_job *like,
                        enum config_thresholds thresholds)
{
    struct bench_job job = *like;
    const struct config_view settings = {
        .view = CONFIG_VIEW_CANNY, .thresholds = thresholds, .low = LOW, .high = HIGH};
    const struct plan plan = plan_make(&settings, pixel_format_by_name("GREY"), VIEW_OUTPUT_EXACT);
    struct runner runner;
    int r = runner_init_plan(&runner, bench->gpu, &plan, &job.input, false, NULL);

    job.runner = &runner;
    r = r < 0 ? r : bench_run_job(bench, &job);
    runner_finish(&runner);
    return r;
}

// Times the content that lies in the frames now.
static int measure(struct bench *bench, const char *what, uint32_t width, uint32_t height)
{
    struct bench_job job = {.bytes = 2 * (size_t)width * height};
    int r;

    frame_layout_init(&job.input, pixel_format_by_name("GREY"), width, height, 1);
    job.output = job.input;
    snprintf(job.name, sizeof job.name, "GREY canny, %s", what);
    r = measure_view(bench, &job, CONFIG_THRESHOLDS_FIXED);
    snprintf(job.name, sizeof job.name, "GREY canny by median, %s", what);
    r = r < 0 ? r : measure_view(bench, &job, CONFIG_THRESHOLDS_MEDIAN);
    snprintf(job.name, sizeof job.name, "NPP canny, %s", what);
    return r < 0 ? r : measure_npp(bench, &job);
}

// A frame's pixels into every frame of the rotation.
static int upload(struct bench *bench, const struct frame *frame)
{
    size_t size = (frame->layout.size + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
    int r = 0;

    for (size_t at = 0; at + size <= BENCH_ROOM && r == 0; at += size) {
        r = cuda_driver_check(bench->driver,
                              bench->driver->copy_to_device(bench->input + at, frame->data,
                                                            frame->layout.size,
                                                            gpu_stream(bench->gpu)),
                              "copying to the GPU", NULL);
        r = r < 0 ? r : gpu_wait(bench->gpu, clock_now_ns() + 10 * NS_PER_S, NULL);
    }
    return r;
}

static void draw(struct frame *frame, const char *what)
{
    if (strcmp(what, "spiral") == 0)
        picture_draw_spiral(frame, SPIRAL_PITCH, 0);
    else
        picture_draw_discs(frame, 1);
}

static int measure_drawn(struct bench *bench, const char *what, uint32_t width, uint32_t height)
{
    struct picture picture;
    struct frame_layout layout;
    int r;

    frame_layout_init(&layout, pixel_format_by_name("GREY"), width, height, 1);
    r = frame_pool_new(&layout, 1, frame_allocator_host(), &picture.pool);
    if (r < 0)
        return r;
    picture.frame = frame_pool_take(picture.pool);
    draw(picture.frame, what);
    r = upload(bench, picture.frame);
    picture_finish(&picture);
    return r < 0 ? r : measure(bench, what, width, height);
}

int bench_canny(struct bench *bench)
{
    static const uint32_t sizes[][2] = {{1920, 1080}, {3840, 2160}, {7680, 4320}};
    int r = 0;

    bench_begin_jobs(bench, "canny", "Canny, beside copies of as many bytes");
    for (size_t i = 0; i < ARRAY_LENGTH(sizes) && r == 0; i++) {
        uint32_t width = sizes[i][0], height = sizes[i][1];

        r = bench_fill(bench, NULL);
        r = r < 0 ? r : measure(bench, "noise", width, height);
        r = r < 0 ? r : measure_drawn(bench, "discs", width, height);
        r = r < 0 ? r : measure_drawn(bench, "spiral", width, height);
    }
    bench_end(bench);
    return r;
}
