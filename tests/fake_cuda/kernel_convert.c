// convert.cu and motion.cu: the CPU's stage, on frames whose planes lie where the device has them.
#include "kernels/convert_cuda.h"
#include "kernels/motion_cuda.h"

#include "kernels/colour.h"
#include "kernels/stage.h"
#include "tests/fake_cuda/kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct pixel_format *kernel_format_of(const char *name)
{
    char upper[8];
    size_t length = strcspn(name, "_");

    for (size_t i = 0; i < length; i++) {
        upper[i] = (char)toupper(name[i]);
    }
    upper[length] = '\0';
    return pixel_format_by_name(upper);
}

// Makes `frame` of planes anywhere. False: the device may not touch them all.
static bool place(const struct launch *launch, const struct pixel_format *format,
                  const uint64_t *addresses, const uint32_t *strides, struct frame *frame)
{
    const struct convert_cuda *p = (const void *)launch->parameters;
    uint8_t *planes[PIXEL_FORMAT_PLANES_MAX];
    bool legal = true;

    *frame = (struct frame){0};
    frame_layout_init(&frame->layout, format, p->width, p->height, 1);
    for (unsigned i = 0; i < format->plane_count; i++) {
        planes[i] =
            kernel_touch_rows(launch, addresses[i], strides[i], frame->layout.planes[i].width_bytes,
                              frame->layout.planes[i].rows);
        legal = legal && planes[i];
        frame->data = !frame->data || planes[i] < frame->data ? planes[i] : frame->data;
    }
    for (unsigned i = 0; legal && i < format->plane_count; i++) {
        frame->layout.planes[i].offset = (size_t)(planes[i] - frame->data);
        frame->layout.planes[i].stride = strides[i];
    }
    return legal;
}

int kernel_convert_picture(const struct launch *launch, uint32_t rows,
                           const struct pixel_format *from, const struct pixel_format *to)
{
    const struct convert_cuda *p = (const void *)launch->parameters;
    struct frame input, output;
    struct stage_setup setup = {.input = &input.layout, .output = to};
    struct stage stage;
    struct error error;

    if (!place(launch, from, p->input, p->input_stride, &input) ||
        !place(launch, to, p->output, p->output_stride, &output)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, rows, p->width, p->height)) {
        return 0;
    }
    if (stage_init(&stage, STAGE_CONVERT, &setup, &error) < 0) {
        fprintf(stderr, "fake_cuda: %s: %s\n", launch->name, error.text);
        return RESULT_ILLEGAL_ADDRESS;
    }
    stage.ops->run_frame(&stage, &input, &output, 0, p->height);
    stage_finish(&stage);
    return 0;
}

static int run(const struct launch *launch)
{
    const char *from = strchr(launch->name, '_') + 1, *to = strchr(from, '_') + 1;

    return kernel_convert_picture(launch, CONVERT_CUDA_ROWS, kernel_format_of(from),
                                  kernel_format_of(to));
}

#define NAME(from, to) "convert_" #from "_" #to,
static const char *const names[] = {CONVERT_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_convert = {names, {sizeof(struct convert_cuda)}, run};

static int run_full(const struct launch *launch)
{
    const struct convert_cuda *p = (const void *)launch->parameters;
    const struct colour_space space = colour_space_of(COLOUR_MATRIX_BT601, FRAME_RANGE_FULL);
    struct frame input, output;

    if (!place(launch, pixel_format_by_name("RGB3"), p->input, p->input_stride, &input) ||
        !place(launch, pixel_format_by_name("NV12"), p->output, p->output_stride, &output)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        const uint8_t *rgb = frame_plane(&input, 0) + (size_t)y * p->input_stride[0];
        uint8_t *luma = frame_plane(&output, 0) + (size_t)y * p->output_stride[0];
        uint8_t *chroma = frame_plane(&output, 1) + (size_t)(y / 2) * p->output_stride[1];

        for (uint32_t x = 0; x < p->width; x++) {
            struct colour_yuv yuv = colour_to_yuv(&space, rgb + 3 * (size_t)x);

            luma[x] = yuv.y;
            if (x % 2 == 0 && y % 2 == 0) {
                chroma[x] = yuv.u;
                chroma[x + 1] = yuv.v;
            }
        }
    }
    return 0;
}

static const char *const full_names[] = {"convert_rgb3_nv12_full", NULL};

const struct kernel_kind kernel_convert_full = {
    full_names, {sizeof(struct convert_cuda)}, run_full};

static void compare_row(const struct motion_cuda *p, const uint8_t *gray, const uint8_t *previous,
                        uint8_t *bits)
{
    for (uint32_t x = 0; x < p->picture.width; x++) {
        bool moved = previous && (uint32_t)abs(gray[x] - previous[x]) > p->threshold;

        bits[x / 8] = x % 8 == 0 ? 0xff : bits[x / 8];
        bits[x / 8] = (uint8_t)(bits[x / 8] & ~(!moved << x % 8));
    }
}

static void mark_picture(const struct launch *launch, const uint8_t *bits, size_t stride)
{
    const struct motion_cuda *p = (const void *)launch->parameters;
    const struct mark_cuda mark = {
        .mask_stride = (uint32_t)stride,
        .output_stride = {p->picture.output_stride[0], p->picture.output_stride[1]},
        .width = p->picture.width,
        .height = p->picture.height,
        .erode = p->erode,
        .space = p->space,
    };
    struct frame output;

    place(launch, pixel_format_by_name("NV12"), p->picture.output, p->picture.output_stride,
          &output);
    kernel_mark_nv12(&mark, bits, frame_plane(&output, 0), frame_plane(&output, 1));
}

static int run_motion(const struct launch *launch)
{
    const struct motion_cuda *p = (const void *)launch->parameters;
    const char *marked = strstr(launch->name, "_marked_");
    const struct pixel_format *format =
        kernel_format_of(marked ? marked + 8 : strchr(launch->name, '_') + 1);
    uint32_t width = p->picture.width, height = p->picture.height;
    size_t stride = marked ? (width + 7) / 8 : p->output_stride;
    uint8_t *current = kernel_touch_rows(launch, p->current, p->plane_stride, width, height);
    uint8_t *own = marked ? malloc(stride * height) : NULL;
    uint8_t *bits =
        marked ? own : kernel_touch_rows(launch, p->output, stride, (width + 7) / 8, height);
    const uint8_t *previous =
        p->previous ? kernel_touch_rows(launch, p->previous, p->plane_stride, width, height) : NULL;
    struct frame input;
    int r = kernel_convert_picture(launch, CONVERT_CUDA_ROWS, format, pixel_format_by_name("NV12"));
    bool legal = r == 0 && current && bits && (!p->previous || previous) &&
                 place(launch, format, p->picture.input, p->picture.input_stride, &input);

    for (size_t y = 0; legal && y < height; y++) {
        uint8_t *gray = current + y * p->plane_stride;

        gray_row_for(format)(frame_plane(&input, 0) + y * p->picture.input_stride[0], width, gray);
        compare_row(p, gray, previous ? previous + y * p->plane_stride : NULL, bits + y * stride);
    }
    if (legal && marked) {
        mark_picture(launch, bits, stride);
    }
    free(own);
    return legal ? 0 : RESULT_ILLEGAL_ADDRESS;
}

#define MOTION_NAME(format, layout) "motion_" #format,
#define MARKED_NAME(format, layout) "motion_marked_" #format,
static const char *const motion_names[] = {MOTION_CUDA_KERNELS(MOTION_NAME)
                                               MOTION_CUDA_YUV_KERNELS(MARKED_NAME) NULL};

const struct kernel_kind kernel_motion = {motion_names, {sizeof(struct motion_cuda)}, run_motion};
