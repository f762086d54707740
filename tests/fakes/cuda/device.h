// The one device, its primary context, and the way into every function of the driver.
//
// One lock guards all there is. It is held from call_begin() to call_end(), and left while a kernel
// computes, and by those that wait for the device.
#pragma once

#include "tests/fakes/cuda/options.h"

#include <pthread.h>

struct device {
    pthread_mutex_t lock;
    pthread_cond_t changed; // a stream got on, or was abandoned
    struct options options;
    bool initialized;
    unsigned retained;
    int lost; // CUresult of what lost the context, or 0
    uint64_t calls[CALL_COUNT], total;
    unsigned waiting; // calls that options.wait holds
};

extern struct device device;

// Locks, counts, and says what the call is to answer at once: what it was told to fail with, what
// lost the context, or that there is none. 0: it goes on. Whatever it says, call_end() follows.
int call_begin(enum call call);
// Whether call_begin() said what the options want. Functions that release do it all the same.
bool call_was_told(void);
// Unlocks; hands `result` on.
int call_end(int result);

// Waits until all streams are idle, for ever if one never is. Of a lost context nothing is left to
// wait for.
void device_wait_idle(void);
