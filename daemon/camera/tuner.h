// Tunes the blocks of a camera's kernels while it streams (kernels/tune).
//
// Between two frames the lane takes a turn: it times one block on pictures of the tuner's own, and
// further ones while that is short beside the time between frames. The kernels of live views keep
// their blocks. The front is told of what was tried ten times a second, of what was chosen at the
// end, and sends that back as other settings.
//
// The control thread begins and stops a tune; the rest is the lane thread's.
#pragma once

#include "daemon/camera/compute.h"
#include "daemon/camera/settings.h"

struct tuner;

// `tell` sends a message to the front, in the lane thread. -ENOMEM.
int tuner_new(void (*tell)(void *context, const struct link_tune_progress *progress), void *context,
              struct tuner **ret_tuner);
// Takes NULL. The GPU is still there, or lost.
void tuner_free(struct tuner *tuner);

// Control thread: begins a tune with the next frame, or stops one.
void tuner_ask(struct tuner *tuner, const struct link_tune *request);

// The lane's settings and means now.
struct tuner_place {
    struct settings *settings; // in force
    const struct frame_layout *input;
    const struct compute_means *means;
    unsigned fps_numerator, fps_denominator;
};
// Between two frames. A tune ends with a message where it cannot go on: the CPU computes, or the
// settings, the pictures or what computes them are others. An error, what CUDA says, or -ETIMEDOUT
// after 1 s: the GPU is lost.
int tuner_turn(struct tuner *tuner, const struct tuner_place *place, struct error *error);
// The camera is closed: a tune that is under way ends with a message.
void tuner_abandon(struct tuner *tuner);
