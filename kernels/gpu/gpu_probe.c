#include "kernels/gpu/gpu_probe.h"

int gpu_probe_launch(struct gpu *gpu, uint64_t input, uint64_t output, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    uint32_t count = GPU_PROBE_WORDS;
    void *parameters[] = {&input, &output, &count};
    struct CUfunc_st *kernel;
    int r = gpu_kernel(gpu, "gpu_probe", error, &kernel);

    return r < 0 ? r
                 : cuda_driver_check(driver,
                                     driver->launch(kernel, GPU_PROBE_WORDS / 256, 1, 1, 256, 1, 1,
                                                    0, gpu_stream(gpu), parameters, NULL),
                                     "launching the probe", error);
}
