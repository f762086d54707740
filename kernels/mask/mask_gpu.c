// A view's mask on the GPU: mask.cu with its name, its tile and the mask, copied there once.
#include "kernels/mask/mask_cuda.h"
#include "kernels/mask/mask_plane.h"
#include "kernels/stage/gpu_stage.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static unsigned takes(const struct gpu_stage_setup *setup)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;

    return planar && setup->steps[0].kind == STAGE_MASK ? gpu_stage_match(setup, STAGE_MASK) : 0;
}

static int upload(struct gpu_stage *stage, const struct mask_plane *mask, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(stage->gpu);
    struct gpu_plane *plane = stage->state;
    int r = gpu_plane_init(plane, stage->gpu, mask->width, mask->height, error);

    if (r < 0) {
        return r;
    }
    assert(plane->stride == mask->stride);
    // In the stream's order: a copy outside it may still be under way when a kernel starts.
    return cuda_driver_check(driver,
                             driver->copy_to_device(plane->address, mask->bytes,
                                                    mask->stride * mask->height,
                                                    gpu_stream(stage->gpu)),
                             "copying a mask", error);
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    char name[32];
    int r;

    stage->state = calloc(1, sizeof(struct gpu_plane));
    if (!stage->state) {
        return error_set(error, -ENOMEM, "no memory for a mask on the GPU");
    }
    snprintf(name, sizeof name, "mask_%s", gpu_stage_limited(setup) ? "limited" : "full");
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_MASK, name,
                             (struct gpu_tile){TILE_CUDA_PIXELS, MASK_CUDA_ROWS}, error);
    return r < 0 ? r : upload(stage, setup->steps[0].options.mask, error);
}

static void finish(struct gpu_stage *stage)
{
    struct gpu_plane *plane = stage->state;

    if (plane) {
        gpu_plane_finish(plane, stage->gpu);
        free(plane);
    }
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    const struct gpu_plane *plane = stage->state;
    struct mask_cuda parameters = {
        .input = input->planes[0].address,
        .mask = plane->address,
        .output = output->planes[0].address,
        .input_stride = input->planes[0].stride,
        .mask_stride = plane->stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

const struct gpu_stage_ops mask_gpu_ops = {
    .name = "mask", .takes = takes, .init = init, .finish = finish, .launch = launch};
