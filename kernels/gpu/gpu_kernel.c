#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>

static bool same_threads(struct config_block a, struct config_block b)
{
    return a.x == b.x && a.y == b.y;
}

static bool same(struct config_block a, struct config_block b)
{
    return same_threads(a, b) && a.rows == b.rows;
}

static struct config_block own_block(bool integrated, struct gpu_tile tile, uint32_t width)
{
    struct config_block best = {128, 1, (int)tile.height};
    uint32_t threads = (width + tile.width - 1) / tile.width, idle_least = UINT32_MAX;

    if (integrated) {
        return (struct config_block){32, 8, best.rows};
    }
    for (uint32_t x = 128; x >= 32; x /= 2) {
        uint32_t idle = (x - threads % x) % x;

        if (idle < idle_least) {
            idle_least = idle;
            best.x = (int)x;
            best.y = 128 / (int)x;
        }
    }
    return best;
}

int gpu_kernel_init(struct gpu_kernel *kernel, struct gpu *gpu, enum config_kernel group,
                    const char *function, struct gpu_tile tile, uint32_t width, struct error *error)
{
    *kernel = (struct gpu_kernel){
        .gpu = gpu, .group = group, .key = config_kernel_name(group), .tile = tile};
    kernel->own = own_block(gpu_info(gpu)->integrated, tile, width);
    kernel->block = kernel->good = kernel->own;
    return gpu_kernel(gpu, function, error, &kernel->function);
}

static int resident_blocks(const void *context, unsigned threads)
{
    const struct gpu_kernel *kernel = context;
    int blocks = 0;
    int result = gpu_driver(kernel->gpu)->occupancy(&blocks, kernel->function, (int)threads, 0);

    return result == CUDA_SUCCESS ? blocks : 0;
}

static void review(struct gpu_kernel *kernel)
{
    unsigned threads_max = (unsigned)gpu_info(kernel->gpu)->multiprocessor_threads;
    struct gpu_block_advice advice;

    kernel->warned = threads_max > 0 && gpu_block_review(kernel->block, kernel->own, threads_max,
                                                         resident_blocks, kernel, &advice);
    if (kernel->warned) {
        error_set(&kernel->warning, 0,
                  "kernels.%s.block = [%d, %d]: at most %u%% of the GPU's threads can be busy; "
                  "[%d, %d] would allow %u%%",
                  kernel->key, kernel->block.x, kernel->block.y, advice.percent, advice.better.x,
                  advice.better.y, advice.better_percent);
    }
}

int gpu_kernel_set_block(struct gpu_kernel *kernel, struct config_block block, struct error *error)
{
    struct config_block next = kernel->own;
    bool own = block.x == 0 && block.y == 0, new;

    if (!own) {
        next.x = block.x;
        next.y = block.y;
    }
    if (kernel->rows_vary && block.rows > 0) {
        next.rows = block.rows;
    }
    new = !own && !same_threads(next, kernel->block);
    if (new) {
        int r = gpu_block_check(kernel->gpu, kernel->function, block, error);

        if (r < 0) {
            return error_prefix(error, r, "kernels.%s.block = [%d, %d]", kernel->key, block.x,
                                block.y);
        }
    }
    kernel->block = next;
    if (new) {
        review(kernel);
    } else if (own) {
        kernel->warned = false;
    }
    return 0;
}

// What a launch can say about itself. Anything else is about work queued before it, or about a
// context that is gone.
static bool is_refusal(int result)
{
    switch (result) {
    case 1:   // INVALID_VALUE
    case 2:   // OUT_OF_MEMORY
    case 9:   // an invalid configuration
    case 98:  // an invalid function
    case 701: // LAUNCH_OUT_OF_RESOURCES
        return true;
    default:
        return false;
    }
}

bool gpu_kernel_arrange(const struct gpu_kernel *kernel, uint32_t *rows, uint32_t width,
                        uint32_t height, struct gpu_grid *ret_grid)
{
    struct config_block block = kernel->block;
    struct gpu_tile tile = {kernel->tile.width, (unsigned)block.rows};

    if (rows) {
        *rows = tile.height;
    }
    *ret_grid = gpu_grid_over(width, height, tile, block);
    return same(block, kernel->good);
}

static int launch_block(const struct gpu_kernel *kernel, void *parameters, uint32_t *rows,
                        uint32_t width, uint32_t height)
{
    struct config_block block = kernel->block;
    struct gpu_grid grid;

    gpu_kernel_arrange(kernel, rows, width, height, &grid);
    return gpu_driver(kernel->gpu)
        ->launch(kernel->function, grid.x, grid.y, grid.z, (unsigned)block.x, (unsigned)block.y, 1,
                 0, gpu_stream(kernel->gpu), (void *[]){parameters}, NULL);
}

static void keep_refusal(struct gpu_kernel *kernel, int result)
{
    const struct config_block *bad = &kernel->block, *good = &kernel->good;
    struct error *refusal = &kernel->refusal;

    cuda_driver_check(gpu_driver(kernel->gpu), result, "the launch was refused", refusal);
    if (bad->rows == good->rows) {
        error_prefix(refusal, 0, "kernels.%s.block = [%d, %d], back to [%d, %d]", kernel->key,
                     bad->x, bad->y, good->x, good->y);
    } else if (same_threads(*bad, *good)) {
        error_prefix(refusal, 0, "kernels.%s.rows = %d, back to %d", kernel->key, bad->rows,
                     good->rows);
    } else {
        error_prefix(refusal, 0,
                     "kernels.%s.block = [%d, %d] with rows = %d, back to [%d, %d] "
                     "with rows = %d",
                     kernel->key, bad->x, bad->y, bad->rows, good->x, good->y, good->rows);
    }
    kernel->refused = true;
    kernel->warned = false;
    kernel->block = kernel->good;
}

int gpu_kernel_launch(struct gpu_kernel *kernel, void *parameters, uint32_t *rows, uint32_t width,
                      uint32_t height, struct error *error)
{
    int result = launch_block(kernel, parameters, rows, width, height);
    int r;

    if (is_refusal(result) && !same(kernel->block, kernel->good)) {
        keep_refusal(kernel, result);
        result = launch_block(kernel, parameters, rows, width, height);
    }
    r = cuda_driver_check(gpu_driver(kernel->gpu), result, "launching", error);
    if (r < 0) {
        return error_prefix(error, r, "the kernel %s", kernel->key);
    }
    kernel->good = kernel->block;
    return 0;
}

static bool take(bool *flag, const struct error *text, struct error *ret_text)
{
    bool taken = *flag;

    if (taken && ret_text) {
        *ret_text = *text;
    }
    *flag = false;
    return taken;
}

bool gpu_kernel_take_refusal(struct gpu_kernel *kernel, struct error *ret_why)
{
    return take(&kernel->refused, &kernel->refusal, ret_why);
}

bool gpu_kernel_take_warning(struct gpu_kernel *kernel, struct error *ret_text)
{
    return take(&kernel->warned, &kernel->warning, ret_text);
}
