// Time of views on the GPU's own memory beside copies of as many bytes, and NPP.
#include "tests/gpu/bench.h"

#include <stdio.h>

static int measure_view(struct bench *bench, enum config_view_kind kind, const char *from,
                        const char *to, const struct bench_size *size)
{
    static const char *const names[] = {[CONFIG_VIEW_CAMERA] = "",
                                        [CONFIG_VIEW_GRAY] = " gray",
                                        [CONFIG_VIEW_EDGES] = " edges",
                                        [CONFIG_VIEW_OVERLAY] = " overlay",
                                        [CONFIG_VIEW_DIRECTION] = " direction"};
    const struct config_view settings = {.view = kind,
                                         .norm = CONFIG_NORM_L2,
                                         .gain = 1,
                                         .threshold = 80,
                                         .colour = (char *)"#00ff00"};

    return bench_run_view(bench, &settings, names[kind], from, to, size);
}

static int run_npp(struct bench *bench, uint64_t input, uint64_t output, uint32_t width,
                   uint32_t height)
{
    return npp_magnitude(bench->npp, input, bench->between, output, width, height);
}

static int measure_npp(struct bench *bench, const struct bench_size *size)
{
    struct bench_job job = {.name = "NPP gradient l2 + convert", .npp = run_npp};

    frame_layout_init(&job.input, pixel_format_by_name("GREY"), size->width, size->height, 1);
    job.output = job.input;
    job.bytes = 2 * job.input.size;
    return bench->npp ? bench_run_job(bench, &job) : 0;
}

static int measure_views(struct bench *bench, const struct bench_size *size)
{
    static const struct {
        enum config_view_kind kind;
        const char *from, *to;
    } views[] = {
        {CONFIG_VIEW_EDGES, "GREY", "GREY"},     {CONFIG_VIEW_EDGES, "YUYV", "NV12"},
        {CONFIG_VIEW_EDGES, "NV12", "NV12"},     {CONFIG_VIEW_EDGES, "RGB3", "NV12"},
        {CONFIG_VIEW_EDGES, "XR24", "NV12"},     {CONFIG_VIEW_GRAY, "YUYV", "NV12"},
        {CONFIG_VIEW_GRAY, "NV12", "NV12"},      {CONFIG_VIEW_GRAY, "RGB3", "NV12"},
        {CONFIG_VIEW_GRAY, "XR24", "NV12"},      {CONFIG_VIEW_CAMERA, "YUYV", "NV12"},
        {CONFIG_VIEW_CAMERA, "YU12", "NV12"},    {CONFIG_VIEW_CAMERA, "422P", "NV12"},
        {CONFIG_VIEW_CAMERA, "RGB3", "NV12"},    {CONFIG_VIEW_CAMERA, "XR24", "NV12"},
        {CONFIG_VIEW_CAMERA, "BGR3", "RGB3"},    {CONFIG_VIEW_OVERLAY, "NV12", "NV12"},
        {CONFIG_VIEW_OVERLAY, "YUYV", "NV12"},   {CONFIG_VIEW_OVERLAY, "RGB3", "RGB3"},
        {CONFIG_VIEW_DIRECTION, "NV12", "NV12"}, {CONFIG_VIEW_DIRECTION, "YUYV", "NV12"},
        {CONFIG_VIEW_DIRECTION, "RGB3", "NV12"}, {CONFIG_VIEW_DIRECTION, "GREY", "RGB3"},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(views) && r == 0; i++) {
        r = measure_view(bench, views[i].kind, views[i].from, views[i].to, size);
        if (i == 0 && r == 0)
            r = measure_npp(bench, size);
    }
    r = r < 0 ? r : bench_chains(bench, size);
    r = r < 0 ? r : bench_motion(bench, size);
    return r < 0 ? r : bench_steps(bench, size);
}

int bench_kernels(struct bench *bench)
{
    static const struct bench_size sizes[] = {
        {1280, 720}, {1920, 1080}, {3840, 2160}, {7680, 4320}};
    int r = 0;

    bench_begin_jobs(bench, "kernels", "The GPU's own memory, beside copies of as many bytes");
    for (size_t i = 0; i < ARRAY_LENGTH(sizes) && r == 0; i++)
        r = measure_views(bench, &sizes[i]);
    bench_end(bench);
    return r;
}
