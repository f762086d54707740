// Smoother gray on the GPU: blur.cu with its name and its tile.
#include "kernels/blur/blur_cuda.h"
#include "kernels/stage/gpu_stage.h"

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->count > 0 && setup->steps[0].kind == STAGE_BLUR;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    bool mapped = setup->mapped && setup->first;

    return gpu_stage_add_kernel(
        stage, CONFIG_KERNEL_BLUR, setup->steps[0].options.blur == 5 ? "blur_5" : "blur_3",
        (struct gpu_tile){TILE_CUDA_PIXELS, mapped ? BLUR_CUDA_ROWS_MAPPED : BLUR_CUDA_ROWS},
        error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    struct blur_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters,
                         &parameters.rows, input->width, input->height, error);
}

const struct gpu_stage_ops blur_gpu_ops = {
    .name = "blur", .takes = takes, .init = init, .launch = launch};
