#include "kernels/gpu/gpu_block.h"

#include "config/base.h"

uint32_t gpu_divide_up(uint32_t count, uint32_t by)
{
    return (uint32_t)(((uint64_t)count + by - 1) / by);
}

struct gpu_grid gpu_grid_over(uint32_t width, uint32_t height, struct gpu_tile tile,
                              struct config_block block)
{
    uint32_t columns = gpu_divide_up(gpu_divide_up(width, tile.width), (uint32_t)block.x);
    uint32_t rows = gpu_divide_up(gpu_divide_up(height, tile.height), (uint32_t)block.y);
    uint32_t folds = gpu_divide_up(rows, GPU_GRID_MAX);

    return (struct gpu_grid){columns, gpu_divide_up(rows, folds), folds};
}

struct config_block gpu_block_default(bool integrated, struct gpu_tile tile, uint32_t width)
{
    struct config_block best = {GPU_BLOCK_THREADS, 1, (int)tile.height};
    uint32_t threads = gpu_divide_up(width, tile.width), idle_least = UINT32_MAX;

    if (integrated)
        return (struct config_block){GPU_BLOCK_SHARED_X, GPU_BLOCK_SHARED_Y, best.rows};
    for (uint32_t x = GPU_BLOCK_THREADS; x >= 32; x /= 2) {
        uint32_t idle = (x - threads % x) % x;

        if (idle < idle_least) {
            idle_least = idle;
            best.x = (int)x;
            best.y = GPU_BLOCK_THREADS / (int)x;
        }
    }
    return best;
}

static unsigned busy_percent(struct config_block block, unsigned threads_max,
                             gpu_resident_blocks *resident, const void *context)
{
    unsigned threads = (unsigned)block.x * (unsigned)block.y;
    int blocks = resident(context, threads);

    return blocks > 0 ? 100 * (unsigned)blocks * threads / threads_max : 0;
}

bool gpu_block_review(struct config_block block, struct config_block favourite,
                      unsigned threads_max, gpu_resident_blocks *resident, const void *context,
                      struct gpu_block_advice *ret_advice)
{
    const struct config_block shapes[] = {
        favourite,   {32, 8, 0},  {128, 1, 0}, {32, 4, 0},  {64, 4, 0},  {256, 1, 0},
        {128, 2, 0}, {16, 16, 0}, {96, 1, 0},  {192, 1, 0}, {32, 16, 0}, {512, 1, 0},
    };
    struct gpu_block_advice advice = {
        .percent = busy_percent(block, threads_max, resident, context),
    };

    if (2 * advice.percent >= 100 || advice.percent == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
        unsigned percent = busy_percent(shapes[i], threads_max, resident, context);

        if (percent > advice.better_percent) {
            advice.better = shapes[i];
            advice.better_percent = percent;
        }
    }
    if (advice.better_percent <= advice.percent)
        return false;
    *ret_advice = advice;
    return true;
}
