// All channels of a camera, as the lane uses them.
#pragma once

#include "daemon/camera/channel.h"
#include "daemon/camera/report.h"

// A refusal and a warning for each kernel.
#define CHANNELS_TOLD_MAX (2 * CONFIG_KERNEL_COUNT)

struct channels {
    const char *camera;                   // its name, for the log
    const struct config_view *settings;   // `count` of them
    struct channel *list[LINK_VIEWS_MAX]; // owned; NULL from `count` on
    size_t count;
    struct shared *shared; // owned; what the views have in common
    // Lane thread only: what has been told about the block sizes.
    struct error told[CHANNELS_TOLD_MAX];
    size_t told_count;
};

// Makes a channel for each view of `settings`, which outlives them, as does the environment.
// -ENOMEM. Whatever the result: channels_finish() ends them.
int channels_init(struct channels *channels, const struct config_camera *settings,
                  const struct channel_environment *environment);
// Takes zeroed and half-built channels.
void channels_finish(struct channels *channels);

// Lane thread, all below. Errors are those of one channel, `error` names its view; what else
// channel.h says holds here, too.
int channels_prepare(struct channels *channels, const struct channel_setup *setup,
                     struct error *error);
// The next frame is compared with none before it.
void channels_forget(struct channels *channels);
// One frame through every view: first those that compute, then those that hand it to an encoder as
// it is, so that no encoder reads a frame that is handed to the GPU. An encoder that failed is
// ended.
int channels_run(struct channels *channels, struct frame *frame, struct error *error);
void channels_run_slate(struct channels *channels, int64_t seconds);
// What there is to say about them is told in the log once, however many views it concerns.
void channels_set_blocks(struct channels *channels, const struct config_block *blocks);

bool channels_are_watched(const struct channels *channels);
// Any thread. Fills in how often stages were computed and shared.
void channels_count_stages(const struct channels *channels, struct link_telemetry *telemetry);
// The name of each view's encoder.
void channels_report(const struct channels *channels, struct report *report);
