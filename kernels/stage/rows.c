#include "kernels/stage/rows.h"

#include "kernels/stage/compose.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"

#include <errno.h>
#include <string.h>

// Rows that a stage that can makes in one go where rings lie beside it, which are to stay in the L1
// cache. From plane to plane it makes STAGE_ROWS_MAX.
#define RING_ROWS_AT_ONCE 4

// Rows of a ring at most: bits of row_stage.black.
#define RING_ROWS_MAX 32
_Static_assert(2 * STAGE_RADIUS_MAX + 2 * RING_ROWS_AT_ONCE - 1 <= RING_ROWS_MAX,
               "a stage's rows, and those that are made at once");

// One stage with what it needs to run, and its newest output rows.
struct row_stage {
    struct stage stage; // a copy
    uint32_t at_once;   // rows that it makes in one go, if it gets to
    void *scratch;
    uint8_t *ring;      // rows that lie ring_stride apart; for the last stage the output plane
    size_t ring_stride; // bytes
    uint32_t ring_mask; // row y is row y & ring_mask of the ring
    uint32_t black;     // bit y & ring_mask: that row of the ring is black, and was not written
    uint32_t next;      // first row not computed yet
    uint32_t end;       // no row from here on is asked for
};

struct rows {
    uint32_t width, height;
    const uint8_t *input;
    size_t input_stride;
    unsigned count;
    struct row_stage row_stages[ROWS_STAGES_MAX];
    uint8_t *memory; // owned; all rings and scratch areas

    // For the other threads of the pool.
    const struct stage *stages;
    unsigned stage_count;
    struct pool *pool;                         // not owned; NULL: there is none
    struct rows *others[POOL_THREADS_MAX - 1]; // owned; NULL beyond the pool's threads
};

// The input and output planes of a picture.
struct planes {
    const uint8_t *input;
    size_t input_stride;
    uint8_t *output;
    size_t output_stride;
};

static size_t align_up(size_t bytes)
{
    return (bytes + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
}

// A row_stage for each stage, but for those that the one before them does as well.
static void choose_row_stages(struct rows *rows, const struct stage *stages, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct row_stage *row_stage = &rows->row_stages[rows->count++];

        row_stage->stage = stages[i];
        row_stage->at_once = stages[i].run_rows ? RING_ROWS_AT_ONCE : 1;
        if (i + 1 < count && stages[i + 1].erosions > 0 && stages[i].erodes)
            row_stage->stage.eroded = stages[++i].erosions;
        if (i + 1 < count && stages[i + 1].ops == &compose_ops) {
            row_stage->stage.limited = true;
            i++;
        }
    }
    if (rows->count == 1 && rows->row_stages[0].stage.run_rows)
        rows->row_stages[0].at_once = STAGE_ROWS_MAX;
}

// Of the ring behind row_stage `index`: what the next one looks at in one go, and what this one
// makes beyond; none for a plane.
static uint32_t ring_rows(const struct rows *rows, unsigned index)
{
    const struct row_stage *row_stage = &rows->row_stages[index];
    uint32_t wanted = 0, power = 1;

    if (index + 1 < rows->count)
        wanted = 2 * row_stage[1].stage.radius + row_stage[1].at_once;
    while (power < wanted + row_stage->at_once - 1)
        power *= 2;
    return wanted > 0 ? power : 0;
}

int rows_new(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
             struct rows **ret_rows)
{
    struct rows *rows = calloc(1, sizeof *rows);
    size_t size = 0;
    uint8_t *next;

    if (!rows)
        return -ENOMEM;
    rows->width = width;
    rows->height = height;
    rows->stages = stages;
    rows->stage_count = count;
    choose_row_stages(rows, stages, count);
    for (unsigned i = 0; i < rows->count; i++) {
        struct row_stage *row_stage = &rows->row_stages[i];

        row_stage->ring_mask = ring_rows(rows, i) - 1; // all of a plane's
        row_stage->ring_stride = align_up(width);
        size +=
            ring_rows(rows, i) * row_stage->ring_stride + align_up(row_stage->stage.scratch_bytes);
    }
    rows->memory = aligned_alloc(SIMD_CACHE_LINE, size ? size : SIMD_CACHE_LINE);
    if (!rows->memory) {
        rows_free(rows);
        return -ENOMEM;
    }
    next = memset(rows->memory, 0, size);
    for (unsigned i = 0; i < rows->count; i++) {
        rows->row_stages[i].ring = next;
        next += ring_rows(rows, i) * rows->row_stages[i].ring_stride;
        rows->row_stages[i].scratch = next;
        next += align_up(rows->row_stages[i].stage.scratch_bytes);
    }
    *ret_rows = rows;
    return 0;
}

void rows_free(struct rows *rows)
{
    if (rows) {
        for (unsigned i = 0; i < ARRAY_LENGTH(rows->others); i++)
            rows_free(rows->others[i]);
        free(rows->memory);
        free(rows);
    }
}

int rows_set_pool(struct rows *rows, struct pool *pool)
{
    rows->pool = pool;
    for (unsigned i = 1; i < pool_threads(pool); i++) {
        int r = rows_new(rows->stages, rows->stage_count, rows->width, rows->height,
                         &rows->others[i - 1]);

        if (r < 0)
            return r;
    }
    return 0;
}

static uint8_t *ring_row(const struct row_stage *row_stage, uint32_t y)
{
    return row_stage->ring + (y & row_stage->ring_mask) * row_stage->ring_stride;
}

static const uint8_t *made_row(const struct row_stage *row_stage, uint32_t y)
{
    return row_stage->black >> (y & row_stage->ring_mask) & 1 ? stage_black_row
                                                              : ring_row(row_stage, y);
}

// Row `y` of what stage `index` reads, the border replicated.
static const uint8_t *input_row(const struct rows *rows, unsigned index, int64_t y)
{
    uint32_t row = (uint32_t)(y < 0 ? 0 : y < rows->height ? y : rows->height - 1);

    if (index == 0)
        return rows->input + row * rows->input_stride;
    return made_row(&rows->row_stages[index - 1], row);
}

// A black row of a ring is noted, one of a plane written.
static void note_result(struct rows *rows, struct row_stage *row_stage, enum stage_result result)
{
    uint32_t y = row_stage->next, bit = y & row_stage->ring_mask;
    bool plane = row_stage->ring_mask == UINT32_MAX;

    if (result == STAGE_BLACK && (plane || rows->width > STAGE_BLACK_WIDTH_MAX))
        memset(ring_row(row_stage, y), row_stage->stage.limited ? compose_luma(0) : 0, rows->width);
    else if (!plane)
        row_stage->black = (row_stage->black & ~(UINT32_C(1) << bit)) | (uint32_t)result << bit;
}

// Computes `count` rows from the stage's next one on.
static void run(struct rows *rows, struct row_stage *row_stage, const uint8_t *const *inputs,
                unsigned count)
{
    const struct stage *stage = &row_stage->stage;
    uint32_t y = row_stage->next;
    enum stage_result result = STAGE_WRITTEN;
    uint8_t *outputs[STAGE_ROWS_MAX] = {ring_row(row_stage, y)};

    for (unsigned i = 1; i < count; i++)
        outputs[i] = ring_row(row_stage, y + i);
    if (stage->run_rows) {
        stage->run_rows(stage, inputs, y, count, rows->width, row_stage->scratch, outputs);
    } else {
        result = stage->run_row(stage, inputs, y, rows->width, row_stage->scratch, outputs[0]);
        note_result(rows, row_stage, result);
    }
    if (stage->limited && !stage->ops->limits && result == STAGE_WRITTEN) {
        for (unsigned i = 0; i < count; i++)
            compose_in_place(outputs[i], rows->width);
    }
}

// Computes the output rows of stage `index` up to and including `last`, its inputs first, and some
// beyond where it makes several at once.
static void advance(struct rows *rows, unsigned index, uint32_t last)
{
    struct row_stage *row_stage = &rows->row_stages[index];
    uint32_t radius = row_stage->stage.radius;
    const uint8_t *inputs[2 * STAGE_RADIUS_MAX + STAGE_ROWS_MAX];

    while (row_stage->next <= last) {
        uint32_t left = row_stage->end - row_stage->next;
        uint32_t count = left < row_stage->at_once ? left : row_stage->at_once;

        if (index > 0) {
            uint32_t below = row_stage->next + count - 1 + radius;

            advance(rows, index - 1, below < rows->height ? below : rows->height - 1);
        }
        for (uint32_t i = 0; i < count + 2 * radius; i++)
            inputs[i] = input_row(rows, index, (int64_t)row_stage->next + i - radius);
        run(rows, row_stage, inputs, count);
        row_stage->next += count;
    }
}

// Row `start` of the last stage is the next one, and no row from `end` on is asked for.
static void begin_at(struct rows *rows, uint32_t start, uint32_t end)
{
    for (unsigned i = rows->count; i-- > 0;) {
        uint32_t radius = rows->row_stages[i].stage.radius;

        rows->row_stages[i].next = start;
        rows->row_stages[i].end = end;
        start = start > radius ? start - radius : 0;
        end = end + radius < rows->height ? end + radius : rows->height;
    }
}

static void run_slice(struct rows *rows, const struct planes *planes, uint32_t first, uint32_t end)
{
    struct row_stage *last = &rows->row_stages[rows->count - 1];

    rows->input = planes->input;
    rows->input_stride = planes->input_stride;
    last->ring = planes->output;
    last->ring_stride = planes->output_stride;
    begin_at(rows, first, end);
    advance(rows, rows->count - 1, end - 1);
}

struct rows_job {
    struct rows *rows;
    const struct planes *planes;
    uint32_t first; // row of the picture that is row 0 of the job
};

// The rows that a thread of the pool computes with.
static struct rows *rows_of(struct rows *rows, unsigned worker)
{
    return worker == 0 ? rows : rows->others[worker - 1];
}

static void run_task(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct rows_job *job = context;

    run_slice(rows_of(job->rows, worker), job->planes, job->first + first, job->first + end);
}

void rows_run(struct rows *rows, const uint8_t *input, size_t input_stride, uint8_t *output,
              size_t output_stride, uint32_t first, uint32_t end)
{
    const struct planes planes = {input, input_stride, output, output_stride};
    struct rows_job job = {rows, &planes, first};

    if (first < end)
        pool_run(rows->pool, end - first, run_task, &job);
}
