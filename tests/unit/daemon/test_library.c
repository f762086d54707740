// Which clips go when there are too many, in memory alone; and a week of them.
#include "daemon/recorder/retention.h"
#include "tests/unit/unit.h"

#include "config/base.h"

#define GB UINT64_C(1000000000)
#define DAY_NS (86400 * NS_PER_S)
#define START_NS (INT64_C(1800000000) * NS_PER_S)

static const struct retention_facts roomy = {
    .free_bytes = 100 * GB, .wall_ns = START_NS, .found_ns = INT64_MAX};

// Clips of 1 GB and an hour, described by a letter each: an `a`lways, a `t`riggered and a `m`arked
// one of RECORD_ALWAYS, an `e`vent; in capitals if it is kept; `o`pen; an event of 197`0`, before
// the machine knew the time.
static void fill(struct library *library, const char *kinds)
{
    library_init(library);
    for (int64_t i = 0; kinds[i]; i++) {
        char kind = (char)g_ascii_tolower(kinds[i]);
        struct recording recording = {
            .start_wall_ns = START_NS - (int64_t)strlen(kinds) * 3600 * NS_PER_S,
            .end_wall_ns = START_NS + (i + 1 - (int64_t)strlen(kinds)) * 3600 * NS_PER_S,
            .bytes = GB,
            .is_always = kind != 'e' && kind != '0',
            .is_dated = kind != '0',
            .is_triggered = kind == 't',
            .is_kept = g_ascii_isupper(kinds[i]),
            .is_open = kind == 'o',
            .camera = "front",
            .view = "plain",
            .regions = kind == 'm' || kind == 'e' ? "door" : "",
        };

        if (kind == '0') {
            recording.start_wall_ns = recording.end_wall_ns = NS_PER_S;
            recording.regions = "door";
        }

        library_add(library, &recording);
    }
}

// The ids that go, one digit each, and what is missing then.
static uint64_t check_chosen(const char *kinds, const struct record_storage *limits,
                             const struct retention_facts *facts, const char *expected)
{
    struct library library;
    uint64_t missing;
    char ids[16] = "";

    fill(&library, kinds);
    GPtrArray *chosen = retention_choose_by(&library, limits, facts, &missing);
    for (guint i = 0; i < chosen->len; i++)
        ids[i] = (char)('0' + ((const struct recording *)chosen->pdata[i])->id);
    assert_string_equal(ids, expected);
    g_ptr_array_unref(chosen);
    library_finish(&library);
    return missing;
}

TEST(test_always_goes_before_events_and_what_is_kept_or_open_never)
{
    static const struct {
        const char *kinds;
        unsigned limit_gb;
        const char *expected;
    } cases[] = {
        {"eaea", 4, ""},    {"eaea", 3, "2"},    {"eaea", 2, "24"}, {"eaea", 1, "241"},
        {"mtaae", 3, "34"}, {"mtaae", 2, "341"}, {"EAea", 1, "43"}, {"EAEA", 1, ""},
        {"aaao", 1, "123"}, {"o", 0, ""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct record_storage limits = {.max_bytes = cases[i].limit_gb * GB};

        check_chosen(cases[i].kinds, &limits, &roomy, cases[i].expected);
    }
}

TEST(test_free_space_is_kept_and_what_cannot_be_freed_is_told)
{
    const struct record_storage limits = {.min_free_bytes = 5 * GB};
    const struct retention_facts tight = {.free_bytes = 3 * GB};
    const struct retention_facts full = {.free_bytes = RETENTION_FREE_MIN - 1};

    assert_int_equal(check_chosen("eaea", &limits, &roomy, ""), 0);
    assert_int_equal(check_chosen("eaea", &limits, &tight, "24"), 0);
    assert_int_equal(check_chosen("EAe", &limits, &tight, "3"), GB);
    assert_int_equal(check_chosen("", &limits, &tight, ""), 2 * GB);
    // Room to end a clip is kept whatever the floor.
    assert_int_equal(check_chosen("ee", &(struct record_storage){.min_free_bytes = 1}, &full, "1"),
                     0);
    // Without a floor it is a tenth of the file system, and at least 1 GB.
    const struct retention_facts tenth = {.free_bytes = 3 * GB, .total_bytes = 50 * GB};
    const struct retention_facts small = {.free_bytes = GB / 2, .total_bytes = 2 * GB};
    assert_int_equal(check_chosen("eee", &(struct record_storage){0}, &tenth, "12"), 0);
    assert_int_equal(check_chosen("", &(struct record_storage){0}, &small, ""), GB / 2);
}

TEST(test_old_clips_go_unless_the_clock_cannot_be_trusted)
{
    const struct record_storage limits = {.max_age_ns = 5 * 3600 * NS_PER_S / 2};
    struct retention_facts facts = roomy;

    check_chosen("eaeae", &limits, &facts, "21");
    facts.wall_ns = 0;
    check_chosen("eaeae", &limits, &facts, "");
    // 20 years ahead no clip is new enough; in 1970 none is too old.
    facts.wall_ns = START_NS + 20 * 365 * DAY_NS;
    check_chosen("eaeae", &limits, &facts, "24135");
    facts.wall_ns = 3600 * NS_PER_S;
    check_chosen("eaeae", &limits, &facts, "");
}

TEST(test_a_start_that_finds_all_clips_too_old_doubts_the_clock)
{
    const struct record_storage limits = {.max_age_ns = 5 * 3600 * NS_PER_S / 2};
    struct retention_facts facts = roomy;

    // A machine that was off for an hour has one clip that is too old, and two others.
    facts.found_ns = START_NS - 3600 * NS_PER_S;
    check_chosen("eee", &limits, &facts, "");
    check_chosen("eeee", &limits, &facts, "1");
    // A clip recorded with a clock that is 20 years ahead does not make the others too old.
    facts.wall_ns = START_NS + 20 * 365 * DAY_NS;
    check_chosen("eee", &limits, &facts, "");
    facts.found_ns = INT64_MAX;
    check_chosen("eee", &limits, &facts, "123");
}

TEST(test_a_clip_of_a_machine_that_did_not_know_the_time_is_as_old_as_those_around_it)
{
    const struct record_storage limits = {.max_age_ns = 5 * 3600 * NS_PER_S / 2};

    check_chosen("00ee", &limits, &roomy, "");
    check_chosen("0e0eee", &limits, &roomy, "12");
    check_chosen("eee000", &limits, &roomy, "123");
    check_chosen("000", &limits, &roomy, "");
}

TEST(test_a_clock_that_jumps_while_it_is_synchronized_is_not_trusted_for_a_day)
{
    struct retention_clock clock = {0};
    int64_t now_ns = NS_PER_S;

    retention_clock_look(&clock, now_ns, 0, false);
    assert_false(retention_clock_is_good(&clock, now_ns));
    // The first time from outside.
    retention_clock_look(&clock, now_ns += NS_PER_S, START_NS, true);
    assert_true(retention_clock_is_good(&clock, now_ns));
    // It is slewed.
    retention_clock_look(&clock, now_ns += NS_PER_S, START_NS + 3 * NS_PER_S, true);
    assert_true(retention_clock_is_good(&clock, now_ns));
    for (int years = -20; years <= 20; years += 40) {
        retention_clock_look(&clock, now_ns += NS_PER_S, START_NS + years * 365 * DAY_NS, true);
        assert_false(retention_clock_is_good(&clock, now_ns + DAY_NS));
        assert_true(retention_clock_is_good(&clock, now_ns + DAY_NS + NS_PER_S));
    }
}

TEST(test_a_list_goes_both_ways_and_is_of_the_names_asked_for)
{
    static const struct {
        struct record_list question;
        const char *expected;
    } cases[] = {
        {{0}, "654321"},
        {{.count = 2}, "65"},
        {{.before_id = 4}, "321"},
        {{.before_id = 1}, ""},
        {{.after_id = 4}, "56"},
        {{.after_id = 2, .count = 3}, "345"},
        {{.after_id = 6}, ""},
        {{.after_id = UINT64_MAX >> 1}, ""},
        {{.camera = "front", .view = "plain"}, "654321"},
        {{.view = "edges"}, ""},
        {{.camera = "back"}, ""},
        {{.region = "door"}, "6532"},
        {{.region = "yard"}, "5"},
        {{.region = "doo"}, ""},
        {{.region = "door", .after_id = 2, .count = 1}, "3"},
        {{.region = "door", .before_id = 5, .count = 1}, "3"},
    };
    struct library library;

    fill(&library, "aeeame");
    library_find(&library, 5)->regions = "door/yard";
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        g_autoptr(GPtrArray) found = library_list(&library, &cases[i].question);
        char ids[16] = "";

        for (guint k = 0; k < found->len; k++)
            ids[k] = (char)('0' + ((const struct recording *)found->pdata[k])->id);
        assert_string_equal(ids, cases[i].expected);
    }
    library_finish(&library);
}

// A week of clips of up to ten minutes from four cameras, one of them after the other.
TEST(test_a_week_stays_within_its_limit)
{
    const struct record_storage limits = {.max_bytes = 50 * GB};
    GRand *chance = g_rand_new_with_seed(random_seed());
    uint64_t bytes = 0, kept_bytes = 0, largest = 0;
    struct library library;

    library_init(&library);
    for (int64_t at_ns = START_NS; at_ns < START_NS + 7 * DAY_NS;) {
        int64_t end_ns = at_ns + g_rand_int_range(chance, 10, 600) * NS_PER_S;
        bool is_always = g_rand_int_range(chance, 0, 2);
        bool keep = kept_bytes < 10 * GB && g_rand_int_range(chance, 0, 50) == 0;
        const struct recording recording = {
            .start_wall_ns = at_ns,
            .end_wall_ns = end_ns,
            .bytes = (uint64_t)((end_ns - at_ns) / NS_PER_MS) * 500,
            .is_always = is_always,
            .is_kept = keep,
            .regions = is_always ? "" : "door",
        };
        bool event_went = false;
        uint64_t missing;

        library_add(&library, &recording);
        bytes += recording.bytes;
        kept_bytes += keep ? recording.bytes : 0;
        largest = MAX(largest, recording.bytes);
        assert_true(bytes <= limits.max_bytes + largest);
        GPtrArray *chosen = retention_choose_by(&library, &limits, &roomy, &missing);
        for (guint i = 0; i < chosen->len; i++) {
            const struct recording *gone = chosen->pdata[i];

            assert_false(gone->is_kept);
            assert_false(gone->is_always && event_went);
            event_went |= !gone->is_always;
            bytes -= gone->bytes;
            library_forget(&library, gone->id);
        }
        g_ptr_array_unref(chosen);
        assert_true(bytes <= limits.max_bytes);
        at_ns = end_ns;
    }
    library_finish(&library);
    g_rand_free(chance);
}

RUN_TESTS(NULL, NULL)
