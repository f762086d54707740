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
#include "config/config.h"
#include "kernels/blur/blur.h"
#include "kernels/canny/canny.h"
#include "kernels/convert/convert.h"
#include "kernels/difference/difference.h"
#include "kernels/direction/direction.h"
#include "kernels/gradient/gradient.h"
#include "kernels/gray/gray.h"
#include "kernels/mask/mask.h"
#include "kernels/morphology/morphology.h"
#include "kernels/overlay/mark.h"
#include "kernels/overlay/overlay.h"
#include "kernels/threshold/threshold.h"

#define STAGE_RADIUS_MAX 8
#define STAGE_ROWS_MAX 8 // that a stage makes in one go

struct pool;
struct stage;
struct row_source;

enum stage_kind {
    STAGE_GRAY,       // plane 0 of any format to gray rows
    STAGE_BLUR,       // gray rows to smoother ones
    STAGE_GRADIENT,   // gray rows to magnitudes
    STAGE_THRESHOLD,  // gray rows to 0 and 255
    STAGE_COMPOSE,    // computed gray, 0..255, to limited range luma
    STAGE_DIFFERENCE, // gray rows to where they differ from the frame before, 0 and 255
    STAGE_ERODE,      // smaller bright shapes
    STAGE_DILATE,     // larger bright shapes
    STAGE_MARK,       // a mask's rows to those of the camera's picture with the mask marked in red
    STAGE_OVERLAY,    // a mask's rows to those of the camera's picture with the mask in a colour
    STAGE_DIRECTION,  // gray rows to the hue of their gradient's direction
    STAGE_CONVERT,    // frame stage: a picture to another pixel format
    STAGE_CANNY,      // gray rows to thin edges, 0 and 255
    STAGE_MASK,       // gray rows to those with 0 outside the view's mask
    STAGE_KIND_COUNT,
};

// What a stage is told of its view's settings, in the words of config.h. What its kind has no use
// for is zero.
struct stage_options {
    enum config_operator operator;
    int blur; // 3 or 5
    enum config_norm norm;
    double gain;
    int threshold;                     // or CONFIG_THRESHOLD_OTSU
    bool shades;                       // erosion and dilation: of gray, else of 0 and 255 alone
    int times;                         // of erosion and dilation
    uint8_t colour[3];                 // of an overlay: red, green, blue
    enum config_mark mark;             // of a mark
    enum config_thresholds thresholds; // canny
    double low, high;                  // canny with fixed ones
    const struct mask_plane *mask;     // not owned; equal ones of a camera are one (shared.h)
};

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
    // Fills in the stage's parameters and radius. -ENOTSUP (format), -ENOMEM. NULL: nothing to do.
    int (*init)(struct stage *stage, const struct stage_setup *setup, struct error *error);
    void (*finish)(struct stage *stage); // NULL: nothing to do
    // Bytes of scratch memory, aligned to 64, that run_row() wants. NULL: none. What it holds is
    // of no meaning from one call to the next.
    size_t (*scratch_bytes)(uint32_t width);
    // Between frames: the next one has none before it, as the first. NULL: the stage knows of none.
    void (*forget)(struct stage *stage);
    // Called once before a frame's rows are computed, with the frames of the view; `output` is the
    // one the last stage writes. NULL: nothing to do.
    void (*begin)(struct stage *stage, const struct frame *input, struct frame *output);
    // Row stage with `looks` set. Called once a frame, after begin() and before its first row, with
    // the rows that run_row() is not given then; they stay where they are until its last row if
    // they are those of a plane.
    void (*look)(struct stage *stage, const struct row_source *source);
    // Row stage.
    stage_row *run_row;
    // Row stages. What run_row() does, and keeps what the stage wants to keep of its input: called
    // instead, once for each row of a frame. A border's row is one that others may give to
    // run_row() as well, before, meanwhile or after; of no other row is it called then.
    // NULL, both: run_row() makes all.
    stage_row *keep_row, *keep_border_row;
    // Row stage. What run_row() and the compose stage after it would write, in one go; a runner
    // calls it instead of both. NULL: it calls both.
    stage_row *run_row_limited;
    // Row stage. For several rows at once; a runner calls these instead, as often as it can with
    // more than one. NULL: it calls those above. A stage has one kind or the other.
    stage_rows *run_rows, *run_rows_limited;
    // Frame stage. Writes output rows first..end-1 of every plane, of plane 0 alone where the
    // picture is computed gray; `first` is even. One thread at a time calls it.
    void (*run_frame)(const struct stage *stage, const struct frame *input, struct frame *output,
                      uint32_t first, uint32_t end);
    // Called once at most. A frame stage, or a look, shares its work with the threads of `pool`
    // from now on, which outlives the stage. -ENOMEM. NULL: nothing to do.
    int (*set_pool)(struct stage *stage, struct pool *pool);
};

struct stage {
    const struct stage_ops *ops;
    // Row stage: rows of input needed above and below, at most STAGE_RADIUS_MAX; the runner
    // replicates the border.
    unsigned radius;
    bool looks; // set by init: there is no row before look()
    union {
        struct gray gray;
        struct blur blur;
        struct gradient gradient;
        struct threshold threshold;
        struct convert convert;
        struct difference difference;
        struct mark mark;
        struct overlay overlay;
        struct direction direction;
        struct morphology morphology;
        struct canny canny;
        struct mask mask;
    };
};

// "gray", "blur": for status and benchmarks.
const char *stage_kind_name(enum stage_kind kind);

// Makes a stage of `kind`. Errors of its init. End it with stage_finish().
int stage_init(struct stage *stage, enum stage_kind kind, const struct stage_setup *setup,
               struct error *error);
// Takes zeroed and half-built stages.
void stage_finish(struct stage *stage);
