// Two views of one picture side by side, each whole, in a picture of its own.
//
// - To RGB3: GREY as R = G = B; the right one begins at the left one's width.
// - To NV12: the right one begins at the next even column; where that leaves one between them, its
//   luma is black. If either is full range, as a camera's own picture may be, both are: computed
//   gray is then its values 0..255 with chroma 128, computed colour full range YUV by the
//   camera's matrix (colour.h), with the chroma of the top left pixel of two by two.
//
// On a GPU that computes both each writes its half (split_gpu.h), else the CPU composes them,
// whatever computed the two. Used by one thread at a time, as views are.
#pragma once

#include "kernels/graph/view.h"

struct split;

// What an encoder takes; for VIEW_OUTPUT_STREAM.
#define SPLIT_STREAM_WIDTH_MAX CONFIG_SPLIT_WIDTH_MAX

// Both views, with the setup's own means; *ret_output is the layout of what they make. -ENOENT: a
// side names no view or kind of view; -ENOTSUP: wider than an encoder takes; what view_new() says.
int split_new(const struct view_setup *setup, struct error *error, struct split **ret_split,
              struct frame_layout *ret_output);
void split_free(struct split *split); // takes NULL

// What no picture changes of an output frame in NV12: between the pictures it is black.
void split_write_gap(const struct split *split, struct frame *output);
// Whether the GPU writes both halves: split_launch(), else split_run().
bool split_is_on_gpu(const struct split *split);
// Both pictures of `input` into `output`, a frame whose chroma was 128 and whose gap was written
// before its first picture. What view_run() says.
int split_launch(struct split *split, const struct gpu_pictures *pictures, struct error *error);
int split_run(struct split *split, struct frame *input, struct frame *output, struct error *error);
// View number 0, the left one, or 1; owned by the split.
struct view *split_side(struct split *split, unsigned side);

// As view_set_blocks(), view_take_refusal() and view_take_warning(), of what is not the two views'.
int split_set_blocks(struct split *split, const struct config_block *blocks, struct error *error);
bool split_take_refusal(struct split *split, struct error *ret_why);
bool split_take_warning(struct split *split, struct error *ret_text);
