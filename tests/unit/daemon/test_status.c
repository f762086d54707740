// Status as JSON and as metrics, from the same facts: what each fact is called in both, against the
// literals of filled facts. json-glib reads the JSON, and a strict parser of Prometheus' text
// format 0.0.4 the metrics.
#include "tests/unit/unit.h"

#include "daemon/front/status/status.h"
#include "tests/unit/daemon/filled_facts.h"

#include <json-glib/json-glib.h>
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

static struct exposition *read_metrics(const char *text)
{
    struct exposition *exposition = g_new0(struct exposition, 1);
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
    return exposition;
}

struct fixture {
    char *metrics;
    struct exposition *exposition;
    JsonParser *json;
};

static int setup(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);
    g_autofree char *json = filled_text(FACTS_JSON, HOSTILE_NAME, true);

    fixture->metrics = filled_text(FACTS_METRICS, HOSTILE_NAME, true);
    fixture->exposition = read_metrics(fixture->metrics);
    fixture->json = json_parser_new();
    // As 98765432 and 3725.5, but not 0.033333333333333333.
    assert_false(g_regex_match_simple("[0-9]\\.0*[1-9][0-9]{6}", json, 0, 0));
    assert_true(json_parser_load_from_data(fixture->json, json, -1, NULL));
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    g_hash_table_unref(fixture->exposition->series);
    g_hash_table_unref(fixture->exposition->families);
    g_free(fixture->exposition->family);
    g_free(fixture->exposition);
    g_free(fixture->metrics);
    g_object_unref(fixture->json);
    g_free(fixture);
    return 0;
}

// All that is at `path` (JSONPath without "$."); the caller json_node_unref()s the array.
static JsonNode *query(const struct fixture *fixture, const char *path)
{
    g_autofree char *expression = g_strconcat("$.", path, NULL);

    return json_path_query(expression, json_parser_get_root(fixture->json), NULL);
}

static unsigned count_json(const struct fixture *fixture, const char *path)
{
    g_autoptr(JsonNode) found = query(fixture, path);

    return json_array_get_length(json_node_get_array(found));
}

static void assert_json_number(const struct fixture *fixture, const char *path, double expected)
{
    g_autoptr(JsonNode) found = query(fixture, path);

    if (json_array_get_length(json_node_get_array(found)) != 1) {
        fail_msg("no %s", path);
    }
    assert_float_equal(json_array_get_double_element(json_node_get_array(found), 0), expected,
                       1e-9);
}

static void assert_json_text(const struct fixture *fixture, const char *path, const char *expected)
{
    g_autoptr(JsonNode) found = query(fixture, path);

    if (json_array_get_length(json_node_get_array(found)) != 1) {
        fail_msg("no %s", path);
    }
    assert_string_equal(json_array_get_string_element(json_node_get_array(found), 0), expected);
}

static void assert_series(const struct fixture *fixture, const char *series, double expected)
{
    const double *value = g_hash_table_lookup(fixture->exposition->series, series);

    if (!value) {
        fail_msg("no series %s", series);
        return;
    }
    assert_float_equal(*value, expected, 1e-9);
}

static unsigned count_series(const struct fixture *fixture, const char *part)
{
    g_autoptr(GList) series = g_hash_table_get_keys(fixture->exposition->series);
    unsigned count = 0;

    for (GList *item = series; item; item = item->next) {
        count += strstr(item->data, part) != NULL;
    }
    return count;
}

#define CAMERA "{camera=\"front\"}"
#define COPIES(kind) "edged_copies_total{camera=\"front\",kind=\"" kind "\"}"
#define STAGE(name, stage) "edged_stage_" name "_total{camera=\"front\",stage=\"" stage "\"}"
#define REGION(name, region) "edged_region_" name "{camera=\"front\",region=\"" region "\"}"
#define VIEW "{camera=\"front\",view=\"edges\"}"
#define ZONE(zone) "edged_board_temperature_celsius{zone=\"" zone "\"}"
#define PROCESS(name) "edged_process_" name "{role=\"camera\",camera=\"front\"}"

// A fact in JSON and the metric that has the same value; either may be NULL.
static const struct {
    const char *json;
    double value;
    const char *series;
} numbers[] = {
    {"uptime_s", 3725.5, NULL},
    {NULL, 3725.512, "edged_uptime_seconds"},
    {NULL, 1, "edged_info{version=\"" EDGED_VERSION "\",backend=\"cpu\"}"},
    {"process.cpu_s", 12.34, "edged_process_cpu_seconds_total{role=\"front\"}"},
    {"process.resident_bytes", 12345678, "edged_process_resident_memory_bytes{role=\"front\"}"},
    {NULL, 2000000000, "edged_certificate_expires_timestamp_seconds"},
    {"viewers", 2, "edged_viewers"},
    {"logins.failed", 7, "edged_failed_logins_total"},
    {"logins.throttled", 12345678901, "edged_throttled_logins_total"},

    {"board.zones[0].celsius", 51.031, ZONE("CPU-therm")},
    {"board.zones[1].celsius", 98.5, ZONE("GPU-therm")},
    {"board.throttled", 1, "edged_board_throttled"},
    {NULL, 1, "edged_board_power_mode_info{mode=\"15W\"}"},
    {"board.gpu_load", 0.843, "edged_board_gpu_load_ratio"},
    {"board.gpu_hz", 306000000, "edged_board_gpu_hertz"},
    {"board.gpu_hz_max", 612000000, "edged_board_gpu_max_hertz"},

    {NULL, 1, "edged_camera_backend_info{camera=\"front\",backend=\"CUDA sm_87\"}"},
    {"cameras[0].gpu_faults", 3, "edged_camera_gpu_faults_total" CAMERA},
    {"cameras[0].encoder_hangs", 2, "edged_camera_encoder_hangs_total" CAMERA},
    {"cameras[0].width", 1280, NULL},
    {"cameras[0].height", 720, NULL},
    {"cameras[0].fps", 29.5, "edged_camera_frames_per_second" CAMERA},
    {"cameras[0].frame_age_s", 0.0333333, NULL},
    {NULL, 0.033, "edged_camera_last_frame_age_seconds" CAMERA},
    {"cameras[0].frames", 1000, "edged_frames_total" CAMERA},
    {"cameras[0].dropped", 3, "edged_frames_dropped_total" CAMERA},
    {"cameras[0].corrupted", 1, "edged_frames_corrupted_total" CAMERA},
    {"cameras[0].reconnects", 5, "edged_reconnects_total" CAMERA},
    {"cameras[0].process.pid", 4711, NULL},
    {"cameras[0].process.restarts", 2, "edged_process_restarts_total" CAMERA},
    {"cameras[0].process.cpu_s", 0.666667, NULL},
    {NULL, 0.67, PROCESS("cpu_seconds_total")},
    {"cameras[0].process.resident_bytes", 98765432, PROCESS("resident_memory_bytes")},
    {"cameras[0].copies['mmap-fallback'].total", 1000, COPIES("mmap-fallback")},
    {"cameras[0].copies['mmap-fallback'].per_frame", 1, NULL},
    {"cameras[0].copies['encoder-convert'].total", 250, COPIES("encoder-convert")},
    {"cameras[0].copies['encoder-convert'].per_frame", 0.25, NULL},
    {"cameras[0].copies['mjpeg-decode'].total", 0, COPIES("mjpeg-decode")},
    {"cameras[0].copies_per_frame", 1.25, NULL},
    {"cameras[1].copies_per_frame", 0, NULL}, // it has no frames
    {"cameras[0].stages[0].runs", 900, STAGE("runs", "gray")},
    {"cameras[0].stages[0].shared", 2700, STAGE("shared", "gray")},
    {"cameras[0].stages[1].runs", 450, STAGE("runs", "canny")},
    {"cameras[0].stages[1].shared", 0, STAGE("shared", "canny")},
    {"cameras[0].armed", 1, "edged_camera_armed" CAMERA},
    {"cameras[0].regions[0].share", 0.1, REGION("share", "door")},
    {"cameras[0].regions[0].events", 9007199254740992, REGION("events_total", "door")},
    {"cameras[0].regions[0].box.x", 8, NULL},
    {"cameras[0].regions[0].box.y", 16, NULL},
    {"cameras[0].regions[0].box.width", 64, NULL},
    {"cameras[0].regions[0].box.height", 48, NULL},
    {"cameras[0].regions[1].events", 0, REGION("events_total", "yard")},
    {"cameras[0].regions[0].moving", 1, REGION("moving", "door")},
    {"cameras[0].regions[1].moving", 0, REGION("moving", "yard")},

    {"mounts[0].viewers", 2, "edged_mount_viewers" VIEW},
    {"mounts[0].width", 1280, NULL},
    {"mounts[0].height", 720, NULL},
    {"mounts[0].fps", 29.97, NULL},
    {"mounts[0].bitrate_kbps", 3900, NULL},
    {NULL, 487500, "edged_mount_bytes_per_second" VIEW},
    {"mounts[0].access_units", 900, "edged_access_units_total" VIEW},
    {"mounts[0].key_frames", 30, "edged_key_frames_total" VIEW},
    {"mounts[0].bytes", 123456789012, "edged_stream_bytes_total" VIEW},
    {"mounts[0].encoded", 905, "edged_encoded_total" VIEW},
    {"mounts[0].dropped", 5, "edged_encoded_dropped_total" VIEW},
    {"mounts[0].snapshots", 12, "edged_snapshots_total" VIEW},
    {"mounts[0].bad_timestamps", 6, "edged_bad_timestamps_total" VIEW},
    {"mounts[0].latency_ms.capture_to_rtp.p50", 4.9, NULL},
    {"mounts[0].latency_ms.capture_to_rtp.p95", 5.53, NULL},
    {"mounts[0].latency_ms.capture_to_rtp.p99", 5.586, NULL},
    {"mounts[0].latency_ms.capture_to_rtp.mean", 5, NULL},
    {"mounts[0].latency_ms.capture_to_rtp.count", 100, NULL},
    {"mounts[0].latency_ms.link.count", 0, NULL},
    {"mounts[0].latency_ms.link.mean", 0, NULL},
};

static const struct {
    const char *json, *text;
} texts[] = {
    {"version", EDGED_VERSION},
    {"backend", "cpu"},
    {"rtsp", "rtsp://127.0.0.1:8554"},
    {"rtsps", "rtsps://127.0.0.1:8322"},
    {"http", "https://127.0.0.1:9854"},
    {"certificate.fingerprint", "SHA-256 3F:A0"},
    {"certificate.expires", "2033-05-18T03:33:20.000000Z"}, // date -u -d @2000000000
    {"board.zones[1].name", "GPU-therm"},
    {"board.throttled_by", "gpu-throttle-alert"},
    {"board.power_mode", "15W"},
    {"cameras[0].name", "front"},
    {"cameras[0].state", "live"},
    {"cameras[0].error", ""},
    {"cameras[0].source", "v4l2"},
    {"cameras[0].path",
     "front: V4L2 MMAP YUYV 1280x720@30 -> registered -> CUDA sm_87 -> x264enc, 1 copy a frame"},
    {"cameras[0].format", "YUYV"},
    {"cameras[0].backend", "CUDA sm_87"},
    {"cameras[0].gpu", "Orin"},
    {"cameras[0].encoders_passed_over[0]", "v4l2h264enc"},
    {"cameras[0].stages[0].name", "gray"},
    {"cameras[0].stages[1].name", "canny"},
    {"cameras[0].regions[0].name", "door"},
    {"cameras[0].regions[1].name", "yard"},
    {"cameras[1].name", "ba\"ck\\\n\xef\xbf\xbd"}, // U+FFFD for the stray byte
    {"cameras[1].state", "no signal"},
    {"cameras[1].error", "/dev/video9: No such device"},
    {"mounts[0].path", "/front/edges"},
    {"mounts[0].url", "rtsp://127.0.0.1:8554/front/edges"},
    {"mounts[0].alias", "/edges"},
    {"mounts[0].camera", "front"},
    {"mounts[0].view", "edges"},
    {"mounts[0].kind", "edges"},
    {"mounts[0].codec", "h265"},
    {"mounts[0].encoder", "x264enc"},
    {"mounts[0].governor", "rate 1/2"},
    {"mounts[0].multicast", "239.255.4.1:5004"},
};

TEST(test_each_fact_has_its_name_in_both_forms, setup, teardown)
{
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        if (numbers[i].json) {
            assert_json_number(fixture, numbers[i].json, numbers[i].value);
        }
        if (numbers[i].series) {
            assert_series(fixture, numbers[i].series, numbers[i].value);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        assert_json_text(fixture, texts[i].json, texts[i].text);
    }
}

TEST(test_lists_have_what_is_there, setup, teardown)
{
    static const struct {
        const char *json;
        unsigned count;
    } lists[] = {
        {"cameras[*]", 2},
        {"mounts[*]", 1},
        {"board.zones[*]", 2},
        {"cameras[0].stages[*]", 2}, // those that were needed
        {"cameras[1].stages[*]", 0},
        {"cameras[0].regions[*]", 2},
        {"cameras[1].regions[*]", 0},
        {"mounts[0].latency_ms.*", 5},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        assert_int_equal(count_json(*state, lists[i].json), lists[i].count);
    }
}

TEST(test_a_camera_is_in_exactly_one_state, setup, teardown)
{
    static const char *const states[] = {"starting", "no signal", "hanging", "restarting",
                                         "failed"};

    assert_series(*state, "edged_camera_state{camera=\"front\",state=\"live\"}", 1);
    for (size_t i = 0; i < ARRAY_LENGTH(states); i++) {
        g_autofree char *series =
            g_strdup_printf("edged_camera_state{camera=\"front\",state=\"%s\"}", states[i]);

        assert_series(*state, series, 0);
    }
}

// Counters begin anew with the process they are of.
TEST(test_what_is_not_there_has_no_sample, setup, teardown)
{
    assert_int_equal(count_series(*state, "edged_camera_backend_info{"), 1);
    assert_int_equal(count_series(*state, "edged_camera_last_frame_age_seconds{"), 1);
    assert_int_equal(count_series(*state, "edged_process_cpu_seconds_total{"), 2);
    assert_int_equal(count_series(*state, "edged_process_resident_memory_bytes{"), 2);
}

TEST(test_hostile_names_are_escaped, setup, teardown)
{
    // A quote, a backslash and a newline, escaped; U+FFFD for the byte that is no UTF-8.
    assert_series(*state,
                  "edged_camera_state{camera=\"ba\\\"ck\\\\\\n\xef\xbf\xbd\",state=\"no signal\"}",
                  1);
}

// promtool of Debian's package prometheus, where it is.
TEST(test_promtool_has_nothing_to_object_to, setup, teardown)
{
    const struct fixture *fixture = *state;
    char *promtool = g_find_program_in_path("promtool");
    bool found = promtool != NULL;

    g_free(promtool);
    if (!found) {
        SKIP("promtool is not installed: apt install prometheus has it");
    }
    FILE *pipe = popen("promtool check metrics", "w");

    assert_non_null(pipe);
    fputs(fixture->metrics, pipe);
    assert_int_equal(pclose(pipe), 0);
}

TEST(test_latency_is_a_cumulative_histogram_and_steps_are_sums, setup, teardown)
{
#define LABELS(step) "{camera=\"front\",view=\"edges\",step=\"" step "\""
#define LATENCY(suffix, le) "edged_latency_seconds" suffix LABELS("capture_to_rtp") le "}"
    assert_int_equal(count_series(*state, "view=\"edges\",step=\""), 25); // of a view, all steps
    assert_series(*state, LATENCY("_bucket", ",le=\"0.001\""), 0);
    assert_series(*state, LATENCY("_bucket", ",le=\"0.0032\""), 0);
    assert_series(*state, LATENCY("_bucket", ",le=\"0.0056\""), 100);
    assert_series(*state, LATENCY("_bucket", ",le=\"2.5\""), 100);
    assert_series(*state, "edged_step_seconds_sum" LABELS("encode") "}", 0.021);
    assert_series(*state, "edged_step_seconds_count" LABELS("encode") "}", 3);
    assert_series(*state, LATENCY("_bucket", ",le=\"+Inf\""), 100);
    assert_series(*state, LATENCY("_sum", ""), 0.5);
    assert_series(*state, LATENCY("_count", ""), 100);
}

RUN_TESTS(NULL, NULL)
