#include "kernels/levels/levels.h"

#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"

#include <float.h>
#include <string.h>

// Neighbouring pixels are often alike, and adding to a counter has to wait for the addition before
// it. So four neighbours have a table each.
#define TABLES 4

// The counts of one thread.
struct levels {
    _Alignas(SIMD_CACHE_LINE) uint32_t tables[TABLES][256];
};

struct levels_job {
    const uint8_t *plane;
    size_t stride;
    uint32_t width;
    struct levels *levels; // by thread
};

static void count_row(struct levels *levels, const uint8_t *row, uint32_t width)
{
    uint32_t x = 0;

    for (; x + TABLES <= width; x += TABLES) {
        for (unsigned i = 0; i < TABLES; i++)
            levels->tables[i][row[x + i]]++;
    }
    for (; x < width; x++)
        levels->tables[0][row[x]]++;
}

static void count_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct levels_job *job = context;

    for (uint32_t y = first; y < end; y++)
        count_row(&job->levels[worker], job->plane + y * job->stride, job->width);
}

void levels_count(struct pool *pool, const uint8_t *plane, size_t stride, uint32_t width,
                  uint32_t height, uint32_t ret_histogram[256])
{
    struct levels levels[POOL_THREADS_MAX];
    unsigned threads = pool_threads(pool);

    memset(levels, 0, threads * sizeof *levels);
    pool_run(pool, height, count_rows, &(struct levels_job){plane, stride, width, levels});
    for (unsigned value = 0; value < 256; value++) {
        ret_histogram[value] = 0;
        for (unsigned i = 0; i < threads * TABLES; i++)
            ret_histogram[value] += levels[i / TABLES].tables[i % TABLES][value];
    }
}

uint8_t levels_otsu(const uint32_t histogram[256])
{
    double scale, mean = 0, below_mean = 0, below = 0, largest = 0;
    uint64_t pixels = 0;
    unsigned best = 0;

    for (unsigned i = 0; i < 256; i++) {
        pixels += histogram[i];
        mean += i * (double)histogram[i];
    }
    scale = 1.0 / (double)pixels;
    mean *= scale;
    for (unsigned i = 0; i < 256; i++) {
        double share = histogram[i] * scale, above, apart, variance;

        below_mean *= below;
        below += share;
        above = 1.0 - below;
        if (below < FLT_EPSILON || above < FLT_EPSILON || below > 1.0 - FLT_EPSILON ||
            above > 1.0 - FLT_EPSILON) {
            continue;
        }
        below_mean = (below_mean + i * share) / below;
        apart = below_mean - (mean - below * below_mean) / above;
        variance = below * above * apart * apart;
        if (variance > largest) {
            largest = variance;
            best = i;
        }
    }
    return (uint8_t)(best + 1);
}

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
