// Two consecutive IDR access units of the NO SIGNAL picture, shown in turn.
//
// They are two because consecutive IDR pictures of a stream must differ in idr_pic_id.
#pragma once

#include <gst/gst.h>
#include <stdbool.h>

// Embedded; starts out empty ({0}).
struct slate {
    GstMemory *next, *after_next; // references
};

// Takes over a reference to the newest one; the older of the two that were there goes.
void slate_add(struct slate *slate, GstMemory *memory);
// The one to show now, borrowed until the next slate_add() or slate_finish(); NULL when empty.
GstMemory *slate_advance(struct slate *slate);
bool slate_is_complete(const struct slate *slate);
void slate_finish(struct slate *slate);
