// The metrics, read by a strict parser of the Prometheus text format 0.0.4, against the literals of
// filled facts.
#include "tests/unit/unit.h"

#include "daemon/front/status/status.h"
#include "tests/unit/daemon/filled_facts.h"

#include <glib.h>
#include <stdbool.h>

// The parse of one exposition: values by series, as written ("name{label="…"}").
struct exposition {
    GHashTable *series, *families; // char * to double *, char * to char * (the type)
    char *family;                  // whose samples are read now
    double bucket;                 // last bucket of the histogram that is read now
};

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!g_ascii_isalpha(text[i]) && text[i] != '_' && !(i > 0 && g_ascii_isdigit(text[i]))) {
            return false;
        }
    }
    return length > 0;
}

// Skips name="value",…} and returns what follows the brace.
static const char *skip_labels(const char *at)
{
    for (;;) {
        size_t length = strcspn(at, "=");

        assert_true(is_name(at, length));
        assert_true(at[length + 1] == '"');
        at += length + 2;
        while (*at != '"') {
            assert_true(*at != 0);
            if (*at == '\\') {
                at++;
                assert_non_null(strchr("\\\"n", *at));
            }
            at++;
        }
        at++;
        if (*at == '}') {
            return at + 1;
        }
        assert_true(*at == ',');
        at++;
    }
}

static void read_comment(struct exposition *exposition, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 4);

    assert_int_equal(g_strv_length(words), 4);
    assert_true(is_name(words[2], strlen(words[2])));
    if (strcmp(words[1], "HELP") == 0) {
        assert_false(g_hash_table_contains(exposition->families, words[2]));
        g_free(exposition->family);
        exposition->family = g_strdup(words[2]);
        return;
    }
    assert_string_equal(words[1], "TYPE");
    assert_string_equal(words[2], exposition->family);
    assert_true(strcmp(words[3], "counter") == 0 || strcmp(words[3], "gauge") == 0 ||
                strcmp(words[3], "histogram") == 0 || strcmp(words[3], "summary") == 0);
    assert_int_equal(strcmp(words[3], "counter") == 0, g_str_has_suffix(words[2], "_total"));
    g_hash_table_insert(exposition->families, g_strdup(words[2]), g_strdup(words[3]));
}

static void check_family(struct exposition *exposition, const char *name, double value)
{
    const char *family = exposition->family, *type, *suffix;

    if (!family || !g_str_has_prefix(name, family)) {
        fail_msg("%s stands outside its family", name);
        return;
    }
    suffix = name + strlen(family);
    type = g_hash_table_lookup(exposition->families, family);
    if (!type) {
        fail_msg("%s has no TYPE", name);
        return;
    }
    if (strcmp(type, "summary") == 0) {
        assert_true(strcmp(suffix, "_sum") == 0 || strcmp(suffix, "_count") == 0);
    } else if (strcmp(type, "histogram") != 0) {
        assert_string_equal(suffix, "");
    } else if (strcmp(suffix, "_bucket") == 0) {
        assert_true(value >= exposition->bucket); // cumulative
        exposition->bucket = value;
    } else if (strcmp(suffix, "_count") == 0) {
        assert_float_equal(value, exposition->bucket, 0); // equals the bucket le="+Inf"
        exposition->bucket = 0;
    } else {
        assert_string_equal(suffix, "_sum");
    }
}

static void read_sample(struct exposition *exposition, const char *line)
{
    size_t length = strcspn(line, "{ ");
    g_autofree char *name = g_strndup(line, length);
    const char *at = line + length;
    double *value = g_new(double, 1);
    char *series, *end;

    assert_true(is_name(name, length));
    if (*at == '{') {
        at = skip_labels(at + 1);
    }
    assert_true(*at == ' ');
    series = g_strndup(line, at - line);
    *value = g_ascii_strtod(at + 1, &end);
    assert_true(end > at + 1 && *end == 0);
    check_family(exposition, name, *value);
    assert_true(g_hash_table_insert(exposition->series, series, value)); // no series twice
}

static int setup(void **state)
{
    struct exposition *exposition = g_new0(struct exposition, 1);
    g_autofree char *text = filled_text(FACTS_METRICS, HOSTILE_NAME, true);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    exposition->series = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    exposition->families = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    assert_true(g_str_has_suffix(text, "\n"));
    assert_true(g_utf8_validate(text, -1, NULL));
    for (char **line = lines; line[1]; line++) {
        assert_true(**line != 0);
        if (**line == '#') {
            read_comment(exposition, *line);
        } else {
            read_sample(exposition, *line);
        }
    }
    *state = exposition;
    return 0;
}

static int teardown(void **state)
{
    struct exposition *exposition = *state;

    g_hash_table_unref(exposition->series);
    g_hash_table_unref(exposition->families);
    g_free(exposition->family);
    g_free(exposition);
    return 0;
}

static void assert_series(void **state, const char *series, double expected)
{
    const struct exposition *exposition = *state;
    const double *value = g_hash_table_lookup(exposition->series, series);

    if (!value) {
        fail_msg("no series %s", series);
        return;
    }
    assert_float_equal(*value, expected, 1e-9);
}

static unsigned count_series(void **state, const char *part)
{
    const struct exposition *exposition = *state;
    g_autoptr(GList) series = g_hash_table_get_keys(exposition->series);
    unsigned count = 0;

    for (GList *item = series; item; item = item->next) {
        count += strstr(item->data, part) != NULL;
    }
    return count;
}

TEST(test_camera_counters_carry_their_camera, setup, teardown)
{
    assert_series(state, "edged_frames_total{camera=\"front\"}", 1000);
    assert_series(state, "edged_frames_dropped_total{camera=\"front\"}", 3);
    assert_series(state, "edged_frames_corrupted_total{camera=\"front\"}", 1);
    assert_series(state, "edged_reconnects_total{camera=\"front\"}", 5);
    assert_series(state, "edged_process_restarts_total{camera=\"front\"}", 2);
    assert_series(state, "edged_camera_gpu_faults_total{camera=\"front\"}", 3);
    assert_series(state, "edged_camera_encoder_hangs_total{camera=\"front\"}", 2);
    assert_series(state, "edged_copies_total{camera=\"front\",kind=\"mmap-fallback\"}", 1000);
    assert_series(state, "edged_copies_total{camera=\"front\",kind=\"encoder-convert\"}", 250);
    assert_series(state, "edged_copies_total{camera=\"front\",kind=\"mjpeg-decode\"}", 0);
    assert_series(state, "edged_stage_runs_total{camera=\"front\",stage=\"gray\"}", 900);
    assert_series(state, "edged_stage_shared_total{camera=\"front\",stage=\"gray\"}", 2700);
    assert_series(state, "edged_stage_runs_total{camera=\"front\",stage=\"canny\"}", 450);
    assert_series(state, "edged_stage_shared_total{camera=\"front\",stage=\"canny\"}", 0);
}

TEST(test_the_board_tells_its_heat_power_and_load, setup, teardown)
{
    assert_series(state, "edged_board_temperature_celsius{zone=\"CPU-therm\"}", 51.031);
    assert_series(state, "edged_board_temperature_celsius{zone=\"GPU-therm\"}", 98.5);
    assert_series(state, "edged_board_throttled", 1);
    assert_series(state, "edged_board_power_mode_info{mode=\"15W\"}", 1);
    assert_series(state, "edged_board_gpu_load_ratio", 0.843);
    assert_series(state, "edged_board_gpu_hertz", 306000000);
    assert_series(state, "edged_board_gpu_max_hertz", 612000000);
}

TEST(test_regions_carry_camera_and_region, setup, teardown)
{
    assert_series(state, "edged_region_moving{camera=\"front\",region=\"door\"}", 1);
    assert_series(state, "edged_region_moving{camera=\"front\",region=\"yard\"}", 0);
    assert_series(state, "edged_region_share{camera=\"front\",region=\"door\"}", 0.1);
    assert_series(state, "edged_region_events_total{camera=\"front\",region=\"door\"}",
                  9007199254740992);
    assert_series(state, "edged_region_events_total{camera=\"front\",region=\"yard\"}", 0);
}

TEST(test_a_camera_is_in_exactly_one_state, setup, teardown)
{
    assert_series(state, "edged_camera_state{camera=\"front\",state=\"live\"}", 1);
    assert_series(state, "edged_camera_state{camera=\"front\",state=\"starting\"}", 0);
    assert_series(state, "edged_camera_state{camera=\"front\",state=\"no signal\"}", 0);
    assert_series(state, "edged_camera_state{camera=\"front\",state=\"restarting\"}", 0);
    assert_series(state, "edged_camera_state{camera=\"front\",state=\"failed\"}", 0);
}

TEST(test_the_backend_is_told_of_cameras_where_it_is_known, setup, teardown)
{
    assert_series(state, "edged_camera_backend_info{camera=\"front\",backend=\"CUDA sm_87\"}", 1);
    assert_int_equal(count_series(state, "edged_camera_backend_info{"), 1);
}

// Counters begin anew with the process they are of; what is not there has no sample.
TEST(test_pace_and_load_are_told_of_who_is_there, setup, teardown)
{
    assert_series(state, "edged_camera_frames_per_second{camera=\"front\"}", 29.5);
    assert_series(state, "edged_camera_last_frame_age_seconds{camera=\"front\"}", 0.033);
    assert_int_equal(count_series(state, "edged_camera_last_frame_age_seconds{"), 1);
    assert_series(state, "edged_process_cpu_seconds_total{role=\"front\"}", 12.34);
    assert_series(state, "edged_process_cpu_seconds_total{role=\"camera\",camera=\"front\"}", 0.67);
    assert_series(state, "edged_process_resident_memory_bytes{role=\"front\"}", 12345678);
    assert_int_equal(count_series(state, "edged_process_resident_memory_bytes{"), 2);
}

// promtool of Debian's package prometheus, where it is.
TEST(test_promtool_has_nothing_to_object_to)
{
    char *promtool = g_find_program_in_path("promtool");
    bool found = promtool != NULL;

    g_free(promtool);
    if (!found) {
        SKIP("promtool is not installed: apt install prometheus has it");
    }
    g_autofree char *text = filled_text(FACTS_METRICS, HOSTILE_NAME, true);
    FILE *pipe = popen("promtool check metrics", "w");

    assert_non_null(pipe);
    fputs(text, pipe);
    assert_int_equal(pclose(pipe), 0);
}

TEST(test_hostile_names_are_escaped, setup, teardown)
{
    // A quote, a backslash and a newline, escaped; U+FFFD for the byte that is no UTF-8.
    assert_series(
        state, "edged_camera_state{camera=\"ba\\\"ck\\\\\\n\xef\xbf\xbd\",state=\"no signal\"}", 1);
}

TEST(test_totals_and_mounts_are_in_base_units, setup, teardown)
{
    assert_series(state, "edged_info{version=\"" EDGED_VERSION "\",backend=\"cpu\"}", 1);
    assert_series(state, "edged_uptime_seconds", 3725.512);
    assert_series(state, "edged_certificate_expires_timestamp_seconds", 2000000000);
    assert_series(state, "edged_viewers", 2);
    assert_series(state, "edged_failed_logins_total", 7);
    assert_series(state, "edged_throttled_logins_total", 12345678901);
    assert_series(state, "edged_mount_viewers{camera=\"front\",view=\"edges\"}", 2);
    assert_series(state, "edged_mount_bytes_per_second{camera=\"front\",view=\"edges\"}", 487500);
    assert_series(state, "edged_access_units_total{camera=\"front\",view=\"edges\"}", 900);
    assert_series(state, "edged_key_frames_total{camera=\"front\",view=\"edges\"}", 30);
    assert_series(state, "edged_stream_bytes_total{camera=\"front\",view=\"edges\"}", 123456789012);
    assert_series(state, "edged_encoded_total{camera=\"front\",view=\"edges\"}", 905);
    assert_series(state, "edged_encoded_dropped_total{camera=\"front\",view=\"edges\"}", 5);
    assert_series(state, "edged_bad_timestamps_total{camera=\"front\",view=\"edges\"}", 6);
}

TEST(test_latency_is_a_cumulative_histogram_and_steps_are_sums, setup, teardown)
{
#define LABELS(step) "{camera=\"front\",view=\"edges\",step=\"" step "\""
#define LATENCY(suffix, le) "edged_latency_seconds" suffix LABELS("capture_to_rtp") le "}"
    assert_int_equal(count_series(state, "view=\"edges\",step=\""), 25); // of a view, all steps
    assert_series(state, LATENCY("_bucket", ",le=\"0.001\""), 0);
    assert_series(state, LATENCY("_bucket", ",le=\"0.0032\""), 0);
    assert_series(state, LATENCY("_bucket", ",le=\"0.0056\""), 100);
    assert_series(state, LATENCY("_bucket", ",le=\"2.5\""), 100);
    assert_series(state, "edged_step_seconds_sum" LABELS("encode") "}", 0.021);
    assert_series(state, "edged_step_seconds_count" LABELS("encode") "}", 3);
    assert_series(state, LATENCY("_bucket", ",le=\"+Inf\""), 100);
    assert_series(state, LATENCY("_sum", ""), 0.5);
    assert_series(state, LATENCY("_count", ""), 100);
}

RUN_TESTS(NULL, NULL)
