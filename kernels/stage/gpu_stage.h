// Stages of a view's plan on the GPU: each does one step of it, or several at once.
//
// One const table (graph/stages.c) lists them. Any size, stride, address and block gives the same
// bits as the CPU's stages. Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "capture/frame.h"
#include "kernels/gpu/gpu_chain.h"
#include "kernels/stage/plan_step.h"

#define GPU_STAGE_KERNELS_MAX 4
// Blocks of device memory that a stage may have.
#define GPU_STAGE_MEMORY_MAX 4

// A picture that the GPU addresses.
struct gpu_picture {
    struct {
        uint64_t address; // of the first byte
        uint32_t stride;  // bytes from row to row
    } planes[PIXEL_FORMAT_PLANES_MAX];
    uint32_t width, height; // pixels, at least 1
};

// Device memory for 8 bit pixels.
struct gpu_plane {
    uint64_t address; // owned; 0: none
    uint32_t stride;  // bytes, a multiple of 128
};

struct gpu_stage;

// The arguments of a new stage.
struct gpu_stage_setup {
    struct gpu *gpu;
    const struct plan_step *steps;     // of the plan, from the stage's first on
    unsigned count;                    // fuses(): steps to the plan's end; init(): steps fused
    const struct frame_layout *camera; // the layout of the camera's picture
    const struct pixel_format *output; // of the view
    bool first;  // the input is the camera's picture; else a gray plane in device memory
    bool last;   // the output is the view's picture; else such a plane
    bool mapped; // pictures lie in memory of the host: a row read twice is fetched twice
};

// The pictures of a launch. Planes between stages are 8 bit, with strides of multiples of 128.
struct gpu_pictures {
    struct gpu_picture camera, input, output;
};

struct gpu_stage_ops {
    const char *name;
    size_t state_size; // bytes of the stage's state, which is zeroed for init()
    // How many of the steps ahead the stage does in one go; 0: it cannot begin here.
    unsigned (*fuses)(const struct gpu_stage_setup *setup);
    // -ENOTSUP (no such conversion), -ENOENT (no such kernel), -ENOMEM, -EIO.
    int (*init)(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error);
    // The next picture is treated as the first. NULL: the stage keeps nothing of a picture.
    void (*forget)(struct gpu_stage *stage);
    // Adds the stage's launches for one picture to the chain. gpu_stage_launch() is one for kernel
    // 0 alone where its parameters are the state.
    int (*launch)(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error);
};

struct gpu_stage {
    const struct gpu_stage_ops *ops;
    struct gpu *gpu;
    uint32_t width; // of the camera's picture, in pixels
    struct gpu_kernel kernels[GPU_STAGE_KERNELS_MAX];
    unsigned kernel_count;
    uint64_t memory[GPU_STAGE_MEMORY_MAX]; // owned device memory
    unsigned memory_count;
    void *state; // owned; of the ops
};

// Makes a stage of the steps it takes. Errors of its init. End it with gpu_stage_finish().
int gpu_stage_init(struct gpu_stage *stage, const struct gpu_stage_ops *ops,
                   const struct gpu_stage_setup *setup, struct error *error);
// Takes zeroed and half-built ones. Nothing it launched runs any more, or the GPU is lost.
void gpu_stage_finish(struct gpu_stage *stage);
// Of a stage that was made without gpu_stage_init(): gpu_kernel_join() of its kernels.
void gpu_stage_join(struct gpu_stage *stage);

// For stages. Adds kernel number `kernel_count`, its name made as by printf() and in lower case. As
// gpu_kernel_init().
int gpu_stage_add_kernel(struct gpu_stage *stage, enum config_kernel group, struct gpu_tile tile,
                         struct error *error, const char *name, ...)
    __attribute__((format(printf, 5, 6)));
// For stages. Device memory that lasts as long as the stage, with the bytes `from`; NULL: zeros.
// `what` says in an error what it is for. Returns CUDA's error.
int gpu_stage_add_memory(struct gpu_stage *stage, const void *from, size_t size, const char *what,
                         struct error *error, uint64_t *ret_address);
// For stages. The same as gpu_plane_init().
int gpu_stage_add_plane(struct gpu_stage *stage, uint32_t width, uint32_t height,
                        struct error *error, struct gpu_plane *ret_plane);
// The launch of stages with one kernel and nothing to prepare: from the input to the output.
int gpu_stage_launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                     struct gpu_chain *chain, struct error *error);
// For stages. How many steps there are to take of an optional STAGE_GRAY, which may be left out
// where the input is gray already, then `kind`, then an optional STAGE_COMPOSE; 0: not these.
unsigned gpu_stage_match(const struct gpu_stage_setup *setup, enum stage_kind kind);
// For stages. The layout of the input as kernels are named after: planar, yuyv, uyvy, rgb3, bgr3,
// xr24.
const char *gpu_stage_layout(const struct gpu_stage_setup *setup);
// For stages. Whether the steps end in limited range.
bool gpu_stage_limited(const struct gpu_stage_setup *setup);
// For stages. Four pixels of `gray`, 0..255, as the steps end.
uint32_t gpu_stage_shade(const struct gpu_stage_setup *setup, uint8_t gray);

// Rows of `width` bytes in device memory, cleared: kernels read rows by vectors, up to the stride.
// Returns CUDA's error.
int gpu_plane_init(struct gpu_plane *plane, struct gpu *gpu, uint32_t width, uint32_t height,
                   struct error *error);
// Takes zeroed ones. No kernel uses it any more, or the GPU is lost.
void gpu_plane_finish(struct gpu_plane *plane, struct gpu *gpu);

// Makes it a job from one picture to another.
void gpu_job_set(struct gpu_job *job, const struct gpu_picture *input,
                 const struct gpu_picture *output);

// Where the GPU finds the planes of a picture of `layout` whose block begins at `address`.
struct gpu_picture gpu_picture_at(const struct frame_layout *layout, uint64_t address);
// Hands both frames to the GPU, whose context is the thread's then: the camera's picture, which is
// the input as well, and the output. Errors of frame_to_gpu() and gpu_enter().
int gpu_pictures_lend(struct gpu *gpu, struct frame *camera, struct frame *output,
                      struct error *error, struct gpu_pictures *ret_pictures);
