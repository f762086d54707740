// A view's plan on the GPU: its stages, the planes of device memory between them, and the chain of
// their launches.
//
// Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/graph/plan.h"
#include "kernels/stage/gpu_stage.h"

struct gpu_pipeline {
    struct gpu *gpu; // not owned
    struct gpu_stage stages[PLAN_STEPS_MAX];
    struct gpu_plane planes[PLAN_STEPS_MAX]; // [i] is what stage i makes, the last one's is none
    unsigned count;
    struct gpu_chain *chain; // owned
};

// Steps first..end-1 of a plan, at least one, for pictures of the layout `camera`.
struct gpu_part {
    const struct plan *plan;
    const struct frame_layout *camera;
    unsigned first, end;
};

// How many stages do these steps, each of which reads and writes a picture; 0: some step has no
// kernel.
unsigned gpu_pipeline_count(const struct gpu_part *part);
// Whether there are kernels for the whole plan for pictures of the layout `camera`; the CPU
// computes other views, with a GPU as well.
bool gpu_pipeline_supports(const struct plan *plan, const struct frame_layout *camera);

// `mapped`: pictures lie in memory of the host, from which every row read twice comes twice.
// -ENOTSUP (no kernel for the view, no such conversion), -ENOENT (no such kernel), -ENOMEM, -EIO.
// End it with gpu_pipeline_finish() in any case.
int gpu_pipeline_init(struct gpu_pipeline *pipeline, struct gpu *gpu, const struct plan *plan,
                      const struct frame_layout *camera, bool mapped, struct error *error);
// The same for a part: from the camera's picture or, behind other steps, from a plane like those of
// a pipeline; to the view's picture or, before other steps, to its last plane.
int gpu_pipeline_init_part(struct gpu_pipeline *pipeline, struct gpu *gpu,
                           const struct gpu_part *part, bool mapped, struct error *error);
// Takes zeroed and half-built ones. Nothing it launched runs any more, or the GPU is lost.
void gpu_pipeline_finish(struct gpu_pipeline *pipeline);

// Queues one picture in the GPU's stream and returns. Input and output do not overlap. Fastest with
// addresses and strides that are multiples of 16. Luma alone is written of computed gray. What
// gpu_chain_add() and gpu_chain_end() say.
int gpu_pipeline_launch(struct gpu_pipeline *pipeline, const struct gpu_picture *input,
                        const struct gpu_picture *output, struct error *error);
// The same for a part. `pictures.output` is not looked at where it ends in a plane.
int gpu_pipeline_launch_part(struct gpu_pipeline *pipeline, struct gpu_pictures pictures,
                             struct error *error);

// The next picture has none before it: nothing moves in it.
void gpu_pipeline_forget(struct gpu_pipeline *pipeline);

// Block sizes and rows a thread of all kernels (CONFIG_KERNEL_COUNT), from the next launch on.
// -EINVAL: one is not legal here, and all stay what they were.
int gpu_pipeline_set_blocks(struct gpu_pipeline *pipeline, const struct config_block *blocks,
                            struct error *error);
// The same of one group's kernels alone.
int gpu_pipeline_set_block(struct gpu_pipeline *pipeline, enum config_kernel group,
                           struct config_block block, struct error *error);
// The groups of the kernels (room for CONFIG_KERNEL_COUNT), each once in the order of their
// launches, and how many there are.
size_t gpu_pipeline_groups(const struct gpu_pipeline *pipeline, enum config_kernel *ret_groups);
// The first kernel of that group, NULL where there is none.
struct gpu_kernel *gpu_pipeline_kernel(struct gpu_pipeline *pipeline, enum config_kernel group);
// True once for each kernel's refusal or warning, as gpu_kernel_take_refusal() and
// gpu_kernel_take_warning(), and for the chain's.
bool gpu_pipeline_take_refusal(struct gpu_pipeline *pipeline, struct error *ret_why);
bool gpu_pipeline_take_warning(struct gpu_pipeline *pipeline, struct error *ret_text);
