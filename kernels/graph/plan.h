// A view's plan: which steps turn a camera's picture into its own, before anything is allocated.
//
// CPU and GPU make the same plan in their own ways. The first step reads plane 0 of the camera's
// picture, each of the others what the one before it made: gray, 8 bit, of the same size.
#pragma once

#include "kernels/graph/view_setup.h"
#include "kernels/stage/plan_step.h"

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
// the view's mask. What mask_plane_new() says. The caller owns *ret_mask, which outlives the plan's
// use; NULL where no step has one.
int plan_load_mask(struct plan *plan, const struct view_setup *setup, struct error *error,
                   struct mask_plane **ret_mask);
// The step `kind` as it stands in the view's settings: what `kind` has no use for is zero.
struct plan_step plan_step(enum stage_kind kind, const struct config_view *settings);
// The first step of that kind, -1 if there is none.
int plan_find(const struct plan *plan, enum stage_kind kind);
