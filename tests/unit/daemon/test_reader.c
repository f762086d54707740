// A stream's ring and its readers. Units are known by their first byte.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/stream/reader.h"

#include <string.h>

#define UNIT_BYTES 1000
#define PLENTY (1 << 20)

struct taker {
    struct stream_reader reader;
    unsigned wakes;
    struct stream_reader *ends[3]; // when it is woken
};

struct fixture {
    struct ring ring;
    struct taker takers[3]; // all play
};

static void on_wake(void *context)
{
    struct taker *taker = context;

    assert_non_null(taker->reader.ring); // it has not ended
    taker->wakes++;
    for (size_t i = 0; i < ARRAY_LENGTH(taker->ends); i++) {
        if (taker->ends[i])
            reader_end(taker->ends[i]);
    }
}

static void begin(struct fixture *fixture, struct taker *taker)
{
    reader_begin(&taker->reader, &fixture->ring, on_wake, taker);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    ring_init(&fixture->ring, PLENTY);
    for (size_t i = 0; i < ARRAY_LENGTH(fixture->takers); i++) {
        begin(fixture, &fixture->takers[i]);
        reader_resume(&fixture->takers[i].reader);
        assert_null(reader_peek(&fixture->takers[i].reader));
    }
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(fixture->takers); i++)
        reader_end(&fixture->takers[i].reader);
    assert_null(fixture->ring.readers);
    ring_finish(&fixture->ring);
    free(fixture);
    return 0;
}

// The caller unrefs it.
static struct unit *make_unit(uint8_t mark, bool key_frame, int64_t captured_ns)
{
    uint8_t *bytes = calloc(1, UNIT_BYTES);
    const struct unit_source source = {
        .memory = bytes, .size = UNIT_BYTES, .captured_ns = captured_ns, .key_frame = key_frame};
    struct unit *unit;

    bytes[0] = mark;
    assert_int_equal(unit_new(&source, &unit), 0);
    return unit;
}

static void add_at(struct fixture *fixture, uint8_t mark, bool key_frame, int64_t captured_ns)
{
    struct unit *unit = make_unit(mark, key_frame, captured_ns);

    assert_int_equal(ring_add(&fixture->ring, unit), 0);
    unit_unref(unit);
}

static void add(struct fixture *fixture, uint8_t mark, bool key_frame)
{
    add_at(fixture, mark, key_frame, NS_PER_S);
}

// The mark of the unit to send; -1: none.
static int peek(struct taker *taker)
{
    const struct unit *unit = reader_peek(&taker->reader);

    return unit ? unit->bytes[0] : -1;
}

static int take(struct taker *taker)
{
    int mark = peek(taker);

    reader_next(&taker->reader);
    return mark;
}

static unsigned kept(const struct fixture *fixture)
{
    return (unsigned)(fixture->ring.next - fixture->ring.first);
}

TEST(test_units_are_read_in_order_by_each, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < 200; i++) { // more than there is room for at first
        add(fixture, (uint8_t)i, i == 0);
        assert_int_equal(take(&fixture->takers[0]), i);
    }
    for (int i = 0; i < 200; i++) {
        assert_int_equal(peek(&fixture->takers[1]), i);
        assert_int_equal(take(&fixture->takers[1]), i); // the same until it is done
    }
    assert_int_equal(take(&fixture->takers[0]), -1);
    assert_int_equal(take(&fixture->takers[1]), -1);
    assert_int_equal(fixture->ring.skipped, 0);
}

TEST(test_who_found_nothing_is_woken_once, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *taker = &fixture->takers[0];

    add(fixture, 1, true);
    add(fixture, 2, false);
    assert_int_equal(take(taker), 1);
    add(fixture, 3, false);
    assert_int_equal(taker->wakes, 1); // it has not found nothing since
    assert_int_equal(take(taker), 2);
    assert_int_equal(take(taker), 3);
    assert_int_equal(take(taker), -1);
    add(fixture, 4, false);
    assert_int_equal(taker->wakes, 2);
}

TEST(test_what_exceeds_the_bytes_is_dropped_from_the_oldest_on, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct unit *unit = make_unit(0, true, 0);
    size_t footprint = unit_footprint(unit);

    unit_unref(unit);
    ring_set_limit(&fixture->ring, 10 * footprint + footprint / 2);
    for (uint8_t i = 0; i < 10; i++)
        add(fixture, i, true);
    assert_int_equal(kept(fixture), 10);
    add(fixture, 10, true);
    assert_int_equal(kept(fixture), 10);
    assert_int_equal(fixture->ring.bytes, 10 * footprint);
    // One that is larger than all of it is kept alone.
    ring_set_limit(&fixture->ring, footprint / 2);
    add(fixture, 11, true);
    assert_int_equal(kept(fixture), 1);
    assert_int_equal(fixture->ring.bytes, footprint);
}

TEST(test_what_is_older_than_2_s_is_dropped, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (int i = 0; i <= 30; i++)
        add_at(fixture, (uint8_t)i, true, NS_PER_S + i * 100 * NS_PER_MS);
    assert_int_equal(kept(fixture), 21); // of 1.0 s to 3.0 s behind the first
    add_at(fixture, 31, true, 100 * NS_PER_S);
    assert_int_equal(kept(fixture), 1);
    add_at(fixture, 32, true, 10 * NS_PER_S); // time that goes back drops nothing
    assert_int_equal(kept(fixture), 2);
}

// Where all of a burst comes at once, a reader that was blocked for a moment finds its first unit.
TEST(test_a_burst_is_kept_beside_2_s, set_up, tear_down)
{
    struct fixture *fixture = *state;

    ring_set_burst(&fixture->ring, 3 * NS_PER_S);
    for (int i = 0; i <= 60; i++)
        add_at(fixture, (uint8_t)i, true, NS_PER_S + i * 100 * NS_PER_MS);
    assert_int_equal(kept(fixture), 51);
    ring_set_burst(&fixture->ring, 0);
    add_at(fixture, 61, true, NS_PER_S + 61 * 100 * NS_PER_MS);
    assert_int_equal(kept(fixture), 21);
}

TEST(test_who_falls_behind_goes_on_with_the_newest_key_frame, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *slow = &fixture->takers[0], *quick = &fixture->takers[1];

    add(fixture, 0, true);
    ring_set_limit(&fixture->ring, 12 * UNIT_BYTES);
    assert_int_equal(take(slow), 0);
    for (uint8_t i = 1; i <= 40; i++) { // key frames are 32, 36 and 40; 10 to 12 units are kept
        add(fixture, i, i % 4 == 0);
        assert_int_equal(take(quick), i == 1 ? 0 : i - 1);
    }
    assert_in_range(kept(fixture), 10, 12);
    assert_int_equal(take(slow), 40);
    assert_int_equal(fixture->ring.skipped, 39); // 1 to 39
    assert_false(slow->reader.waiting);
    add(fixture, 41, false);
    assert_int_equal(take(slow), 41);
}

TEST(test_who_wants_all_goes_on_with_the_oldest_key_frame, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *slow = &fixture->takers[0];

    slow->reader.wants_all = true;
    add(fixture, 0, true);
    ring_set_limit(&fixture->ring, 12 * UNIT_BYTES);
    assert_int_equal(take(slow), 0);
    for (uint8_t i = 1; i <= 40; i++) // key frames are 32, 36 and 40; 10 to 12 units are kept
        add(fixture, i, i % 4 == 0);
    assert_in_range(kept(fixture), 10, 12);
    for (uint8_t i = 32; i <= 40; i++)
        assert_int_equal(take(slow), i);
    assert_int_equal(take(slow), -1);
}

TEST(test_who_falls_behind_where_there_is_no_key_frame_waits_for_one, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *slow = &fixture->takers[0];

    add(fixture, 0, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(&fixture->takers[i]), 0);
    ring_set_limit(&fixture->ring, 12 * UNIT_BYTES);
    for (uint8_t i = 1; i <= 40; i++) {
        add(fixture, i, false);
        assert_int_equal(take(&fixture->takers[1]), i);
        assert_int_equal(take(&fixture->takers[2]), i);
    }
    assert_false(ring_wants_key_frame(&fixture->ring));
    assert_int_equal(take(slow), -1);
    assert_true(ring_wants_key_frame(&fixture->ring));
    add(fixture, 41, false);
    assert_int_equal(take(slow), -1);
    assert_int_equal(fixture->ring.skipped, 41); // lost as well
    add(fixture, 42, true);
    assert_int_equal(take(slow), 42);
    assert_false(ring_wants_key_frame(&fixture->ring));
}

TEST(test_a_unit_that_is_being_sent_outlives_the_ring, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *taker = &fixture->takers[0];
    struct unit *last;

    add(fixture, 1, true);
    const struct unit *unit = reader_peek(&taker->reader);
    ring_set_limit(&fixture->ring, 0);
    add(fixture, 2, true);
    assert_int_equal(kept(fixture), 1);
    assert_int_equal(unit->references, 1); // the reader's
    assert_int_equal(unit->bytes[0], 1);
    assert_int_equal(take(taker), 1);
    assert_int_equal(peek(taker), 2);
    last = fixture->ring.units[(fixture->ring.next - 1) & (fixture->ring.room - 1)];
    assert_int_equal(last->references, 2);
    reader_end(&taker->reader);
    assert_int_equal(last->references, 1);
}

TEST(test_a_held_reader_reads_nothing, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *taker = &fixture->takers[0];

    add(fixture, 1, true);
    assert_int_equal(peek(taker), 1);
    reader_hold(&taker->reader);
    assert_int_equal(peek(taker), -1);
    unsigned wakes = taker->wakes;
    for (uint8_t i = 2; i < 10; i++)
        add(fixture, i, true);
    assert_int_equal(taker->wakes, wakes);
    reader_resume(&taker->reader);
    add(fixture, 10, false);
    assert_int_equal(take(taker), -1); // the next one
    add(fixture, 11, true);
    assert_int_equal(take(taker), 11);
    assert_int_equal(fixture->ring.skipped, 0); // it did not want them
    reader_resume(&taker->reader);              // is no new beginning
    add(fixture, 12, false);
    assert_int_equal(take(taker), 12);
}

TEST(test_key_frames_are_wanted_by_those_who_wait_and_are_not_held, set_up, tear_down)
{
    struct fixture *fixture = *state;

    assert_true(ring_wants_key_frame(&fixture->ring));
    for (int i = 0; i < 3; i++)
        reader_hold(&fixture->takers[i].reader);
    assert_false(ring_wants_key_frame(&fixture->ring));
    reader_resume(&fixture->takers[1].reader);
    assert_true(ring_wants_key_frame(&fixture->ring));
    add(fixture, 1, true);
    assert_int_equal(take(&fixture->takers[1]), 1);
    assert_false(ring_wants_key_frame(&fixture->ring));
}

TEST(test_a_unit_may_be_given_to_one_who_waits, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct taker *taker = &fixture->takers[0];
    struct unit *slate = make_unit(100, true, 0), *second = make_unit(101, true, 0);

    reader_give(&taker->reader, slate);
    reader_give(&taker->reader, second); // it has one already
    assert_int_equal(taker->wakes, 1);
    assert_int_equal(slate->references, 2);
    assert_int_equal(second->references, 1);
    assert_int_equal(take(&fixture->takers[1]), -1);
    assert_int_equal(take(taker), 100);
    assert_true(ring_wants_key_frame(&fixture->ring)); // it is no part of what follows
    add(fixture, 1, false);
    assert_int_equal(take(taker), -1);
    add(fixture, 2, true);
    assert_int_equal(take(taker), 2);
    // A reader that is up to date needs none, nor does one that is held.
    assert_int_equal(take(taker), -1);
    reader_give(&taker->reader, slate);
    assert_int_equal(take(taker), -1);
    reader_hold(&taker->reader);
    reader_give(&taker->reader, slate);
    reader_resume(&taker->reader);
    assert_int_equal(take(taker), -1);
    assert_int_equal(slate->references, 1);
    unit_unref(slate);
    unit_unref(second);
}

// A woken reader may end itself and any others: all that are left are woken, each once.
TEST(test_readers_may_end_each_other_when_they_are_woken)
{
    for (unsigned who = 0; who < 3; who++) {
        for (unsigned whom = 1; whom < 8; whom++) { // a bit each
            struct fixture *fixture;

            set_up((void **)&fixture);
            for (unsigned i = 0; i < 3; i++)
                fixture->takers[who].ends[i] = whom & 1u << i ? &fixture->takers[i].reader : NULL;
            add(fixture, 1, true);
            assert_int_equal(fixture->takers[who].wakes, 1);
            for (unsigned i = 0; i < 3; i++) {
                bool ended = whom & 1u << i;

                assert_in_range(fixture->takers[i].wakes, ended ? 0 : 1, 1);
                assert_int_equal(ended ? 1 : take(&fixture->takers[i]), 1);
            }
            assert_int_equal(fixture->ring.reader_count, 3 - (unsigned)__builtin_popcount(whom));
            tear_down((void **)&fixture);
        }
    }
}

TEST(test_a_reader_may_end_twice_or_before_it_began, set_up, tear_down)
{
    struct fixture *fixture = *state;

    reader_end(&(struct stream_reader){0});
    reader_end(&fixture->takers[1].reader);
    reader_end(&fixture->takers[1].reader);
    assert_int_equal(fixture->ring.reader_count, 2);
    add(fixture, 1, true);
    assert_int_equal(take(&fixture->takers[2]), 1);
}

// Numbers at random, against a plain list: what a reader gets is in order, and begins again with a
// key frame where something is missing.
TEST(test_a_reader_at_any_pace_sees_whole_groups_of_pictures, set_up, tear_down)
{
    struct fixture *fixture = *state;
    uint32_t random = random_seed();
    int seen[3] = {-1, -1, -1}; // numbers of the units
    static int marks_to_numbers[256];
    static bool key_frames[20000];
    uint64_t missed = 0;

    ring_set_limit(&fixture->ring, 20 * UNIT_BYTES);
    for (int number = 0; number < 20000; number++) {
        random = random * 1664525 + 1013904223;
        key_frames[number] = random >> 28 == 0;
        marks_to_numbers[number % 256] = number;
        add(fixture, (uint8_t)number, key_frames[number]);
        for (unsigned i = 0; i < 3; i++) {
            random = random * 1664525 + 1013904223;
            for (unsigned reads = (random >> 16) % 64 == 0 ? 100 : i; reads > 0; reads--) {
                int mark = take(&fixture->takers[i]);

                if (mark < 0)
                    break;
                int got = marks_to_numbers[mark];
                assert_true(got > seen[i]);
                assert_true(got == seen[i] + 1 || key_frames[got]);
                missed += seen[i] >= 0 ? (uint64_t)(got - seen[i] - 1) : 0;
                seen[i] = got;
            }
        }
    }
    assert_true(missed > 1000);
    // Frames passed over while it waited are not counted; those it has not got past yet may be.
    assert_in_range(fixture->ring.skipped, missed / 4, missed + 3 * 20);
    assert_true(seen[2] > 19000);
}

RUN_TESTS(NULL, NULL)
