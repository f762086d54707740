#include "daemon/front/stream/reader.h"

#include "config/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_NS (2 * NS_PER_S)
// A viewer that does not read is disconnected within 10 s. That it does not read is noticed only
// when the buffers on the way to it are full, so fewer seconds are counted here.
#define STALLED_NS (9 * NS_PER_S)

void ring_init(struct ring *ring, size_t limit_bytes)
{
    *ring = (struct ring){.limit_bytes = limit_bytes, .kept_ns = KEPT_NS};
}

static struct unit *unit_at(const struct ring *ring, uint64_t number)
{
    return ring->units[number & (ring->room - 1)];
}

static void drop_first(struct ring *ring)
{
    struct unit *unit = unit_at(ring, ring->first++);

    ring->bytes -= unit_footprint(unit);
    unit_unref(unit);
}

void ring_finish(struct ring *ring)
{
    while (ring->first < ring->next)
        drop_first(ring);
    free(ring->units);
}

void ring_set_limit(struct ring *ring, size_t limit_bytes)
{
    ring->limit_bytes = limit_bytes;
}

void ring_set_burst(struct ring *ring, int64_t burst_ns)
{
    ring->kept_ns = KEPT_NS + burst_ns;
}

// Makes room for one more unit, and moves each unit to its place in the larger array.
static int grow(struct ring *ring)
{
    size_t room = ring->room ? 2 * ring->room : 64;

    if (ring->next - ring->first < ring->room)
        return 0;
    struct unit **units = calloc(room, sizeof(struct unit *));
    if (!units)
        return -ENOMEM;
    for (uint64_t number = ring->first; number < ring->next; number++)
        units[number & (room - 1)] = unit_at(ring, number);
    free(ring->units);
    ring->units = units;
    ring->room = room;
    return 0;
}

static void drop_old(struct ring *ring, int64_t newest_ns)
{
    while (ring->next - ring->first > 1 &&
           (ring->bytes > ring->limit_bytes ||
            newest_ns - unit_at(ring, ring->first)->captured_ns > ring->kept_ns)) {
        drop_first(ring);
    }
}

// A unit that the reader will never get.
static bool is_lost(const struct stream_reader *reader, const struct unit *unit)
{
    return reader->behind && !unit->key_frame;
}

static void wake(struct stream_reader *reader)
{
    if (reader->idle) {
        reader->idle = false;
        reader->wake(reader->context);
    }
}

int ring_add(struct ring *ring, struct unit *unit)
{
    int r = grow(ring);

    if (r < 0)
        return r;
    ring->units[ring->next++ & (ring->room - 1)] = unit_ref(unit);
    ring->bytes += unit_footprint(unit);
    drop_old(ring, unit->captured_ns);
    for (struct stream_reader *reader = ring->readers; reader; reader = ring->visiting) {
        ring->visiting = reader->following; // reader_end() moves it on
        ring->skipped += is_lost(reader, unit);
        wake(reader);
    }
    return 0;
}

bool ring_wants_key_frame(const struct ring *ring)
{
    for (const struct stream_reader *reader = ring->readers; reader; reader = reader->following) {
        if (reader->waiting && !reader->held)
            return true;
    }
    return false;
}

void reader_begin(struct stream_reader *reader, struct ring *ring, void (*wake_up)(void *context),
                  void *context)
{
    *reader = (struct stream_reader){.ring = ring,
                                     .wake = wake_up,
                                     .context = context,
                                     .held = true,
                                     .following = ring->readers};
    if (ring->readers)
        ring->readers->previous = reader;
    ring->readers = reader;
    ring->reader_count++;
}

static void drop_unit(struct stream_reader *reader)
{
    unit_unref(reader->unit);
    reader->unit = NULL;
    reader->blocked_ns = 0;
}

void reader_end(struct stream_reader *reader)
{
    struct ring *ring = reader->ring;

    if (!ring)
        return;
    drop_unit(reader);
    if (ring->visiting == reader)
        ring->visiting = reader->following;
    if (reader->previous)
        reader->previous->following = reader->following;
    else
        ring->readers = reader->following;
    if (reader->following)
        reader->following->previous = reader->previous;
    ring->reader_count--;
    reader->ring = NULL;
}

void reader_hold(struct stream_reader *reader)
{
    drop_unit(reader);
    reader->held = true;
    reader->idle = reader->waiting = reader->behind = false;
}

void reader_resume(struct stream_reader *reader)
{
    if (!reader->held)
        return;
    reader->held = false;
    reader->waiting = true;
    reader->begun = false;
    reader->number = reader->ring->next;
}

// Moves the reader to the newest key frame that it has not read, or to the oldest if it wants all.
// False: there is none.
static bool find_key_frame(struct stream_reader *reader)
{
    const struct ring *ring = reader->ring;
    uint64_t first = reader->number > ring->first ? reader->number : ring->first;

    reader->waiting = true;
    for (uint64_t i = first; i < ring->next; i++) {
        uint64_t number = reader->wants_all ? i : first + ring->next - 1 - i;

        if (unit_at(ring, number)->key_frame) {
            reader->number = number;
            reader->waiting = reader->behind = false;
            return true;
        }
    }
    return false;
}

// The oldest unit that is kept is newer than the reader's: the reader has lost the units between.
static void catch_up(struct stream_reader *reader)
{
    uint64_t number = reader->number;

    if (!find_key_frame(reader)) {
        reader->number = reader->ring->next;
        reader->behind = true;
    }
    reader->ring->skipped += reader->number - number;
}

struct unit *reader_peek(struct stream_reader *reader)
{
    struct ring *ring = reader->ring;

    if (reader->unit || reader->held)
        return reader->unit;
    if (!reader->waiting && reader->number < ring->first)
        catch_up(reader);
    if ((reader->waiting && !find_key_frame(reader)) || reader->number == ring->next) {
        reader->idle = true;
        return NULL;
    }
    reader->unit = unit_ref(unit_at(ring, reader->number++));
    reader->begun = true;
    return reader->unit;
}

void reader_next(struct stream_reader *reader)
{
    drop_unit(reader);
}

void reader_block(struct stream_reader *reader, bool progress)
{
    if (progress || reader->blocked_ns == 0)
        reader->blocked_ns = clock_now_ns();
}

int64_t reader_stalled_ns(const struct stream_reader *reader)
{
    return reader->blocked_ns ? reader->blocked_ns + STALLED_NS : INT64_MAX;
}

void reader_give(struct stream_reader *reader, struct unit *unit)
{
    if (reader->held || reader->unit || !reader->waiting)
        return;
    reader->unit = unit_ref(unit);
    reader->begun = true;
    wake(reader);
}
