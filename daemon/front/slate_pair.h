// Two consecutive IDR access units of the NO SIGNAL picture, shown in turn.
//
// They are two because consecutive IDR pictures of a stream must differ in idr_pic_id.
#pragma once

#include <gst/gst.h>
#include <stdbool.h>

// Embedded; starts out empty ({0}).
struct slate_pair {
    GstMemory *next, *after_next; // references
};

// Takes over a reference to the newest one; the older of the two that were there goes.
void slate_pair_add(struct slate_pair *pair, GstMemory *memory);
// The one to show now, borrowed until the next slate_pair_add() or slate_pair_finish(); NULL when
// empty.
GstMemory *slate_pair_advance(struct slate_pair *pair);
bool slate_pair_is_complete(const struct slate_pair *pair);
void slate_pair_finish(struct slate_pair *pair);
