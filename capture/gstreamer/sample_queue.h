// The samples that wait in an intake, the oldest first.
//
// How many may wait, and what becomes of more, is the queue's order. A live pipeline that keeps
// them in order does so as long as the taker keeps up: one that has found a sample each time for
// 4 s does not. Then the newest one wins, and those that it replaces are counted, until the taker
// has to wait again. So a burst is taken whole, and a slow taker gains no standing delay.
//
// Embedded in the intake, whose lock guards it.
#pragma once

#include "capture/frame_pool.h"

#include <gst/gst.h>
#include <stdbool.h>

#define SAMPLE_QUEUE_MAX FRAME_POOL_MAX

enum intake_order {
    INTAKE_NEWEST, // the newest sample replaces the one that waits
    INTAKE_EVERY,  // a sample waits until the one before was taken, and its taker keeps the time
    INTAKE_HELD,   // the same of a live pipeline, which holds back what comes before its decoder
    INTAKE_QUEUED, // up to `room` samples wait
};

struct arrival {
    GstSample *sample; // owned
    int64_t grabbed_ns;
    uint64_t sequence;
};

struct sample_queue {
    enum intake_order order;
    struct arrival arrivals[SAMPLE_QUEUE_MAX];
    unsigned count;
    unsigned room;      // from 1 to SAMPLE_QUEUE_MAX
    int64_t drained_ns; // when the taker last found none
    uint64_t arrived;   // samples so far
    uint64_t replaced;  // of them, before they were taken; since it was counted last
};

// Until when, on CLOCK_MONOTONIC, samples come in order if the taker does not wait for one before.
// 0: never. INT64_MAX: always.
int64_t sample_queue_in_order_until_ns(const struct sample_queue *queue);
// Whether the next sample has to wait until one was taken, or it is in_order_until_ns.
bool sample_queue_is_closed(const struct sample_queue *queue);
// Takes over `sample`. The oldest ones that it leaves no room for come out, for the caller to
// unref without the lock: their number is returned, at most SAMPLE_QUEUE_MAX.
unsigned sample_queue_add(struct sample_queue *queue, GstSample *sample, GstSample **ret_gone);
// Takes the oldest one, which the caller owns from now on; there must be one.
struct arrival sample_queue_take(struct sample_queue *queue);
// Drops all, uncounted.
void sample_queue_clear(struct sample_queue *queue);
