// How long to wait before a camera process is started again.
#pragma once

#include <stdint.h>

// Embedded; starts out as {0}.
struct backoff {
    unsigned next_ms;
};

// The delay before the next start: 0, then 100 ms, doubling up to 5 s. `healthy_ns` is how long
// the process that ended had run; after 10 s the row begins anew.
unsigned backoff_advance_ms(struct backoff *backoff, int64_t healthy_ns);
