// Edges on the GPU: gradient.cu with its name, its tile and its thresholds.
#include "kernels/gpu_stage.h"
#include "kernels/gradient_cuda.h"

#include <stdio.h>

#define RESULTS 256

// The smallest n whose result is `result` or more, UINT32_MAX if there is none.
static uint32_t threshold(enum config_norm norm, double gain, unsigned result)
{
    uint32_t reach =
        norm == CONFIG_NORM_L2 ? 2 * GRADIENT_REACH * GRADIENT_REACH : 2 * GRADIENT_REACH;
    uint32_t low = 0, high = reach + 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (gradient_result(norm, gain, middle) >= result) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low > reach ? UINT32_MAX : low;
}

static int upload_thresholds(struct gpu_stage *stage, const struct config_view *settings,
                             struct error *error)
{
    struct gpu *gpu = stage->kernel.gpu;
    const struct cuda_driver *driver = gpu_driver(gpu);
    uint32_t thresholds[RESULTS];
    int r;

    for (unsigned i = 0; i < RESULTS; i++) {
        thresholds[i] = threshold(settings->norm, settings->gain, i);
    }
    r = cuda_driver_check(driver, driver->mem_alloc(&stage->gradient.thresholds, sizeof thresholds),
                          "allocating thresholds", error);
    if (r < 0) {
        return r;
    }
    // In the stream's order: a copy outside it may still be under way when a kernel starts.
    return cuda_driver_check(driver,
                             driver->copy_to_device(stage->gradient.thresholds, thresholds,
                                                    sizeof thresholds, gpu_stream(gpu)),
                             "copying thresholds", error);
}

static unsigned rows_of(bool mapped, uint32_t height)
{
    if (!mapped) {
        return GRADIENT_CUDA_ROWS;
    }
    return height < GRADIENT_CUDA_TALL ? GRADIENT_CUDA_ROWS_MAPPED : GRADIENT_CUDA_ROWS_MAPPED_TALL;
}

static int init(struct gpu_stage *stage, struct gpu *gpu, const struct stage_setup *setup,
                bool mapped, struct error *error)
{
    struct gpu_tile tile = {TILE_CUDA_PIXELS, rows_of(mapped, setup->input->height)};
    char name[64];
    int r;

    stage->gradient.gain = setup->settings->gain;
    snprintf(name, sizeof name, "gradient_%s_%s_%s", gpu_luma_layout(setup->input->format),
             setup->settings->norm == CONFIG_NORM_L2 ? "l2" : "l1",
             setup->output->plane_count > 1 ? "limited" : "full");
    r = gpu_kernel_init(&stage->kernel, gpu, stage->ops->key, name, tile, error);
    return r < 0 ? r : upload_thresholds(stage, setup->settings, error);
}

static void finish(struct gpu_stage *stage)
{
    if (stage->gradient.thresholds) {
        gpu_driver(stage->kernel.gpu)->mem_free(stage->gradient.thresholds);
    }
}

static int launch(struct gpu_stage *stage, const struct gpu_picture *input,
                  const struct gpu_picture *output, struct error *error)
{
    struct gradient_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .thresholds = stage->gradient.thresholds,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
        .gain = (float)stage->gradient.gain,
        .unity = stage->gradient.gain == 1.0,
        .rows = stage->kernel.tile.height,
    };

    return gpu_kernel_launch(&stage->kernel, &parameters, input->width, input->height, error);
}

const struct gpu_stage_ops gradient_gpu_ops = {
    .key = "gradient",
    .init = init,
    .finish = finish,
    .launch = launch,
};
