// One access unit a frame in order, key frames on demand, newest wins.
#include "tests/unit/daemon/encoder_bed.h"

TEST(test_the_trial_gives_two_different_idr_pictures, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    assert_int_equal(fixture->received.count, 2);
    check_trial(fixture);
    // The pictures are equal; what differs is idr_pic_id, as 7.4.3 of the standard demands.
    assert_false(fixture->received.units[0].size == fixture->received.units[1].size &&
                 !memcmp(fixture->received.units[0].bytes, fixture->received.units[1].bytes,
                         fixture->received.units[0].size));
    assert_string_equal(encoder_name(encoder), "x264enc");
    assert_int_equal(count_copies(encoder, COPY_ENCODER_CONVERT), 0);
    encoder_free(encoder);
}

TEST(test_every_frame_gives_its_unit_in_order, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    for (uint64_t n = 0; n < 100; n++)
        push(fixture, encoder, n, false);
    for (unsigned n = 0; n < 100; n++) {
        assert_int_equal(fixture->received.units[2 + n].life.sequence, n);
        assert_false(fixture->received.units[2 + n].trial);
        assert_true(fixture->received.units[2 + n].life.encoded_ns >=
                    fixture->received.units[2 + n].life.computed_ns);
    }
    encoder_free(encoder);
}

TEST(test_key_frames_come_by_distance_and_on_demand, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    for (unsigned n = 0; n < 70; n++) {
        push(fixture, encoder, n, n == 40);
        // The second trial frame was a key frame, 30 frames on comes the next; 40 restarts that.
        assert_int_equal(fixture->received.units[2 + n].life.key_frame, n == 29 || n == 40);
    }
    encoder_free(encoder);
}

// The output holds on to the unit of frame 0, so that all that follow have to wait.
static void fill_element(struct fixture *fixture, struct encoder *encoder)
{
    struct received *received = &fixture->received;

    set_hold(received, true);
    assert_int_equal(push_only(fixture, encoder, 0, false), 0);
    pthread_mutex_lock(&received->lock);
    while (!received->held)
        pthread_cond_wait(&received->changed, &received->lock);
    pthread_mutex_unlock(&received->lock);
}

TEST(test_a_full_queue_drops_the_oldest_and_keeps_its_key_frame, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    fill_element(fixture, encoder);
    for (unsigned n = 1; n < 40; n++)
        assert_int_equal(push_only(fixture, encoder, n, n == 20), n > ENCODER_QUEUE_LENGTH);
    set_hold(&fixture->received, false);
    wait_for(&fixture->received, 2 + 1 + ENCODER_QUEUE_LENGTH);
    for (unsigned i = 0; i < ENCODER_QUEUE_LENGTH; i++) {
        assert_int_equal(fixture->received.units[3 + i].life.sequence, 30 + i);
        assert_int_equal(fixture->received.units[3 + i].life.key_frame, i == 0);
    }
    encoder_free(encoder);
}

// Frame 1 finds the queue empty, the others do not: it stands for a second when the last comes.
TEST(test_a_queue_that_stands_for_a_second_makes_way_for_the_newest, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    fill_element(fixture, encoder);
    for (unsigned n = 1; n < 5; n++)
        assert_int_equal(push_only(fixture, encoder, n, false), 0);
    poll(NULL, 0, 1100);
    assert_int_equal(push_only(fixture, encoder, 5, false), 4);
    set_hold(&fixture->received, false);
    wait_for(&fixture->received, 2 + 2);
    assert_int_equal(fixture->received.units[2].life.sequence, 0);
    assert_int_equal(fixture->received.units[3].life.sequence, 5);
    encoder_free(encoder);
}

TEST(test_freeing_with_a_full_queue_gives_every_frame_back, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    for (unsigned n = 0; n < 4; n++)
        assert_true(push_only(fixture, encoder, n, false) >= 0);
    encoder_free(encoder);
    assert_int_equal(fixture->frame->references, 1);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, NULL);
    gst_deinit();
    return failed;
}
