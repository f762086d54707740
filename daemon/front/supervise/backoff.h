// How long to wait before a camera process is started again.
#pragma once

#include <stdint.h>

// Embedded; starts out as {0}.
struct backoff {
    unsigned next_ms;
};

// The delay before the next start: 0, then 100 ms, doubling up to 5 s. `healthy_ns` is for how long
// the process that ended had told of itself; after 5 s it was none that fails again and again, and
// the row begins anew.
unsigned backoff_advance_ms(struct backoff *backoff, int64_t healthy_ns);
