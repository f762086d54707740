// Timelines of clips that are described by letters, in memory alone.
#include "daemon/recorder/timeline.h"
#include "tests/unit/unit.h"

#define START_NS (INT64_C(1800000000) * NS_PER_S) // 2027-01-15T08:00:00Z

static const char front[] = "front", back[] = "back", plain[] = "plain", edges[] = "edges";

struct span {
    const char *camera, *view, *regions;
    int first_s, last_s; // from START_NS on
};

static const struct record_timeline minute = {
    .steps = 6,
    .from_wall_ns = START_NS,
    .step_ns = 10 * NS_PER_S,
    .days = 2,
    .first_day_wall_ns = START_NS - 8 * 3600 * NS_PER_S,
};

static void fill(struct library *library, const struct span *spans, size_t count)
{
    library_init(library);
    for (size_t i = 0; i < count; i++) {
        const struct recording recording = {
            .camera = spans[i].camera,
            .view = spans[i].view,
            .regions = spans[i].regions,
            .start_wall_ns = START_NS + spans[i].first_s * NS_PER_S,
            .end_wall_ns = START_NS + spans[i].last_s * NS_PER_S,
        };

        library_add(library, &recording);
    }
}

// `expected` has the names and the steps of all lanes: "front/plain 0120 1".
static void check(const struct library *library, const struct record_timeline *question,
                  const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) lanes = timeline_make(library, question);

    assert_true(timeline_can_answer(question));
    for (guint i = 0; i < lanes->len; i++) {
        const struct timeline_lane *lane = lanes->pdata[i];

        g_string_append_printf(text, "%s%s/%s ", i ? ", " : "", lane->camera, lane->view);
        for (uint32_t step = 0; step < question->steps + question->days; step++) {
            g_string_append_printf(text, "%s%d", step == question->steps ? " " : "",
                                   lane->steps[step]);
        }
    }
    assert_string_equal(text->str, expected);
}

static void check_spans(const struct span *spans, size_t count, const char *expected)
{
    struct library library;

    fill(&library, spans, count);
    check(&library, &minute, expected);
    library_finish(&library);
}

TEST(test_a_step_has_footage_where_a_clip_overlaps_it)
{
    static const struct {
        int first_s, last_s;
        const char *expected;
    } cases[] = {
        {10, 20, "front/plain 010000 10"},
        {9, 21, "front/plain 111000 10"},
        {0, 60, "front/plain 111111 10"},
        {-1000, 1000, "front/plain 111111 10"},
        {59, 61, "front/plain 000001 10"},
        // Those beside it, and one that has no length yet.
        {-20, 0, "front/plain 000000 10"},
        {60, 70, "front/plain 000000 10"},
        {20, 20, "front/plain 001000 10"},
        {60, 60, "front/plain 000000 10"},
        // Midnight is 57600 s later.
        {57590, 57601, "front/plain 000000 11"},
        {57600, 57601, "front/plain 000000 01"},
        {-28801, -28800, "front/plain 000000 00"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct span span = {front, plain, "", cases[i].first_s, cases[i].last_s};

        check_spans(&span, 1, cases[i].expected);
    }
}

TEST(test_motion_covers_footage_in_whatever_order_the_clips_are)
{
    const struct span spans[] = {{front, plain, "door", 5, 15},
                                 {front, plain, "", 0, 60},
                                 {front, plain, NULL, 0, 60},
                                 {front, plain, "door/yard", 55, 56}};

    check_spans(spans, ARRAY_LENGTH(spans), "front/plain 221112 20");
}

TEST(test_motion_covers_only_its_part_of_a_clip_that_tells_it)
{
    static const struct {
        int motion_s, end_s;
        const char *expected;
    } cases[] = {
        {15, 25, "front/plain 122111 20"}, {15, 20, "front/plain 121111 20"},
        {20, 20, "front/plain 112111 20"}, {15, 0, "front/plain 122222 20"},
        {0, 25, "front/plain 222111 20"},  {15, 1000, "front/plain 122222 20"},
        {-5, 5, "front/plain 211111 20"},
    };

    const struct span span = {front, plain, "door", -10, 60};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        int motion_s = cases[i].motion_s, end_s = cases[i].end_s;
        struct library library;

        fill(&library, &span, 1);
        struct recording *clip = library_find(&library, 1);
        clip->motion_wall_ns = motion_s ? START_NS + motion_s * NS_PER_S : 0;
        clip->motion_end_wall_ns = end_s ? START_NS + end_s * NS_PER_S : 0;
        check(&library, &minute, cases[i].expected);
        library_finish(&library);
    }
}

TEST(test_each_view_has_a_lane_also_without_clips_of_that_time)
{
    const struct span spans[] = {
        {front, plain, "", 0, 5}, {front, edges, "", 1000000, 1000005}, {back, plain, "", 50, 55}};

    check_spans(spans, ARRAY_LENGTH(spans),
                "back/plain 000001 10, front/edges 000000 00, front/plain 100000 10");
    check_spans(NULL, 0, "");
}

TEST(test_a_clip_at_the_end_of_time_as_a_damaged_index_may_tell_it_has_no_step)
{
    struct library library;

    library_init(&library);
    library_add(&library, &(struct recording){.camera = front,
                                              .view = plain,
                                              .start_wall_ns = INT64_MAX,
                                              .end_wall_ns = INT64_MAX});
    check(&library, &minute, "front/plain 000000 00");
    library_finish(&library);
}

TEST(test_a_clip_that_is_being_deleted_is_on_no_timeline)
{
    const struct span spans[] = {{front, plain, "", 0, 5}, {front, plain, "", 30, 35}};
    const struct record_timeline question = {.steps = 6,
                                             .from_wall_ns = START_NS,
                                             .step_ns = 10 * NS_PER_S,
                                             .days = 0,
                                             .first_day_wall_ns = START_NS};
    struct library library;

    fill(&library, spans, ARRAY_LENGTH(spans));
    library_find(&library, 1)->is_leaving = true;
    check(&library, &question, "front/plain 000100");
    library_finish(&library);
}

TEST(test_views_beyond_the_limit_are_left_out_those_with_the_oldest_clips_first)
{
    const struct record_timeline question = {
        .steps = 1, .from_wall_ns = START_NS, .step_ns = NS_PER_S};
    static char names[RECORD_LANES_MAX + 1][8];
    struct library library;

    library_init(&library);
    for (unsigned i = 0; i <= RECORD_LANES_MAX; i++) {
        snprintf(names[i], sizeof names[i], "c%u", i);
        library_add(&library, &(struct recording){.camera = names[i], .view = plain});
    }
    g_autoptr(GPtrArray) lanes = timeline_make(&library, &question);
    assert_int_equal(lanes->len, RECORD_LANES_MAX);
    const struct timeline_lane *last = lanes->pdata[lanes->len - 1];
    assert_string_equal(last->camera, "c1");
    library_finish(&library);
}

TEST(test_a_question_whose_times_nothing_can_hold_is_none)
{
    static const struct record_timeline cases[] = {
        {.steps = RECORD_STEPS_MAX + 1, .step_ns = 1},
        {.steps = 1, .step_ns = 0},
        {.steps = 1, .step_ns = -1},
        {.steps = 2, .step_ns = INT64_MAX / 2 + 1},
        {.steps = 1, .step_ns = 1, .from_wall_ns = INT64_MAX},
        {.steps = 1, .step_ns = 1, .from_wall_ns = INT64_MIN},
        {.steps = 1, .step_ns = 1, .days = RECORD_DAYS_MAX + 1},
        {.steps = 1, .step_ns = 1, .days = 1, .first_day_wall_ns = INT64_MAX - 1},
        {.steps = 1, .step_ns = 1, .days = 1, .first_day_wall_ns = -RECORD_DAY_NS - 1},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_false(timeline_can_answer(&cases[i]));
    assert_true(timeline_can_answer(&(struct record_timeline){
        .steps = 1, .step_ns = 1, .days = 1, .first_day_wall_ns = -RECORD_DAY_NS}));
}

RUN_TESTS(NULL, NULL)
