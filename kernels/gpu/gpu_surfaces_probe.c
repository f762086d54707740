// What the CPU writes into one plane of a surface a kernel inverts into the other, which the CPU
// reads; then the other way round.
#include "kernels/gpu/gpu_probe.h"
#include "kernels/gpu/gpu_surfaces_private.h"

#include <errno.h>

#define PLANES 2 // of NV12
// Each plane holds GPU_PROBE_WORDS with its rows' padding, as no pitch is below its width.
#define PROBE_WIDTH 256
#define PROBE_HEIGHT 128

// The CPU writes plane `from`, the GPU inverts it into the other, which the CPU reads.
static int probe(struct gpu *gpu, const struct frame *frame, unsigned from, struct error *error)
{
    const uint32_t factor = 2654435761U + from;
    uint32_t *written = (uint32_t *)frame_plane(frame, from);
    const uint32_t *read = (const uint32_t *)frame_plane(frame, !from);
    const struct frame_surface *surface = frame->surface;
    int r = frame_begin_cpu_access(frame, error);

    for (uint32_t i = 0; i < GPU_PROBE_WORDS && r == 0; i++) {
        written[i] = i * factor;
    }
    if (r == 0) {
        r = frame_end_cpu_access(frame, error);
    }
    if (r == 0) {
        r = gpu_probe_launch(gpu, surface->gpu_bases[from] + frame->layout.planes[from].offset,
                             surface->gpu_bases[!from] + frame->layout.planes[!from].offset, error);
    }
    if (r == 0) {
        r = gpu_wait(gpu, clock_now_ns() + NS_PER_S, error);
    }
    if (r == 0) {
        r = frame_begin_cpu_access(frame, error);
    }
    for (uint32_t i = 0; i < GPU_PROBE_WORDS && r == 0; i++) {
        if (read[i] != ~(i * factor)) {
            r = error_set(error, -EIO, "CPU and GPU see different bytes");
        }
    }
    return r;
}

int gpu_surfaces_probe(struct gpu *gpu, const struct frame_allocator *allocator,
                       struct error *error)
{
    struct frame_layout layout;
    struct frame_pool *pool = NULL;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), PROBE_WIDTH, PROBE_HEIGHT, 1);
    int r = allocator->surfaces->lay_out(allocator->context, &layout, error);
    if (r == 0) {
        r = frame_pool_new(&layout, 1, allocator, &pool);
    }
    if (r == 0) {
        _cleanup_(cleanup_frame) struct frame *frame = frame_pool_take(pool);

        for (unsigned from = 0; from < PLANES && r == 0; from++) {
            r = probe(gpu, frame, from, error);
        }
    }
    frame_pool_unref(pool);
    return r;
}
