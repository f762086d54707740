#include "kernels/otsu.h"

#include "kernels/levels.h"
#include "kernels/pool.h"
#include "kernels/rows.h"

#include <errno.h>
#include <float.h>
#include <string.h>

#define CACHE_LINE 64

// What one thread has counted.
struct counts {
    _Alignas(CACHE_LINE) struct levels levels;
};

struct otsu {
    struct rows *rows;                      // owned
    struct pool *pool;                      // not owned; NULL: there is none
    struct counts counts[POOL_THREADS_MAX]; // by thread
    uint8_t *picture;                       // owned
    size_t stride;
    uint32_t width, height;
};

static void cleanup_otsu(struct otsu **otsu)
{
    otsu_free(*otsu);
}

int otsu_new(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
             struct otsu **ret_otsu)
{
    _cleanup_(cleanup_otsu) struct otsu *otsu = aligned_alloc(CACHE_LINE, sizeof *otsu);
    int r;

    if (!otsu) {
        return -ENOMEM;
    }
    memset(otsu, 0, sizeof *otsu);
    otsu->width = width;
    otsu->height = height;
    otsu->stride = ((size_t)width + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    otsu->picture = aligned_alloc(CACHE_LINE, otsu->stride * height);
    if (!otsu->picture) {
        return -ENOMEM;
    }
    r = rows_new(stages, count, width, height, &otsu->rows);
    if (r == 0) {
        *ret_otsu = TAKE(otsu);
    }
    return r;
}

void otsu_free(struct otsu *otsu)
{
    if (otsu) {
        rows_free(otsu->rows);
        free(otsu->picture);
        free(otsu);
    }
}

int otsu_set_pool(struct otsu *otsu, struct pool *pool)
{
    otsu->pool = pool;
    return rows_set_pool(otsu->rows, pool);
}

uint8_t otsu_level(const uint32_t histogram[256])
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

static void count_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    struct otsu *otsu = context;

    for (uint32_t y = first; y < end; y++) {
        levels_add_row(&otsu->counts[worker].levels, otsu->picture + y * otsu->stride, otsu->width);
    }
}

uint8_t otsu_run(struct otsu *otsu, const uint8_t *input, size_t input_stride,
                 const uint8_t **ret_picture, size_t *ret_stride)
{
    unsigned threads = pool_threads(otsu->pool);
    uint32_t histogram[256] = {0};

    rows_run(otsu->rows, input, input_stride, otsu->picture, otsu->stride, 0, otsu->height);
    memset(otsu->counts, 0, threads * sizeof *otsu->counts);
    pool_run(otsu->pool, otsu->height, count_rows, otsu);
    for (unsigned i = 0; i < threads; i++) {
        const uint32_t *counts = levels_sum(&otsu->counts[i].levels);

        for (unsigned value = 0; value < 256; value++) {
            histogram[value] += counts[value];
        }
    }
    *ret_picture = otsu->picture;
    *ret_stride = otsu->stride;
    return otsu_level(histogram);
}
