// The demosaic: a camera's raw samples, one colour a pixel, to the picture that all views then
// read.
//
// First each sample s of b bits becomes 8 bit, by the development of its frame's layout: `black`
// and, for its own colour, a `factor`:
//   k = 8 + b      f = min(2^24, max(1, round(factor * 255 * 2^k / (2^b - 1 - black))))
//   out = min(255, (max(0, s - black) * f + 2^(k - 1)) >> k)
// So 8 bit samples stay as they are where black is 0 and the factor 1.
//
// Then the two colours that a pixel lacks are means of its neighbours, which is OpenCV's bilinear
// demosaic (COLOR_BayerBG2RGB for RGGB, GB for GRBG, GR for GBRG, RG for BGGR):
//   at red:    green (N + S + W + E + 2) >> 2, blue (NW + NE + SW + SE + 2) >> 2; at blue likewise
//   at green:  the colour of its row (W + E + 1) >> 1, that of its column (N + S + 1) >> 1
// The outermost pixels are those next to them, columns first and then rows; a picture of less than
// 3 by 3 pixels is black.
//
// The result is RGB3, or where no view shows colours the gray of that as gray.h has it: GREY,
// (9798 R + 19235 G + 3735 B + 16384) >> 15.
//
// It is the first stage of all views, made once a frame. Used by one thread at a time.
#pragma once

#include "capture/frame_pool.h"

struct demosaic;
struct gpu;
struct pool;

struct demosaic_setup {
    const struct frame_layout *input; // of a mosaic; copied
    bool colour;                      // RGB3, else GREY
    unsigned frames;                  // of the result, 1 to 64
    const struct frame_allocator *allocator;
    struct gpu *gpu;   // computes, on frames whose memory it can use; outlives the demosaic; NULL:
                       // the CPU does
    struct pool *pool; // shares the CPU's rows, outlives the demosaic; NULL: the caller's thread
                       // alone
};

// -ENOMEM, -ENOENT (no such kernel), what the GPU says; with a sentence in `error`.
int demosaic_new(const struct demosaic_setup *setup, struct error *error,
                 struct demosaic **ret_demosaic);
// Takes NULL. Frames that are still out stay valid. Nothing it launched runs any more, or the GPU
// is lost.
void demosaic_free(struct demosaic *demosaic);

// Whether the demosaic is what `setup` would make.
bool demosaic_fits(const struct demosaic *demosaic, const struct demosaic_setup *setup);
const struct frame_layout *demosaic_layout(const struct demosaic *demosaic);

// One picture; `input` has the setup's layout and is only read. *ret_output is a new reference with
// pts, grab time and sequence of the input. On a GPU the picture is only queued, in its current
// stream, and both frames are its until frame_to_cpu(). -ENOBUFS: all frames are still in use, the
// picture is to be dropped. Errors of the GPU.
int demosaic_run(struct demosaic *demosaic, struct frame *input, struct error *error,
                 struct frame **ret_output);
