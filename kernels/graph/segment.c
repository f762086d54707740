#include "kernels/graph/segment.h"

#include "kernels/graph/chain.h"
#include "kernels/stage/simd.h"

#include <errno.h>

struct segment {
    struct plan plan;
    unsigned first, end;
    struct frame_layout camera;
    struct segment *before; // not owned
    uint64_t number;        // of the frame it was made for last
    _Atomic uint64_t *runs; // not owned
    struct gpu *gpu;        // not owned; NULL: the CPU computes

    // CPU
    struct chain *chain; // owned
    uint8_t *plane;      // owned
    size_t stride;

    // GPU
    struct gpu_pipeline pipeline;
    struct gpu_picture picture; // of its plane
};

static void cleanup_segment(struct segment **segment)
{
    segment_free(*segment);
}

static int make_plane(struct segment *segment, struct pool *pool)
{
    const struct stage_setup setup = {.input = &segment->camera,
                                      .output = pixel_format_by_name(segment->plan.format),
                                      .pool = pool};
    int r = chain_new(segment->plan.steps + segment->first, segment->end - segment->first, &setup,
                      NULL, &segment->chain);

    segment->stride =
        ((size_t)segment->camera.width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
    segment->plane = aligned_alloc(SIMD_CACHE_LINE, segment->stride * segment->camera.height);
    return r < 0 ? r : segment->plane ? 0 : -ENOMEM;
}

static int make_pipeline(struct segment *segment, const struct segment_setup *setup)
{
    const struct gpu_part part = {&segment->plan, &segment->camera, segment->first, segment->end};
    struct gpu_pipeline *pipeline = &segment->pipeline;
    int r = gpu_enter(segment->gpu, NULL);

    if (r == 0) {
        r = gpu_pipeline_init_part(pipeline, segment->gpu, &part, setup->mapped, NULL);
    }
    if (r == 0 && setup->blocks) {
        r = gpu_pipeline_set_blocks(pipeline, setup->blocks, NULL);
    }
    if (r == 0) {
        const struct gpu_plane *plane = &pipeline->planes[pipeline->count - 1];

        segment->picture = (struct gpu_picture){
            {{plane->address, plane->stride}}, segment->camera.width, segment->camera.height};
    }
    return r;
}

int segment_new(const struct segment_setup *setup, struct segment **ret_segment)
{
    _cleanup_(cleanup_segment) struct segment *segment = calloc(1, sizeof *segment);
    int r;

    if (!segment) {
        return -ENOMEM;
    }
    segment->plan = *setup->plan;
    segment->first = setup->first;
    segment->end = setup->end;
    segment->camera = *setup->camera;
    segment->before = setup->before;
    segment->runs = setup->runs;
    segment->gpu = setup->gpu;
    r = setup->gpu ? make_pipeline(segment, setup) : make_plane(segment, setup->pool);
    if (r == 0) {
        *ret_segment = TAKE(segment);
    }
    return r;
}

void segment_free(struct segment *segment)
{
    if (segment) {
        if (segment->gpu) {
            gpu_pipeline_finish(&segment->pipeline);
        }
        chain_free(segment->chain);
        free(segment->plane);
        free(segment);
    }
}

static void note_made(struct segment *segment, uint64_t number)
{
    segment->number = number;
    for (unsigned i = segment->first; i < segment->end; i++) {
        segment->runs[segment->plan.steps[i].kind]++;
    }
}

const uint8_t *segment_run(struct segment *segment, const struct frame *camera, uint64_t number,
                           size_t *ret_stride)
{
    const uint8_t *input = frame_plane(camera, 0);
    size_t stride = camera->layout.planes[0].stride;

    *ret_stride = segment->stride;
    if (segment->number == number) {
        return segment->plane;
    }
    if (segment->before) {
        input = segment_run(segment->before, camera, number, &stride);
    }
    chain_run(segment->chain, input, stride, segment->plane, segment->stride, camera, NULL);
    note_made(segment, number);
    return segment->plane;
}

int segment_launch(struct segment *segment, const struct gpu_picture *camera, uint64_t number,
                   struct error *error, struct gpu_picture *ret_plane)
{
    struct gpu_pictures pictures = {.camera = *camera, .input = *camera};
    int r = 0;

    *ret_plane = segment->picture;
    if (segment->number == number) {
        return 0;
    }
    if (segment->before) {
        r = segment_launch(segment->before, camera, number, error, &pictures.input);
    }
    if (r == 0) {
        r = gpu_pipeline_launch_part(&segment->pipeline, pictures, error);
    }
    if (r < 0) {
        return r;
    }
    note_made(segment, number);
    return 0;
}

bool segment_take_refusal(struct segment *segment, struct error *ret_why)
{
    return gpu_pipeline_take_refusal(&segment->pipeline, ret_why) ||
           (segment->before && segment_take_refusal(segment->before, ret_why));
}

bool segment_take_warning(struct segment *segment, struct error *ret_text)
{
    return gpu_pipeline_take_warning(&segment->pipeline, ret_text) ||
           (segment->before && segment_take_warning(segment->before, ret_text));
}
