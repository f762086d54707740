// A stage: one step from a frame to the picture of a view, in one const table of operations.
//
// A row stage computes one output row from 2 * radius + 1 input rows and nothing else, or several
// in one go, so the view runner streams rows through a chain of them while they are in the cache,
// and any slice of rows can be computed by itself. Some have to look at all rows of their input
// before they can make the first of theirs. A frame stage sees the whole input frame. All rows are
// 8 bit; where a stage's row is its input's plane 0 in place, no row is copied. A stage is const
// while it runs: what changes with every frame changes in begin(), what changes with every row
// lives in the scratch memory the runner provides, one for each thread. Several threads may compute
// rows of one picture, and the same row, too.
#pragma once

#include "capture/frame.h"
#include "kernels/stage/plan_step.h"

#define STAGE_RADIUS_MAX 8
#define STAGE_ROWS_MAX 8 // that a stage makes in one go

struct pool;
struct stage;
struct row_source;

// What a stage is made for.
struct stage_setup {
    const struct stage_options *options;
    const struct frame_layout *input;  // of the view
    const struct pixel_format *output; // of the view
    struct pool *pool;                 // of a chain, outlives it; NULL: the caller's thread alone
};

enum stage_result {
    STAGE_WRITTEN,
    STAGE_BLACK, // the row is 0 everywhere; nothing has to be written for it
};

// What stands for rows that are black: a stage that finds it among its own need not look at them.
// Black rows of pictures wider than it are written like others.
#define STAGE_BLACK_WIDTH_MAX 16384
extern const uint8_t stage_black_row[STAGE_BLACK_WIDTH_MAX];

// Makes one row of a stage's output. rows[0..2 * radius] are of its input, the middle one at the
// height `y` of the output row. `width` in pixels, >= 1. Writes exactly `width` bytes of `output`;
// as the last stage, one row of the output frame's plane 0.
typedef enum stage_result stage_row(const struct stage *stage, const uint8_t *const *rows,
                                    uint32_t y, uint32_t width, void *scratch, uint8_t *output);
// The same for `count` rows, 1 to STAGE_ROWS_MAX, from the height `y` on, of
// rows[0..count - 1 + 2 * radius].
typedef void stage_rows(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                        unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs);

struct stage_ops {
    const char *name;
    size_t state_bytes; // of struct stage's `state`, which is zeroed before init(); 0: it has none
    // Fills in the stage's parameters and radius. -ENOTSUP (format), -ENOMEM. NULL: nothing to do.
    int (*init)(struct stage *stage, const struct stage_setup *setup, struct error *error);
    void (*finish)(struct stage *stage); // NULL: nothing to do
    // Bytes of scratch memory, aligned to 64, that run_row() wants. NULL: none. What it holds is
    // of no meaning from one call to the next.
    size_t (*scratch_bytes)(uint32_t width);
    // Called between frames: the next frame is treated as the first. NULL: the stage keeps nothing
    // of a frame.
    void (*forget)(struct stage *stage);
    // Called once before a frame's rows are computed, with the frames of the view; `output` is the
    // one the last stage writes. NULL: nothing to do.
    void (*begin)(struct stage *stage, const struct frame *input, struct frame *output);
    // Row stage with `looks` set. Called once a frame, after begin() and before its first row, with
    // the rows of its input, which run_row() is then not given. Rows of a plane stay where they are
    // until the frame's last row is made.
    void (*look)(struct stage *stage, const struct row_source *source);
    // Row stage.
    stage_row *run_row;
    // Row stage that keeps rows of its input for the next frame. One of the two is called once for
    // each row of a frame, and makes the row as run_row() does: keep_border_row() for rows at the
    // border of a slice, which may also be passed to run_row(), at any time; keep_row() for all
    // others, which are not. NULL, both: the stage keeps no rows.
    stage_row *keep_row, *keep_border_row;
    // Row stage. What run_row() and the compose stage after it would write, in one go; a runner
    // calls it instead of both. NULL: it calls both.
    stage_row *run_row_limited;
    // Row stage. The same for several rows at once, with more than one whenever the runner can. A
    // stage has either these or the functions for one row; the others are NULL.
    stage_rows *run_rows, *run_rows_limited;
    // Frame stage. Writes output rows first..end-1 of every plane, of plane 0 alone where the
    // picture is computed gray; `first` is even. One thread at a time calls it.
    void (*run_frame)(const struct stage *stage, const struct frame *input, struct frame *output,
                      uint32_t first, uint32_t end);
    // Called once at most. From now on run_frame() or look() shares its work with the threads of
    // `pool`, which outlives the stage. -ENOMEM. NULL: nothing to do.
    int (*set_pool)(struct stage *stage, struct pool *pool);
};

struct stage {
    const struct stage_ops *ops;
    // Row stage: rows of input needed above and below, at most STAGE_RADIUS_MAX; the runner
    // replicates the border.
    unsigned radius;
    bool looks;  // set by init: there is no row before look()
    void *state; // owned; of the ops, state_bytes of it
};

// Makes a stage of `ops`. Errors of its init, -ENOMEM; then there is nothing to finish. End it with
// stage_finish().
int stage_init(struct stage *stage, const struct stage_ops *ops, const struct stage_setup *setup,
               struct error *error);
// Takes zeroed stages.
void stage_finish(struct stage *stage);
