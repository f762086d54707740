#include "capture/gstreamer/sample_queue.h"

#include "tests/unit/unit.h"

#define ROOM 4

static int set_up(void **state)
{
    (void)state;
    gst_init(NULL, NULL);
    return 0;
}

static struct sample_queue make_queue(enum intake_order order)
{
    return (struct sample_queue){.order = order, .room = order == INTAKE_QUEUED ? ROOM : 1};
}

// Adds so many samples. Returns how many were replaced.
static unsigned add(struct sample_queue *queue, unsigned count)
{
    GstSample *gone[SAMPLE_QUEUE_MAX];
    unsigned gone_count = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned more = sample_queue_add(queue, gst_sample_new(NULL, NULL, NULL, NULL), gone);

        for (unsigned j = 0; j < more; j++)
            gst_sample_unref(gone[j]);
        gone_count += more;
    }
    assert_int_equal(queue->replaced, gone_count);
    return gone_count;
}

// As if the taker had last waited 4 s ago.
static void fall_behind(struct sample_queue *queue)
{
    queue->drained_ns = clock_now_ns() - 4 * NS_PER_S;
}

static void assert_next(struct sample_queue *queue, uint64_t sequence)
{
    struct arrival arrival = sample_queue_take(queue);

    assert_int_equal(arrival.sequence, sequence);
    gst_sample_unref(arrival.sample);
}

TEST(test_the_newest_replaces_the_one_that_waits)
{
    struct sample_queue queue = make_queue(INTAKE_NEWEST);

    assert_int_equal(add(&queue, 3), 2);
    assert_false(sample_queue_is_closed(&queue));
    assert_int_equal(sample_queue_in_order_until_ns(&queue), 0);
    assert_next(&queue, 2);
}

TEST(test_samples_wait_in_order_while_there_is_room)
{
    struct sample_queue queue = make_queue(INTAKE_QUEUED);

    assert_int_equal(add(&queue, ROOM), 0);
    assert_false(sample_queue_is_closed(&queue));
    assert_int_equal(add(&queue, 1), 1);
    for (unsigned i = 1; i <= ROOM; i++)
        assert_next(&queue, i);
    assert_int_equal(queue.count, 0);
}

TEST(test_a_taker_that_does_not_keep_up_gets_the_newest)
{
    struct sample_queue queue = make_queue(INTAKE_QUEUED);

    assert_int_equal(add(&queue, ROOM), 0);
    fall_behind(&queue);
    assert_int_equal(add(&queue, 1), ROOM);
    assert_next(&queue, ROOM);
    queue.drained_ns = clock_now_ns(); // it has waited again
    queue.replaced = 0;
    assert_int_equal(add(&queue, ROOM), 0);
    sample_queue_clear(&queue);
}

TEST(test_what_is_held_back_waits_until_its_taker_does_not_keep_up)
{
    struct sample_queue queue = make_queue(INTAKE_HELD);

    assert_false(sample_queue_is_closed(&queue));
    assert_int_equal(add(&queue, 1), 0);
    assert_true(sample_queue_is_closed(&queue));
    fall_behind(&queue);
    assert_false(sample_queue_is_closed(&queue));
    assert_int_equal(add(&queue, 1), 1);
    assert_next(&queue, 1);
}

TEST(test_every_sample_waits_however_long_it_takes)
{
    struct sample_queue queue = make_queue(INTAKE_EVERY);

    assert_int_equal(add(&queue, 1), 0);
    fall_behind(&queue);
    assert_true(sample_queue_is_closed(&queue));
    assert_next(&queue, 0);
    assert_false(sample_queue_is_closed(&queue));
}

RUN_TESTS(set_up, NULL)
