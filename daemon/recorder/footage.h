// The footage of one view: its newest seconds in memory, from a key frame on, and the clip that is
// being made of it, if there is one.
//
// A clip begins, out of memory, with the last key frame before the time that was asked for. It ends
// when every event and signal that asked for it is over; events that begin meanwhile prolong it. A
// clip that reaches max_clip ends at the next key frame, with which the next clip begins.
//
// A gap (NO SIGNAL, lost units) ends nothing: the clip goes on after it as long as it is wanted,
// unless no picture has come for FOOTAGE_SILENT_NS. Then the next clip begins with the next key
// frame. A front that has gone wants nothing any more, so the clip of an event ends with it. The
// footage in memory may have gaps too.
//
// Main loop only. Nothing here touches the disk.
#pragma once

#include "daemon/recorder/archive.h"

#define FOOTAGE_SILENT_NS (10 * NS_PER_S)
#define FOOTAGE_ANSWER_NS (4 * NS_PER_S) // the front waits a second longer for an answer
// So much more than before_s is kept in memory, because an event is noticed after it has begun.
#define FOOTAGE_NOTICED_NS (3 * NS_PER_S)
#define FOOTAGE_BYTES_MAX (64u << 20) // of all views, in memory

struct footage;

// All views of a recorder. Embedded.
struct footage_pool {
    struct archive *archive;
    GPtrArray *views; // of struct footage
    size_t bytes;
    // Units that the front could not pass on, that cannot be decoded because of those, that came
    // into no clip, or were more than FOOTAGE_BYTES_MAX.
    uint64_t lost_units;
};

void footage_pool_init(struct footage_pool *pool, struct archive *archive);
// Ends all clips.
void footage_pool_finish(struct footage_pool *pool);
// Once a second.
void footage_pool_tick(struct footage_pool *pool);
// The storage has failed: forgets all open clips.
void footage_pool_give_up_clips(struct footage_pool *pool);
// This clip cannot be written: forgets it, and begins none of its view for ARCHIVE_RETRY_NS.
void footage_pool_give_up_clip(struct footage_pool *pool, uint64_t id);
// The front has gone: nobody feeds the views any more.
void footage_pool_disconnect(struct footage_pool *pool);

// The view that has this number on the connection. NULL: there is none.
struct footage *footage_find(const struct footage_pool *pool, uint32_t number);
// From now on a view is fed under that number, or with other settings. A view of the same name that
// was fed before keeps its footage. False: camera or view has a name that none can have.
bool footage_set(struct footage_pool *pool, uint32_t number, const struct record_track *settings);
// Ends its clip and forgets it, and what of its clips could not be written.
void footage_remove(struct footage_pool *pool, struct footage *footage);

// Takes `payload`, a struct record_unit with an access unit behind it.
void footage_take(struct footage *footage, uint8_t *payload, size_t size);
// All that is to be recorded of the view now.
void footage_want(struct footage *footage, const struct record_wanted *wanted);
// A signal from outside. *ret_id is the clip that it began, prolonged or stopped; 0: there was none
// to stop. Nothing has changed after an error: -EAGAIN: no clip can be begun, -ETIMEDOUT: the front
// has given it up.
int footage_trigger(struct footage *footage, const struct record_trigger *trigger,
                    uint64_t *ret_id);
// The id of the clip that shows a moment, which is the open one or the last. 0: none.
uint64_t footage_clip_at(const struct footage *footage, int64_t captured_ns);
