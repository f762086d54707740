// What a view computes on the GPU: everything from the camera's picture to its own in one launch.
//
// Edges are the kernel "gradient", the gray view "gray", the camera view "convert"; one const table
// has their operations. Any size, stride, address and block gives the same bits as the CPU's
// stages. Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/gpu_kernel.h"
#include "kernels/stage.h"

// A picture that the GPU addresses.
struct gpu_picture {
    struct {
        uint64_t address; // of the first byte
        uint32_t stride;  // bytes from row to row
    } planes[PIXEL_FORMAT_PLANES_MAX];
    uint32_t width, height; // pixels, at least 1
};

struct gpu_stage;

struct gpu_stage_ops {
    const char *key; // of the kernel's group in the configuration
    int (*init)(struct gpu_stage *stage, struct gpu *gpu, const struct stage_setup *setup,
                bool mapped, struct error *error);
    void (*finish)(struct gpu_stage *stage); // NULL: nothing to do
    int (*launch)(struct gpu_stage *stage, const struct gpu_picture *input,
                  const struct gpu_picture *output, struct error *error);
};

struct gpu_stage {
    const struct gpu_stage_ops *ops;
    struct gpu_kernel kernel;
    struct {
        uint64_t thresholds; // owned device memory
        double gain;
    } gradient;
};

extern const struct gpu_stage_ops gradient_gpu_ops, gray_gpu_ops, convert_gpu_ops;

// Whether there is a kernel for what the settings want; the CPU computes the other views, with a
// GPU as well.
bool gpu_stage_supports(const struct config_view *settings);

// Makes what the settings' view computes of pictures like `input` in the format `output`. `mapped`:
// they lie in memory of the host, from which every row read twice comes twice. -ENOTSUP (no kernel
// for the view, no such conversion), -ENOENT (no such kernel), -ENOMEM, -EIO. End it with
// gpu_stage_finish().
int gpu_stage_init(struct gpu_stage *stage, struct gpu *gpu, const struct stage_setup *setup,
                   bool mapped, struct error *error);
// Takes zeroed and half-built ones. Nothing it launched runs any more, or the GPU is lost.
void gpu_stage_finish(struct gpu_stage *stage);

// Queues one picture in the GPU's stream and returns. Input and output do not overlap. Fastest with
// addresses and strides that are multiples of 16. Luma alone is written of gray and edges. What
// gpu_kernel_launch() says.
int gpu_stage_launch(struct gpu_stage *stage, const struct gpu_picture *input,
                     const struct gpu_picture *output, struct error *error);

// Where the GPU finds the planes of a picture of `layout` whose block begins at `address`.
struct gpu_picture gpu_picture_at(const struct frame_layout *layout, uint64_t address);

// The layout of a format's plane 0 as kernels are named after: planar, yuyv, uyvy, rgb3, bgr3,
// xr24.
const char *gpu_luma_layout(const struct pixel_format *format);
