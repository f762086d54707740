// How often an address may try a password: five times, then once a second; all addresses together
// are limited as well, so that many addresses are of no use.
//
// Each has a bucket of tries that fills by one at its interval; a wrong password takes one out. A
// bucket is one number, the time at which it will be full again (the "generic cell rate
// algorithm"), so that a full bucket needs no memory. 1,024 addresses are known at a time, and the
// one whose bucket would be full first makes room.
#pragma once

#include "daemon/front/account/peer.h"

#include <stddef.h>

#define THROTTLE_TRIES 5
#define THROTTLE_INTERVAL_MS 1000
#define THROTTLE_TRIES_ALL 200 // of all addresses, then 20 a second
#define THROTTLE_INTERVAL_ALL_MS 50
#define THROTTLE_ADDRESSES 1024

struct throttle {
    int64_t full_ns; // of all
    struct throttle_address {
        struct peer network;
        int64_t full_ns;
        bool is_waiting; // since its bucket was full
    } addresses[THROTTLE_ADDRESSES];
};

// How long a peer has to wait until it may try again, in nanoseconds; 0: it may now. All 0 is a
// throttle that has seen nobody; time is that of CLOCK_MONOTONIC.
int64_t throttle_wait_ns(const struct throttle *throttle, const struct peer *peer, int64_t now_ns);
// Counts a try that failed. True when the peer has to wait from now on, once until its bucket has
// been full again: the log then tells of it.
bool throttle_count_failure(struct throttle *throttle, const struct peer *peer, int64_t now_ns);
