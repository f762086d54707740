#include "kernels/levels/levels_gpu.h"

#define WARPS (LEVELS_CUDA_THREADS / 32)

static int make_state(struct levels_gpu *levels, struct gpu *gpu, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    size_t size = sizeof(struct levels_cuda_state);
    int r = cuda_driver_check(driver, driver->mem_alloc(&levels->state, size),
                              "allocating a histogram", error);

    return r < 0 ? r
                 : cuda_driver_check(driver,
                                     driver->mem_clear(levels->state, 0, size, gpu_stream(gpu)),
                                     "clearing a histogram", error);
}

int levels_gpu_init(struct levels_gpu *levels, struct gpu *gpu, const char *function,
                    struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    int resident = 0, r = gpu_kernel(gpu, function, error, &levels->function);

    if (r == 0) {
        r = cuda_driver_check(
            driver, driver->occupancy(&resident, levels->function, LEVELS_CUDA_THREADS, 0),
            "asking how many blocks of a histogram run at once", error);
    }
    resident *= gpu_info(gpu)->multiprocessors;
    levels->blocks = resident < 1 ? 1 : (unsigned)resident;
    return r < 0 ? r : make_state(levels, gpu, error);
}

void levels_gpu_finish(struct levels_gpu *levels, struct gpu *gpu)
{
    if (levels->state && !gpu_is_lost(gpu)) {
        gpu_driver(gpu)->mem_free(levels->state);
    }
    *levels = (struct levels_gpu){0};
}

// As many as run at the same time and have something to count: each has a table to clear and to add
// to the others.
static unsigned blocks_for(const struct levels_gpu *levels, const struct gpu_picture *input)
{
    uint64_t a_row = (input->width + LEVELS_CUDA_VECTOR - 2ULL) / LEVELS_CUDA_SEGMENT + 1;
    uint64_t blocks = (a_row * input->height + WARPS - 1) / WARPS;

    return blocks < levels->blocks ? (unsigned)blocks : levels->blocks;
}

int levels_gpu_add(const struct levels_gpu *levels, const struct gpu_picture *input,
                   struct gpu_chain *chain, struct error *error)
{
    struct levels_cuda parameters = {
        .input = input->planes[0].address,
        .state = levels->state,
        .input_stride = input->planes[0].stride,
        .width = input->width,
        .height = input->height,
    };

    return gpu_chain_add_fixed(chain, levels->function,
                               (struct gpu_grid){blocks_for(levels, input), 1, 1},
                               LEVELS_CUDA_THREADS, &parameters, sizeof parameters, error);
}
