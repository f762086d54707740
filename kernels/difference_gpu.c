#include "kernels/difference_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool difference_gpu_supports(const struct gpu_stage_setup *setup, enum difference_gpu_form form)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;
    bool gray = setup->steps[0].kind == STAGE_GRAY;

    return form == DIFFERENCE_GPU_BITS ? setup->first || !gray : planar && !gray;
}

int difference_gpu_init(struct difference_gpu *difference, struct gpu_stage *stage,
                        const struct gpu_stage_setup *setup, enum difference_gpu_form form,
                        struct error *error)
{
    const struct stage_options *options = &setup->steps[setup->steps[0].kind == STAGE_GRAY].options;
    bool automatic = options->threshold == CONFIG_THRESHOLD_OTSU;
    const struct frame_layout *camera = setup->camera;
    char name[64];
    int r;

    *difference =
        (struct difference_gpu){.threshold = automatic ? 0 : (uint32_t)options->threshold};
    if (form == DIFFERENCE_GPU_BITS) {
        snprintf(name, sizeof name, "difference_%s_bits", gpu_stage_layout(setup));
    } else {
        snprintf(name, sizeof name, "difference_planar_%s_%s", automatic ? "measure" : "mask",
                 gpu_stage_limited(setup) ? "limited" : "full");
    }
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_DIFFERENCE, name,
                             (struct gpu_tile){TILE_CUDA_PIXELS, DIFFERENCE_CUDA_ROWS}, error);
    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = gpu_plane_init(&difference->gray[i], stage->gpu, camera->width, camera->height, error);
    }
    return r;
}

void difference_gpu_finish(struct difference_gpu *difference, struct gpu *gpu)
{
    gpu_plane_finish(&difference->gray[0], gpu);
    gpu_plane_finish(&difference->gray[1], gpu);
}

int difference_gpu_launch(struct difference_gpu *difference, struct gpu_stage *stage,
                          const struct gpu_picture *input, struct gpu_plane output,
                          struct gpu_plane copy, struct gpu_chain *chain, struct error *error)
{
    const struct gpu_plane *current, *previous;
    struct difference_cuda parameters = {
        .input = input->planes[0].address,
        .output = output.address,
        .copy = copy.address,
        .input_stride = input->planes[0].stride,
        .output_stride = output.stride,
        .copy_stride = copy.stride,
        .width = input->width,
        .height = input->height,
        .threshold = difference->threshold,
    };

    difference->current ^= 1;
    difference->frames += difference->frames < 2;
    current = &difference->gray[difference->current];
    previous = &difference->gray[difference->current ^ 1];
    parameters.current = current->address;
    parameters.previous = difference->frames < 2 ? 0 : previous->address;
    parameters.plane_stride = current->stride;
    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_DIFFERENCE);

    return count > 0 && difference_gpu_supports(setup, DIFFERENCE_GPU_BYTES) ? count : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    stage->state = calloc(1, sizeof(struct difference_gpu));
    return stage->state
               ? difference_gpu_init(stage->state, stage, setup, DIFFERENCE_GPU_BYTES, error)
               : error_set(error, -ENOMEM, "no memory for differences on the GPU");
}

static void finish(struct gpu_stage *stage)
{
    if (stage->state) {
        difference_gpu_finish(stage->state, stage->gpu);
        free(stage->state);
    }
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_plane output = {pictures->output.planes[0].address,
                                     pictures->output.planes[0].stride};

    return difference_gpu_launch(stage->state, stage, &pictures->input, output,
                                 (struct gpu_plane){0}, chain, error);
}

const struct gpu_stage_ops difference_gpu_ops = {
    .name = "difference", .takes = takes, .init = init, .finish = finish, .launch = launch};
