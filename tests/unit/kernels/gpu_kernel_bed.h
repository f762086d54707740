// A driver for tests of kernels and their blocks: it takes or refuses launches as told and writes
// down what it was asked for.
#pragma once

#include "tests/unit/unit.h"

#include "kernels/gpu/gpu_kernel.c"

#include <string.h>

#define LAUNCHES_MAX 8

// What this test's kernel takes.
struct parameters {
    struct gpu_job job;
    uint32_t number;
};

static struct {
    struct gpu_info info;
    struct gpu_blocks blocks;
    struct cuda_driver driver;
    int results[LAUNCHES_MAX]; // of launches to come
    struct {
        struct gpu_grid grid;
        struct config_block block;
        struct parameters parameters;
    } launches[LAUNCHES_MAX];
    unsigned count;
} fake;

const struct gpu_info *gpu_info(const struct gpu *gpu)
{
    (void)gpu;
    return &fake.info;
}

struct gpu_blocks *gpu_blocks(struct gpu *gpu)
{
    (void)gpu;
    return &fake.blocks;
}

const struct cuda_driver *gpu_driver(const struct gpu *gpu)
{
    (void)gpu;
    return &fake.driver;
}

struct CUstream_st *gpu_stream(const struct gpu *gpu)
{
    (void)gpu;
    return NULL;
}

int gpu_kernel(const struct gpu *gpu, const char *name, struct error *error,
               struct CUfunc_st **ret_kernel)
{
    (void)gpu;
    *ret_kernel = NULL;
    return strcmp(name, "gradient_planar_l2_full") == 0 ? 0
                                                        : error_set(error, -ENOENT, "no kernel");
}

int gpu_block_check(const struct gpu *gpu, struct CUfunc_st *kernel, struct config_block block,
                    struct error *error)
{
    (void)gpu;
    (void)kernel;
    return block.x * block.y <= 1024 ? 0 : error_set(error, -EINVAL, "at most 1024 threads");
}

static int launch(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  struct CUstream_st *stream, void **parameters, void **extra)
{
    unsigned i = fake.count++;

    (void)function;
    (void)shared_bytes;
    (void)stream;
    assert_true(i < LAUNCHES_MAX);
    assert_int_equal(block_z, 1);
    assert_null(extra);
    fake.launches[i].grid = (struct gpu_grid){grid_x, grid_y, grid_z};
    fake.launches[i].block = (struct config_block){(int)block_x, (int)block_y, 0};
    fake.launches[i].parameters = *(const struct parameters *)parameters[0];
    return fake.results[i];
}

// A multiprocessor of 2048 threads in at most 32 blocks.
static int occupancy(int *blocks, struct CUfunc_st *function, int threads, size_t shared_bytes)
{
    (void)function;
    (void)shared_bytes;
    *blocks = 2048 / threads < 32 ? 2048 / threads : 32;
    return CUDA_SUCCESS;
}

static int error_name(int result, const char **name)
{
    *name = result == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : "CUDA_ERROR_ILLEGAL_ADDRESS";
    return CUDA_SUCCESS;
}

static int error_string(int result, const char **text)
{
    *text = result == 701 ? "too many resources" : "an illegal memory access";
    return CUDA_SUCCESS;
}

static inline int make(struct gpu_kernel *kernel)
{
    int r = gpu_kernel_init(kernel, NULL, CONFIG_KERNEL_GRADIENT, "gradient_planar_l2_full",
                            (struct gpu_tile){8, 4}, 1920, NULL);

    if (r == 0) {
        gpu_kernel_join(kernel);
    }
    return r;
}

static inline int setup(void **state)
{
    static struct gpu_kernel kernel;

    memset(&fake, 0, sizeof fake);
    fake.info = (struct gpu_info){.multiprocessor_threads = 2048};
    fake.driver.launch = launch;
    fake.driver.occupancy = occupancy;
    fake.driver.error_name = error_name;
    fake.driver.error_string = error_string;
    *state = &kernel;
    return make(&kernel);
}

static inline int run(struct gpu_kernel *kernel, struct error *error)
{
    struct parameters parameters = {{.width = 1920, .height = 1080}, 4711};

    return gpu_kernel_launch(kernel, &parameters.job, error);
}

static inline void set_rows(int x, int y, int rows)
{
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {
        [CONFIG_KERNEL_GRADIENT] = {x, y, rows}};

    gpu_set_blocks(NULL, blocks);
}

static inline void set(int x, int y)
{
    set_rows(x, y, 0);
}

static inline void assert_no_complaint(void)
{
    struct error text;

    assert_false(gpu_take_complaint(NULL, &text));
}

static inline void assert_launched(unsigned i, int x, int y)
{
    assert_true(i < fake.count);
    assert_int_equal(fake.launches[i].block.x, x);
    assert_int_equal(fake.launches[i].block.y, y);
    assert_int_equal(fake.launches[i].parameters.number, 4711);
}
