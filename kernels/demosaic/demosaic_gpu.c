#include "kernels/demosaic/demosaic_gpu.h"

#include <stdio.h>

int demosaic_gpu_init(struct demosaic_gpu *demosaic, struct gpu *gpu,
                      const struct pixel_format *input, bool colour, struct error *error)
{
    unsigned bits = input->mosaic.packed || input->mosaic.bits == 8 ? input->mosaic.bits : 16;
    char name[32];
    int r;

    snprintf(name, sizeof name, "demosaic_raw%u%s_%s", bits, input->mosaic.packed ? "p" : "",
             colour ? "rgb3" : "grey");
    *demosaic = (struct demosaic_gpu){.gpu = gpu};
    r = gpu_kernel(gpu, name, error, &demosaic->function);
    return r < 0 ? r : gpu_chain_new(gpu, false, error, &demosaic->chain);
}

void demosaic_gpu_finish(struct demosaic_gpu *demosaic)
{
    gpu_chain_free(demosaic->chain);
    *demosaic = (struct demosaic_gpu){0};
}

int demosaic_gpu_launch(const struct demosaic_gpu *demosaic, const struct frame_layout *input,
                        const struct demosaic_levels *levels, const struct gpu_pictures *pictures,
                        struct error *error)
{
    struct demosaic_cuda parameters = {
        .input = pictures->input.planes[0].address,
        .output = pictures->output.planes[0].address,
        .input_stride = pictures->input.planes[0].stride,
        .output_stride = pictures->output.planes[0].stride,
        .width = input->width,
        .height = input->height,
        .row_bytes = input->planes[0].width_bytes,
        .across = gpu_divide_up(input->width, DEMOSAIC_CUDA_PIXELS),
        .red_x = input->format->mosaic.red_x,
        .red_y = input->format->mosaic.red_y,
        .levels = *levels,
    };
    uint32_t threads = parameters.across * gpu_divide_up(input->height, DEMOSAIC_CUDA_ROWS);
    struct gpu_grid grid = {gpu_divide_up(threads, DEMOSAIC_CUDA_THREADS), 1, 1};
    int r;

    gpu_chain_begin(demosaic->chain);
    r = gpu_chain_add_fixed(demosaic->chain, demosaic->function, grid, DEMOSAIC_CUDA_THREADS,
                            &parameters, sizeof parameters, error);
    return r < 0 ? r : gpu_chain_end(demosaic->chain, error);
}
