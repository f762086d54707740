// The line of JSON that the index and a clip have of it: what is written is read, and nothing else.
#include "daemon/recorder/recording.h"

#include "config/base.h"
#include "tests/unit/unit.h"

#include <glib.h>

static const struct recording written = {
    .id = 17,
    .event = 4,
    .camera = "front",
    .view = "plain",
    .regions = "door/yard",
    .start_wall_ns = INT64_C(1795252681623456789),
    .end_wall_ns = INT64_C(1795252691623456789),
    .asked_wall_ns = INT64_C(1795252682000000000),
    .bytes = 12345678,
    .gap_ns = 1500000000,
    .peak = 0.25f,
    .is_triggered = true,
};

TEST(test_a_line_is_read_as_it_was_written)
{
    g_autofree char *line = recording_line(&written);
    g_autofree char *again = NULL;
    struct recording read;

    assert_true(recording_read_line(line, &read));
    again = recording_line(&read);
    assert_string_equal(again, line);
    assert_int_equal(read.id, 17);
    assert_string_equal(read.regions, "door/yard");
    assert_true(read.is_triggered && !read.is_always);
}

// As a cut of power leaves it.
TEST(test_a_line_that_is_cut_off_is_refused)
{
    g_autofree char *line = recording_line(&written);

    for (size_t size = 0; size < strlen(line); size++) {
        g_autofree char *part = g_strndup(line, size);
        struct recording read;

        assert_false(recording_read_line(part, &read));
    }
}

TEST(test_names_that_no_configuration_allows_are_refused)
{
    g_autofree char *line = recording_line(&written);

    for (const char *const *name = (const char *const[]){"front", "plain", "door", "yard", NULL};
         *name; name++) {
        g_autofree char *bad = g_strdup(line);
        struct recording read;

        memcpy(strstr(bad, *name), "../.", 4);
        assert_false(recording_read_line(bad, &read));
    }
}

TEST(test_a_file_is_read_by_the_name_that_it_was_given_and_by_no_other)
{
    static const char *const others[][2] = {
        {"9999-12-31", "235959.999Z-event-17.mp4"}, // more nanoseconds than there are
        {"-999-12-31", "235959.999Z-event-17.mp4"}, {"2026-11-2", "141801.623Z-event-17.mp4"},
        {"2026-11-22", "141801.623Z-event-+7.mp4"}, {"2026-11-22", "141861.623Z-event-17.mp4"},
        {"2026-11-22", "141801.-23Z-event-17.mp4"},
    };
    char day[RECORDING_DAY_SIZE], name[RECORDING_FILE_SIZE];
    struct recording read;
    enum recording_file file;

    recording_day(&written, day);
    recording_file_name(&written, RECORDING_VIDEO, name);
    assert_true(recording_read_name(day, name, &read, &file));
    assert_int_equal(read.start_wall_ns / NS_PER_MS, written.start_wall_ns / NS_PER_MS);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        assert_false(recording_read_name(others[i][0], others[i][1], &read, &file));
    }
}

RUN_TESTS(NULL, NULL)
