// Row stage, the last of its view: a mask's rows to the rows of the camera's picture with the mask
// marked in it. A mask is 0 or 255 at every pixel; where it is 255 the pixel (R, G, B) becomes
//
//   (255, G >> 1, B >> 1)    "tint": shows on white, too
//   (255, G, B)              "red": R = max(R, mask)
//
// - To RGB3: the picture as convert.h has it, GREY as R = G = B; then the mark.
// - RGB to NV12: the mark first, then convert.h; so chroma follows the top left pixel of two by
//   two.
// - YUV to NV12: convert.h first. Then each masked pixel, with the chroma of its two by two,
//   becomes RGB by its matrix (colour.h), is marked, and becomes YUV again; chroma changes where
//   the top left pixel of two by two is masked. Everything else stays as it is, bit for bit. In 20
//   bits, rounded by 1 << 19, G and B limited to 0..255 before they are halved, the results to 255:
//   BT.601 limited range, as OpenCV's COLOR_YUV2RGB_NV12 and, back, convert.h:
//     G = (1220542 max(Y - 16, 0) - 409993 (U - 128) - 852492 (V - 128)) >> 20
//     B = (1220542 max(Y - 16, 0) + 2116026 (U - 128)) >> 20
//   BT.601 full range, JFIF's:
//     G = (1048576 Y - 360853 (U - 128) - 748826 (V - 128)) >> 20
//     B = (1048576 Y + 1858077 (U - 128)) >> 20
//     Y = (313524 R + 615514 G + 119538 B) >> 20
//     U = 128 + (-176932 R - 347356 G + 524288 B) >> 20
//     V = 128 + (524288 R - 439026 G - 85262 B) >> 20
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "kernels/overlay/mark_cuda.h"
#include "kernels/overlay/paint.h"
#include "kernels/stage/gpu_stage.h"

struct mark;

// By colour.h, of the NV12 that a camera's picture is painted in.
struct mark_space mark_space_of(const struct frame_layout *camera, enum config_mark mark);

// Row `y` of the output frame, from the input frame and the mask's row.
typedef void mark_rows(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch);

struct mark {
    struct paint paint;
    mark_rows *rows;
    struct mark_space space;
    struct frame_layout line; // of a picture of one row, RGB
};

// Marks a mask in a picture that the GPU has made: a part of the mark and motion stages.
struct mark_gpu {
    unsigned kernel; // its number in the stage
    struct mark_cuda parameters;
};

struct mark_gpu_mask {
    uint64_t address;
    uint32_t stride; // bytes
    uint32_t erode;  // times; of bits alone
};

// For the mark that is the setup's last step. `bits`: the mask has them, else bytes. Adds a kernel.
// As gpu_stage_add_kernel().
int mark_gpu_init(struct mark_gpu *mark, struct gpu_stage *stage,
                  const struct gpu_stage_setup *setup, bool bits, struct error *error);
// Marks the output.
int mark_gpu_launch(struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error);
