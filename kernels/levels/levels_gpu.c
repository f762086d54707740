#include "kernels/levels/levels_gpu.h"

#define WARPS (LEVELS_CUDA_THREADS / 32)

int levels_gpu_init(struct levels_gpu *levels, struct gpu_stage *stage, const char *function,
                    struct error *error)
{
    struct gpu *gpu = stage->gpu;
    const struct cuda_driver *driver = gpu_driver(gpu);
    int resident = 0, r = gpu_kernel(gpu, function, error, &levels->function);

    if (r == 0) {
        r = cuda_driver_check(
            driver, driver->occupancy(&resident, levels->function, LEVELS_CUDA_THREADS, 0),
            "asking how many blocks of a histogram run at once", error);
    }
    resident *= gpu_info(gpu)->multiprocessors;
    levels->blocks = resident < 1 ? 1 : (unsigned)resident;
    return r < 0 ? r
                 : gpu_stage_add_memory(stage, NULL, sizeof(struct levels_cuda_state),
                                        "a histogram", error, &levels->state);
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
