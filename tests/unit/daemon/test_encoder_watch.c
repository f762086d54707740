#include "daemon/camera/encoder_watch.h"

#include "tests/unit/unit.h"

struct watched {
    struct encoder_watches watches;
    struct encoder_watch watch;
};

static int set_up(void **state)
{
    struct watched *watched = calloc(1, sizeof *watched);

    encoder_watches_init(&watched->watches);
    watched->watch.element = CONFIG_ENCODER_X264;
    encoder_watches_add(&watched->watches, &watched->watch);
    *state = watched;
    return 0;
}

static int tear_down(void **state)
{
    struct watched *watched = *state;

    encoder_watches_remove(&watched->watches, &watched->watch);
    encoder_watches_finish(&watched->watches);
    free(watched);
    return 0;
}

// How many looks it takes to find that the encoder hangs; the first one may see what came before.
static unsigned looks_until_found(struct watched *watched)
{
    unsigned looks = 0;

    encoder_watches_look(&watched->watches);
    do {
        looks++;
        assert_true(looks < 100);
    } while (encoder_watches_look(&watched->watches) != CONFIG_ENCODER_X264);
    return looks;
}

TEST(test_an_encoder_that_has_begun_hangs_after_4_looks, set_up, tear_down)
{
    struct watched *watched = *state;

    encoder_watch_take(&watched->watch);
    encoder_watch_enter(&watched->watch);
    assert_int_equal(looks_until_found(watched), 4);
}

TEST(test_an_encoder_that_begins_has_10_looks, set_up, tear_down)
{
    struct watched *watched = *state;

    encoder_watch_enter(&watched->watch);
    assert_int_equal(looks_until_found(watched), 9); // none was there to be seen by the first one
}

TEST(test_frames_that_nothing_comes_of_are_a_hang, set_up, tear_down)
{
    struct watched *watched = *state;

    encoder_watch_take(&watched->watch);
    for (unsigned i = 0; i < ENCODER_WATCH_OWED; i++)
        encoder_watch_give(&watched->watch);
    assert_int_equal(looks_until_found(watched), 4);
}

TEST(test_progress_and_nothing_to_do_are_none, set_up, tear_down)
{
    struct watched *watched = *state;

    for (unsigned i = 0; i < 50; i++) {
        encoder_watch_give(&watched->watch); // fewer than it may owe, and then one comes
        encoder_watch_enter(&watched->watch);
        if (i % 3 == 2)
            encoder_watch_take(&watched->watch);
        assert_int_equal(encoder_watches_look(&watched->watches), CONFIG_ENCODER_AUTO);
        encoder_watch_leave(&watched->watch);
    }
    encoder_watch_take(&watched->watch);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(encoder_watches_look(&watched->watches), CONFIG_ENCODER_AUTO);
}

RUN_TESTS(NULL, NULL)
