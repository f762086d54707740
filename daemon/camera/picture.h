// The steps that frames go through before the views see them: what is private becomes black; then
// come the demosaic of a sensor's raw samples, and the flip where the source does not do it. Lane
// thread only.
#pragma once

#include "capture/source.h"
#include "daemon/camera/compute.h"
#include "kernels/demosaic/demosaic.h"
#include "kernels/flip/flip.h"
#include "kernels/mask/privacy.h"

// Embedded; starts out as {0}.
struct picture_maker {
    struct privacy *privacy; // owned; NULL: all may be seen
    struct frame_pool *lent; // owned reference; for copies of lent frames; NULL: none came yet
    const struct frame_allocator *allocator; // of these; not owned
    struct copies *copies;                   // not owned
    bool shows_other;           // what may be seen is not what it was before the last preparation
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
    struct copies *copies; // to be counted up
    struct pool *pool;     // of what the CPU computes
};

// Makes the privacy, the demosaic and the flip that the setup wants, if any, or keeps those that
// fit it. Errors of privacy_new(), demosaic_new() and flip_new().
int picture_maker_prepare(struct picture_maker *maker, const struct picture_setup *setup,
                          struct error *error);
// Takes what was zeroed.
void picture_maker_finish(struct picture_maker *maker);

// Blackens what is private in a frame that the source has delivered. To be called first. *ret_frame
// is a new reference to `frame`, or to a copy where there is something to blacken and the frame is
// lent, which is counted; NULL with 0: all copies are in use, the frame counts as dropped. After an
// error the frame must not be shown: -ENOMEM, what privacy_apply() says, after which the source is
// to be opened without surfaces.
int picture_maker_hide(struct picture_maker *maker, struct source *source, struct frame *frame,
                       struct error *error, struct frame **ret_frame);
// Whether there is a demosaic or a flip: the views get a picture that is not the camera's frame.
bool picture_maker_is_used(const struct picture_maker *maker);
// By the demosaic and the flip that there are. *ret_picture is a new reference to what they make of
// `frame`; NULL with 0: all such frames are in use, the frame counts as dropped. Else the GPU's
// error.
int picture_maker_run(struct picture_maker *maker, struct source *source, struct frame *frame,
                      struct error *error, struct frame **ret_picture);
// The steps in the memory path, " -> demosaic -> flip vertical"; "" where there are none.
void picture_maker_describe(const struct picture_maker *maker, char *ret_text, size_t size);
