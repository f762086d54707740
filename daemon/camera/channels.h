// All channels of a camera, as the lane uses them.
#pragma once

#include "daemon/camera/settings.h"

struct channels {
    const char *camera;        // its name, for the log
    struct graph *graph;       // borrowed; what the views have in common
    struct settings *settings; // a reference; those in force, with their channels
    struct gpu *gpu;           // borrowed; the last one that computed, which has the block sizes
};

// The channels of `settings`; takes over a reference. `camera` and `shared` outlive them.
void channels_init(struct channels *channels, const char *camera, struct graph *graph,
                   struct settings *settings);
// Takes zeroed channels.
void channels_finish(struct channels *channels);

// Lane thread, all. Errors are those of one channel, `error` names its view; what else
// channel.h says holds here, too.
// -ENOSYS: no encoder works for any view. One view without an encoder is logged and left out.
int channels_prepare(struct channels *channels, const struct channel_setup *setup,
                     struct error *error);
// The next frame is compared with none before it.
void channels_forget(struct channels *channels);
// Begins the next frame: notes which views are watched, for all of it; whether any is. To be called
// before channels_run().
bool channels_begin(struct channels *channels);
// Runs one frame through every view. The pictures of all views that the GPU computes are queued at
// once, and each goes to its encoder when it is made. Then come the views that the CPU computes,
// and last those that hand the frame itself to an encoder. So the frame changes sides once each
// way, and no encoder reads a frame that belongs to the GPU. An encoder that failed is ended.
int channels_run(struct channels *channels, struct frame *frame, struct error *error);
void channels_run_slate(struct channels *channels, int64_t seconds);

// Prepares other settings while the old ones run: fully or, after an error, not at all.
int channels_stage(const struct settings *next, const struct channel_setup *setup,
                   struct error *error);
// Whether staged settings need other encoders; and makes these, in any thread, for which the lane
// waits.
bool channels_want_encoders(const struct settings *next);
int channels_stage_encoders(const struct settings *next, struct error *error);
void channels_abort(const struct settings *next);
// Puts `next` in force from the next frame on; takes over a reference. Returns the settings before,
// with encoders that have to be ended, to the caller. A message about block sizes is logged once,
// however many views it concerns.
struct settings *channels_commit(struct channels *channels, struct settings *next);

bool channels_are_watched(const struct channels *channels);
