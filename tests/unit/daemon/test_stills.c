// JPEGs as they come from a camera process, which may send anything, and who waits for them.
#include "config/base.h"
#include "daemon/front/stream/stream.h"
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include <errno.h>

struct fixture {
    struct stills stills;
    unsigned asked; // how often
    struct still_waiter waiters[3];
    unsigned got[3];
    struct still_waiter *leaves; // when the first is served
};

static void note_wanted(void *context)
{
    struct fixture *fixture = context;

    fixture->asked++;
}

static void set_up(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    stills_init(&fixture->stills, note_wanted, fixture);
}

static struct fixture fixture; // its waiters know it by their place

static void take(void *context, struct still *still)
{
    unsigned *got = context;

    assert_memory_equal(still->bytes, "\xff\xd8", 2);
    ++*got;
    if (fixture.leaves)
        stills_leave(TAKE(fixture.leaves));
}

static void wait_for(unsigned index, unsigned scale, int64_t after_ns)
{
    struct still_waiter *waiter = &fixture.waiters[index];

    *waiter = (struct still_waiter){
        .scale = scale, .after_ns = after_ns, .ready = take, .context = &fixture.got[index]};
    stills_wait(&fixture.stills, waiter);
}

static int bring(unsigned scale, int64_t captured_ns, const char *jpeg, size_t size)
{
    const struct link_jpeg head = {.captured_ns = captured_ns, .scale = scale};
    uint8_t *payload = malloc(sizeof head + size);
    unsigned said = LINK_SCALES;

    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, jpeg, size);
    int r = stills_take(&fixture.stills, payload, sizeof head + size, &said);
    assert_true(r < 0 || said == scale);
    return r;
}

static int bring_good(unsigned scale, int64_t captured_ns)
{
    return bring(scale, captured_ns, "\xff\xd8\xff\xd9", 4);
}

TEST(test_what_is_no_jpeg_is_refused)
{
    static const struct {
        const char *jpeg;
        size_t size;
        unsigned scale;
    } bad[] = {
        {"", 0, 0},
        {"\xff\xd8\xd9", 3, 0},
        {"\xff\xd8\xff\xd8", 4, 0},
        {"\x89PNG", 4, 0},
        {"\xff\xd8\xff\xd9", 4, LINK_SCALES},
        {"\xff\xd8\xff\xd9", 4, UINT32_MAX},
    };
    unsigned scale;

    set_up(&fixture);
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_int_equal(bring(bad[i].scale, 0, bad[i].jpeg, bad[i].size), -EBADMSG);
    assert_int_equal(stills_take(&fixture.stills, malloc(3), 3, &scale), -EBADMSG);
    assert_int_equal(fixture.stills.count, 0);
    stills_finish(&fixture.stills);
}

TEST(test_who_waits_gets_the_size_that_is_newer)
{
    int64_t now_ns = clock_now_ns();

    set_up(&fixture);
    wait_for(0, 0, now_ns - 1000);
    wait_for(1, 0, now_ns - 3000);
    wait_for(2, 2, 0);
    assert_int_equal(fixture.asked, 3);
    assert_int_equal(stills_wanted(&fixture.stills), 1 << 0 | 1 << 2);
    assert_int_equal(bring_good(0, now_ns - 2000), 0);
    assert_true(fixture.got[0] == 0 && fixture.got[1] == 1 && fixture.got[2] == 0);
    assert_int_equal(bring_good(0, now_ns), 0);
    assert_true(fixture.got[0] == 1 && fixture.got[1] == 1 && fixture.got[2] == 0);
    assert_int_equal(stills_wanted(&fixture.stills), 1 << 2);
    assert_null(stills_newest(&fixture.stills, 0, now_ns));
    assert_non_null(stills_newest(&fixture.stills, 0, now_ns - 1));
    stills_drop(&fixture.stills);
    assert_null(stills_newest(&fixture.stills, 0, 0));
    stills_leave(&fixture.waiters[2]);
    stills_leave(&fixture.waiters[2]); // which does not wait
    stills_finish(&fixture.stills);
}

TEST(test_a_time_that_cannot_be_is_corrected)
{
    int64_t now_ns = clock_now_ns();

    set_up(&fixture);
    assert_int_equal(bring_good(0, INT64_MAX), 0);
    assert_true(stills_newest(&fixture.stills, 0, 0)->captured_ns <= clock_now_ns());
    assert_int_equal(bring_good(0, INT64_MIN), 0);
    assert_true(stills_newest(&fixture.stills, 0, INT64_MIN)->captured_ns >=
                now_ns - 10 * NS_PER_S);
    stills_finish(&fixture.stills);
}

TEST(test_who_is_served_may_end_another)
{
    set_up(&fixture);
    wait_for(0, 0, 0);
    wait_for(1, 0, 0);
    wait_for(2, 0, 0);
    fixture.leaves = &fixture.waiters[1]; // the newest is served first
    assert_int_equal(bring_good(0, clock_now_ns()), 0);
    assert_true(fixture.got[0] == 1 && fixture.got[1] == 0 && fixture.got[2] == 1);
    stills_finish(&fixture.stills);
}

TEST(test_a_jpeg_that_was_lost_is_asked_for_again)
{
    set_up(&fixture);
    wait_for(0, 0, 0);
    for (int64_t end_ns = clock_now_ns() + PATIENCE_NS;
         fixture.asked < 3 && clock_now_ns() < end_ns;) {
        g_main_context_iteration(NULL, TRUE);
    }
    assert_int_equal(fixture.asked, 3);
    assert_int_equal(bring_good(0, clock_now_ns()), 0);
    assert_int_equal(fixture.got[0], 1);
    stills_finish(&fixture.stills);
}

TEST(test_no_still_of_a_camera_process_that_is_gone_is_shown)
{
    const struct link_jpeg head = {.captured_ns = clock_now_ns()};
    uint8_t *payload = malloc(sizeof head + 4);
    struct stream *stream;
    unsigned scale;

    assert_int_equal(stream_new("/front/edges", &payload_h264, 80, &stream), 0);
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, "\xff\xd8\xff\xd9", 4);
    assert_int_equal(stills_take(stream_stills(stream), payload, sizeof head + 4, &scale), 0);
    assert_non_null(stills_newest(stream_stills(stream), 0, 0));
    stream_interrupt(stream);
    assert_null(stills_newest(stream_stills(stream), 0, 0));
    stream_unref(stream);
}

RUN_TESTS(NULL, NULL)
