// Kernels by their .cu files, built for the CPU (toolkit/). Most run one thread of the grid after
// the other, each a block of its own; those that need the others of their block run as block.h
// says. Before that each plane is looked up, so that none may lie where the device has no business,
// and its device address becomes the CPU's.
#include "kernels/canny/canny_cuda.h"
#include "kernels/canny/hysteresis_cuda.h"
#include "kernels/cells/cells_cuda.h"
#include "kernels/convert/convert_cuda.h"
#include "kernels/demosaic/demosaic_cuda.h"
#include "kernels/direction/direction_cuda.h"
#include "kernels/flip/flip_cuda.h"
#include "kernels/gpu/point_cuda.h"
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/levels/levels_cuda.h"
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/motion/motion_cuda.h"
#include "kernels/overlay/mark_cuda.h"
#include "kernels/overlay/overlay_cuda.h"

#include "tests/fakes/cuda/block.h"
#include "tests/fakes/cuda/toolkit/thread.h"

#include "capture/frame.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define THRESHOLDS_BYTES (256 * sizeof(uint32_t))

// Puts the CPU's address of `rows` rows of `bytes` in place of the device's. False: it may not be
// touched.
static bool place(const struct launch *launch, uint64_t *address, size_t stride, size_t bytes,
                  uint32_t rows)
{
    *address = (uintptr_t)kernel_touch_rows(launch, *address, stride, bytes, rows);
    return *address != 0;
}

// The same for what a kernel may do without.
static bool place_if(const struct launch *launch, uint64_t *address, size_t stride, size_t bytes,
                     uint32_t rows)
{
    return *address == 0 || place(launch, address, stride, bytes, rows);
}

// Bytes a pixel of plane 0 of the layout or format in a kernel's name.
static size_t pixel_bytes(const char *name)
{
    return strstr(name, "yuyv") || strstr(name, "uyvy")   ? 2
           : strstr(name, "rgb3") || strstr(name, "bgr3") ? 3
           : strstr(name, "xr24")                         ? 4
                                                          : 1;
}

static bool is_aligned(uint64_t address, uint32_t stride)
{
    return address % JOB_PIXELS == 0 && stride % JOB_PIXELS == 0;
}

// Plane 0 of the input, in the layout of the kernel's name, and of the output, a byte a pixel.
static bool place_job(const struct launch *launch, struct gpu_job *job)
{
    return place(launch, &job->input[0], job->input_stride[0],
                 job->width * pixel_bytes(launch->name), job->height) &&
           place(launch, &job->output[0], job->output_stride[0], job->width, job->height);
}

// blur.cu takes nothing but a job.
struct blur_cuda {
    struct gpu_job job;
};

static bool place_blur(const struct launch *launch, struct blur_cuda *p)
{
    return place_job(launch, &p->job);
}

static bool place_canny(const struct launch *launch, struct canny_cuda *p)
{
    struct gpu_job *job = &p->job;
    size_t bytes = (job->width + CANNY_CUDA_PIXELS - 1) / CANNY_CUDA_PIXELS;

    return place(launch, &job->input[0], job->input_stride[0],
                 job->width * pixel_bytes(launch->name), job->height) &&
           place(launch, &job->output[0], job->output_stride[0], bytes, job->height) &&
           (!strstr(launch->name, "_median") ||
            place(launch, &p->found, 0, sizeof(struct levels_cuda_limits), 1));
}

static bool place_cells(const struct launch *launch, struct cells_cuda *p)
{
    struct gpu_job *job = &p->job;
    uint32_t rows = (job->height + p->side - 1) / p->side;

    return place(launch, &job->input[0], job->input_stride[0],
                 job->width * pixel_bytes(launch->name), job->height) &&
           place(launch, &job->output[0], job->output_stride[0], p->columns, rows);
}

// The planes of a format by its name in lower case, up to '_' or the end.
static bool place_picture(const struct launch *launch, const char *name, uint64_t *addresses,
                          const uint32_t *strides, uint32_t width, uint32_t height)
{
    struct frame_layout layout;
    char upper[8] = "";
    bool legal = true;

    snprintf(upper, sizeof upper, "%.*s", (int)strcspn(name, "_"), name);
    for (char *at = upper; *at; at++)
        *at = (char)toupper(*at);
    frame_layout_init(&layout, pixel_format_by_name(upper), width, height, 1);
    for (unsigned i = 0; i < layout.format->plane_count; i++) {
        legal = place(launch, &addresses[i], strides[i], layout.planes[i].width_bytes,
                      layout.planes[i].rows) &&
                legal;
    }
    return legal;
}

// From one format to another, by their names.
static bool place_conversion(const struct launch *launch, const char *from, const char *to,
                             struct gpu_job *job)
{
    return place_picture(launch, from, job->input, job->input_stride, job->width, job->height) &&
           place_picture(launch, to, job->output, job->output_stride, job->width, job->height);
}

static bool place_convert(const struct launch *launch, struct convert_cuda *p)
{
    const char *from = launch->name + strlen("convert_");

    return place_conversion(launch, from, strchr(from, '_') + 1, &p->job);
}

static bool place_demosaic(const struct launch *launch, struct demosaic_cuda *p)
{
    struct gpu_job *job = &p->job;

    return place(launch, &job->input[0], job->input_stride[0], p->row_bytes, job->height) &&
           place(launch, &job->output[0], job->output_stride[0],
                 job->width * pixel_bytes(launch->name), job->height);
}

// direction_<layout>_<to>: the layout is not to be looked for in the whole name.
static bool place_direction(const struct launch *launch, struct direction_cuda *p)
{
    const char *from = launch->name + strlen("direction_"), *to = strchr(from, '_') + 1;
    struct gpu_job *job = &p->job;
    char layout[8] = "";

    memcpy(layout, from, (size_t)(to - 1 - from));
    return place(launch, &p->thresholds, 0, THRESHOLDS_BYTES, 1) &&
           place(launch, &p->colours, 0, sizeof(struct direction_cuda_colours), 1) &&
           place(launch, &job->input[0], job->input_stride[0], job->width * pixel_bytes(layout),
                 job->height) &&
           place_picture(launch, to, job->output, job->output_stride, job->width, job->height);
}

// The output is as wide as the input is high where axes are swapped.
static bool place_flip(const struct launch *launch, struct flip_cuda *p)
{
    const char *from = launch->name + strlen("flip_");
    const char *to = strcmp(from, "grey") == 0 ? "grey" : pixel_bytes(from) > 2 ? "rgb3" : "nv12";
    struct gpu_job *job = &p->job;
    uint32_t width = p->swapped ? job->height : job->width;
    uint32_t height = p->swapped ? job->width : job->height;

    return place_picture(launch, from, job->input, job->input_stride, job->width, job->height) &&
           place_picture(launch, to, job->output, job->output_stride, width, height);
}

static bool place_gradient(const struct launch *launch, struct gradient_cuda *p)
{
    return place(launch, &p->thresholds, 0, THRESHOLDS_BYTES, 1) && place_job(launch, &p->job);
}

static bool place_mark(const struct launch *launch, struct mark_cuda *p)
{
    struct gpu_job *job = &p->job;
    uint32_t width = job->width, height = job->height;
    size_t mask_bytes = strstr(launch->name, "_bytes") ? width : (width + 7) / 8;
    const char *to = strstr(launch->name, "_rgb3_") ? "rgb3" : "nv12";

    return place(launch, &p->mask, p->mask_stride, mask_bytes, height) &&
           (!strstr(launch->name, "_rgb_") || place(launch, &job->input[0], job->input_stride[0],
                                                    (size_t)width * p->input_step, height)) &&
           place_picture(launch, to, job->output, job->output_stride, width, height);
}

// Planes of edged's own, of which whole tiles are read and written.
static bool place_point(const struct launch *launch, struct point_cuda *p)
{
    uint32_t width = p->job.width, height = p->job.height;
    size_t tiles = (width + JOB_PIXELS - 1) / JOB_PIXELS * JOB_PIXELS;

    return is_aligned(p->beside | p->current, p->plane_stride) &&
           (!strstr(launch->name, "threshold") ||
            is_aligned(p->job.input[0], p->job.input_stride[0])) &&
           place_job(launch, &p->job) &&
           place_if(launch, &p->beside, p->plane_stride, tiles, height) &&
           place_if(launch, &p->current, p->plane_stride, tiles, height) &&
           place_if(launch, &p->found, 0, sizeof p->level, 1);
}

static bool place_morphology(const struct launch *launch, struct morphology_cuda *p)
{
    return is_aligned(p->job.input[0], p->job.input_stride[0]) && place_job(launch, &p->job);
}

// motion_<format> writes bits, motion_marked_<format> the marked picture alone.
static bool place_motion(const struct launch *launch, struct motion_cuda *p)
{
    const char *marked = strstr(launch->name, "_marked_");
    const char *format = marked ? marked + strlen("_marked_") : launch->name + strlen("motion_");
    uint32_t width = p->job.width, height = p->job.height;

    return place_conversion(launch, format, "nv12", &p->job) &&
           place_if(launch, &p->previous, p->plane_stride, width, height) &&
           place(launch, &p->current, p->plane_stride, width, height) &&
           (marked || place(launch, &p->bits, p->bits_stride, (width + 7) / 8, height));
}

static bool place_overlay(const struct launch *launch, struct overlay_cuda *p)
{
    const char *from = strchr(launch->name + strlen("overlay_"), '_') + 1;

    return (!strstr(launch->name, "_mask_") ||
            place(launch, &p->mask, p->mask_stride, p->job.width, p->job.height)) &&
           place_conversion(launch, from, strchr(from, '_') + 1, &p->job);
}

static bool place_levels(const struct launch *launch, struct levels_cuda *p)
{
    return place(launch, &p->state, 0, sizeof(struct levels_cuda_state), 1) &&
           place(launch, &p->input, p->input_stride, p->width, p->height);
}

// Of what a kernel does not use it may have any address.
static bool place_hysteresis(const struct launch *launch, struct hysteresis_cuda *p)
{
    uint32_t tiles = p->tiles_x * p->tiles_y;
    bool joins = strstr(launch->name, "_join"), writes = strstr(launch->name, "_write");

    return place(launch, &p->borders, 0, tiles * sizeof(struct hysteresis_cuda_border), 1) &&
           place(launch, &p->parents, HYSTERESIS_CUDA_PLACES * sizeof(uint32_t),
                 HYSTERESIS_CUDA_PLACES * sizeof(uint32_t), tiles + 1) &&
           (joins ||
            (place(launch, &p->marks, p->marks_stride, (size_t)p->tiles_x * 8, p->height) &&
             place(launch, &p->edges, p->tile_stride * sizeof(uint32_t),
                   p->tiles_x * sizeof(uint32_t), p->height))) &&
           (!writes || place(launch, &p->output, p->output_stride, p->width, p->height));
}

static void begin_thread(const struct launch *launch, uint32_t x, uint32_t y)
{
    fake_cuda_thread = (struct fake_cuda_thread){
        .block = {x, y, 0},
        .block_size = {1, 1, 1},
        .grid_size = {launch->threads_x, launch->threads_y, 1},
    };
}

// Defines run_KERNEL(), which runs a kernel whose parameters are a struct <kind>_cuda.
#define KERNEL(kernel, kind)                                                                       \
    void kernel(struct kind##_cuda p);                                                             \
    static int run_##kernel(const struct launch *launch)                                           \
    {                                                                                              \
        struct kind##_cuda p;                                                                      \
                                                                                                   \
        memcpy(&p, launch->parameters, sizeof p);                                                  \
        if (!place_##kind(launch, &p)) {                                                           \
            return RESULT_ILLEGAL_ADDRESS;                                                         \
        }                                                                                          \
        for (uint32_t y = 0; y < launch->threads_y; y++) {                                         \
            for (uint32_t x = 0; x < launch->threads_x; x++) {                                     \
                begin_thread(launch, x, y);                                                        \
                kernel(p);                                                                         \
            }                                                                                      \
        }                                                                                          \
        *(uint8_t *)(uintptr_t)((const struct gpu_job *)&p)->output[0] ^= launch->wrong;           \
        return 0;                                                                                  \
    }
#define BLOCK_KERNEL(kernel, kind)                                                                 \
    void kernel(struct kind##_cuda p);                                                             \
    static void call_##kernel(const void *parameters)                                              \
    {                                                                                              \
        kernel(*(const struct kind##_cuda *)parameters);                                           \
    }                                                                                              \
    static int run_##kernel(const struct launch *launch)                                           \
    {                                                                                              \
        struct kind##_cuda p;                                                                      \
                                                                                                   \
        memcpy(&p, launch->parameters, sizeof p);                                                  \
        if (!place_##kind(launch, &p)) {                                                           \
            return RESULT_ILLEGAL_ADDRESS;                                                         \
        }                                                                                          \
        block_run_grid(launch, call_##kernel, &p);                                                 \
        return 0;                                                                                  \
    }
#include "tests/fakes/cuda/kernel_cu_list.h"
#undef KERNEL
#undef BLOCK_KERNEL

const struct kernel_kind *kernel_cu_find(const char *name)
{
#define KERNEL(kernel, kind) {#kernel, {NULL, {sizeof(struct kind##_cuda)}, run_##kernel}},
#define BLOCK_KERNEL KERNEL
    static const struct {
        const char *name;
        struct kernel_kind kind;
    } kernels[] = {
#include "tests/fakes/cuda/kernel_cu_list.h"
    };

    for (size_t i = 0; i < ARRAY_LENGTH(kernels); i++) {
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i].kind;
    }
    return NULL;
}
