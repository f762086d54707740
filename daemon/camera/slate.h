// The NO SIGNAL slate: what a viewer sees while there is no camera.
#pragma once

#include "capture/frame.h"
#include "daemon/camera/encoder.h"

#include <stdint.h>

struct frame_pool;
struct gpu_surfaces;

// Draws into an NV12 frame of any size: dark gray, "NO SIGNAL", the camera's name and the time
// since loss as M:SS (H:MM:SS from an hour on). A negative `seconds` leaves the time out. Returns
// 0, or the error that keeps the CPU from a surface.
int slate_draw(struct frame *frame, const char *camera, int64_t seconds, struct error *error);

// An encoder, and frames for the NO SIGNAL slates that it encodes beside a view's pictures; or why
// there is none. Embedded; starts out as {0}.
struct slated_encoder {
    struct encoder *encoder;         // owned; NULL: none works, or none was made yet
    struct frame_pool *slate_pool;   // a reference; of the encoder's size and range
    bool lacks_surfaces;             // the encoder reads by the CPU: there were none for the slates
    struct encoder_settings refused; // that no encoder worked with, or zero
    struct error refusal;            // why
};

// The arguments of a new one.
struct slated_encoder_setup {
    const struct encoder_settings *settings;
    struct gpu_surfaces *surfaces; // for slates, where the settings want surfaces
    const char *camera;            // its name, for the slate and the log
    struct encoder_watches *watches;
    unsigned expected;      // elements that the board has, a bit for each: a missing one is told
    encoder_output *output; // gets the slate's two key frames first, marked as trial
    void *context;
};

// Fills in one that was never made, or was ended. -ENOSYS: no encoder works, which is kept as its
// refusal; else what keeps slates from being made.
int slated_encoder_make(struct slated_encoder *slated, const struct slated_encoder_setup *setup,
                        struct error *error);
// Takes {0}. A refusal is kept.
void slated_encoder_end(struct slated_encoder *slated);

// Whether the encoder that there is can be changed to the wanted settings while it runs.
bool slated_encoder_fits(const struct slated_encoder *slated,
                         const struct encoder_settings *wanted);
// Whether no encoder worked with these settings. Another try would hold up the camera's other
// views, with each frame.
bool slated_encoder_is_refused(const struct slated_encoder *slated,
                               const struct encoder_settings *wanted);
