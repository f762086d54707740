// Chooses the clips that are deleted when there are too many. Clips of RECORD_ALWAYS that show no
// event go first, then the others; both in the order of their ids, so a clock that jumps changes
// nothing. A clip that is kept or open never goes. A clip that began while the clock could not be
// trusted counts as too old once a clip after it does.
#pragma once

#include "daemon/recorder/library.h"

// At least so much is left free, for what is written at the end of a clip.
#define RETENTION_FREE_MIN (16u << 20)
// What is left free if nothing else is configured: a tenth of the file system, at least this much.
#define RETENTION_FREE_USUAL UINT64_C(1000000000)
// So long no clip counts as too old after a synchronized clock has jumped, or after a start that
// found all of them too old.
#define RETENTION_JUMP_NS (86400 * INT64_C(1000000000))

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

// The clips to be deleted, in that order; the caller g_ptr_array_unref()s the array, whose struct
// recording are borrowed. *ret_missing_bytes is how far below min_free the free space stays even
// after that.
GPtrArray *retention_choose(const struct library *library, const struct record_storage *limits,
                            const struct retention_facts *facts, uint64_t *ret_missing_bytes);
