#include "kernels/levels/otsu.h"

#include "kernels/levels/levels.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/rows.h"
#include "kernels/stage/simd.h"

#include <errno.h>
#include <float.h>
#include <string.h>

// What one thread has counted.
struct counts {
    _Alignas(SIMD_CACHE_LINE) struct levels levels;
};

struct otsu {
    struct pool *pool;                      // not owned; NULL: there is none
    struct counts counts[POOL_THREADS_MAX]; // by thread
    const struct row_source *source;        // of the look
    uint8_t *picture;                       // owned
    size_t stride;
    uint32_t width, height;
    const uint8_t *rows; // not owned: row 0 of what was looked at
    size_t rows_stride;
};

int otsu_new(uint32_t width, uint32_t height, struct pool *pool, struct otsu **ret_otsu)
{
    struct otsu *otsu = aligned_alloc(SIMD_CACHE_LINE, sizeof *otsu);

    if (!otsu) {
        return -ENOMEM;
    }
    memset(otsu, 0, sizeof *otsu);
    otsu->pool = pool;
    otsu->width = width;
    otsu->height = height;
    otsu->stride = ((size_t)width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
    otsu->picture = aligned_alloc(SIMD_CACHE_LINE, otsu->stride * height);
    if (!otsu->picture) {
        free(otsu);
        return -ENOMEM;
    }
    *ret_otsu = otsu;
    return 0;
}

void otsu_free(struct otsu *otsu)
{
    if (otsu) {
        free(otsu->picture);
        free(otsu);
    }
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

static void look_at_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    struct otsu *otsu = context;

    row_source_begin(otsu->source, worker, first, first, end);
    for (uint32_t y = first; y < end; y++) {
        const uint8_t *row = row_source_at(otsu->source, worker, y);

        if (otsu->source->rows) {
            memcpy(otsu->picture + y * otsu->stride, row, otsu->width);
        }
        levels_add_row(&otsu->counts[worker].levels, row, otsu->width);
    }
}

uint8_t otsu_look(struct otsu *otsu, const struct row_source *source)
{
    unsigned threads = pool_threads(otsu->pool);
    uint32_t histogram[256] = {0};

    otsu->source = source;
    otsu->rows = source->rows ? otsu->picture : source->plane;
    otsu->rows_stride = source->rows ? otsu->stride : source->stride;
    memset(otsu->counts, 0, threads * sizeof *otsu->counts);
    pool_run(otsu->pool, otsu->height, look_at_rows, otsu);
    for (unsigned i = 0; i < threads; i++) {
        const uint32_t *counts = levels_sum(&otsu->counts[i].levels);

        for (unsigned value = 0; value < 256; value++) {
            histogram[value] += counts[value];
        }
    }
    return otsu_level(histogram);
}

const uint8_t *otsu_row(const struct otsu *otsu, uint32_t y)
{
    return otsu->rows + y * otsu->rows_stride;
}
