// The kernels whose threads share nothing: their .cu files, built for the CPU (cuda/), one thread
// of the grid after the other. Before that each plane is looked up, so that none may lie where the
// device has no business, and its device address becomes the CPU's.
#include "kernels/blur/blur_cuda.h"
#include "kernels/canny/canny_cuda.h"
#include "kernels/convert/convert_cuda.h"
#include "kernels/demosaic/demosaic_cuda.h"
#include "kernels/difference/difference_cuda.h"
#include "kernels/flip/flip_cuda.h"
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/gray/gray_cuda.h"
#include "kernels/levels/levels_cuda.h"
#include "kernels/mask/mask_cuda.h"
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/motion/motion_cuda.h"
#include "kernels/overlay/mark_cuda.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/threshold/threshold_cuda.h"

#include "tests/fakes/cuda/kernel.h"
#include "tests/fakes/cuda/toolkit/thread.h"

#include "capture/frame.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define THRESHOLDS_BYTES (256 * sizeof(uint32_t))

__thread struct fake_cuda_thread fake_cuda_thread;

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
    return address % TILE_CUDA_PIXELS == 0 && stride % TILE_CUDA_PIXELS == 0;
}

static bool place_blur(const struct launch *launch, struct blur_cuda *p)
{
    return place(launch, &p->input, p->input_stride, p->width, p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

static bool place_canny(const struct launch *launch, struct canny_cuda *p)
{
    size_t bytes = (p->width + CANNY_CUDA_PIXELS - 1) / CANNY_CUDA_PIXELS;

    return place(launch, &p->input, p->input_stride, p->width * pixel_bytes(launch->name),
                 p->height) &&
           place(launch, &p->marks, p->marks_stride, bytes, p->height) &&
           (!strstr(launch->name, "_median") ||
            place(launch, &p->found, 0, sizeof(struct levels_cuda_limits), 1));
}

// The planes of a format by its name in lower case, up to '_' or the end.
static bool place_picture(const struct launch *launch, const char *name, uint64_t *addresses,
                          const uint32_t *strides, const struct convert_cuda *p)
{
    struct frame_layout layout;
    char upper[8] = "";
    bool legal = true;

    snprintf(upper, sizeof upper, "%.*s", (int)strcspn(name, "_"), name);
    for (char *at = upper; *at; at++) {
        *at = (char)toupper(*at);
    }
    frame_layout_init(&layout, pixel_format_by_name(upper), p->width, p->height, 1);
    for (unsigned i = 0; i < layout.format->plane_count; i++) {
        legal = place(launch, &addresses[i], strides[i], layout.planes[i].width_bytes,
                      layout.planes[i].rows) &&
                legal;
    }
    return legal;
}

// `from` is where the name has the two formats.
static bool place_conversion(const struct launch *launch, const char *from, struct convert_cuda *p)
{
    const char *to = strchr(from, '_') + 1;

    return place_picture(launch, from, p->input, p->input_stride, p) &&
           place_picture(launch, to, p->output, p->output_stride, p);
}

static bool place_convert(const struct launch *launch, struct convert_cuda *p)
{
    return place_conversion(launch, launch->name + strlen("convert_"), p);
}

static bool place_demosaic(const struct launch *launch, struct demosaic_cuda *p)
{
    return place(launch, &p->input, p->input_stride, p->row_bytes, p->height) &&
           place(launch, &p->output, p->output_stride, p->width * pixel_bytes(launch->name),
                 p->height);
}

static bool place_difference(const struct launch *launch, struct difference_cuda *p)
{
    return place(launch, &p->input, p->input_stride, p->width, p->height) &&
           place_if(launch, &p->previous, p->plane_stride, p->width, p->height) &&
           place(launch, &p->current, p->plane_stride, p->width, p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

// The output is as wide as the input is high where axes are swapped.
static bool place_flip(const struct launch *launch, struct flip_cuda *p)
{
    const char *from = launch->name + strlen("flip_");
    const char *to = strcmp(from, "grey") == 0 ? "grey" : pixel_bytes(from) > 2 ? "rgb3" : "nv12";
    struct convert_cuda flipped = p->picture;

    if (p->swapped) {
        flipped.width = p->picture.height;
        flipped.height = p->picture.width;
    }
    return place_picture(launch, from, p->picture.input, p->picture.input_stride, &p->picture) &&
           place_picture(launch, to, p->picture.output, p->picture.output_stride, &flipped);
}

static bool place_gradient(const struct launch *launch, struct gradient_cuda *p)
{
    return place(launch, &p->thresholds, 0, THRESHOLDS_BYTES, 1) &&
           place(launch, &p->input, p->input_stride, p->width * pixel_bytes(launch->name),
                 p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

static bool place_gray(const struct launch *launch, struct gray_cuda *p)
{
    return place(launch, &p->input, p->input_stride, p->width * pixel_bytes(launch->name),
                 p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

static bool place_mark(const struct launch *launch, struct mark_cuda *p)
{
    size_t mask_bytes = strstr(launch->name, "_bytes") ? p->width : (p->width + 7) / 8;
    bool rgb3 = strstr(launch->name, "_rgb3_");

    return place(launch, &p->mask, p->mask_stride, mask_bytes, p->height) &&
           (!strstr(launch->name, "_rgb_") || place(launch, &p->input, p->input_stride,
                                                    (size_t)p->width * p->input_step, p->height)) &&
           place(launch, &p->output[0], p->output_stride[0], (rgb3 ? 3 : 1) * (size_t)p->width,
                 p->height) &&
           (rgb3 || place(launch, &p->output[1], p->output_stride[1], (p->width + 1) / 2 * 2,
                          (p->height + 1) / 2));
}

static bool place_mask(const struct launch *launch, struct mask_cuda *p)
{
    size_t tiles = (p->width + TILE_CUDA_PIXELS - 1) / TILE_CUDA_PIXELS * TILE_CUDA_PIXELS;

    return is_aligned(p->mask, p->mask_stride) &&
           place(launch, &p->input, p->input_stride, p->width, p->height) &&
           place(launch, &p->mask, p->mask_stride, tiles, p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

static bool place_morphology(const struct launch *launch, struct morphology_cuda *p)
{
    return is_aligned(p->input, p->input_stride) &&
           place(launch, &p->input, p->input_stride, p->width, p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

// motion_<format> writes bits, motion_marked_<format> the marked picture alone.
static bool place_motion(const struct launch *launch, struct motion_cuda *p)
{
    struct convert_cuda *picture = &p->picture;
    const char *marked = strstr(launch->name, "_marked_");
    const char *format = marked ? marked + strlen("_marked_") : launch->name + strlen("motion_");
    uint32_t width = picture->width, height = picture->height;

    return place_picture(launch, format, picture->input, picture->input_stride, picture) &&
           place_picture(launch, "nv12", picture->output, picture->output_stride, picture) &&
           place_if(launch, &p->previous, p->plane_stride, width, height) &&
           place(launch, &p->current, p->plane_stride, width, height) &&
           (marked || place(launch, &p->output, p->output_stride, (width + 7) / 8, height));
}

static bool place_overlay(const struct launch *launch, struct overlay_cuda *p)
{
    const char *from = strchr(launch->name + strlen("overlay_"), '_') + 1;

    return (!strstr(launch->name, "_mask_") ||
            place(launch, &p->mask, p->mask_stride, p->picture.width, p->picture.height)) &&
           place_conversion(launch, from, &p->picture);
}

static bool place_threshold_compare(const struct launch *launch, struct threshold_compare_cuda *p)
{
    return is_aligned(p->input, p->input_stride) &&
           place_if(launch, &p->state, 0, sizeof(struct levels_cuda_state), 1) &&
           place(launch, &p->input, p->input_stride, p->width, p->height) &&
           place(launch, &p->output, p->output_stride, p->width, p->height);
}

static void begin_thread(const struct launch *launch, uint32_t x, uint32_t y)
{
    fake_cuda_thread = (struct fake_cuda_thread){
        .block = {x, y, 0},
        .block_size = {1, 1, 1},
        .grid_size = {launch->threads_x, launch->threads_y, 1},
    };
}

// What runs a kernel whose parameters are a struct <kind>_cuda.
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
        return 0;                                                                                  \
    }
#include "tests/fakes/cuda/kernel_cu_list.h"
#undef KERNEL

const struct kernel_kind *kernel_cu_find(const char *name)
{
#define KERNEL(kernel, kind) {#kernel, {NULL, {sizeof(struct kind##_cuda)}, run_##kernel}},
    static const struct {
        const char *name;
        struct kernel_kind kind;
    } kernels[] = {
#include "tests/fakes/cuda/kernel_cu_list.h"
    };

    for (size_t i = 0; i < ARRAY_LENGTH(kernels); i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            return &kernels[i].kind;
        }
    }
    return NULL;
}
