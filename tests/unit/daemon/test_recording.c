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
    .codec = "h265",
    .motion_wall_ns = INT64_C(1795252684000000000),
    .motion_end_wall_ns = INT64_C(1795252685000000000),
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
    assert_string_equal(read.codec, "h265");
    assert_int_equal(read.motion_wall_ns, written.motion_wall_ns);
    assert_int_equal(read.motion_end_wall_ns, written.motion_end_wall_ns);
    assert_true(read.is_triggered && !read.is_always);
}

#define LINE                                                                                       \
    "{\"id\":17,\"camera\":\"front\",\"view\":\"plain\",\"always\":false,\"triggered\":true,"      \
    "\"dated\":true,\"event\":4,\"start_ns\":1795252681623456789,\"end_ns\":1795252691623456789,"  \
    "\"asked_ns\":1795252682000000000,\"bytes\":12345678,\"gap_ns\":1500000000,\"peak\":0.250000," \
    "\"regions\":[\"door\",\"yard\"]"

// A later edged knows more of a clip.
TEST(test_a_line_of_an_earlier_and_of_a_later_edged_is_read)
{
    static const char *const lines[] = {LINE "}", LINE "}{\"rate\":29.97,\"words\":[\"a\"]}"};

    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        struct recording read;

        assert_true(recording_read_line(lines[i], &read));
        assert_int_equal(read.id, 17);
        assert_int_equal(read.event, 4);
        assert_string_equal(read.camera, "front");
        assert_string_equal(read.view, "plain");
        assert_string_equal(read.regions, "door/yard");
        assert_int_equal(read.start_wall_ns, written.start_wall_ns);
        assert_int_equal(read.end_wall_ns, written.end_wall_ns);
        assert_int_equal(read.asked_wall_ns, written.asked_wall_ns);
        assert_int_equal(read.bytes, 12345678);
        assert_int_equal(read.gap_ns, 1500000000);
        assert_true(read.peak == 0.25f);
        assert_true(read.is_triggered && !read.is_always && read.is_dated);
        assert_null(read.codec);
    }
}

TEST(test_a_line_that_lacks_a_fact_or_has_one_twice_is_refused)
{
    static const char *const changes[][2] = {{"\"id\":17,", ""},
                                             {"\"bytes\":12345678,", ""},
                                             {"\"dated\":false", "\"more\":false"},
                                             {"\"id\":17,", "\"id\":17,\"id\":17,"},
                                             {"\"id\":17,", "\"id\":17"},
                                             {"\"id\":17,", "\"id\":-17,"},
                                             {"\"gap_ns\":1500000000", "\"gap_ns\":"},
                                             {"\"triggered\":true", "\"triggered\":1"},
                                             {"[\"door\",\"yard\"]", "[\"door\",\"yard\""},
                                             {"[\"door\",\"yard\"]", "\"door\""}};
    g_autofree char *line = recording_line(&written);

    for (size_t i = 0; i < ARRAY_LENGTH(changes); i++) {
        g_auto(GStrv) parts = g_strsplit(line, changes[i][0], -1);
        g_autofree char *bad = g_strjoinv(changes[i][1], parts);
        struct recording read;

        assert_int_equal(g_strv_length(parts), 2);
        assert_false(recording_read_line(bad, &read));
    }
}

// It reads the facts up to `regions`, in this order, and takes the brace behind them for the end.
TEST(test_an_edged_from_before_codec_reads_the_line)
{
    struct recording read, plain = written;
    g_autofree char *line = NULL;

    plain.is_dated = true;
    line = recording_line(&plain);
    assert_string_equal(line, LINE "}{\"codec\":\"h265\",\"motion_ns\":1795252684000000000,"
                                   "\"motion_end_ns\":1795252685000000000}");
    g_free(line);
    plain.motion_wall_ns = plain.motion_end_wall_ns = 0;
    line = recording_line(&plain);
    assert_string_equal(line, LINE "}{\"codec\":\"h265\"}");
    g_free(line);
    plain.event = 0;
    plain.regions = plain.codec = "";
    plain.asked_wall_ns = 0;
    line = recording_line(&plain);
    assert_non_null(strstr(line, "\"dated\":true,\"event\":0,"));
    assert_non_null(strstr(line, "\"asked_ns\":0,"));
    assert_true(g_str_has_suffix(line, "\"regions\":[]}"));
    assert_true(recording_read_line(line, &read));
    assert_true(read.event == 0 && read.asked_wall_ns == 0 && read.regions[0] == '\0');
}

TEST(test_the_front_is_told_all_facts_of_a_clip)
{
    struct recording recording = written;
    struct record_clip clip;

    recording.picture_bytes = 99;
    recording.is_kept = recording.is_open = true;
    recording_fill(&recording, &clip);
    assert_string_equal(clip.camera, "front");
    assert_string_equal(clip.view, "plain");
    assert_string_equal(clip.regions, "door/yard");
    assert_string_equal(clip.codec, "h265");
    assert_true(clip.id == 17 && clip.event == 4 && clip.bytes == 12345678);
    assert_int_equal(clip.start_wall_ns, written.start_wall_ns);
    assert_int_equal(clip.gap_ns, 1500000000);
    assert_true(clip.peak == 0.25f && clip.picture_bytes == 99);
    assert_true(clip.is_kept && clip.is_open && clip.is_triggered && !clip.is_always);
}

// As a cut of power leaves it; the next line may follow. What stands up to the first brace is a
// line that lacks later facts.
TEST(test_a_line_that_is_cut_off_is_refused)
{
    g_autofree char *line = recording_line(&written);
    size_t first = (size_t)(strstr(line, "]}") - line) + strlen("]}");

    for (size_t size = 0; size < strlen(line); size++) {
        g_autofree char *part = g_strndup(line, size), *more = g_strconcat(part, line, NULL);
        struct recording read;

        assert_true(recording_read_line(part, &read) == (size == first));
        assert_true(size == 0 || recording_read_line(more, &read) == (size == first));
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
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(recording_read_name(others[i][0], others[i][1], &read, &file));
}

RUN_TESTS(NULL, NULL)
