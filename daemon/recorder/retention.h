// How long clips stay: the limits, and what the disk and the clock say of them. library_choose()
// makes the choice. Main loop only.
#pragma once

#include "daemon/recorder/library.h"

// Embedded.
struct retention {
    struct record_storage limits;
    uint64_t free_bytes, total_bytes; // of the file system
    struct library_clock clock;
    int64_t started_ns; // when the process began
    int64_t found_ns;   // as struct library_facts has it
};

void retention_init(struct retention *retention);
// Once a second.
void retention_look_at_clock(struct retention *retention);
// Whether the clock of day can be trusted with the age of clips.
bool retention_knows_date(const struct retention *retention);
// The clock of day less the time since boot, which goes on while the machine is suspended: what
// changes it is only that somebody sets the clock.
int64_t retention_wall_offset_ns(void);
// As library_choose(), with `limits` in place of those in force.
GPtrArray *retention_choose(const struct retention *retention, const struct library *library,
                            const struct record_storage *limits, uint64_t *ret_missing_bytes);
