// The row runner: streams the rows of a plane through a chain of row stages.
//
// Every stage but the last keeps the few rows its successor looks at in a ring, so a frame is one
// pass from the input plane to the output plane and nothing but these rings lies in between. Slices
// of rows are independent of each other: with a pool, several are computed at once, each thread
// with rings of its own. A row near a border is then computed on both sides of it.
#pragma once

#include "kernels/stage/stage.h"

#define ROWS_STAGES_MAX 32
// Rows that a source keeps: the one asked for and the two before it.
#define ROWS_KEPT 3

struct pool;
struct rows;

// Rows of a picture for a stage that looks at them, each thread of a pool at a band of its own.
struct row_source {
    struct rows *rows;    // makes them, of rows_new_source(); NULL: they are those of the plane
    const uint8_t *plane; // row 0 of what they are made from, or are
    size_t stride;        // bytes
};

// For `count` (1..ROWS_STAGES_MAX) row stages over pictures of `width` x `height` pixels. The
// stages are not owned and outlive the runner. -ENOMEM.
int rows_new(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
             struct rows **ret_rows);
void rows_free(struct rows *rows); // takes NULL

// Computes with the threads of `pool` from now on, which outlives the runner; NULL: with the
// caller's alone. -ENOMEM. Only once.
int rows_set_pool(struct rows *rows, struct pool *pool);

// Computes output rows first..end-1; by one caller at a time. `input` is row 0 of the plane the
// first stage reads, `output` row 0 of the one the last stage writes; strides in bytes.
void rows_run(struct rows *rows, const uint8_t *input, size_t input_stride, uint8_t *output,
              size_t output_stride, uint32_t first, uint32_t end);

// For a row_source: a runner that keeps a few rows instead of writing a plane. -ENOMEM.
int rows_new_source(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
                    struct rows **ret_rows);

// Thread number `worker` of the pool (0 without one) looks at rows first..end-1, as no other does,
// and asks for rows from `start` on: ROWS_KEPT - 1 more on either side at most.
void row_source_begin(const struct row_source *source, unsigned worker, uint32_t start,
                      uint32_t first, uint32_t end);
// Row `y`. Of rows that are made, y goes up, and down by two at most.
const uint8_t *row_source_at(const struct row_source *source, unsigned worker, uint32_t y);
