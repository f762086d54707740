// How often an address may try a password: five times, then once a second; all addresses together
// are limited as well, so that many addresses are of no use.
//
// Each has a bucket of tries that fills by one at its interval; a wrong password takes one out. A
// bucket is one number, the time at which it will be full again (the "generic cell rate
// algorithm"), so that a full bucket needs no memory. 1,024 addresses are known at a time, and the
// one whose bucket would be full first makes room.
//
// Guessers must not keep others out. An address from which somebody logged in within a day has its
// own bucket alone: neither does it wait for the common one nor take from it. And those with a
// wrong password within a minute leave half of the common bucket to those without.
#pragma once

#include "daemon/common/peer.h"

#include <stddef.h>

#define THROTTLE_TRIES 5
#define THROTTLE_INTERVAL_MS 1000
#define THROTTLE_TRIES_ALL 200 // of all addresses, then 20 a second
#define THROTTLE_INTERVAL_ALL_MS 50
#define THROTTLE_ADDRESSES 1024
#define THROTTLE_TRUSTED 256     // addresses from which somebody has logged in
#define THROTTLE_TRUSTED_S 86400 // since the last time
#define THROTTLE_REMEMBERED_S 60 // a wrong password

struct throttle {
    int64_t full_ns; // of all
    struct throttle_address {
        struct peer network;
        int64_t full_ns;
        int64_t failed_ns; // when the last wrong password came; 0: none
        bool is_waiting;   // since its bucket was full
    } addresses[THROTTLE_ADDRESSES];
    struct throttle_trusted {
        struct peer network;
        int64_t login_ns; // the last; 0: unused
    } trusted[THROTTLE_TRUSTED];
};

// How the log takes a wrong password.
enum throttle_news {
    THROTTLE_MORE_OF_IT,
    THROTTLE_FIRST, // the first of its address for THROTTLE_REMEMBERED_S
    THROTTLE_WAITS, // the peer has to wait from now on: once until its bucket has been full again
};

// How long a peer has to wait until it may try again, in nanoseconds; 0: it may now. All 0 is a
// throttle that has seen nobody; time is that of CLOCK_MONOTONIC.
int64_t throttle_wait_ns(const struct throttle *throttle, const struct peer *peer, int64_t now_ns);
// Counts a try that failed.
enum throttle_news throttle_count_failure(struct throttle *throttle, const struct peer *peer,
                                          int64_t now_ns);
// Somebody has logged in from there: it is trusted for THROTTLE_TRUSTED_S. Of more than
// THROTTLE_TRUSTED the one whose last login is oldest makes room.
void throttle_trust(struct throttle *throttle, const struct peer *peer, int64_t now_ns);
