// edged's `edges` view of one gray picture, timed as the tutorials time their functions: within the
// process, from a picture in memory to edges in memory that the CPU may read.
//
//   edged_edges cpu|cuda WIDTH HEIGHT RUNS INPUT OUTPUT     8 bit gray, row by row, nothing else
//
// Prints the time of each run in microseconds, a line each. Exit status 3: there is no GPU, why is
// on stderr.
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/view.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STATUS_NO_GPU 3

struct bed {
    struct gpu *gpu;           // NULL: the CPU computes
    struct gpu_memory *memory; // host without a GPU
    struct frame *input;
    struct view *view;
};

static void bed_finish(struct bed *bed)
{
    view_free(bed->view);
    frame_unref(bed->input);
    gpu_memory_free(bed->memory);
    gpu_free(bed->gpu);
}

static int open_gpu(struct bed *bed, struct error *error)
{
    int r = gpu_new(error, &bed->gpu);

    return r < 0 ? r : gpu_selftest_start(bed->gpu, error);
}

static int bed_init(struct bed *bed, uint32_t width, uint32_t height, struct error *error)
{
    static const struct config_view edges = {
        .view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1};
    struct frame_layout layout;
    struct frame_pool *pool = NULL;
    int r = gpu_memory_new(bed->gpu, CONFIG_MEMORY_AUTO, error, &bed->memory);

    frame_layout_init(&layout, pixel_format_by_name("GREY"), width, height, 64);
    if (r == 0)
        r = frame_pool_new(&layout, 1, gpu_memory_allocator(bed->memory), &pool);
    if (r == 0) {
        const struct view_setup setup = {.settings = &edges,
                                         .input = &layout,
                                         .output = VIEW_OUTPUT_EXACT,
                                         .frames = 2,
                                         .allocator = gpu_memory_allocator(bed->memory),
                                         .gpu = bed->gpu};

        bed->input = frame_pool_take(pool);
        r = view_new(&setup, error, &bed->view);
    }
    frame_pool_unref(pool); // its frame holds it
    return r;
}

// Row by row, as strides are padded.
static bool move_rows(FILE *file, struct frame *frame,
                      size_t (*move)(void *row, size_t size, size_t count, FILE *file))
{
    const struct frame_layout *layout = &frame->layout;
    bool moved = file;

    for (uint32_t y = 0; y < layout->height && moved; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * layout->planes[0].stride;

        moved = move(row, 1, layout->width, file) == layout->width;
    }
    if (file)
        moved &= fclose(file) == 0;
    return moved;
}

static size_t write_row(void *row, size_t size, size_t count, FILE *file)
{
    return fwrite(row, size, count, file);
}

static int measure(struct bed *bed, unsigned runs, const char *output_path, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *output = NULL;

    for (unsigned i = 0; i < runs; i++) {
        int64_t start_ns = clock_now_ns();
        int r;

        frame_unref(TAKE(output));
        r = view_run(bed->view, bed->input, error, &output);
        if (r < 0)
            return r;
        printf("%.3f\n", (double)(clock_now_ns() - start_ns) / NS_PER_US);
    }
    return move_rows(fopen(output_path, "wb"), output, write_row)
               ? 0
               : error_set(error, -EIO, "%s: %s", output_path, strerror(errno));
}

int main(int argc, char **argv)
{
    _cleanup_(bed_finish) struct bed bed = {0};
    struct error error = {0};
    unsigned runs = argc == 7 ? (unsigned)atoi(argv[4]) : 0;
    int r;

    if (runs < 1 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1) {
        fprintf(stderr, "usage: edged_edges cpu|cuda WIDTH HEIGHT RUNS INPUT OUTPUT\n");
        return 2;
    }
    if (strcmp(argv[1], "cuda") == 0 && open_gpu(&bed, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return STATUS_NO_GPU;
    }
    r = bed_init(&bed, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]), &error);
    if (r == 0 && !move_rows(fopen(argv[5], "rb"), bed.input, fread))
        r = error_set(&error, -EIO, "%s: no such picture", argv[5]);
    r = r < 0 ? r : measure(&bed, runs, argv[6], &error);
    if (r < 0) {
        fprintf(stderr, "edged_edges: %s\n", error.text);
        return 1;
    }
    return 0;
}
