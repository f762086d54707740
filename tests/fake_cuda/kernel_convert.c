// convert.cu: the CPU's stage, on frames whose planes lie where the device has them.
#include "kernels/convert_cuda.h"

#include "kernels/stage.h"
#include "tests/fake_cuda/kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// A format by its name in lower case, up to '_' or the end.
static const struct pixel_format *format_of(const char *name)
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

static int run(const struct launch *launch)
{
    const struct convert_cuda *p = (const void *)launch->parameters;
    const char *from = strchr(launch->name, '_') + 1, *to = strchr(from, '_') + 1;
    struct frame input, output;
    struct stage_setup setup = {.input = &input.layout, .output = format_of(to)};
    struct stage stage;
    struct error error;

    if (!place(launch, format_of(from), p->input, p->input_stride, &input) ||
        !place(launch, setup.output, p->output, p->output_stride, &output)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS, p->width, p->height)) {
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

#define NAME(from, to) "convert_" #from "_" #to,
static const char *const names[] = {CONVERT_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_convert = {names, {sizeof(struct convert_cuda)}, run};
