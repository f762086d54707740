// All channels of a camera, as the lane uses them.
//
// When other settings come, everything that they need is built beside what runs, and then all of it
// takes effect between two frames. After an error the old settings stay. Views are built in the
// lane; encoders, which take tens of milliseconds and more to begin and to end, are made and ended
// in a thread beside it, so that the other views lose no frame.
#pragma once

#include "daemon/camera/settings.h"

#include <pthread.h>

struct channels {
    const char *camera;        // its name, for the log
    struct graph *graph;       // borrowed; what the views have in common
    struct settings *settings; // a reference; those in force, with their channels
    struct gpu *gpu;           // borrowed; the last one that computed, which has the block sizes
    int wake_fd;               // eventfd, borrowed: of the lane

    // These are the thread's while it works.
    struct settings *next; // a reference; staged, and waits for encoders
    int next_result;       // of making these
    struct error next_error;
    struct settings *left; // a reference; with encoders to be ended
    pthread_t worker;
    bool worker_started;
    atomic_bool working;
};

// The channels of `settings`; takes over a reference. `camera` and `graph` outlive them.
void channels_init(struct channels *channels, const char *camera, struct graph *graph,
                   struct settings *settings, int wake_fd);
// Waits for the thread. Takes zeroed channels.
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
// way, and no encoder reads a frame that belongs to the GPU.
int channels_run(struct channels *channels, struct frame *frame, struct error *error);
// Waits until no picture waits for an encoder, at most 100 ms, and at most until `deadline_ns` of
// CLOCK_MONOTONIC.
void channels_wait_for_room(struct channels *channels, int64_t deadline_ns);
void channels_run_slate(struct channels *channels, int64_t seconds);

// Whether no thread makes or ends encoders; if one does, it wakes the lane when it is done.
bool channels_are_idle(struct channels *channels);
// Begins to go over to `next`, while idle: builds its views and has its encoders made. With 0 it
// takes over the reference; after an error nothing has changed. With the settings that are in force
// encoders that have failed are made again; views whose encoder fails again stay without one.
int channels_begin_settings(struct channels *channels, struct settings *next,
                            const struct channel_setup *setup, struct error *error);
// Whether a view's encoder has failed.
bool channels_have_lost_encoder(const struct channels *channels);
// When that is done: puts `next` in force from the next frame on, or drops it and returns why. A
// message about block sizes is logged once, however many views it concerns.
int channels_end_settings(struct channels *channels, struct error *error);

bool channels_are_watched(const struct channels *channels);
