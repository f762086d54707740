// The newest access units of a stream, and those who read them.
//
// The ring holds each unit once, bounded in bytes and in time. A reader holds its place in it and a
// reference to one unit at most; it has no queue and copies nothing. A reader that falls behind
// what is kept goes on with the newest key frame, or one that wants all with the oldest. So memory
// grows with the number of streams, not of readers, and a slow reader costs the others nothing.
//
// A reader knows nothing of the way that its units go: a sender of RTP, a reply to a web page and a
// recorder all read in this way:
//
// - stream_watch() begins it and stream_leave() ends it. It begins held; stream_resume() lets it go
//   on with the next key frame, and reader_hold() pauses it.
// - Its owner calls reader_peek() and, once it has passed the unit on, reader_next(), until there
// is
//   none. After that `wake` is called when there is one again.
// - An owner that cannot pass all of a unit on calls reader_block(), and not reader_next(). The
// unit
//   stays, however old it gets, and reader_peek() returns it again when there is room.
// - reader_stalled_ns() says when an owner that passes nothing on is to be given up.
//
// Main loop only.
#pragma once

#include "daemon/front/stream/unit.h"

struct stream_reader;

// Units have numbers that only grow. Embedded; begins with ring_init() and ends with ring_finish().
struct ring {
    struct unit **units;  // references; number n lies at n % room
    size_t room;          // a power of two
    uint64_t first, next; // numbers of the oldest one kept and of the one to come
    size_t bytes, limit_bytes;
    int64_t kept_ns;
    struct stream_reader *readers;  // a list
    struct stream_reader *visiting; // the next one to wake, while ring_add() does
    unsigned reader_count;
    uint64_t skipped; // units that readers in use have been moved past
};

// `limit_bytes` of encoded video are kept, or what 2 s brought if that is less; at least one unit.
void ring_init(struct ring *ring, size_t limit_bytes);
// There are no readers left.
void ring_finish(struct ring *ring);
void ring_set_limit(struct ring *ring, size_t limit_bytes);
// Sets the length of bursts: pictures of so much time may come at once. That much is kept beside
// the 2 s, so that a reader that is blocked for a moment does not lose the first of a burst. 0 or
// more; 0 at the beginning.
void ring_set_burst(struct ring *ring, int64_t burst_ns);

// Adds a reference to `unit`, and wakes the readers that have been waiting for it. 0 or -ENOMEM.
int ring_add(struct ring *ring, struct unit *unit);
// Some reader in use waits for a key frame.
bool ring_wants_key_frame(const struct ring *ring);

// Embedded in its owner.
struct stream_reader {
    struct ring *ring;
    void (*wake)(void *context); // there is a unit; may end this reader or others
    void *context;
    uint64_t number;    // of the unit that comes next
    struct unit *unit;  // a reference to the one that reader_peek() returned
    int64_t blocked_ns; // since when nothing of it has been passed on; 0: it is not blocked
    bool held;          // reads nothing for now
    bool idle;          // reader_peek() found nothing: `wake` is due
    bool waiting;       // for a key frame
    bool behind;        // because it has lost pictures
    bool wants_all;     // goes on with the oldest key frame that it has missed, not the newest
    bool begun;         // has got a unit since reader_begin() or reader_resume()
    struct stream_reader *previous, *following;
};

// For stream.c. Begins held: nothing is read, and nothing kept for it, until reader_resume().
void reader_begin(struct stream_reader *reader, struct ring *ring, void (*wake)(void *context),
                  void *context);
// For stream.c. Takes a reader that never began ({0}).
void reader_end(struct stream_reader *reader);
// For stream.c. Goes on with the next key frame.
void reader_resume(struct stream_reader *reader);
// For stream.c. Gives a unit to this reader alone, where it waits for one (a slate, while the
// camera brings none), and wakes it. A key frame has to come next.
void reader_give(struct stream_reader *reader, struct unit *unit);

// Reads nothing until stream_resume(), and drops the unit it has.
void reader_hold(struct stream_reader *reader);
// The unit to pass on now, borrowed until reader_next(), reader_hold() or the end. NULL: there is
// none, or the reader is held; `wake` follows.
struct unit *reader_peek(struct stream_reader *reader);
// The unit has been passed on.
void reader_next(struct stream_reader *reader);
// There was no room for all of the unit. `progress`: some of it was passed on.
void reader_block(struct stream_reader *reader, bool progress);
// When the reader counts as stalled, if nothing of its unit is passed on until then. INT64_MAX: it
// is not blocked.
int64_t reader_stalled_ns(const struct stream_reader *reader);
