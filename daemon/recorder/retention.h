// How long clips stay: which go when there are too many by the limits, the disk and the clock. Main
// loop only.
//
// Clips of RECORD_ALWAYS that show no event go first, then the others; both in the order of their
// ids, so a clock that jumps changes nothing. A clip that is kept or open never goes. A clip that
// began while the clock could not be trusted counts as too old once a clip after it does.
#pragma once

#include "daemon/recorder/library.h"

// Free space reserved for finishing open clips.
#define RETENTION_FREE_MIN (16u << 20)
// The default free space is a tenth of the file system, and at least this much.
#define RETENTION_FREE_USUAL UINT64_C(1000000000)
// No clip counts as too old for this time after a synchronized clock has jumped, or after a start
// that found all of them too old.
#define RETENTION_JUMP_NS (86400 * INT64_C(1000000000))

// The state of the disk and the clock that a choice is made for.
struct retention_facts {
    uint64_t free_bytes, total_bytes; // of the file system
    int64_t wall_ns;                  // 0: the clock is not good
    // At a start less than RETENTION_JUMP_NS ago: when the newest clip of then had ended;
    // INT64_MAX: the start is longer ago.
    int64_t found_ns;
};

// When the newest clip ended; 0: there is none, or the clock was never good.
int64_t retention_newest(const struct library *library);
// The clips to be deleted, in that order, as library_list() gives them. *ret_missing_bytes is how
// far below min_free the free space stays even after that.
GPtrArray *retention_choose_by(const struct library *library, const struct record_storage *limits,
                               const struct retention_facts *facts, uint64_t *ret_missing_bytes);

// Finds out whether the clock of day can be trusted with the age of clips. Begins with zeros.
struct retention_clock {
    int64_t offset_ns; // between CLOCK_REALTIME and CLOCK_MONOTONIC
    bool was_synchronized;
    int64_t jumped_ns; // by CLOCK_MONOTONIC; 0: never
};

// To be called once a second. `synchronized`: adjtimex() says that the clock follows another one.
void retention_clock_look(struct retention_clock *clock, int64_t now_ns, int64_t wall_ns,
                          bool synchronized);
bool retention_clock_is_good(const struct retention_clock *clock, int64_t now_ns);

// Embedded.
struct retention {
    struct record_storage limits;
    uint64_t free_bytes, total_bytes; // of the file system
    struct retention_clock clock;
    int64_t started_ns; // when the process began
    int64_t found_ns;   // as struct retention_facts has it
};

void retention_init(struct retention *retention);
// Once a second.
void retention_look_at_clock(struct retention *retention);
// Whether the clock of day can be trusted with the age of clips.
bool retention_knows_date(const struct retention *retention);
// The clock of day less the time since boot, which goes on while the machine is suspended: what
// changes it is only that somebody sets the clock.
int64_t retention_wall_offset_ns(void);
// As retention_choose_by() at this moment, with `limits` in place of those in force.
GPtrArray *retention_choose(const struct retention *retention, const struct library *library,
                            const struct record_storage *limits, uint64_t *ret_missing_bytes);
