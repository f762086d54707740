// How long something took. That it took no longer than promised is asserted by `make soak` alone,
// on a machine with nothing else to do; elsewhere it has to come to an end.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define PATIENCE_NS (60 * NS_PER_S) // for any event, however busy the machine is

static inline bool by_the_clock(void)
{
    return getenv("EDGED_SOAK_SECONDS") != NULL;
}

static inline int64_t at_most_ns(int64_t promised_ns)
{
    return by_the_clock() ? promised_ns : INT64_MAX;
}

// Asserts that what began at `begin_ns` has lasted from `least_ns` to `most_ns`.
#define assert_lasted(begin_ns, least_ns, most_ns)                                                 \
    assert_in_range(clock_now_ns() - (begin_ns), least_ns, at_most_ns(most_ns))
