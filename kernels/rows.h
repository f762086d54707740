// The row runner: streams the rows of a plane through a chain of row stages.
//
// Every stage but the last keeps the few rows its successor looks at in a ring, so a frame is one
// pass from the input plane to the output plane and nothing but these rings lies in between. A
// runner computes one slice of rows at a time, independent of all others; one runner per thread.
#pragma once

#include "kernels/stage.h"

#define ROWS_STAGES_MAX 32
// Rows that a source keeps: the one asked for and the two before it.
#define ROWS_KEPT 3

struct rows;

// Rows of a picture for a stage that looks at them one after the other.
struct row_source {
    struct rows *rows;    // makes them, of rows_new_source(); NULL: they are those of the plane
    const uint8_t *plane; // row 0
    size_t stride;        // bytes
    uint32_t height;
};

// For `count` (1..ROWS_STAGES_MAX) row stages over pictures of `width` x `height` pixels. The
// stages are not owned and outlive the runner. -ENOMEM.
int rows_new(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
             struct rows **ret_rows);
void rows_free(struct rows *rows); // takes NULL

// Computes output rows first..end-1. `input` is row 0 of the plane the first stage reads, `output`
// row 0 of the one the last stage writes; strides in bytes.
void rows_run(struct rows *rows, const uint8_t *input, size_t input_stride, uint8_t *output,
              size_t output_stride, uint32_t first, uint32_t end);

// For a row_source: a runner that keeps the rows it makes instead of writing a plane. Its rows are
// made from `input` after each rows_begin(). -ENOMEM.
int rows_new_source(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
                    struct rows **ret_rows);
void rows_begin(struct rows *rows, const uint8_t *input, size_t input_stride);

// Row `y`. Of rows that are made, y goes up, and down by two at most.
const uint8_t *row_source_at(struct row_source *source, uint32_t y);
// From row 0 on again.
void row_source_rewind(struct row_source *source);
