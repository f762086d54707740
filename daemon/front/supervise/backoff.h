// How long to wait before a camera process is started again.
#pragma once

#include <stdint.h>

// Embedded; starts out as {0}.
struct backoff {
    unsigned next_ms;
};

// The delay before the next start: 0, then 100 ms, doubling up to 5 s. `healthy_ns` is how long the
// process that ended had sent telemetry; if that was 5 s or more, the delays begin with 0 again.
unsigned backoff_advance_ms(struct backoff *backoff, int64_t healthy_ns);
