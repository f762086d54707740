#include "kernels/difference/difference_gpu.h"

#include "kernels/difference/difference_cuda.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int difference_gpu_init(struct difference_gpu *difference, const struct gpu_stage_setup *setup,
                        struct error *error)
{
    const struct frame_layout *camera = setup->camera;
    int r = gpu_plane_init(&difference->gray[0], setup->gpu, camera->width, camera->height, error);

    return r < 0 ? r
                 : gpu_plane_init(&difference->gray[1], setup->gpu, camera->width, camera->height,
                                  error);
}

void difference_gpu_finish(struct difference_gpu *difference, struct gpu *gpu)
{
    gpu_plane_finish(&difference->gray[0], gpu);
    gpu_plane_finish(&difference->gray[1], gpu);
}

void difference_gpu_forget(struct difference_gpu *difference)
{
    difference->frames = 0;
}

void difference_gpu_next(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous)
{
    *ret_previous = difference->frames > 0 ? difference->gray[difference->current].address : 0;
    difference->current ^= 1;
    difference->frames = 1;
    *ret_current = difference->gray[difference->current].address;
}

// Of a plane of gray: bytes, or bits for mark.cu with all that follows.
struct difference_stage {
    struct difference_gpu difference;
    uint32_t threshold;
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;

    return planar && setup->steps[0].kind == STAGE_DIFFERENCE
               ? gpu_stage_match(setup, STAGE_DIFFERENCE)
               : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    bool automatic = setup->steps[0].options.threshold == CONFIG_THRESHOLD_OTSU;
    struct difference_stage *state = calloc(1, sizeof *state);
    char name[64];
    int r;

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for differences on the GPU");
    }
    stage->state = state;
    state->threshold = automatic ? 0 : (uint32_t)setup->steps[0].options.threshold;
    snprintf(name, sizeof name, "difference_%s_%s", automatic ? "measure" : "mask",
             gpu_stage_limited(setup) ? "limited" : "full");
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_DIFFERENCE, name,
                             (struct gpu_tile){TILE_CUDA_PIXELS, DIFFERENCE_CUDA_ROWS}, error);
    return r < 0 ? r : difference_gpu_init(&state->difference, setup, error);
}

static void finish(struct gpu_stage *stage)
{
    struct difference_stage *state = stage->state;

    if (state) {
        difference_gpu_finish(&state->difference, stage->gpu);
        free(state);
    }
}

static void forget(struct gpu_stage *stage)
{
    struct difference_stage *state = stage->state;

    difference_gpu_forget(&state->difference);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    struct difference_stage *state = stage->state;
    struct difference_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .input_stride = input->planes[0].stride,
        .plane_stride = state->difference.gray[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
        .threshold = state->threshold,
    };

    difference_gpu_next(&state->difference, &parameters.current, &parameters.previous);
    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

const struct gpu_stage_ops difference_gpu_ops = {.name = "difference",
                                                 .takes = takes,
                                                 .init = init,
                                                 .finish = finish,
                                                 .forget = forget,
                                                 .launch = launch};
