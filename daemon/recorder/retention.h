// Which clips have to go. Clips of RECORD_ALWAYS that show no event go first, then the others, each
// from the smallest id on, whatever the clock has said meanwhile. A clip that is kept or open never
// goes. A clip that began while the clock could not be trusted is too old once a newer one is.
#pragma once

#include "daemon/recorder/library.h"

// Less than this is never left free: what is written at the end of a clip must find room.
#define RETENTION_FREE_MIN (16u << 20)
// What is left free if nothing else is configured: a tenth of the file system, at least this much.
#define RETENTION_FREE_USUAL UINT64_C(1000000000)
// How long no clip is too old after the clock has jumped while it was synchronized; or after a
// start that found all of them too old.
#define RETENTION_JUMP_NS (86400 * INT64_C(1000000000))

// Whether the clock of day can be trusted with the age of clips. Begins with zeros.
struct retention_clock {
    int64_t offset_ns; // between CLOCK_REALTIME and CLOCK_MONOTONIC
    bool was_synchronized;
    int64_t jumped_ns; // by CLOCK_MONOTONIC; 0: never
};

// To be called once a second. `synchronized`: with a clock outside, as adjtimex() says.
void retention_clock_look(struct retention_clock *clock, int64_t now_ns, int64_t wall_ns,
                          bool synchronized);
bool retention_clock_is_good(const struct retention_clock *clock, int64_t now_ns);

// What free space and time are judged by.
struct retention_facts {
    uint64_t free_bytes, total_bytes; // of the file system
    int64_t wall_ns;                  // 0: the clock is not good
    // When the newest of the clips ended that there were at a start less than RETENTION_JUMP_NS
    // ago; INT64_MAX: it was longer ago.
    int64_t found_ns;
};

// When the newest clip ended; 0: there is none, or the clock was never good.
int64_t retention_newest(const struct library *library);

// The clips to be deleted, in that order; the caller g_ptr_array_unref()s the array, whose struct
// recording are borrowed. *ret_missing_bytes is how much of the free space is missing even then.
GPtrArray *retention_choose(const struct library *library, const struct record_storage *limits,
                            const struct retention_facts *facts, uint64_t *ret_missing_bytes);
