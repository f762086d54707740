// A stream with readers of the test's own, and a camera process played by the test.
#pragma once

#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/stream.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define FRAME_BYTES 1000

// One that takes what is there when it is asked to, or at once when it is woken.
struct taker {
    struct stream *stream;
    struct stream_reader reader;
    unsigned wakes;
    bool leaves; // as soon as it is woken
};

struct fixture {
    struct stream *stream;
    struct taker taker;
    unsigned demands, key_frame_demands;
};

static inline void on_demand(void *context, struct stream *stream, bool key_frame)
{
    struct fixture *fixture = context;

    assert_ptr_equal(stream, fixture->stream);
    fixture->demands++;
    fixture->key_frame_demands += key_frame;
}

static inline void on_wake(void *context)
{
    struct taker *taker = context;

    taker->wakes++;
    if (taker->leaves) {
        stream_leave(taker->stream, &taker->reader);
    }
}

static inline void watch(struct taker *taker, struct stream *stream)
{
    taker->stream = stream;
    stream_watch(stream, &taker->reader, on_wake, taker);
}

// Ends it, whether it has left by itself or not.
static inline void leave(struct taker *taker)
{
    if (taker->reader.ring) {
        stream_leave(taker->stream, &taker->reader);
    }
}

static inline int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_int_equal(stream_new("/front/edges", &payload_h264, 80, &fixture->stream),
                     0); // 40 kB are kept
    stream_set_demand(fixture->stream, on_demand, fixture);
    *state = fixture;
    return 0;
}

static inline int set_up_playing(void **state)
{
    set_up(state);
    struct fixture *fixture = *state;
    watch(&fixture->taker, fixture->stream);
    stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;

    stream_set_demand(fixture->stream, NULL, NULL);
    leave(&fixture->taker);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(fixture->stream);
    free(fixture);
    return 0;
}

// A slice of an IDR picture (or of another), whose last byte is `mark`; 1 would be a start code's.
static inline void write_slice(uint8_t *bytes, size_t size, bool key_frame, uint8_t mark)
{
    const uint8_t start[] = {0, 0, 0, 1, key_frame ? 0x65 : 0x41};

    memset(bytes, 0xaa, size);
    memcpy(bytes, start, sizeof start);
    bytes[size - 1] = mark;
}

static inline void send_frame(struct fixture *fixture, bool key_frame, int64_t captured_ns,
                              uint8_t mark)
{
    struct link_access_unit life = {.captured_ns = captured_ns,
                                    .grabbed_ns = captured_ns + 1 * NS_PER_MS,
                                    .computed_ns = captured_ns + 3 * NS_PER_MS,
                                    .encoded_ns = captured_ns + 6 * NS_PER_MS,
                                    .key_frame = key_frame};
    uint8_t *payload = malloc(sizeof life + FRAME_BYTES);

    memcpy(payload, &life, sizeof life);
    write_slice(payload + sizeof life, FRAME_BYTES, key_frame, mark);
    assert_int_equal(stream_take_access_unit(fixture->stream, payload, sizeof life + FRAME_BYTES),
                     0);
}

static inline void send_slate(struct fixture *fixture, uint8_t mark)
{
    uint8_t *payload = malloc(10);

    write_slice(payload, 10, true, mark);
    assert_int_equal(stream_take_slate(fixture->stream, payload, 10), 0);
}

struct seen {
    int mark; // -1: nothing is there
    int64_t captured_ns;
    bool key_frame, slate;
};

static inline struct seen next_frame(struct fixture *fixture)
{
    const struct unit *unit = reader_peek(&fixture->taker.reader);
    struct seen seen = {.mark = -1};

    if (unit) {
        seen = (struct seen){.mark = unit->bytes[unit->size - 1],
                             .captured_ns = unit->captured_ns,
                             .key_frame = unit->key_frame,
                             .slate = unit->slate};
        reader_next(&fixture->taker.reader);
    }
    return seen;
}

static inline gboolean on_tick(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

// Runs the main loop until a frame comes out.
static inline struct seen wait_frame(struct fixture *fixture)
{
    int64_t begin_ns = clock_now_ns();
    guint ticks = g_timeout_add(20, on_tick, NULL);
    struct seen seen;

    while ((seen = next_frame(fixture)).mark < 0) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(ticks);
    return seen;
}

static inline void iterate_until(struct fixture *fixture, unsigned demands)
{
    while (fixture->demands < demands) {
        g_main_context_iteration(NULL, TRUE);
    }
}
