#include "kernels/graph/gpu_pipeline.h"

#include "kernels/graph/stages.h"

#include <errno.h>

// What the stage from step `at` of a part on is made for.
static struct gpu_stage_setup setup_at(const struct gpu_part *part, unsigned at, bool mapped)
{
    return (struct gpu_stage_setup){
        .steps = part->plan->steps + at,
        .count = part->end - at,
        .camera = part->camera,
        .output = pixel_format_by_name(part->plan->format),
        .first = at == 0,
        .mapped = mapped,
    };
}

unsigned gpu_pipeline_count(const struct gpu_part *part)
{
    unsigned taken = 0, count = 0;

    for (unsigned at = part->first; at < part->end; at += taken) {
        struct gpu_stage_setup setup = setup_at(part, at, false);

        if (!stages_find_gpu(&setup, &taken)) {
            return 0;
        }
        count++;
    }
    return count;
}

bool gpu_pipeline_supports(const struct plan *plan, const struct frame_layout *camera)
{
    const struct gpu_part whole = {plan, camera, 0, plan->count};

    return plan->count == 0 || gpu_pipeline_count(&whole) > 0;
}

int gpu_pipeline_init_part(struct gpu_pipeline *pipeline, struct gpu *gpu,
                           const struct gpu_part *part, bool mapped, struct error *error)
{
    const struct frame_layout *camera = part->camera;
    unsigned taken = 0;
    int r;

    *pipeline = (struct gpu_pipeline){.gpu = gpu};
    // Managed memory may be one stream's alone, and a graph's kernels are in none.
    r = gpu_chain_new(gpu, mapped || gpu_info(gpu)->concurrent_managed_access, error,
                      &pipeline->chain);
    for (unsigned at = part->first; at < part->end && r == 0; at += taken) {
        struct gpu_stage_setup setup = setup_at(part, at, mapped);
        const struct gpu_stage_ops *ops = stages_find_gpu(&setup, &taken);

        if (!ops) {
            return error_set(error, -ENOTSUP, "this view has no CUDA kernel");
        }
        setup.gpu = gpu;
        setup.count = taken;
        setup.last = at + taken == part->plan->count;
        setup.mapped = mapped && (setup.first || setup.last);
        r = gpu_stage_init(&pipeline->stages[pipeline->count], ops, &setup, error);
        if (r == 0 && !setup.last) {
            r = gpu_plane_init(&pipeline->planes[pipeline->count], gpu, camera->width,
                               camera->height, error);
        }
        pipeline->count++;
    }
    return r;
}

int gpu_pipeline_init(struct gpu_pipeline *pipeline, struct gpu *gpu, const struct plan *plan,
                      const struct frame_layout *camera, bool mapped, struct error *error)
{
    const struct gpu_part whole = {plan, camera, 0, plan->count};

    return gpu_pipeline_init_part(pipeline, gpu, &whole, mapped, error);
}

void gpu_pipeline_finish(struct gpu_pipeline *pipeline)
{
    if (pipeline->gpu && !gpu_is_lost(pipeline->gpu)) {
        gpu_enter(pipeline->gpu, NULL); // if it cannot be, the context may be current already
    }
    gpu_chain_free(pipeline->chain);
    for (unsigned i = 0; i < pipeline->count; i++) {
        gpu_stage_finish(&pipeline->stages[i]);
        gpu_plane_finish(&pipeline->planes[i], pipeline->gpu);
    }
    *pipeline = (struct gpu_pipeline){0};
}

int gpu_pipeline_launch_part(struct gpu_pipeline *pipeline, struct gpu_pictures pictures,
                             struct error *error)
{
    const struct gpu_picture output = pictures.output;
    int r = 0;

    gpu_chain_begin(pipeline->chain);
    for (unsigned i = 0; i < pipeline->count && r == 0; i++) {
        const struct gpu_plane *plane = &pipeline->planes[i];

        pictures.output = plane->address ? (struct gpu_picture){{{plane->address, plane->stride}},
                                                                pictures.camera.width,
                                                                pictures.camera.height}
                                         : output;
        r = pipeline->stages[i].ops->launch(&pipeline->stages[i], &pictures, pipeline->chain,
                                            error);
        pictures.input = pictures.output;
    }
    return r < 0 ? r : gpu_chain_end(pipeline->chain, error);
}

int gpu_pipeline_launch(struct gpu_pipeline *pipeline, const struct gpu_picture *input,
                        const struct gpu_picture *output, struct error *error)
{
    return gpu_pipeline_launch_part(pipeline, (struct gpu_pictures){*input, *input, *output},
                                    error);
}

void gpu_pipeline_forget(struct gpu_pipeline *pipeline)
{
    for (unsigned i = 0; i < pipeline->count; i++) {
        struct gpu_stage *stage = &pipeline->stages[i];

        if (stage->ops->forget) {
            stage->ops->forget(stage);
        }
    }
}

// Kernel number `index` over all stages, NULL past the last.
static struct gpu_kernel *kernel_at(struct gpu_pipeline *pipeline, unsigned index)
{
    for (unsigned i = 0; i < pipeline->count; i++) {
        struct gpu_stage *stage = &pipeline->stages[i];

        if (index < stage->kernel_count) {
            return &stage->kernels[index];
        }
        index -= stage->kernel_count;
    }
    return NULL;
}

// Of kernels in `groups`, a bit each.
static int set_blocks(struct gpu_pipeline *pipeline, const struct config_block *blocks,
                      unsigned groups, struct error *error)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(pipeline, i)); i++) {
        struct gpu_kernel probe = *kernel;
        int r = groups >> kernel->group & 1
                    ? gpu_kernel_set_block(&probe, blocks[kernel->group], error)
                    : 0;

        if (r < 0) {
            return r;
        }
    }
    for (unsigned i = 0; (kernel = kernel_at(pipeline, i)); i++) {
        if (groups >> kernel->group & 1) {
            gpu_kernel_set_block(kernel, blocks[kernel->group], NULL);
        }
    }
    return 0;
}

int gpu_pipeline_set_blocks(struct gpu_pipeline *pipeline, const struct config_block *blocks,
                            struct error *error)
{
    return set_blocks(pipeline, blocks, ~0U, error);
}

int gpu_pipeline_set_block(struct gpu_pipeline *pipeline, enum config_kernel group,
                           struct config_block block, struct error *error)
{
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};

    blocks[group] = block;
    return set_blocks(pipeline, blocks, 1U << group, error);
}

size_t gpu_pipeline_groups(const struct gpu_pipeline *pipeline, enum config_kernel *ret_groups)
{
    unsigned seen = 0;
    size_t count = 0;

    for (unsigned i = 0; i < pipeline->count; i++) {
        for (unsigned k = 0; k < pipeline->stages[i].kernel_count; k++) {
            enum config_kernel group = pipeline->stages[i].kernels[k].group;

            if (!(seen >> group & 1)) {
                ret_groups[count++] = group;
            }
            seen |= 1U << group;
        }
    }
    return count;
}

struct gpu_kernel *gpu_pipeline_kernel(struct gpu_pipeline *pipeline, enum config_kernel group)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(pipeline, i)); i++) {
        if (kernel->group == group) {
            return kernel;
        }
    }
    return NULL;
}

bool gpu_pipeline_take_refusal(struct gpu_pipeline *pipeline, struct error *ret_why)
{
    struct gpu_kernel *kernel;

    for (unsigned i = 0; (kernel = kernel_at(pipeline, i)); i++) {
        if (gpu_kernel_take_refusal(kernel, ret_why)) {
            return true;
        }
    }
    return false;
}

bool gpu_pipeline_take_warning(struct gpu_pipeline *pipeline, struct error *ret_text)
{
    struct gpu_kernel *kernel;

    if (gpu_chain_take_warning(pipeline->chain, ret_text)) {
        return true;
    }
    for (unsigned i = 0; (kernel = kernel_at(pipeline, i)); i++) {
        if (gpu_kernel_take_warning(kernel, ret_text)) {
            return true;
        }
    }
    return false;
}
