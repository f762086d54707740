#include "kernels/rows.h"

#include "kernels/compose.h"
#include "kernels/pool.h"

#include <errno.h>
#include <string.h>

#define CACHE_LINE 64

// One stage with what it needs to run, and its newest output rows.
struct lane {
    const struct stage *stage;
    stage_row *run_row; // of its ops
    void *scratch;
    uint8_t *ring;      // ring_rows rows, ring_stride apart; for the last lane the output plane
    size_t ring_stride; // bytes
    uint32_t ring_rows; // row y lies at y % ring_rows
    uint32_t next;      // first row not computed yet
};

struct rows {
    uint32_t width, height;
    const uint8_t *input;
    size_t input_stride;
    uint32_t first, end; // of the slice
    unsigned count;
    struct lane lanes[ROWS_STAGES_MAX];
    uint8_t *memory; // owned; all rings and scratch areas

    // What the other threads of the pool compute with.
    const struct stage *stages;
    unsigned stage_count;
    uint32_t kept;     // rows that the last lane keeps; 0: it writes a plane
    struct pool *pool; // not owned; NULL: there is none
    struct rows *others[POOL_THREADS_MAX - 1]; // owned; NULL beyond the pool's threads
};

// What a picture is computed from and into.
struct planes {
    const uint8_t *input;
    size_t input_stride;
    uint8_t *output;
    size_t output_stride;
};

static size_t align_up(size_t bytes)
{
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static size_t scratch_bytes(const struct lane *lane, uint32_t width)
{
    const struct stage_ops *ops = lane->stage->ops;

    return ops->scratch_bytes ? align_up(ops->scratch_bytes(width)) : 0;
}

// A lane for each stage, but one for both where a stage can compose as well.
static void choose_lanes(struct rows *rows, const struct stage *stages, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct stage_ops *ops = stages[i].ops;
        bool composes = i + 1 < count && stages[i + 1].ops == &compose_ops && ops->run_row_limited;

        rows->lanes[rows->count++] = (struct lane){
            .stage = &stages[i],
            .run_row = composes ? ops->run_row_limited : ops->run_row,
        };
        i += composes;
    }
}

static int make(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
                uint32_t kept, struct rows **ret_rows)
{
    struct rows *rows = calloc(1, sizeof *rows);
    size_t size = 0;
    uint8_t *next;

    if (!rows) {
        return -ENOMEM;
    }
    rows->width = width;
    rows->height = height;
    rows->kept = kept;
    rows->stages = stages;
    rows->stage_count = count;
    choose_lanes(rows, stages, count);
    for (unsigned i = 0; i < rows->count; i++) {
        struct lane *lane = &rows->lanes[i];

        lane->ring_rows = i + 1 < rows->count ? 2 * lane[1].stage->radius + 1 : kept;
        lane->ring_stride = align_up(width);
        size += lane->ring_rows * lane->ring_stride + scratch_bytes(lane, width);
    }
    rows->memory = aligned_alloc(CACHE_LINE, size ? size : CACHE_LINE);
    if (!rows->memory) {
        rows_free(rows);
        return -ENOMEM;
    }
    next = memset(rows->memory, 0, size);
    for (unsigned i = 0; i < rows->count; i++) {
        rows->lanes[i].ring = next;
        next += rows->lanes[i].ring_rows * rows->lanes[i].ring_stride;
        rows->lanes[i].scratch = next;
        next += scratch_bytes(&rows->lanes[i], width);
    }
    *ret_rows = rows;
    return 0;
}

int rows_new(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
             struct rows **ret_rows)
{
    return make(stages, count, width, height, 0, ret_rows);
}

int rows_new_source(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
                    struct rows **ret_rows)
{
    return make(stages, count, width, height, ROWS_KEPT, ret_rows);
}

void rows_free(struct rows *rows)
{
    if (rows) {
        for (unsigned i = 0; i < ARRAY_LENGTH(rows->others); i++) {
            rows_free(rows->others[i]);
        }
        free(rows->memory);
        free(rows);
    }
}

int rows_set_pool(struct rows *rows, struct pool *pool)
{
    rows->pool = pool;
    for (unsigned i = 1; i < pool_threads(pool); i++) {
        int r = make(rows->stages, rows->stage_count, rows->width, rows->height, rows->kept,
                     &rows->others[i - 1]);

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static uint8_t *lane_row(const struct lane *lane, uint32_t y)
{
    return lane->ring + y % lane->ring_rows * lane->ring_stride;
}

// Row `y` of what stage `index` reads, the border replicated.
static const uint8_t *input_row(const struct rows *rows, unsigned index, int64_t y)
{
    uint32_t row = (uint32_t)(y < 0 ? 0 : y < rows->height ? y : rows->height - 1);

    if (index == 0) {
        return rows->input + row * rows->input_stride;
    }
    return lane_row(&rows->lanes[index - 1], row);
}

// Computes the output rows of stage `index` up to and including `last`, its inputs first.
static void advance(struct rows *rows, unsigned index, uint32_t last)
{
    struct lane *lane = &rows->lanes[index];
    const struct stage *stage = lane->stage;
    const struct stage_ops *ops = stage->ops;
    const uint8_t *inputs[2 * STAGE_RADIUS_MAX + 1];
    bool kept;

    for (; lane->next <= last; lane->next++) {
        if (index > 0) {
            uint32_t below = lane->next + stage->radius;

            advance(rows, index - 1, below < rows->height ? below : rows->height - 1);
        }
        for (unsigned i = 0; i <= 2 * stage->radius; i++) {
            inputs[i] = input_row(rows, index, (int64_t)lane->next + i - stage->radius);
        }
        kept = ops->keep_row && lane->next >= rows->first && lane->next < rows->end;
        (kept ? ops->keep_row : lane->run_row)(stage, inputs, lane->next, rows->width,
                                               lane->scratch, lane_row(lane, lane->next));
    }
}

// Row `start` of the last stage is the next one.
static void begin_at(struct rows *rows, uint32_t start)
{
    for (unsigned i = rows->count; i-- > 0;) {
        uint32_t radius = rows->lanes[i].stage->radius;

        if (rows->lanes[i].stage->ops->scratch_bytes) {
            memset(rows->lanes[i].scratch, 0, STAGE_SCRATCH_BEGIN);
        }
        rows->lanes[i].next = start;
        start = start > radius ? start - radius : 0;
    }
}

static void run_slice(struct rows *rows, const struct planes *planes, uint32_t first, uint32_t end)
{
    struct lane *last = &rows->lanes[rows->count - 1];

    rows->input = planes->input;
    rows->input_stride = planes->input_stride;
    rows->first = first;
    rows->end = end;
    last->ring = planes->output;
    last->ring_stride = planes->output_stride;
    last->ring_rows = rows->height;
    begin_at(rows, first);
    advance(rows, rows->count - 1, end - 1);
}

struct job {
    struct rows *rows;
    const struct planes *planes;
    uint32_t first; // row of the picture that is row 0 of the job
};

// What a thread of the pool computes with.
static struct rows *rows_of(struct rows *rows, unsigned worker)
{
    return worker == 0 ? rows : rows->others[worker - 1];
}

static void run_task(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct job *job = context;

    run_slice(rows_of(job->rows, worker), job->planes, job->first + first, job->first + end);
}

void rows_run(struct rows *rows, const uint8_t *input, size_t input_stride, uint8_t *output,
              size_t output_stride, uint32_t first, uint32_t end)
{
    const struct planes planes = {input, input_stride, output, output_stride};
    struct job job = {rows, &planes, first};

    if (first < end) {
        pool_run(rows->pool, end - first, run_task, &job);
    }
}

void row_source_begin(const struct row_source *source, unsigned worker, uint32_t start,
                      uint32_t first, uint32_t end)
{
    struct rows *rows = source->rows ? rows_of(source->rows, worker) : NULL;

    if (rows) {
        rows->input = source->plane;
        rows->input_stride = source->stride;
        rows->first = first;
        rows->end = end;
        begin_at(rows, start);
    }
}

const uint8_t *row_source_at(const struct row_source *source, unsigned worker, uint32_t y)
{
    struct rows *rows;
    struct lane *last;

    if (!source->rows) {
        return source->plane + y * source->stride;
    }
    rows = rows_of(source->rows, worker);
    last = &rows->lanes[rows->count - 1];
    if (last->next <= y) {
        advance(rows, rows->count - 1, y);
    }
    return lane_row(last, y);
}
