#include "daemon/front/stream/ring.h"

#include "config/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_NS (2 * NS_PER_S)

void ring_init(struct ring *ring, size_t limit_bytes)
{
    *ring = (struct ring){.limit_bytes = limit_bytes};
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
    while (ring->first < ring->next) {
        drop_first(ring);
    }
    free(ring->units);
}

void ring_set_limit(struct ring *ring, size_t limit_bytes)
{
    ring->limit_bytes = limit_bytes;
}

// Makes room for one more unit, and moves each unit to its place in the larger array.
static int grow(struct ring *ring)
{
    size_t room = ring->room ? 2 * ring->room : 64;

    if (ring->next - ring->first < ring->room) {
        return 0;
    }
    struct unit **units = calloc(room, sizeof(struct unit *));
    if (!units) {
        return -ENOMEM;
    }
    for (uint64_t number = ring->first; number < ring->next; number++) {
        units[number & (room - 1)] = unit_at(ring, number);
    }
    free(ring->units);
    ring->units = units;
    ring->room = room;
    return 0;
}

static void drop_old(struct ring *ring, int64_t newest_ns)
{
    while (ring->next - ring->first > 1 &&
           (ring->bytes > ring->limit_bytes ||
            newest_ns - unit_at(ring, ring->first)->captured_ns > KEPT_NS)) {
        drop_first(ring);
    }
}

// A unit that the cursor will never get.
static bool is_lost(const struct cursor *cursor, const struct unit *unit)
{
    return cursor->behind && !unit->key_frame;
}

static void wake(struct cursor *cursor)
{
    if (cursor->idle) {
        cursor->idle = false;
        cursor->wake(cursor->context);
    }
}

int ring_add(struct ring *ring, struct unit *unit)
{
    int r = grow(ring);

    if (r < 0) {
        return r;
    }
    ring->units[ring->next++ & (ring->room - 1)] = unit_ref(unit);
    ring->bytes += unit_footprint(unit);
    drop_old(ring, unit->captured_ns);
    for (struct cursor *cursor = ring->cursors; cursor; cursor = ring->visiting) {
        ring->visiting = cursor->following; // cursor_end() moves it on
        ring->skipped += is_lost(cursor, unit);
        wake(cursor);
    }
    return 0;
}

bool ring_wants_key_frame(const struct ring *ring)
{
    for (const struct cursor *cursor = ring->cursors; cursor; cursor = cursor->following) {
        if (cursor->waiting && !cursor->held) {
            return true;
        }
    }
    return false;
}

void cursor_begin(struct cursor *cursor, struct ring *ring, void (*wake_up)(void *context),
                  void *context)
{
    *cursor = (struct cursor){.ring = ring,
                              .wake = wake_up,
                              .context = context,
                              .held = true,
                              .following = ring->cursors};
    if (ring->cursors) {
        ring->cursors->previous = cursor;
    }
    ring->cursors = cursor;
    ring->cursor_count++;
}

static void drop_current(struct cursor *cursor)
{
    unit_unref(cursor->current);
    cursor->current = NULL;
}

void cursor_end(struct cursor *cursor)
{
    struct ring *ring = cursor->ring;

    if (!ring) {
        return;
    }
    drop_current(cursor);
    if (ring->visiting == cursor) {
        ring->visiting = cursor->following;
    }
    if (cursor->previous) {
        cursor->previous->following = cursor->following;
    } else {
        ring->cursors = cursor->following;
    }
    if (cursor->following) {
        cursor->following->previous = cursor->previous;
    }
    ring->cursor_count--;
    cursor->ring = NULL;
}

void cursor_hold(struct cursor *cursor)
{
    drop_current(cursor);
    cursor->held = true;
    cursor->idle = cursor->waiting = cursor->behind = false;
}

void cursor_resume(struct cursor *cursor)
{
    if (!cursor->held) {
        return;
    }
    cursor->held = false;
    cursor->waiting = true;
    cursor->begun = false;
    cursor->number = cursor->ring->next;
}

// Moves the cursor to the newest key frame that it has not read. False: there is none.
static bool find_key_frame(struct cursor *cursor)
{
    const struct ring *ring = cursor->ring;
    uint64_t first = cursor->number > ring->first ? cursor->number : ring->first;

    cursor->waiting = true;
    for (uint64_t number = ring->next; number > first; number--) {
        if (unit_at(ring, number - 1)->key_frame) {
            cursor->number = number - 1;
            cursor->waiting = cursor->behind = false;
            return true;
        }
    }
    return false;
}

// The oldest unit that is kept is newer than the cursor's: the cursor has lost the units between.
static void catch_up(struct cursor *cursor)
{
    uint64_t number = cursor->number;

    if (!find_key_frame(cursor)) {
        cursor->number = cursor->ring->next;
        cursor->behind = true;
    }
    cursor->ring->skipped += cursor->number - number;
}

struct unit *cursor_peek(struct cursor *cursor)
{
    struct ring *ring = cursor->ring;

    if (cursor->current || cursor->held) {
        return cursor->current;
    }
    if (!cursor->waiting && cursor->number < ring->first) {
        catch_up(cursor);
    }
    if ((cursor->waiting && !find_key_frame(cursor)) || cursor->number == ring->next) {
        cursor->idle = true;
        return NULL;
    }
    cursor->current = unit_ref(unit_at(ring, cursor->number++));
    cursor->begun = true;
    return cursor->current;
}

void cursor_next(struct cursor *cursor)
{
    drop_current(cursor);
}

void cursor_give(struct cursor *cursor, struct unit *unit)
{
    if (cursor->held || cursor->current || !cursor->waiting) {
        return;
    }
    cursor->current = unit_ref(unit);
    cursor->begun = true;
    wake(cursor);
}
