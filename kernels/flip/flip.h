// The camera's picture another way up, in a frame of its own that all views then read: mirrored, or
// turned clockwise.
//
// First the picture becomes one whose samples are alike, by the formulas of convert.h: NV12 of all
// formats of YUV, because a quarter turn of 4:2:2 is 4:4:0, which is nobody's format; RGB3 of all
// formats of RGB; GREY stays. Then each plane is turned by itself: a sample is a luma, a pair of U
// and V, or three bytes of RGB, and a plane of `across` by `down` samples gives
//
//   horizontal  out(x, y) = in(across - 1 - x, y)             numpy.fliplr(in)
//   vertical    out(x, y) = in(x, down - 1 - y)               numpy.flipud(in)
//   rotate-180  out(x, y) = in(across - 1 - x, down - 1 - y)  numpy.rot90(in, 2)
//   rotate-90   out(x, y) = in(y, down - 1 - x)               numpy.rot90(in, -1)
//   rotate-270  out(x, y) = in(across - 1 - y, x)             numpy.rot90(in, 1)
//
// Of an even width and height, a pair of chroma keeps the four pixels it belongs to. Of an odd
// width that is mirrored (and of an odd height that is turned over), it goes with the one of them
// that becomes the top left of four, so that the others' chroma is that of their neighbours.
//
// Used by one thread at a time.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"

struct flip;
struct gpu;
struct pool;

struct flip_setup {
    enum config_flip flip;            // not CONFIG_FLIP_NONE
    const struct frame_layout *input; // copied
    unsigned frames;                  // of the result, 1 to 64
    const struct frame_allocator *allocator;
    struct gpu *gpu;   // computes; NULL: the CPU
    struct pool *pool; // shares the rows, outlives the flip; NULL: the caller's thread alone
};

// The layout of what becomes of pictures of `input`; range and colour stay.
void flip_layout_init(struct frame_layout *layout, enum config_flip flip,
                      const struct frame_layout *input);

// -ENOMEM; what gpu_enter() and gpu_kernel() say.
int flip_new(const struct flip_setup *setup, struct error *error, struct flip **ret_flip);
// Takes NULL. Frames that are still out stay valid. On the GPU nothing of it runs any more, or the
// GPU is lost.
void flip_free(struct flip *flip);

// Whether the flip is what `setup` would make.
bool flip_fits(const struct flip *flip, const struct flip_setup *setup);
const struct frame_layout *flip_layout(const struct flip *flip);

// One picture; `input` has the setup's layout and is only read. *ret_output is a new reference with
// pts, grab time and sequence of the input. A GPU has only begun with it: both frames are the
// GPU's, and `input` is to stay, until frame_to_cpu(). -ENOBUFS: all frames are still in use, the
// picture is to be dropped. Anything else is the GPU's last word.
int flip_run(struct flip *flip, struct frame *input, struct error *error,
             struct frame **ret_output);
