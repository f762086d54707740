// Runs steps on the GPU, each of which reads what the one before it makes: the stages that do them,
// the planes of device memory between these, and the chain of their launches.
//
// Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/graph/plan.h"
#include "kernels/stage/gpu_stage.h"

struct gpu_runner {
    struct gpu *gpu; // not owned
    struct gpu_stage stages[PLAN_STEPS_MAX];
    struct gpu_plane planes[PLAN_STEPS_MAX]; // [i] is what stage i makes; none for a view's picture
    unsigned count;
    struct gpu_chain *chain; // owned
};

// Steps of a view, at least one, for pictures of the layout `camera`.
struct gpu_steps {
    const struct plan_step *list; // needed while the runner is made
    unsigned count;
    const struct frame_layout *camera;
    const struct pixel_format *output; // of the view's picture
    bool first;                        // they read the camera's picture; else a plane of gray
    bool last;                         // they write the view's picture; else a plane of gray
};

// How many stages do these steps, each of which reads and writes a picture; 0: some step has no
// kernel.
unsigned gpu_steps_count_stages(const struct gpu_steps *steps);

// Whether there are kernels for a whole plan for pictures of the layout `camera`; the CPU computes
// other views, with a GPU as well.
bool gpu_runner_supports(const struct plan *plan, const struct frame_layout *camera);

// `mapped`: pictures lie in memory of the host, from which every row read twice comes twice.
// -ENOTSUP (no kernel for a step, no such conversion), -ENOENT (no such kernel), -ENOMEM, -EIO.
// End it with gpu_runner_finish() in any case.
int gpu_runner_init_steps(struct gpu_runner *runner, struct gpu *gpu, const struct gpu_steps *steps,
                          bool mapped, struct error *error);
// The same for a whole plan.
int gpu_runner_init(struct gpu_runner *runner, struct gpu *gpu, const struct plan *plan,
                    const struct frame_layout *camera, bool mapped, struct error *error);
// Takes zeroed and half-built ones. Nothing it launched runs any more, or the GPU is lost.
void gpu_runner_finish(struct gpu_runner *runner);

// Queues one picture in the GPU's stream and returns. Input and output do not overlap; the output
// is not looked at where the steps end in a plane. Fastest with addresses and strides that are
// multiples of 16. Luma alone is written of computed gray. What gpu_chain_add() and gpu_chain_end()
// say.
int gpu_runner_launch_steps(struct gpu_runner *runner, struct gpu_pictures pictures,
                            struct error *error);
// The same for a whole plan, from the camera's picture to the view's.
int gpu_runner_launch(struct gpu_runner *runner, const struct gpu_picture *input,
                      const struct gpu_picture *output, struct error *error);
// The plane that the steps end in, for pictures of `camera`.
struct gpu_picture gpu_runner_plane(const struct gpu_runner *runner,
                                    const struct frame_layout *camera);

// The next picture has none before it: nothing moves in it.
void gpu_runner_forget(struct gpu_runner *runner);

// The groups of the kernels (room for CONFIG_KERNEL_COUNT), each once in the order of their
// launches, and how many there are.
size_t gpu_runner_groups(const struct gpu_runner *runner, enum config_kernel *ret_groups);
// The first kernel of that group, NULL where there is none.
struct gpu_kernel *gpu_runner_kernel(struct gpu_runner *runner, enum config_kernel group);
// Has all kernels of that group tried in `block`, as gpu_kernel_try(), until
// gpu_runner_leave_block(), from which on they have the block of their group again.
void gpu_runner_try_block(struct gpu_runner *runner, enum config_kernel group,
                          struct config_block block);
void gpu_runner_leave_block(struct gpu_runner *runner, enum config_kernel group);
