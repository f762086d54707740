// What frames go through before the views see them: the demosaic of a sensor's raw samples, and the
// flip where the source does not do it. Lane thread only.
#pragma once

#include "daemon/camera/compute.h"
#include "kernels/demosaic/demosaic.h"
#include "kernels/flip/flip.h"

// Embedded; starts out as {0}.
struct picture_maker {
    struct demosaic *demosaic;  // owned; NULL: frames are pictures
    struct flip *flip;          // owned; NULL: frames are the right way up
    enum config_flip direction; // of the flip
    struct frame_layout layout; // of what the views get
};

struct picture_setup {
    const struct frame_layout *input;   // of the camera's frames
    enum config_flip flip;              // what is left to do
    const struct config_camera *camera; // has the views
    bool measured;                      // motion in regions of the picture is watched
    const struct compute_means *means;
    struct pool *pool; // of what the CPU computes
};

// Makes the demosaic and the flip that the setup wants, if any, or keeps those that fit it. What
// demosaic_new() and flip_new() say.
int picture_maker_prepare(struct picture_maker *maker, const struct picture_setup *setup,
                          struct error *error);
// Takes what was zeroed.
void picture_maker_finish(struct picture_maker *maker);

// Whether there is either of them: the views get a picture that is not the camera's frame.
bool picture_maker_is_used(const struct picture_maker *maker);
// By the demosaic and the flip that there are. *ret_picture is a new reference to what they make of
// `frame`. -ENOBUFS: all such frames are in use, the frame is to be dropped; else the GPU's error.
int picture_maker_run(struct picture_maker *maker, struct frame *frame, struct error *error,
                      struct frame **ret_picture);
// The steps in the memory path, " -> demosaic -> flip vertical"; "" where there are none.
void picture_maker_describe(const struct picture_maker *maker, char *ret_text, size_t size);
