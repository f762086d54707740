// Frame stage: a camera's picture in another pixel format, for the view that shows it as it is.
//
// To NV12, code values of YUV kept as they are:
// - luma: the samples of the input; chroma of 4:2:0 formats likewise.
// - chroma of 4:2:2 (YUYV, UYVY, 422P): (a + b + 1) >> 1 of two rows; of 4:4:4 (444P):
//   (a + b + c + d + 2) >> 2 of two by two; a missing last row or column counts as its neighbour.
// - GREY: chroma 128.
// - RGB3, BGR3, XR24: BT.601 limited in 20 bits as OpenCV's COLOR_RGB2YUV_I420 has it, chroma taken
//   from the top left pixel of two by two:
//   Y = (269484 R + 528482 G + 102760 B + (16 << 20) + (1 << 19)) >> 20
//   U = (-155188 R - 305135 G + 460324 B + (128 << 20) + (1 << 19)) >> 20
//   V = (460324 R - 385875 G - 74448 B + (128 << 20) + (1 << 19)) >> 20
// To RGB3: BGR3 and XR24, reordered; GREY, R = G = B.
// NV12 to NV12 and RGB3 to RGB3: copied. Anything else is -ENOTSUP.
#pragma once

#include "kernels/convert/convert_cuda.h"
#include "kernels/stage/gpu_stage.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct frame;
struct pool;
struct stage_setup;

// One row of plane 0: `width` pixels.
typedef void convert_row(const uint8_t *restrict row, size_t width, uint8_t *restrict output);
// Row `y` of chroma, `pairs` pairs of U and V.
typedef void convert_chroma(const struct frame *input, uint32_t y, size_t pairs,
                            uint8_t *restrict output);

struct convert {
    convert_row *row;
    convert_chroma *chroma; // NULL for RGB3
    struct pool *pool;      // not owned; of the frame stage; NULL: there is none
};

// The functions for pictures like the setup's input in its output format. -ENOTSUP: no such
// conversion.
int convert_init(struct convert *convert, const struct stage_setup *setup, struct error *error);
// Whether there is such a conversion. 0 or -ENOTSUP.
int convert_check(const struct stage_setup *setup, struct error *error);

// For other stages of the GPU: the kernel from a camera's format to `output`, whose parameters are
// a struct convert_cuda. As gpu_stage_add_kernel().
int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error);
// A stage that puts a side of a split in place, from `input` into pictures of the layout `output`:
// RGB3 to NV12 makes YUV of full range by its matrix. -ENOMEM; as gpu_stage_init(). End it with
// gpu_stage_finish() in any case.
int convert_gpu_init_side(struct gpu_stage *stage, struct gpu *gpu,
                          const struct pixel_format *input, const struct frame_layout *output,
                          struct error *error);
