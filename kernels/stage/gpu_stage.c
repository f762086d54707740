#include "kernels/stage/gpu_stage.h"
#include "kernels/gpu/tile_cuda.h"

#include <assert.h>
#include <string.h>

#define PLANE_ALIGN 128

int gpu_stage_init(struct gpu_stage *stage, const struct gpu_stage_ops *ops,
                   const struct gpu_stage_setup *setup, struct error *error)
{
    int r;

    *stage = (struct gpu_stage){.ops = ops, .gpu = setup->gpu, .width = setup->camera->width};
    r = ops->init(stage, setup, error);
    if (r == 0) {
        gpu_stage_join(stage);
    }
    return r;
}

void gpu_stage_join(struct gpu_stage *stage)
{
    for (unsigned i = 0; i < stage->kernel_count; i++) {
        gpu_kernel_join(&stage->kernels[i]);
    }
}

void gpu_stage_finish(struct gpu_stage *stage)
{
    for (unsigned i = 0; i < stage->kernel_count; i++) {
        gpu_kernel_leave(&stage->kernels[i]);
    }
    if (stage->ops && stage->ops->finish) {
        if (!gpu_is_lost(stage->gpu)) {
            gpu_enter(stage->gpu, NULL); // if it cannot be, the context may be current already
        }
        stage->ops->finish(stage);
    }
}

int gpu_stage_add_kernel(struct gpu_stage *stage, enum config_kernel group, const char *function,
                         struct gpu_tile tile, struct error *error)
{
    struct gpu_kernel *kernel = &stage->kernels[stage->kernel_count];
    int r;

    assert(stage->kernel_count < GPU_STAGE_KERNELS_MAX);
    r = gpu_kernel_init(kernel, stage->gpu, group, function, tile, stage->width, error);
    stage->kernel_count += r == 0;
    return r;
}

unsigned gpu_stage_match(const struct gpu_stage_setup *setup, enum stage_kind kind)
{
    unsigned i = setup->count > 0 && setup->steps[0].kind == STAGE_GRAY && kind != STAGE_GRAY;

    if (i >= setup->count || setup->steps[i].kind != kind) {
        return 0;
    }
    i++;
    return i + (i < setup->count && setup->steps[i].kind == STAGE_COMPOSE);
}

bool gpu_stage_limited(const struct gpu_stage_setup *setup)
{
    return setup->steps[setup->count - 1].kind == STAGE_COMPOSE;
}

uint32_t gpu_stage_shade(const struct gpu_stage_setup *setup, uint8_t gray)
{
    uint32_t shade = gpu_stage_limited(setup) ? 16 + (219U * gray + 127) / 255 : gray;

    return shade * 0x01010101;
}

const char *gpu_stage_layout(const struct gpu_stage_setup *setup)
{
    static const struct {
        const char *format, *layout;
    } packed[] = {
        {"YUYV", "yuyv"}, {"UYVY", "uyvy"}, {"RGB3", "rgb3"}, {"BGR3", "bgr3"}, {"XR24", "xr24"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(packed) && setup->first; i++) {
        if (strcmp(packed[i].format, setup->camera->format->name) == 0) {
            return packed[i].layout;
        }
    }
    return "planar";
}

int gpu_plane_init(struct gpu_plane *plane, struct gpu *gpu, uint32_t width, uint32_t height,
                   struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    size_t size;
    int r;

    plane->stride = (width + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
    size = (size_t)plane->stride * height;
    r = cuda_driver_check(driver, driver->mem_alloc(&plane->address, size), "allocating a plane",
                          error);
    return r < 0 ? r
                 : cuda_driver_check(driver,
                                     driver->mem_clear(plane->address, 0, size, gpu_stream(gpu)),
                                     "clearing a plane", error);
}

void gpu_plane_finish(struct gpu_plane *plane, struct gpu *gpu)
{
    if (plane->address && !gpu_is_lost(gpu)) {
        gpu_driver(gpu)->mem_free(plane->address);
    }
    *plane = (struct gpu_plane){0};
}

struct gpu_picture gpu_picture_of(const struct frame *frame)
{
    struct gpu_picture picture = gpu_picture_at(&frame->layout, frame->gpu_address);

    for (unsigned i = 0; frame->surface && i < frame->layout.format->plane_count; i++) {
        picture.planes[i].address = frame->surface->gpu_bases[i] + frame->layout.planes[i].offset;
    }
    return picture;
}

struct gpu_picture gpu_picture_at(const struct frame_layout *layout, uint64_t address)
{
    struct gpu_picture picture = {.width = layout->width, .height = layout->height};

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        picture.planes[i].address = address + layout->planes[i].offset;
        picture.planes[i].stride = (uint32_t)layout->planes[i].stride;
    }
    return picture;
}

int gpu_pictures_lend(struct gpu *gpu, struct frame *camera, struct frame *output,
                      struct error *error, struct gpu_pictures *ret_pictures)
{
    uint64_t address;
    int r = gpu_enter(gpu, error);

    r = r < 0 ? r : frame_to_gpu(camera, error, &address);
    r = r < 0 ? r : frame_to_gpu(output, error, &address);
    if (r == 0) {
        ret_pictures->camera = ret_pictures->input = gpu_picture_of(camera);
        ret_pictures->output = gpu_picture_of(output);
    }
    return r;
}
