// The lane: the one thread that grabs frames, runs the views, feeds the encoders and has the motion
// watch watch the regions.
//
// It owns the source. While there is none it keeps trying to open one, with back-off, and shows the
// NO SIGNAL slate to whoever watches. Source and views are made for the CPU or the GPU, as
// compute.h decides, and made anew between two frames when that decision or the settings change.
#pragma once

#include "daemon/camera/channels.h"
#include "daemon/camera/compute.h"
#include "daemon/camera/motion_watch.h"
#include "daemon/camera/report.h"
#include "daemon/camera/tuner.h"

struct lane;

struct lane_environment {
    struct compute *compute;
    struct pool *pool; // of what the CPU computes
    struct copies *copies;
    struct report *report;
    struct graph *graph;       // what the views have in common
    struct settings *settings; // the first: the source's, and the first in force
    struct motion_watch *motion_watch;
    struct tuner *tuner;
    // Called in the lane thread when the report has news that cannot wait.
    void (*changed)(void *context);
    void *context;
};

// The environment is copied; what it points to outlives the lane.
int lane_new(const struct lane_environment *environment, struct lane **ret_lane);
int lane_start(struct lane *lane);
// Stops the thread, waits for it, and closes the source.
void lane_stop(struct lane *lane);
// The same, and ends the views, for which the GPU has to answer. Takes NULL.
void lane_free(struct lane *lane);

// Any thread. Gives the lane other settings, which it adopts between two frames; takes over a
// reference. Settings that the lane has not adopted yet are replaced by newer ones.
void lane_set_settings(struct lane *lane, struct settings *settings);
// A camera that has refused the login is opened again now, and not after minutes. Any thread.
void lane_ask_anew(struct lane *lane);
// When the lane last came around: a lane that hangs in a driver stops coming around.
int64_t lane_alive_ns(const struct lane *lane);
// Wakes a lane that waits: a view is watched now, or the compute has decided.
void lane_wake(struct lane *lane);
