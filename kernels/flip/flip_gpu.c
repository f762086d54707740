#include "kernels/flip/flip_gpu.h"

#include "kernels/convert/convert_gpu.h"
#include "kernels/flip/flip_axes.h"
#include "kernels/flip/flip_cuda.h"

#include <ctype.h>
#include <stdio.h>

int flip_gpu_init(struct flip_gpu *flip, struct gpu *gpu, const struct pixel_format *input,
                  struct error *error)
{
    char name[16];
    int r;

    snprintf(name, sizeof name, "flip_%s", input->name);
    for (char *c = name; *c; c++) {
        *c = (char)tolower(*c);
    }
    *flip = (struct flip_gpu){.gpu = gpu};
    r = gpu_kernel(gpu, name, error, &flip->function);
    return r < 0 ? r : gpu_chain_new(gpu, false, error, &flip->chain);
}

void flip_gpu_finish(struct flip_gpu *flip)
{
    gpu_chain_free(flip->chain);
    *flip = (struct flip_gpu){0};
}

int flip_gpu_launch(const struct flip_gpu *flip, enum config_flip kind,
                    const struct gpu_pictures *pictures, struct error *error)
{
    const struct flip_axes axes = flip_axes_of(kind);
    uint32_t columns = FLIP_CUDA_COLUMNS(axes.swapped), rows = FLIP_CUDA_WARP / columns;
    struct flip_cuda parameters = {
        .picture = convert_gpu_parameters(&pictures->input, &pictures->output),
        .swapped = axes.swapped,
        .mirrored_x = axes.mirrored_x,
        .mirrored_y = axes.mirrored_y,
        .across = gpu_divide_up(pictures->input.width, columns * FLIP_CUDA_SIDE),
    };
    uint32_t warps =
        parameters.across * gpu_divide_up(pictures->input.height, rows * FLIP_CUDA_SIDE);
    struct gpu_grid grid = {gpu_divide_up(warps, FLIP_CUDA_THREADS / FLIP_CUDA_WARP), 1, 1};
    int r;

    gpu_chain_begin(flip->chain);
    r = gpu_chain_add_fixed(flip->chain, flip->function, grid, FLIP_CUDA_THREADS, &parameters,
                            sizeof parameters, error);
    return r < 0 ? r : gpu_chain_end(flip->chain, error);
}
