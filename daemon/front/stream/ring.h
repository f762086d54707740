// The newest access units of a stream, and the cursors of those who read them.
//
// Units have ever-growing numbers. The ring holds each once, bounded in bytes and in time; readers
// hold a number. A reader that falls behind what is kept goes on with the newest key frame. So
// memory grows with the number of streams, not of readers, and a slow reader costs the others
// nothing. Main loop only.
#pragma once

#include "daemon/front/stream/unit.h"

struct cursor;

// Embedded; begins with ring_init() and ends with ring_finish().
struct ring {
    struct unit **units;  // references; number n lies at n % room
    size_t room;          // a power of two
    uint64_t first, next; // numbers of the oldest one kept and of the one to come
    size_t bytes, limit_bytes;
    struct cursor *cursors;  // a list
    struct cursor *visiting; // the next one to wake, while ring_add() does
    unsigned cursor_count;
    uint64_t skipped; // units that cursors in use have been moved past
};

// `limit_bytes` of encoded video are kept, or what 2 s brought if that is less; at least one unit.
void ring_init(struct ring *ring, size_t limit_bytes);
// There are no cursors left.
void ring_finish(struct ring *ring);
void ring_set_limit(struct ring *ring, size_t limit_bytes);

// Adds a reference to `unit`, and wakes the cursors that have been waiting for it. 0 or -ENOMEM.
int ring_add(struct ring *ring, struct unit *unit);
// Some cursor in use waits for a key frame.
bool ring_wants_key_frame(const struct ring *ring);

// Reads a ring in order. Embedded in its reader; begins with cursor_begin() and ends with
// cursor_end().
struct cursor {
    struct ring *ring;
    void (*wake)(void *context); // there is a unit; may end this cursor or others
    void *context;
    uint64_t number;      // of the unit that comes next
    struct unit *current; // a reference to the one that cursor_peek() returned
    bool held;            // reads nothing for now
    bool idle;            // cursor_peek() found nothing: `wake` is due
    bool waiting;         // for a key frame
    bool behind;          // because it has lost pictures
    bool begun;           // has got a unit since cursor_begin() or cursor_resume()
    struct cursor *previous, *following;
};

// Begins held: nothing is read, and nothing kept for it, until cursor_resume().
void cursor_begin(struct cursor *cursor, struct ring *ring, void (*wake)(void *context),
                  void *context);
// Takes one that never began ({0}).
void cursor_end(struct cursor *cursor);
void cursor_hold(struct cursor *cursor);
// Goes on with the next key frame.
void cursor_resume(struct cursor *cursor);

// The unit to send now, borrowed until cursor_next(), cursor_hold() or cursor_end(). NULL: there is
// none, or the cursor is held; `wake` follows.
struct unit *cursor_peek(struct cursor *cursor);
void cursor_next(struct cursor *cursor);
// Gives a unit to this cursor alone, where it waits for one (a slate, while the camera brings
// none), and wakes it. A key frame has to come next.
void cursor_give(struct cursor *cursor, struct unit *unit);
