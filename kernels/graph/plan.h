// A view's plan: which steps turn a camera's picture into its own, before anything is allocated.
//
// CPU and GPU make the same plan in their own ways. The first step reads plane 0 of the camera's
// picture, each of the others what the one before it made: gray, 8 bit, of the same size.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"
#include "kernels/mask/mask_plane.h"
#include "kernels/stage/plan_step.h"
#include "kernels/stage/pool.h"

struct gpu;
struct graph;
struct view;

// The pictures that a view delivers.
enum view_output {
    VIEW_OUTPUT_STREAM, // NV12 for an encoder: computed gray as 16 + (219 m + 127) / 255, chroma
                        // 128
    VIEW_OUTPUT_EXACT,  // RGB3 for what has colours, GREY for the others: for files, no range
                        // mapping
};

// The arguments of a new view. All are copied, but `gpu` and the allocator's context outlive the
// view.
struct view_setup {
    const struct config_view *settings;
    const char *camera; // its name, for a label; NULL: there is none, as for VIEW_OUTPUT_EXACT
    const struct frame_layout *input;
    bool input_surfaces; // the camera's frames are surfaces
    enum view_output output;
    unsigned frames;                         // output frames; 0: 4
    const struct frame_allocator *allocator; // of the output frames
    struct gpu *gpu; // computes, on frames whose memory it can use, what it has a kernel for; NULL:
                     // the CPU does
    struct pool *pool;    // shares the rows of what the CPU computes, outlives the view; NULL: the
                          // caller's thread alone
    struct graph *graph;  // of the camera, outlives the view; NULL: it computes all by itself
    mask_read *read_mask; // reads the mask of a view that has one; NULL: none has
    void *read_context;   // of read_mask
    const struct view *before; // what this view takes the place of, with as many frames of the same
                               // allocator: they are used again where they fit; NULL: nothing
};

struct plan {
    const char *format; // of the output
    bool computed;      // gray or colour that no camera delivered: limited range
    struct plan_step steps[PLAN_STEPS_MAX];
    unsigned count; // 0: the output is the input, or a split
};

// The plan of the view that `settings` name, for pictures in the format `input`. Gray that is
// computed for a stream ends in STAGE_COMPOSE.
struct plan plan_make(const struct config_view *settings, const struct pixel_format *input,
                      enum view_output output);
// Gives the steps STAGE_MASK of the plan of `setup`'s view, which plan_make() leaves without it,
// the view's mask. Errors of mask_plane_new(). The caller owns *ret_mask, which outlives the plan's
// use; NULL where no step has one.
int plan_load_mask(struct plan *plan, const struct view_setup *setup, struct error *error,
                   struct mask_plane **ret_mask);
// The step `kind` as it stands in the view's settings: what `kind` has no use for is zero.
struct plan_step plan_step(enum stage_kind kind, const struct config_view *settings);
// The first step of that kind, -1 if there is none.
int plan_find(const struct plan *plan, enum stage_kind kind);
