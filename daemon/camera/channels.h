// All channels of a camera, as the lane uses them.
#pragma once

#include "daemon/camera/settings.h"

// A refusal and a warning for each kernel.
#define CHANNELS_TOLD_MAX (2 * CONFIG_KERNEL_COUNT)

struct channels {
    const char *camera;        // its name, for the log
    struct shared *shared;     // borrowed; what the views have in common
    struct settings *settings; // a reference; those that count, with their channels
    // What has been told about the block sizes.
    struct error told[CHANNELS_TOLD_MAX];
    size_t told_count;
};

// The channels of `settings`; takes over a reference. `camera` and `shared` outlive them.
void channels_init(struct channels *channels, const char *camera, struct shared *shared,
                   struct settings *settings);
// Takes zeroed channels.
void channels_finish(struct channels *channels);

// Lane thread, all. Errors are those of one channel, `error` names its view; what else
// channel.h says holds here, too.
int channels_prepare(struct channels *channels, const struct channel_setup *setup,
                     struct error *error);
// The next frame is compared with none before it.
void channels_forget(struct channels *channels);
// One frame through every view. The pictures of all views that the GPU computes are queued at once,
// and each goes to its encoder when it is made; then come the views that the CPU computes, and
// those that hand the frame to an encoder as it is: so it changes sides once each way, and no
// encoder reads one that is the GPU's. An encoder that failed is ended.
int channels_run(struct channels *channels, struct frame *frame, struct error *error);
void channels_run_slate(struct channels *channels, int64_t seconds);

// Gets ready for other settings beside what runs, fully or, after an error, not at all.
int channels_stage(struct channels *channels, const struct settings *next,
                   const struct channel_setup *setup, struct error *error);
// Whether encoders have to be made for them, and makes these; any thread, which the lane waits for.
bool channels_want_encoders(const struct settings *next);
int channels_stage_encoders(const struct settings *next, struct error *error);
void channels_abort(const struct settings *next);
// `next` counts from the next frame on; takes over a reference. Returns the settings before, the
// caller's, with encoders that have to be ended. What there is to say about block sizes is told in
// the log once, however many views it concerns.
struct settings *channels_commit(struct channels *channels, struct settings *next);

bool channels_are_watched(const struct channels *channels);
