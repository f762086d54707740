#include "kernels/gpu_chain.h"

#include <errno.h>

struct gpu_chain {
    struct gpu *gpu; // not owned
};

int gpu_chain_new(struct gpu *gpu, struct error *error, struct gpu_chain **ret_chain)
{
    struct gpu_chain *chain = calloc(1, sizeof *chain);

    if (!chain) {
        return error_set(error, -ENOMEM, "no memory for a chain of kernels");
    }
    chain->gpu = gpu;
    *ret_chain = chain;
    return 0;
}

void gpu_chain_free(struct gpu_chain *chain)
{
    free(chain);
}

void gpu_chain_begin(struct gpu_chain *chain)
{
    (void)chain;
}

int gpu_chain_add(struct gpu_chain *chain, struct gpu_kernel *kernel, void *parameters, size_t size,
                  uint32_t *rows, uint32_t width, uint32_t height, struct error *error)
{
    (void)chain;
    (void)size;
    return gpu_kernel_launch(kernel, parameters, rows, width, height, error);
}

int gpu_chain_add_fixed(struct gpu_chain *chain, struct CUfunc_st *function, struct gpu_grid grid,
                        unsigned threads, void *parameters, size_t size, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(chain->gpu);

    (void)size;
    return cuda_driver_check(driver,
                             driver->launch(function, grid.x, grid.y, grid.z, threads, 1, 1, 0,
                                            gpu_stream(chain->gpu), (void *[]){parameters}, NULL),
                             "launching", error);
}

int gpu_chain_end(struct gpu_chain *chain, struct error *error)
{
    (void)chain;
    (void)error;
    return 0;
}
