// Parts of a camera's picture that nobody sees: they are black before anything else reads the
// frame.
//
// A pixel is black if a polygon touches it, and with it the square of 2x2 pixels that it is in,
// because these may share their colour. The pixels around it are black, too, in a mosaic, as the
// demosaic makes a pixel of its neighbours, and in pictures of an odd size that are flipped, as
// flip.h says of their colours. Where four samples share a byte all four are black. Black is Y 16,
// or 0 in full range, with chroma 128; RGB 0; and a mosaic's sample 0, which no black level is
// below.
//
// Polygons are in shares of the picture behind the flip, frames are those in front of it.
// Everything that a polygon's outline winds around is inside, also twice (the non-zero rule): a
// star drawn in a line hides its middle as well, which would be no part of a region (region.h).
// Used by one thread at a time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"

struct privacy;

struct privacy_setup {
    const struct config_privacy *polygons; // copied
    size_t count;                          // 1 and more
    enum config_flip flip;                 // that is still to be done to the frames
    const struct frame_layout *layout;     // of the frames; copied
};

// -ENOMEM.
int privacy_new(const struct privacy_setup *setup, struct error *error,
                struct privacy **ret_privacy);
void privacy_free(struct privacy *privacy); // takes NULL
// Whether it is what `setup` would make.
bool privacy_fits(const struct privacy *privacy, const struct privacy_setup *setup);

// Blackens a frame on the CPU's side that is not lent and that nobody has seen yet. An error of
// frame_begin_cpu_access(): what is to be black is not, so the frame must not be shown.
int privacy_apply(const struct privacy *privacy, struct frame *frame, struct error *error);
