#include "kernels/stage/gpu_stage.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PLANE_ALIGN 128

static uint32_t stride_of(uint32_t width)
{
    return (width + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
}

int gpu_stage_init(struct gpu_stage *stage, const struct gpu_stage_ops *ops,
                   const struct gpu_stage_setup *setup, struct error *error)
{
    int r;

    *stage = (struct gpu_stage){.ops = ops,
                                .gpu = setup->gpu,
                                .width = setup->camera->width,
                                .state = calloc(1, ops->state_size)};
    r = stage->state
            ? ops->init(stage, setup, error)
            : error_set(error, -ENOMEM, "no memory for the stage %s on the GPU", ops->name);
    if (r == 0)
        gpu_stage_join(stage);
    return r;
}

void gpu_stage_join(struct gpu_stage *stage)
{
    for (unsigned i = 0; i < stage->kernel_count; i++)
        gpu_kernel_join(&stage->kernels[i]);
}

void gpu_stage_finish(struct gpu_stage *stage)
{
    for (unsigned i = 0; i < stage->kernel_count; i++)
        gpu_kernel_leave(&stage->kernels[i]);
    if (stage->memory_count > 0 && !gpu_is_lost(stage->gpu)) {
        gpu_enter(stage->gpu, NULL); // if it cannot be, the context may be current already
        while (stage->memory_count > 0)
            gpu_driver(stage->gpu)->mem_free(stage->memory[--stage->memory_count]);
    }
    free(stage->state);
    stage->state = NULL;
}

int gpu_stage_add_kernel(struct gpu_stage *stage, enum config_kernel group, struct gpu_tile tile,
                         struct error *error, const char *name, ...)
{
    struct gpu_kernel *kernel = &stage->kernels[stage->kernel_count];
    char function[64];
    va_list arguments;
    int r;

    assert(stage->kernel_count < GPU_STAGE_KERNELS_MAX);
    va_start(arguments, name);
    vsnprintf(function, sizeof function, name, arguments);
    va_end(arguments);
    for (char *c = function; *c; c++)
        *c = (char)tolower(*c);
    r = gpu_kernel_init(kernel, stage->gpu, group, function, tile, stage->width, error);
    stage->kernel_count += r == 0;
    return r;
}

int gpu_stage_add_memory(struct gpu_stage *stage, const void *from, size_t size, const char *what,
                         struct error *error, uint64_t *ret_address)
{
    const struct cuda_driver *driver = gpu_driver(stage->gpu);
    struct CUstream_st *stream = gpu_stream(stage->gpu);
    uint64_t *address = &stage->memory[stage->memory_count];
    char doing[64];
    int result, r;

    assert(stage->memory_count < GPU_STAGE_MEMORY_MAX);
    snprintf(doing, sizeof doing, "allocating %s", what);
    r = cuda_driver_check(driver, driver->mem_alloc(address, size), doing, error);
    if (r < 0)
        return r;
    stage->memory_count++;
    *ret_address = *address;
    // In the stream's order: a copy outside it may still be under way when a kernel starts.
    result = from ? driver->copy_to_device(*address, from, size, stream)
                  : driver->mem_clear(*address, 0, size, stream);
    snprintf(doing, sizeof doing, "%s %s", from ? "copying" : "clearing", what);
    return cuda_driver_check(driver, result, doing, error);
}

int gpu_stage_add_plane(struct gpu_stage *stage, uint32_t width, uint32_t height,
                        struct error *error, struct gpu_plane *ret_plane)
{
    ret_plane->stride = stride_of(width);
    return gpu_stage_add_memory(stage, NULL, (size_t)ret_plane->stride * height, "a plane", error,
                                &ret_plane->address);
}

int gpu_stage_launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                     struct gpu_chain *chain, struct error *error)
{
    gpu_job_set(stage->state, &pictures->input, &pictures->output);
    return gpu_chain_add(chain, &stage->kernels[0], stage->state, stage->ops->state_size, error);
}

void gpu_job_set(struct gpu_job *job, const struct gpu_picture *input,
                 const struct gpu_picture *output)
{
    for (unsigned i = 0; i < 3; i++) {
        job->input[i] = input->planes[i].address;
        job->input_stride[i] = input->planes[i].stride;
    }
    for (unsigned i = 0; i < 2; i++) {
        job->output[i] = output->planes[i].address;
        job->output_stride[i] = output->planes[i].stride;
    }
    job->width = input->width;
    job->height = input->height;
}

unsigned gpu_stage_match(const struct gpu_stage_setup *setup, enum stage_kind kind)
{
    unsigned i = setup->count > 0 && setup->steps[0].kind == STAGE_GRAY && kind != STAGE_GRAY;

    if (i >= setup->count || setup->steps[i].kind != kind)
        return 0;
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
        if (strcmp(packed[i].format, setup->camera->format->name) == 0)
            return packed[i].layout;
    }
    return "planar";
}

int gpu_plane_init(struct gpu_plane *plane, struct gpu *gpu, uint32_t width, uint32_t height,
                   struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    size_t size;
    int r;

    plane->stride = stride_of(width);
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
    if (plane->address && !gpu_is_lost(gpu))
        gpu_driver(gpu)->mem_free(plane->address);
    *plane = (struct gpu_plane){0};
}

// A frame that frame_to_gpu() has handed over, be it a surface or plain memory.
static struct gpu_picture picture_of(const struct frame *frame)
{
    struct gpu_picture picture = gpu_picture_at(&frame->layout, frame->gpu_address);

    for (unsigned i = 0; frame->surface && i < frame->layout.format->plane_count; i++)
        picture.planes[i].address = frame->surface->gpu_bases[i] + frame->layout.planes[i].offset;
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
        ret_pictures->camera = ret_pictures->input = picture_of(camera);
        ret_pictures->output = picture_of(output);
    }
    return r;
}
