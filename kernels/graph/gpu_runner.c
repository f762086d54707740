#include "kernels/graph/gpu_runner.h"

#include "kernels/graph/stages.h"

#include <errno.h>

// What the stage from step `at` on is made for.
static struct gpu_stage_setup setup_at(const struct gpu_steps *steps, unsigned at, bool mapped)
{
    return (struct gpu_stage_setup){
        .steps = steps->list + at,
        .count = steps->count - at,
        .camera = steps->camera,
        .output = steps->output,
        .first = steps->first && at == 0,
        .mapped = mapped,
    };
}

static struct gpu_steps steps_of(const struct plan *plan, const struct frame_layout *camera)
{
    return (struct gpu_steps){plan->steps, plan->count, camera, pixel_format_by_name(plan->format),
                              true,        true};
}

unsigned gpu_steps_count_stages(const struct gpu_steps *steps)
{
    unsigned taken = 0, count = 0;

    for (unsigned at = 0; at < steps->count; at += taken) {
        struct gpu_stage_setup setup = setup_at(steps, at, false);

        if (!stages_find_gpu(&setup, &taken)) {
            return 0;
        }
        count++;
    }
    return count;
}

bool gpu_runner_supports(const struct plan *plan, const struct frame_layout *camera)
{
    const struct gpu_steps steps = steps_of(plan, camera);

    return plan->count == 0 || gpu_steps_count_stages(&steps) > 0;
}

int gpu_runner_init_steps(struct gpu_runner *runner, struct gpu *gpu, const struct gpu_steps *steps,
                          bool mapped, struct error *error)
{
    const struct frame_layout *camera = steps->camera;
    unsigned taken = 0;
    int r;

    *runner = (struct gpu_runner){.gpu = gpu};
    // Managed memory may be one stream's alone, and a graph's kernels are in none.
    r = gpu_chain_new(gpu, mapped || gpu_info(gpu)->concurrent_managed_access, error,
                      &runner->chain);
    for (unsigned at = 0; at < steps->count && r == 0; at += taken) {
        struct gpu_stage_setup setup = setup_at(steps, at, mapped);
        const struct gpu_stage_ops *ops = stages_find_gpu(&setup, &taken);

        if (!ops) {
            return error_set(error, -ENOTSUP, "this view has no CUDA kernel");
        }
        setup.gpu = gpu;
        setup.count = taken;
        setup.last = steps->last && at + taken == steps->count;
        setup.mapped = mapped && (setup.first || setup.last);
        r = gpu_stage_init(&runner->stages[runner->count], ops, &setup, error);
        if (r == 0 && !setup.last) {
            r = gpu_plane_init(&runner->planes[runner->count], gpu, camera->width, camera->height,
                               error);
        }
        runner->count++;
    }
    return r;
}

int gpu_runner_init(struct gpu_runner *runner, struct gpu *gpu, const struct plan *plan,
                    const struct frame_layout *camera, bool mapped, struct error *error)
{
    const struct gpu_steps steps = steps_of(plan, camera);

    return gpu_runner_init_steps(runner, gpu, &steps, mapped, error);
}

void gpu_runner_finish(struct gpu_runner *runner)
{
    if (runner->gpu && !gpu_is_lost(runner->gpu)) {
        gpu_enter(runner->gpu, NULL); // if it cannot be, the context may be current already
    }
    gpu_chain_free(runner->chain);
    for (unsigned i = 0; i < runner->count; i++) {
        gpu_stage_finish(&runner->stages[i]);
        gpu_plane_finish(&runner->planes[i], runner->gpu);
    }
    *runner = (struct gpu_runner){0};
}

static struct gpu_picture picture_of(const struct gpu_plane *plane, uint32_t width, uint32_t height)
{
    return (struct gpu_picture){{{plane->address, plane->stride}}, width, height};
}

int gpu_runner_launch_steps(struct gpu_runner *runner, struct gpu_pictures pictures,
                            struct error *error)
{
    const struct gpu_picture output = pictures.output;
    int r = 0;

    gpu_chain_begin(runner->chain);
    for (unsigned i = 0; i < runner->count && r == 0; i++) {
        const struct gpu_plane *plane = &runner->planes[i];

        pictures.output = plane->address
                              ? picture_of(plane, pictures.camera.width, pictures.camera.height)
                              : output;
        r = runner->stages[i].ops->launch(&runner->stages[i], &pictures, runner->chain, error);
        pictures.input = pictures.output;
    }
    return r < 0 ? r : gpu_chain_end(runner->chain, error);
}

int gpu_runner_launch(struct gpu_runner *runner, const struct gpu_picture *input,
                      const struct gpu_picture *output, struct error *error)
{
    return gpu_runner_launch_steps(runner, (struct gpu_pictures){*input, *input, *output}, error);
}

struct gpu_picture gpu_runner_plane(const struct gpu_runner *runner,
                                    const struct frame_layout *camera)
{
    return picture_of(&runner->planes[runner->count - 1], camera->width, camera->height);
}

void gpu_runner_forget(struct gpu_runner *runner)
{
    for (unsigned i = 0; i < runner->count; i++) {
        struct gpu_stage *stage = &runner->stages[i];

        if (stage->ops->forget) {
            stage->ops->forget(stage);
        }
    }
}

// Kernel number `index` over all stages, NULL past the last.
static struct gpu_kernel *kernel_at(struct gpu_runner *runner, unsigned index)
{
    for (unsigned i = 0; i < runner->count; i++) {
        struct gpu_stage *stage = &runner->stages[i];

        if (index < stage->kernel_count) {
            return &stage->kernels[index];
        }
        index -= stage->kernel_count;
    }
    return NULL;
}

size_t gpu_runner_groups(const struct gpu_runner *runner, enum config_kernel *ret_groups)
{
    unsigned seen = 0;
    size_t count = 0;

    for (unsigned i = 0; i < runner->count; i++) {
        for (unsigned k = 0; k < runner->stages[i].kernel_count; k++) {
            enum config_kernel group = runner->stages[i].kernels[k].group;

            if (!(seen >> group & 1)) {
                ret_groups[count++] = group;
            }
            seen |= 1U << group;
        }
    }
    return count;
}

struct gpu_kernel *gpu_runner_kernel(struct gpu_runner *runner, enum config_kernel group)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(runner, i)); i++) {
        if (kernel->group == group) {
            return kernel;
        }
    }
    return NULL;
}

void gpu_runner_try_block(struct gpu_runner *runner, enum config_kernel group,
                          struct config_block block)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(runner, i)); i++) {
        if (kernel->group == group) {
            gpu_kernel_try(kernel, block);
        }
    }
}

void gpu_runner_leave_block(struct gpu_runner *runner, enum config_kernel group)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(runner, i)); i++) {
        if (kernel->group == group && kernel->tried) {
            gpu_kernel_join(kernel);
        }
    }
}
