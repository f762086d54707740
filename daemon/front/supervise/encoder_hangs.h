// The encoders in which the processes of a camera hung: the next ones try them last for 10 minutes.
#pragma once

#include "config/config.h"

#include <stdint.h>

// Embedded; starts out as {0}.
struct encoder_hangs {
    uint64_t count;
    uint32_t encoders; // a bit for each enum config_encoder that hung
    int64_t last_ns;   // when one did last
};

void encoder_hangs_note(struct encoder_hangs *hangs, enum config_encoder encoder);
// The encoders to try last now, a bit for each.
uint32_t encoder_hangs_recent(const struct encoder_hangs *hangs);
