// What one view shows: the newest seconds of it in memory, from a key frame on, and the clip that
// is made of it now, if one is.
//
// A clip begins with the last key frame before the time that was asked for, out of memory, and ends
// when all that asked for it is over. One that gets longer than max_clip ends with a key frame, and
// the next one begins with that. Events that come while a clip is open prolong it.
//
// A gap (NO SIGNAL, lost units, a front that went) ends the clip of an event; a clip of
// RECORD_ALWAYS goes on behind it, unless nothing has come for FOOTAGE_SILENT_NS. What memory holds
// may have gaps.
//
// Main loop only. Nothing here touches the disk.
#pragma once

#include "daemon/recorder/archive.h"

#define FOOTAGE_SILENT_NS (10 * NS_PER_S)
// More than was asked for is kept, because an event is noticed after it has begun.
#define FOOTAGE_NOTICED_NS (3 * NS_PER_S)
#define FOOTAGE_BYTES_MAX (64u << 20) // of all views, in memory

struct footage;

// All views of a recorder. Embedded; begins with zeros and `archive`.
struct footage_pool {
    struct archive *archive;
    GPtrArray *views; // of struct footage
    size_t bytes;
    uint64_t dropped_units; // because there were more than FOOTAGE_BYTES_MAX
};

void footage_pool_init(struct footage_pool *pool, struct archive *archive);
// Ends all clips.
void footage_pool_finish(struct footage_pool *pool);
// Once a second.
void footage_pool_tick(struct footage_pool *pool);
// The storage has failed, all clips are given up; or nobody feeds the views any more.
void footage_pool_give_up_clips(struct footage_pool *pool);
void footage_pool_disconnect(struct footage_pool *pool);

// The view that has this number on the connection. NULL: there is none.
struct footage *footage_find(const struct footage_pool *pool, uint32_t number);
// A view is fed from now on, under that number, or is fed with other settings. One of that name
// that was fed before goes on with what it has. False: its names are none.
bool footage_set(struct footage_pool *pool, uint32_t number, const struct record_track *settings);
// Ends its clip and forgets it.
void footage_remove(struct footage_pool *pool, struct footage *footage);

// Takes `payload`, a struct record_unit with an access unit behind it.
void footage_take(struct footage *footage, uint8_t *payload, size_t size);
void footage_take_event(struct footage *footage, const struct record_event *event);
// A signal from outside, `duration_ns` as in struct record_trigger. Returns the id of the clip, 0:
// none can be begun.
uint64_t footage_start(struct footage *footage, int64_t duration_ns);
uint64_t footage_stop(struct footage *footage);
// The clip that shows a moment: the open one, or the last. 0: none.
uint64_t footage_clip_at(const struct footage *footage, int64_t captured_ns);
