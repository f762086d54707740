// A stage: one step from a frame to the picture of a view, in one const table of operations.
//
// A row stage computes one output row from 2 * radius + 1 input rows and nothing else, or several
// in one go, so the view runner streams rows through a chain of them while they are in the cache,
// and any slice of rows can be computed by itself. Some have to scan all rows of their input
// before they can make the first of theirs; what comes before them is then computed into a plane. A
// frame stage sees the whole input frame. All rows are 8 bit; where a stage's row is its input's
// plane 0 in place, no row is copied. A stage is const while it runs: what changes with every frame
// changes in begin(), what changes with every row lives in the scratch memory the runner provides,
// one for each thread. Several threads may compute rows of one picture, and the same row, too.
#pragma once

#include "capture/frame.h"
#include "kernels/stage/plan_step.h"

#define STAGE_RADIUS_MAX 8
#define STAGE_ROWS_MAX 8 // that a stage makes in one go

struct pool;
struct stage;

// The arguments of a new stage.
struct stage_setup {
    const struct stage_options *options;
    const struct frame_layout *input;  // of the view
    const struct pixel_format *output; // of the view
    struct pool *pool; // shares the work of a frame stage or a scan, outlives the stage; NULL: the
                       // caller's thread alone
};

enum stage_result {
    STAGE_WRITTEN,
    STAGE_BLACK, // the row is 0 everywhere; nothing has to be written for it
};

// A row that stands for black ones: a stage that finds it among its own need not look at its
// pixels. Black rows of pictures wider than it are written like others.
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
    size_t state_bytes; // of struct stage's `state`, which is zeroed before init(); 0: it has none
    // Fills in what else struct stage has, but for its ops and the state's address. -ENOTSUP
    // (format), -ENOMEM.
    int (*init)(struct stage *stage, const struct stage_setup *setup, struct error *error);
    void (*finish)(struct stage *stage); // NULL: nothing to do
    // Called once before a frame's rows are computed, with the frames of the view; `output` is the
    // one that the last stage writes. NULL: nothing to do.
    void (*begin)(struct stage *stage, const struct frame *input, struct frame *output);
    // Row stage with `scans` set. Called in every frame, after begin() and before its first row,
    // with rows first..end-1 of what it reads; `rows` is row `first`. They are all rows, which stay
    // as they are until the frame's last row is made; or, of a stage with `scans_in_bands`, some.
    void (*scan)(struct stage *stage, const uint8_t *rows, size_t stride, uint32_t first,
                 uint32_t end);
    bool scans_in_bands; // once a row is scanned the stage does not need it any more
    // Called between frames of a stage that knows of the frame before: the next one has none before
    // it, as the first. NULL: it knows nothing.
    void (*forget)(struct stage *stage);
    bool limits; // run_row() or run_rows() heed `limited`; without, the runner does that to their
                 // rows
    // Frame stage. Writes output rows first..end-1 of every plane, of plane 0 alone where the
    // picture is computed gray; `first` is even. One thread at a time calls it.
    void (*run_frame)(const struct stage *stage, const struct frame *input, struct frame *output,
                      uint32_t first, uint32_t end);
};

// Copies of a stage that was made share its state.
struct stage {
    const struct stage_ops *ops;
    // Row stage: rows of input needed above and below, at most STAGE_RADIUS_MAX; the runner
    // replicates the border.
    unsigned radius;
    bool scans;           // there is no row before scan()
    unsigned erosions;    // it is so many erosions (morphology.c) and nothing else; 0: it is not
    bool erodes;          // run_row() heeds `eroded`
    unsigned eroded;      // how many erosions there are of the rows
    bool limited;         // the rows become limited range luma (compose.h)
    size_t scratch_bytes; // of memory, aligned to 64, that run_row() wants; undefined at each call
    // Row stage, one of them. A runner calls run_rows() for as many rows at once as it can.
    stage_row *run_row;
    stage_rows *run_rows;
    void *state; // owned; of the ops, state_bytes of it
};

// Makes a stage of `ops`. Errors of its init, -ENOMEM; then there is nothing to finish. End it with
// stage_finish().
int stage_init(struct stage *stage, const struct stage_ops *ops, const struct stage_setup *setup,
               struct error *error);
// Takes zeroed stages.
void stage_finish(struct stage *stage);
