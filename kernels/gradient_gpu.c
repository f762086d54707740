#include "kernels/gradient_gpu.h"

#include "kernels/gradient.h"
#include "kernels/gradient_cuda.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RESULTS 256
#define GRID_Y_MAX 65535

struct gradient_gpu {
    struct gpu *gpu; // not owned
    struct CUfunc_st *kernel;
    uint64_t thresholds; // owned device memory
    double gain;
    unsigned block_x, block_y;
};

static const char *layout_of(const struct pixel_format *format)
{
    static const struct {
        const char *format, *layout;
    } table[] = {
        {"YUYV", "yuyv"}, {"UYVY", "uyvy"}, {"RGB3", "rgb3"}, {"BGR3", "bgr3"}, {"XR24", "xr24"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        if (strcmp(table[i].format, format->name) == 0) {
            return table[i].layout;
        }
    }
    return "planar";
}

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

static int upload_thresholds(struct gradient_gpu *gradient, const struct config_view *settings,
                             struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gradient->gpu);
    uint32_t thresholds[RESULTS];
    int r;

    for (unsigned i = 0; i < RESULTS; i++) {
        thresholds[i] = threshold(settings->norm, settings->gain, i);
    }
    // In the stream's order: a copy outside it may still be under way when a kernel starts.
    r = cuda_driver_check(driver, driver->mem_alloc(&gradient->thresholds, sizeof thresholds),
                          "allocating thresholds", error);
    if (r < 0) {
        return r;
    }
    return cuda_driver_check(driver,
                             driver->copy_to_device(gradient->thresholds, thresholds,
                                                    sizeof thresholds, gpu_stream(gradient->gpu)),
                             "copying thresholds", error);
}

static void cleanup_gradient(struct gradient_gpu **gradient)
{
    gradient_gpu_free(*gradient);
}

int gradient_gpu_new(struct gpu *gpu, const struct pixel_format *input,
                     const struct config_view *settings, bool limited, struct error *error,
                     struct gradient_gpu **ret_gradient)
{
    _cleanup_(cleanup_gradient) struct gradient_gpu *gradient = calloc(1, sizeof *gradient);
    char name[64];
    int r;

    if (!gradient) {
        return error_set(error, -ENOMEM, "no memory for a gradient");
    }
    gradient->gpu = gpu;
    gradient->gain = settings->gain;
    // Square blocks read fewer rows twice, which counts where the GPU does not cache them.
    gradient->block_x = gpu_info(gpu)->integrated ? 32 : 128;
    gradient->block_y = gpu_info(gpu)->integrated ? 8 : 1;
    snprintf(name, sizeof name, "gradient_%s_%s_%s", layout_of(input),
             settings->norm == CONFIG_NORM_L2 ? "l2" : "l1", limited ? "limited" : "full");
    r = gpu_kernel(gpu, name, error, &gradient->kernel);
    if (r == 0) {
        r = upload_thresholds(gradient, settings, error);
    }
    if (r == 0) {
        *ret_gradient = TAKE(gradient);
    }
    return r;
}

void gradient_gpu_free(struct gradient_gpu *gradient)
{
    if (gradient) {
        if (gradient->thresholds) {
            gpu_driver(gradient->gpu)->mem_free(gradient->thresholds);
        }
        free(gradient);
    }
}

int gradient_gpu_set_block(struct gradient_gpu *gradient, unsigned x, unsigned y,
                           struct error *error)
{
    int r = gpu_block_check(gradient->gpu, gradient->kernel, x, y, error);

    if (r == 0) {
        gradient->block_x = x;
        gradient->block_y = y;
    }
    return r;
}

static uint32_t divide_up(uint32_t count, uint32_t by)
{
    return (uint32_t)(((uint64_t)count + by - 1) / by);
}

int gradient_gpu_launch(const struct gradient_gpu *gradient,
                        const struct gradient_gpu_picture *picture, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gradient->gpu);
    struct gradient_cuda parameters = {
        .input = picture->input,
        .output = picture->output,
        .thresholds = gradient->thresholds,
        .input_stride = (uint32_t)picture->input_stride,
        .output_stride = (uint32_t)picture->output_stride,
        .width = picture->width,
        .height = picture->height,
        .gain = (float)gradient->gain,
        .unity = gradient->gain == 1.0,
    };
    uint32_t tiles_x = divide_up(picture->width, GRADIENT_CUDA_PIXELS);
    uint32_t tiles_y = divide_up(picture->height, GRADIENT_CUDA_ROWS);
    uint32_t grid_y = divide_up(tiles_y, gradient->block_y);
    void *arguments[] = {&parameters};

    if (grid_y > GRID_Y_MAX) {
        return error_set(error, -EINVAL, "%u rows are too many for blocks %u threads high",
                         picture->height, gradient->block_y);
    }
    return cuda_driver_check(driver,
                             driver->launch(gradient->kernel, divide_up(tiles_x, gradient->block_x),
                                            grid_y, 1, gradient->block_x, gradient->block_y, 1, 0,
                                            gpu_stream(gradient->gpu), arguments, NULL),
                             "launching the gradient", error);
}

struct CUfunc_st *gradient_gpu_kernel(const struct gradient_gpu *gradient)
{
    return gradient->kernel;
}
