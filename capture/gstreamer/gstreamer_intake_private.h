// Between the lane's side of the intake and the side of GStreamer's streaming threads.
#pragma once

#include "capture/gstreamer/gstreamer_intake.h"

#include <pthread.h>

#define INTAKE_POOL_FRAMES 8

struct intake {
    const struct source_environment *environment; // not owned
    GstElement *pipeline;                         // owned
    GstElement *sink;                             // owned reference
    GstCaps *caps;                  // owned reference; those of the last sample taken, lane only
    struct frame_pool *copy_frames; // owned reference; made for the first copy, lane only
    struct gstreamer_surfaces *surfaces; // owned; NULL: samples lie in plain memory
    bool surface_failed;                 // one could not be adopted; lane only
    bool live;
    bool in_order; // each sample waits until the one before it has been taken
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // From here on guarded by `lock`.
    struct frame_pool *frames; // owned reference; what upstream writes into
    GstCaps *preroll_caps;     // owned reference
    GstSample *sample;         // owned; the newest, NULL once taken
    int64_t grabbed_ns;
    uint64_t arrived;  // samples so far
    uint64_t replaced; // of them, before they were taken; since it was counted last
    bool segment_done, eos, failed, failed_to_negotiate, unauthorized, no_way_to_log_in;
    bool stopping;      // no sample waits any more
    unsigned replaying; // threads that ask for the segment to be played again
    struct error failure;
};

// Lets samples, news and queries of the parsed pipeline arrive at `intake`, on CLOCK_MONOTONIC.
void intake_connect(struct intake *intake);
