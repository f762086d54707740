// Two consecutive IDR access units of the NO SIGNAL picture, shown in turn.
//
// They are two because consecutive IDR pictures of a stream must differ in idr_pic_id.
#pragma once

#include "daemon/front/stream/unit.h"

// Embedded; starts out empty ({0}).
struct slate_pair {
    struct unit *next, *after_next; // references
};

// Takes over a reference to the newest slate; the older of the two is dropped.
void slate_pair_add(struct slate_pair *pair, struct unit *slate);
// The one to show at `now_ns` (CLOCK_MONOTONIC), which is the caller's to unref; NULL when empty,
// or out of memory.
struct unit *slate_pair_show(struct slate_pair *pair, int64_t now_ns);
bool slate_pair_is_complete(const struct slate_pair *pair);
void slate_pair_finish(struct slate_pair *pair);
