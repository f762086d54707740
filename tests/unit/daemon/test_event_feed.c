// The feed of motion events: what a reader hears, by what it has heard before.
#include "tests/unit/unit.h"

#include "daemon/front/events/event_feed.h"

#include "config/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    *state = event_feed_new();
    return 0;
}

static int teardown(void **state)
{
    event_feed_free(*state);
    return 0;
}

static void add(struct event_feed *feed, const char *camera, const char *region,
                enum motion_kind kind, uint64_t number)
{
    struct motion_event event = {.kind = kind, .number = number};

    snprintf(event.camera, sizeof event.camera, "%s", camera);
    snprintf(event.region, sizeof event.region, "%s", region);
    event_feed_add(feed, event_of_motion(&event));
}

// Events `first` to `last` of front/door, each over at once.
static void add_pairs(struct event_feed *feed, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number <= last; number++) {
        add(feed, "front", "door", MOTION_STARTED, number);
        add(feed, "front", "door", MOTION_ENDED, number);
    }
}

// All that a reader hears who comes now; what follows the head.
struct heard {
    GString *head, *rest;
    unsigned events;
    int result;
};

static struct heard hear(struct event_feed *feed, const char *last_id, const char *camera,
                         const char *region)
{
    struct heard heard = {g_string_new(NULL), g_string_new(NULL), 0, 0};
    struct event_reader reader;

    event_feed_open(feed, CONFIG_ROLE_VIEWER, last_id, camera, region, &reader);
    event_reader_begin(&reader, heard.head);
    while ((heard.result = event_reader_read(&reader, heard.rest)) > 0)
        heard.events++;
    event_reader_finish(&reader);
    return heard;
}

static void finish(struct heard *heard)
{
    g_string_free(heard->head, TRUE);
    g_string_free(heard->rest, TRUE);
}

// The last id in `text`; the caller g_free()s it.
static char *last_id(const GString *text)
{
    const char *id = g_strrstr(text->str, "id: ");

    assert_non_null(id);
    return g_strndup(id + 4, strcspn(id + 4, "\n"));
}

// The id as of the run of `id`, with another count.
static char *other_id(const char *id, const char *count)
{
    return g_strdup_printf("%.8s-%s", id, count);
}

static unsigned count(const GString *text, const char *what)
{
    unsigned found = 0;

    for (const char *at = text->str; (at = strstr(at, what)); at++)
        found++;
    return found;
}

TEST(test_an_event_is_id_name_and_one_line_of_data, setup, teardown)
{
    struct event_reader reader;
    GString *text = g_string_new(NULL);

    event_feed_open(*state, CONFIG_ROLE_VIEWER, NULL, NULL, NULL, &reader);
    assert_int_equal(event_reader_read(&reader, text), 0);
    g_string_truncate(text, 0);
    add(*state, "front", "door", MOTION_STARTED, 3);
    assert_int_equal(event_reader_read(&reader, text), 1);
    g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
    assert_int_equal(g_strv_length(lines), 5); // the last two are empty
    assert_true(g_regex_match_simple("^id: [0-9a-f]{8}-1$", lines[0], 0, 0));
    assert_string_equal(lines[1], "event: motion_started");
    assert_true(
        g_str_has_prefix(lines[2], "data: {\"event\":\"motion_started\",\"camera\":\"front\""));
    assert_string_equal(lines[3], "");
    assert_string_equal(lines[4], "");
    assert_int_equal(event_reader_read(&reader, text), 0);
    event_reader_finish(&reader);
    g_string_free(text, TRUE);
}

TEST(test_who_comes_first_hears_what_is_under_way_and_nothing_of_before, setup, teardown)
{
    add_pairs(*state, 1, 3);
    add(*state, "front", "yard", MOTION_STARTED, 1);
    add(*state, "back", "door", MOTION_STARTED, 9);
    add(*state, "back", "door", MOTION_ENDED, 9);
    struct heard heard = hear(*state, NULL, NULL, NULL);

    assert_true(g_str_has_prefix(heard.head->str, "retry: 2000\nid: "));
    assert_int_equal(count(heard.head, "id: "), 1);
    assert_int_equal(count(heard.head, "event: motion_started\n"), 1);
    assert_int_equal(count(heard.head, "\"region\":\"yard\""), 1);
    assert_int_equal(count(heard.head, "event: motion_ended\n"), 0);
    assert_int_equal(heard.events, 0);
    finish(&heard);
}

TEST(test_who_comes_back_hears_what_came_between_once, setup, teardown)
{
    add(*state, "front", "yard", MOTION_STARTED, 1);
    struct heard before = hear(*state, NULL, NULL, NULL);
    g_autofree char *id = last_id(before.head);

    add_pairs(*state, 1, 2);
    struct heard after = hear(*state, id, NULL, NULL);
    assert_int_equal(count(after.head, "event:"), 0); // the yard's start is known
    assert_int_equal(after.events, 4);
    assert_int_equal(count(after.rest, "\"number\":1"), 2);
    assert_int_equal(count(after.rest, "\"number\":2"), 2);
    g_autofree char *newest = last_id(after.rest);
    struct heard again = hear(*state, newest, NULL, NULL);
    assert_int_equal(again.events, 0);
    finish(&before);
    finish(&after);
    finish(&again);
}

TEST(test_1000_events_are_kept_for_who_was_away_for_longer, setup, teardown)
{
    struct heard before = hear(*state, NULL, NULL, NULL);
    g_autofree char *id = last_id(before.head);

    add(*state, "front", "yard", MOTION_STARTED, 1);
    add_pairs(*state, 1, 500);
    struct heard after = hear(*state, id, NULL, NULL);
    assert_int_equal(after.events, 1000);
    assert_int_equal(count(after.rest, "\"number\":1,"), 2);
    // Its start is no longer kept, but it is under way.
    assert_int_equal(count(after.head, "\"region\":\"yard\""), 1);
    g_autofree char *exact = other_id(id, "1");
    struct heard rest = hear(*state, exact, NULL, NULL);
    assert_int_equal(rest.events, 1000);
    assert_int_equal(count(rest.head, "event:"), 0);
    finish(&before);
    finish(&after);
    finish(&rest);
}

TEST(test_an_id_of_another_run_or_of_nobody_is_answered_with_all_that_is_kept, setup, teardown)
{
    static const char *const counts[] = {
        "999", "-1", "1x", "", "18446744073709551615", "99999999999999999999999",
    };
    struct heard first = hear(*state, NULL, NULL, NULL);
    g_autofree char *id = last_id(first.head);

    add_pairs(*state, 1, 2);
    for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
        g_autofree char *bad = other_id(id, counts[i]);
        struct heard heard = hear(*state, bad, NULL, NULL);

        assert_int_equal(heard.events, 4);
        finish(&heard);
    }
    g_autofree char *other = g_strdup(id);
    other[0] = other[0] == '0' ? '1' : '0';
    struct heard heard = hear(*state, other, NULL, NULL);
    assert_int_equal(heard.events, 4);
    finish(&heard);
    finish(&first);
}

TEST(test_filters_leave_only_what_is_asked_for, setup, teardown)
{
    struct heard first = hear(*state, NULL, NULL, NULL);
    g_autofree char *id = last_id(first.head);

    add(*state, "front", "door", MOTION_STARTED, 1);
    add(*state, "front", "yard", MOTION_STARTED, 1);
    add(*state, "back", "door", MOTION_STARTED, 1);
    struct heard camera = hear(*state, id, "front", NULL), region = hear(*state, id, NULL, "door"),
                 both = hear(*state, id, "back", "door"), none = hear(*state, id, "back", "yard"),
                 fresh = hear(*state, NULL, "back", NULL);
    assert_int_equal(camera.events, 2);
    assert_int_equal(region.events, 2);
    assert_int_equal(both.events, 1);
    assert_int_equal(count(both.rest, "\"camera\":\"back\",\"region\":\"door\""), 1);
    assert_int_equal(none.events, 0);
    assert_int_equal(count(fresh.head, "event:"), 1);
    struct heard *all[] = {&first, &camera, &region, &both, &none, &fresh};
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
        finish(all[i]);
}

static enum config_role hide_front(const struct config *config, const struct event *event)
{
    (void)config;
    return strcmp(event->camera, "front") == 0 ? CONFIG_ROLE_OPERATOR : CONFIG_ROLE_VIEWER;
}

TEST(test_events_of_a_camera_that_is_hidden_now_are_hidden_too, setup, teardown)
{
    struct event_feed *feed = *state;
    const struct config config = {.camera_count = 0};

    add_pairs(feed, 1, 3);
    add(feed, "front", "door", MOTION_STARTED, 4);
    add(feed, "back", "door", MOTION_STARTED, 5);
    event_feed_keep_cameras(feed, &config, hide_front);
    struct heard all = hear(feed, "all", NULL, NULL), now = hear(feed, NULL, NULL, NULL);
    assert_null(strstr(all.head->str, "front"));
    assert_null(strstr(all.rest->str, "front"));
    assert_null(strstr(now.head->str, "front"));
    assert_int_equal(all.events, 1);
    finish(&all);
    finish(&now);
}

TEST(test_who_lags_by_more_than_is_kept_is_told_so, setup, teardown)
{
    struct event_reader reader;
    GString *text = g_string_new(NULL);

    event_feed_open(*state, CONFIG_ROLE_VIEWER, NULL, NULL, NULL, &reader);
    add_pairs(*state, 1, 500);
    assert_int_equal(event_reader_read(&reader, text), 1);
    add_pairs(*state, 501, 501);
    assert_int_equal(event_reader_read(&reader, text), -ENOBUFS);
    event_reader_finish(&reader);
    g_string_free(text, TRUE);
}

RUN_TESTS(NULL, NULL)
