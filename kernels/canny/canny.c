// One pass over the frame: a gray row comes in, the row of gradients above it is done, the row of
// candidates above that one, and what hysteresis knows at that point. A second pass over the bits
// finishes the hysteresis, a third writes the rows. Between them lie 2 bits a pixel. So whatever
// makes the gray rows and whatever takes the edges works on rows in the cache, too. Threads share
// the first pass and the third; the second takes a twentieth of the time of one thread.
//
// All of it works on rows in L1; the frame is read once and the output written once.
#include "kernels/canny/canny.h"

#include "kernels/canny/hysteresis.h"
#include "kernels/levels/levels.h"
#include "kernels/stage/bits.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"
#include "kernels/stage/vec.h"

#include <errno.h>
#include <string.h>

#define RING 3
// Elements of a row left of x = 0, so that x = 0 is aligned, and right of the last block.
#define LEFT 32
#define RIGHT 32

// The rows that one thread works on, y at y % RING.
struct lines {
    struct suppress_row rows[RING], outside;
    struct suppress_columns columns;
    uint8_t *memory; // owned; of all of them
};

// A row stage that looks first. One thread at a time may look, and shares the work with those of a
// pool.
struct canny {
    uint32_t width, height;
    bool by_median;
    struct suppress_limits limits;        // by median: of the frame that is computed
    bool vectors;                         // that the CPU has
    struct hysteresis *hysteresis;        // owned
    struct pool *pool;                    // not owned; NULL: there is none
    struct lines lines[POOL_THREADS_MAX]; // by thread
};

// 32767 is where OpenCV limits thresholds; every limit from SUPPRESS_REACH on is the same.
static int32_t limit_of(double threshold)
{
    double square = threshold * threshold;

    return square < SUPPRESS_REACH ? (int32_t)square : SUPPRESS_REACH;
}

struct suppress_limits canny_limits(double low, double high)
{
    return low < high ? (struct suppress_limits){limit_of(low), limit_of(high)}
                      : (struct suppress_limits){limit_of(high), limit_of(low)};
}

// The level of pixel number `index` of all in their order.
static uint32_t level_at(const uint32_t histogram[256], uint64_t index)
{
    uint64_t pixels = histogram[0];
    uint32_t level = 0;

    while (pixels <= index) {
        pixels += histogram[++level];
    }
    return level;
}

struct suppress_limits canny_limits_by_median(const uint32_t histogram[256])
{
    uint64_t pixels = 0;
    uint32_t twice, low, high;

    for (unsigned i = 0; i < 256; i++) {
        pixels += histogram[i];
    }
    twice = level_at(histogram, (pixels - 1) / 2) + level_at(histogram, pixels / 2);
    low = 67 * twice / 200;
    high = 133 * twice / 200;
    return canny_limits(low, high < 255 ? high : 255);
}

// Every row gets a slot that is large enough for a row of gradients.
static int make_lines(const struct canny *canny, struct lines *lines)
{
    size_t blocks = SUPPRESS_BLOCKS(canny->width);
    size_t slot = (LEFT + blocks * SUPPRESS_BLOCK + RIGHT) * sizeof(int32_t) + SIMD_CACHE_LINE;
    uint8_t *next = aligned_alloc(SIMD_CACHE_LINE, (2 * RING + 3) * slot);

    if (!next) {
        return -ENOMEM;
    }
    lines->memory = memset(next, 0, (2 * RING + 3) * slot);
    for (unsigned i = 0; i < RING; i++, next += 2 * slot) {
        lines->rows[i].gradients = (int32_t *)next + LEFT;
        lines->rows[i].peaks = (int32_t *)(next + slot);
    }
    lines->outside.gradients = (int32_t *)next + LEFT;
    lines->columns.sums = (int16_t *)(next + slot) + LEFT;
    lines->columns.differences = (int16_t *)(next + 2 * slot) + LEFT;
    return 0;
}

static void finish(struct stage *stage)
{
    struct canny *canny = stage->state;

    hysteresis_free(canny->hysteresis);
    for (unsigned i = 0; i < POOL_THREADS_MAX; i++) {
        free(canny->lines[i].memory);
    }
}

// A picture that is looked at.
struct look_job {
    const struct canny *canny;
    const uint8_t *plane;
    size_t stride;
};

// Row `y` of the picture, the border replicated.
static const uint8_t *gray_at(const struct look_job *job, int64_t y)
{
    uint32_t last = job->canny->height - 1;

    return job->plane + (size_t)(y < 0 ? 0 : y < last ? y : last) * job->stride;
}

static const struct suppress_row *row_at(const struct canny *canny, const struct lines *lines,
                                         int64_t y)
{
    return y < 0 || y >= canny->height ? &lines->outside : &lines->rows[y % RING];
}

// Row `y` of a band of rows that begins with `first`.
static void add_candidates(const struct canny *canny, const struct lines *lines, uint32_t first,
                           uint32_t y)
{
    suppress_row(canny->vectors, row_at(canny, lines, (int64_t)y - 1), row_at(canny, lines, y),
                 row_at(canny, lines, (int64_t)y + 1), canny->width, &canny->limits,
                 hysteresis_candidates(canny->hysteresis, y),
                 hysteresis_edges(canny->hysteresis, y));
    hysteresis_add_row(canny->hysteresis, first, y);
}

// The gradients of one row more on either side decide about the candidates of a band.
static void find_candidates(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct look_job *job = context;
    const struct canny *canny = job->canny;
    const struct lines *lines = &canny->lines[worker];
    uint32_t top = first > 0 ? first - 1 : 0,
             bottom = end < canny->height ? end : canny->height - 1;

    for (uint32_t y = top; y <= bottom; y++) {
        suppress_measure(canny->vectors, gray_at(job, (int64_t)y - 1), gray_at(job, y),
                         gray_at(job, (int64_t)y + 1), canny->width, &lines->columns,
                         row_at(canny, lines, y));
        if (y > first) {
            add_candidates(canny, lines, first, y - 1);
        }
    }
    if (end == canny->height) {
        add_candidates(canny, lines, first, end - 1);
    }
}

static void look(struct stage *stage, const uint8_t *plane, size_t stride, uint32_t first,
                 uint32_t end)
{
    struct canny *canny = stage->state;
    struct look_job job = {canny, plane, stride};

    (void)first;
    (void)end;
    if (canny->by_median) {
        uint32_t histogram[256];

        levels_count(canny->pool, plane, stride, canny->width, canny->height, histogram);
        canny->limits = canny_limits_by_median(histogram);
    }
    pool_run(canny->pool, canny->height, find_candidates, &job);
    hysteresis_finish(canny->hysteresis);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct canny *canny = stage->state;

    (void)rows;
    (void)scratch;
    bits_write(hysteresis_edges(canny->hysteresis, y), width, stage->limited ? compose_luma(0) : 0,
               stage->limited ? compose_luma(255) : 255, output);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    const struct frame_layout *input = setup->input;
    struct canny *canny = stage->state;
    int r = 0;

    stage->looks = true;
    canny->width = input->width;
    canny->height = input->height;
    canny->by_median = setup->options->thresholds == CONFIG_THRESHOLDS_MEDIAN;
    canny->limits = canny_limits(setup->options->low, setup->options->high);
    canny->vectors = vec_supported();
    stage->run_row = run_row;
    canny->pool = setup->pool;
    for (unsigned i = 0; i < pool_threads(canny->pool) && r == 0; i++) {
        r = make_lines(canny, &canny->lines[i]);
    }
    if (r == 0) {
        r = hysteresis_new(canny->width, canny->height, &canny->hysteresis);
    }
    return r < 0 ? error_set(error, r, "no memory for a canny view of %ux%u", canny->width,
                             canny->height)
                 : 0;
}

const struct stage_ops canny_ops = {
    .state_bytes = sizeof(struct canny),
    .init = init,
    .finish = finish,
    .look = look,
    .limits = true,
};
