#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <string.h>

static bool same_threads(struct config_block a, struct config_block b)
{
    return a.x == b.x && a.y == b.y;
}

static bool same(struct config_block a, struct config_block b)
{
    return same_threads(a, b) && a.rows == b.rows;
}

int gpu_kernel_init(struct gpu_kernel *kernel, struct gpu *gpu, enum config_kernel group,
                    const char *function, struct gpu_tile tile, uint32_t width, struct error *error)
{
    *kernel = (struct gpu_kernel){
        .gpu = gpu, .group = group, .key = config_kernel_name(group), .tile = tile};
    kernel->own = gpu_block_default(gpu_info(gpu)->integrated, tile, width);
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
    struct error warning;

    if (threads_max > 0 && gpu_block_review(kernel->block, kernel->own, threads_max,
                                            resident_blocks, kernel, &advice)) {
        error_set(&warning, 0,
                  "kernels.%s.block = [%d, %d]: at most %u%% of the GPU's threads can be busy; "
                  "[%d, %d] would allow %u%%",
                  kernel->key, kernel->block.x, kernel->block.y, advice.percent, advice.better.x,
                  advice.better.y, advice.better_percent);
        gpu_complain(kernel->gpu, &warning);
    }
}

// Its group's block, with what that leaves open.
static struct config_block fill_in(const struct gpu_kernel *kernel, struct config_block block)
{
    struct config_block own = kernel->own;

    if (block.x == 0 && block.y == 0) {
        block.x = own.x;
        block.y = own.y;
    }
    if (!kernel->rows_vary || block.rows == 0)
        block.rows = own.rows;
    return block;
}

// Gives the kernel its group's block; or says in a complaint what happens `instead`.
static void set_block(struct gpu_kernel *kernel, struct config_block block, const char *instead)
{
    bool is_new;
    struct error why, complaint;

    block = fill_in(kernel, block);
    is_new = !same_threads(block, kernel->block) && !same_threads(block, kernel->own);
    if (is_new && gpu_block_check(kernel->gpu, kernel->function, block, &why) < 0) {
        error_set(&complaint, 0, "kernels.%s.block = [%d, %d]: %s, %s", kernel->key, block.x,
                  block.y, why.text, instead);
        gpu_complain(kernel->gpu, &complaint);
        return;
    }
    kernel->block = block;
    if (is_new)
        review(kernel);
}

void gpu_kernel_join(struct gpu_kernel *kernel)
{
    struct gpu_blocks *blocks = gpu_blocks(kernel->gpu);

    kernel->tried = false;
    kernel->next = blocks->kernels;
    blocks->kernels = kernel;
    set_block(kernel, blocks->now[kernel->group], "using the one chosen for this GPU");
}

void gpu_kernel_leave(struct gpu_kernel *kernel)
{
    struct gpu_kernel **at = &gpu_blocks(kernel->gpu)->kernels;

    while (*at && *at != kernel)
        at = &(*at)->next;
    if (*at)
        *at = kernel->next;
}

void gpu_kernel_try(struct gpu_kernel *kernel, struct config_block block)
{
    struct error why;

    gpu_kernel_leave(kernel);
    kernel->tried = true;
    block = fill_in(kernel, block);
    if (gpu_block_check(kernel->gpu, kernel->function, block, &why) == 0)
        kernel->block = block;
}

void gpu_set_blocks(struct gpu *gpu, const struct config_block *blocks)
{
    struct gpu_blocks *all = gpu_blocks(gpu);

    memcpy(all->before, all->now, sizeof all->before);
    memcpy(all->now, blocks, sizeof all->now);
    all->complaint_count = all->complaints_taken = 0;
    for (struct gpu_kernel *kernel = all->kernels; kernel; kernel = kernel->next)
        set_block(kernel, blocks[kernel->group], "keeping the one before");
}

void gpu_complain(struct gpu *gpu, const struct error *text)
{
    struct gpu_blocks *all = gpu_blocks(gpu);

    for (unsigned i = 0; i < all->complaint_count; i++) {
        if (strcmp(all->complaints[i].text, text->text) == 0)
            return;
    }
    if (all->complaint_count < GPU_COMPLAINTS_MAX)
        all->complaints[all->complaint_count++] = *text;
}

bool gpu_take_complaint(struct gpu *gpu, struct error *ret_text)
{
    struct gpu_blocks *all = gpu_blocks(gpu);

    if (all->complaints_taken == all->complaint_count)
        return false;
    *ret_text = all->complaints[all->complaints_taken++];
    return true;
}

// Whether an error is about the launch itself. Others are about work queued before it, or about a
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

bool gpu_kernel_arrange(const struct gpu_kernel *kernel, struct gpu_job *job,
                        struct gpu_grid *ret_grid)
{
    struct config_block block = kernel->block;
    struct gpu_tile tile = {kernel->tile.width, (unsigned)block.rows};

    job->rows = tile.height;
    *ret_grid = gpu_grid_over(job->width, job->height, tile, block);
    return same(block, kernel->good);
}

static int launch_block(const struct gpu_kernel *kernel, struct gpu_job *job)
{
    struct config_block block = kernel->block;
    struct gpu_grid grid;

    gpu_kernel_arrange(kernel, job, &grid);
    return gpu_driver(kernel->gpu)
        ->launch(kernel->function, grid.x, grid.y, grid.z, (unsigned)block.x, (unsigned)block.y, 1,
                 0, gpu_stream(kernel->gpu), (void *[]){job}, NULL);
}

// Back to the block before, for this kernel and those that join its group later.
static void roll_back(struct gpu_kernel *kernel, int result)
{
    const struct config_block *bad = &kernel->block, *good = &kernel->good;
    struct gpu_blocks *blocks = gpu_blocks(kernel->gpu);
    struct error refusal;

    if (kernel->tried) {
        kernel->block = kernel->good;
        return;
    }
    cuda_driver_check(gpu_driver(kernel->gpu), result, "the launch was refused", &refusal);
    if (bad->rows == good->rows) {
        error_prefix(&refusal, 0, "kernels.%s.block = [%d, %d], back to [%d, %d]", kernel->key,
                     bad->x, bad->y, good->x, good->y);
    } else if (same_threads(*bad, *good)) {
        error_prefix(&refusal, 0, "kernels.%s.rows = %d, back to %d", kernel->key, bad->rows,
                     good->rows);
    } else {
        error_prefix(&refusal, 0,
                     "kernels.%s.block = [%d, %d] with rows = %d, back to [%d, %d] "
                     "with rows = %d",
                     kernel->key, bad->x, bad->y, bad->rows, good->x, good->y, good->rows);
    }
    gpu_complain(kernel->gpu, &refusal);
    kernel->block = kernel->good;
    blocks->now[kernel->group] = blocks->before[kernel->group];
}

int gpu_kernel_launch(struct gpu_kernel *kernel, struct gpu_job *job, struct error *error)
{
    int result = launch_block(kernel, job);
    int r;

    if (is_refusal(result) && !same(kernel->block, kernel->good)) {
        roll_back(kernel, result);
        result = launch_block(kernel, job);
    }
    r = cuda_driver_check(gpu_driver(kernel->gpu), result, "launching", error);
    if (r < 0)
        return error_prefix(error, r, "the kernel %s", kernel->key);
    kernel->good = kernel->block;
    return 0;
}

int gpu_launch(struct gpu *gpu, struct CUfunc_st *function, struct gpu_grid grid,
               unsigned threads_x, unsigned threads_y, void *parameters, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(gpu);

    return cuda_driver_check(driver,
                             driver->launch(function, grid.x, grid.y, grid.z, threads_x, threads_y,
                                            1, 0, gpu_stream(gpu), (void *[]){parameters}, NULL),
                             "launching", error);
}
