// The row runner: streams the rows of a plane through a chain of row stages.
//
// Every stage but the last keeps the few rows its successor looks at in a ring, so a frame is one
// pass from the input plane to the output plane and nothing but these rings lies in between. Slices
// of rows are independent of each other: with a pool, several are computed at once, each thread
// with rings of its own. A row near a border is then computed on both sides of it.
#pragma once

#include "kernels/stage/stage.h"

#define ROWS_STAGES_MAX 32
// Rows that are made at once for a stage that scans them in bands: few, so that the memory
// brings what they are made of and what they are compared with at the same time.
#define ROWS_BAND 4
struct pool;
struct rows;

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
