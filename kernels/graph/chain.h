// Steps of a plan on the CPU, from a plane of gray or of the camera's picture to a plane.
//
// Row stages follow one another on rows in the cache. Where one has to look at its whole input
// first, the rows before it are made for that look alone and those from it on afterwards, so a
// plane lies in between only where a stage keeps one itself.
#pragma once

#include "kernels/graph/plan.h"
#include "kernels/stage/stage.h"

struct chain;

// For `count` steps (1..PLAN_STEPS_MAX) of which the first reads plane 0 of a picture like the
// setup's input, or gray of that size; the setup's options are not looked at. -ENOTSUP (format),
// -ENOMEM.
int chain_new(const struct plan_step *steps, unsigned count, const struct stage_setup *setup,
              struct error *error, struct chain **ret_chain);
void chain_free(struct chain *chain); // takes NULL

// From the next frame on steps before number `start` (below `count`) are left out: the input is
// what they would make. What stages know of frames before stays. -ENOMEM, never for 0: as it was.
int chain_set_start(struct chain *chain, unsigned start);

// The next picture has none before it: nothing moves in it.
void chain_forget(struct chain *chain);

// One picture. `input` is row 0 of a plane, `output` row 0 of the one that the last step writes,
// strides in bytes. `camera` is the view's input and `picture` its output for steps that look at
// all of them, NULL where there are none.
void chain_run(struct chain *chain, const uint8_t *input, size_t input_stride, uint8_t *output,
               size_t output_stride, const struct frame *camera, struct frame *picture);
