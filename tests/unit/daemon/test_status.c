// The status JSON, read back by json-glib, against the literals of filled facts.
#include "tests/unit/unit.h"

#include "daemon/front/status/status.h"
#include "tests/unit/daemon/filled_facts.h"

#include <json-glib/json-glib.h>

static int setup(void **state)
{
    char *text = filled_text(FACTS_JSON, HOSTILE_NAME, true);
    JsonParser *parser = json_parser_new();

    // As 98765432 and 3725.5, but not 0.033333333333333333.
    assert_false(g_regex_match_simple("[0-9]\\.0*[1-9][0-9]{6}", text, 0, 0));
    assert_true(json_parser_load_from_data(parser, text, -1, NULL));
    g_free(text);
    *state = parser;
    return 0;
}

static int teardown(void **state)
{
    g_object_unref(*state);
    return 0;
}

static JsonObject *root_of(void **state)
{
    return json_node_get_object(json_parser_get_root(*state));
}

static JsonObject *element_of(void **state, const char *array, unsigned index)
{
    return json_array_get_object_element(json_object_get_array_member(root_of(state), array),
                                         index);
}

static void assert_string(JsonObject *object, const char *name, const char *expected)
{
    assert_true(json_object_has_member(object, name));
    assert_string_equal(json_object_get_string_member(object, name), expected);
}

static void assert_integer(JsonObject *object, const char *name, int64_t expected)
{
    assert_true(json_object_has_member(object, name));
    assert_int_equal(json_object_get_int_member(object, name), expected);
}

static void assert_double(JsonObject *object, const char *name, double expected)
{
    assert_true(json_object_has_member(object, name));
    assert_float_equal(json_object_get_double_member(object, name), expected, 1e-9);
}

TEST(test_totals_are_at_the_top, setup, teardown)
{
    JsonObject *root = root_of(state);

    assert_string(root, "version", EDGED_VERSION);
    assert_double(root, "uptime_s", 3725.5);
    assert_double(json_object_get_object_member(root, "process"), "cpu_s", 12.34);
    assert_string(root, "backend", "cpu");
    assert_string(root, "rtsp", "rtsp://127.0.0.1:8554");
    assert_string(root, "rtsps", "rtsps://127.0.0.1:8322");
    assert_string(root, "http", "https://127.0.0.1:9854");
    JsonObject *certificate = json_object_get_object_member(root, "certificate");
    assert_string(certificate, "fingerprint", "SHA-256 3F:A0");
    assert_string(certificate, "expires", "2033-05-18T03:33:20.000000Z"); // date -u -d @2000000000
    assert_integer(root, "viewers", 2);
    JsonObject *logins = json_object_get_object_member(root, "logins");
    assert_integer(logins, "failed", 7);
    assert_integer(logins, "throttled", 12345678901);
    assert_int_equal(json_array_get_length(json_object_get_array_member(root, "cameras")), 2);
    assert_int_equal(json_array_get_length(json_object_get_array_member(root, "mounts")), 1);
}

TEST(test_a_camera_shows_state_format_and_counters, setup, teardown)
{
    JsonObject *camera = element_of(state, "cameras", 0);
    JsonObject *process = json_object_get_object_member(camera, "process");

    assert_string(camera, "name", "front");
    assert_string(camera, "state", "live");
    assert_string(camera, "error", "");
    assert_string(camera, "source", "v4l2");
    assert_string(
        camera, "path",
        "front: V4L2 MMAP YUYV 1280x720@30 -> registered -> CUDA sm_87 -> x264enc, 1 copy a frame");
    assert_string(camera, "format", "YUYV");
    assert_string(camera, "backend", "CUDA sm_87");
    assert_string(camera, "gpu", "Orin");
    assert_integer(camera, "gpu_faults", 3);
    assert_integer(camera, "encoder_hangs", 2);
    assert_string_equal(json_array_get_string_element(
                            json_object_get_array_member(camera, "encoders_passed_over"), 0),
                        "v4l2h264enc");
    assert_integer(camera, "width", 1280);
    assert_integer(camera, "height", 720);
    assert_double(camera, "frame_age_s", 0.0333333);
    assert_double(camera, "fps", 29.5);
    assert_integer(camera, "frames", 1000);
    assert_integer(camera, "dropped", 3);
    assert_integer(camera, "corrupted", 1);
    assert_integer(camera, "reconnects", 5);
    assert_integer(process, "pid", 4711);
    assert_integer(process, "restarts", 2);
}

TEST(test_a_region_shows_whether_where_and_how_much_moves, setup, teardown)
{
    JsonObject *camera = element_of(state, "cameras", 0);
    JsonArray *regions = json_object_get_array_member(camera, "regions");
    JsonObject *door = json_array_get_object_element(regions, 0);
    JsonObject *yard = json_array_get_object_element(regions, 1);
    JsonObject *box = json_object_get_object_member(door, "box");

    assert_int_equal(json_array_get_length(regions), 2);
    assert_string(door, "name", "door");
    assert_true(json_object_get_boolean_member(door, "moving"));
    assert_double(door, "share", 0.1);
    assert_integer(door, "events", 9007199254740992);
    assert_integer(box, "x", 8);
    assert_integer(box, "y", 16);
    assert_integer(box, "width", 64);
    assert_integer(box, "height", 48);
    assert_false(json_object_get_boolean_member(yard, "moving"));
    camera = element_of(state, "cameras", 1);
    assert_int_equal(json_array_get_length(json_object_get_array_member(camera, "regions")), 0);
}

TEST(test_the_board_shows_heat_power_and_load, setup, teardown)
{
    JsonObject *board = json_object_get_object_member(root_of(state), "board");
    JsonArray *zones = json_object_get_array_member(board, "zones");

    assert_int_equal(json_array_get_length(zones), 2);
    assert_string(json_array_get_object_element(zones, 1), "name", "GPU-therm");
    assert_double(json_array_get_object_element(zones, 1), "celsius", 98.5);
    assert_integer(board, "throttled", 1);
    assert_string(board, "throttled_by", "gpu-throttle-alert");
    assert_string(board, "power_mode", "15W");
    assert_double(board, "gpu_load", 0.843);
    assert_integer(board, "gpu_hz", 306000000);
    assert_integer(board, "gpu_hz_max", 612000000);
}

TEST(test_copies_are_named_and_summed_per_frame, setup, teardown)
{
    JsonObject *camera = element_of(state, "cameras", 0);
    JsonObject *copies = json_object_get_object_member(camera, "copies");
    JsonObject *mmap = json_object_get_object_member(copies, "mmap-fallback");
    JsonObject *encoder = json_object_get_object_member(copies, "encoder-convert");
    JsonObject *jpeg = json_object_get_object_member(copies, "mjpeg-decode");

    assert_integer(mmap, "total", 1000);
    assert_double(mmap, "per_frame", 1);
    assert_integer(encoder, "total", 250);
    assert_double(encoder, "per_frame", 0.25);
    assert_integer(jpeg, "total", 0);
    assert_double(camera, "copies_per_frame", 1.25);
}

TEST(test_stages_that_were_needed_show_how_often, setup, teardown)
{
    JsonArray *stages = json_object_get_array_member(element_of(state, "cameras", 0), "stages");
    JsonObject *gray = json_array_get_object_element(stages, 0);
    JsonObject *canny = json_array_get_object_element(stages, 1);

    assert_int_equal(json_array_get_length(stages), 2);
    assert_string(gray, "name", "gray");
    assert_integer(gray, "runs", 900);
    assert_integer(gray, "shared", 2700);
    assert_string(canny, "name", "canny");
    assert_integer(canny, "runs", 450);
    assert_integer(canny, "shared", 0);
    stages = json_object_get_array_member(element_of(state, "cameras", 1), "stages");
    assert_int_equal(json_array_get_length(stages), 0);
}

TEST(test_a_camera_without_frames_has_0_copies_a_frame, setup, teardown)
{
    assert_double(element_of(state, "cameras", 1), "copies_per_frame", 0);
}

TEST(test_hostile_text_stays_inside_its_string, setup, teardown)
{
    JsonObject *camera = element_of(state, "cameras", 1);

    assert_string(camera, "name", "ba\"ck\\\n\xef\xbf\xbd"); // U+FFFD for the stray byte
    assert_string(camera, "state", "no signal");
    assert_string(camera, "error", "/dev/video9: No such device");
}

TEST(test_a_mount_shows_viewers_bitrate_and_latency, setup, teardown)
{
    JsonObject *mount = element_of(state, "mounts", 0);
    JsonObject *steps = json_object_get_object_member(mount, "latency_ms");
    JsonObject *whole = json_object_get_object_member(steps, "capture_to_rtp");
    static const char *const names[] = {"capture", "compute", "encode", "link", "capture_to_rtp"};

    assert_string(mount, "path", "/front/edges");
    assert_string(mount, "url", "rtsp://127.0.0.1:8554/front/edges");
    assert_string(mount, "alias", "/edges");
    assert_string(mount, "camera", "front");
    assert_string(mount, "view", "edges");
    assert_string(mount, "kind", "edges");
    assert_string(mount, "encoder", "x264enc");
    assert_string(mount, "governor", "rate 1/2");
    assert_integer(mount, "viewers", 2);
    assert_string(mount, "multicast", "239.255.4.1:5004");
    assert_integer(mount, "bitrate_kbps", 3900);
    assert_integer(mount, "access_units", 900);
    assert_integer(mount, "key_frames", 30);
    assert_integer(mount, "bytes", 123456789012);
    assert_integer(mount, "encoded", 905);
    assert_integer(mount, "dropped", 5);
    assert_integer(mount, "bad_timestamps", 6);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        assert_true(json_object_has_member(steps, names[i]));
    }
    assert_double(whole, "p50", 4.9);
    assert_double(whole, "p95", 5.53);
    assert_double(whole, "p99", 5.586);
    assert_double(whole, "mean", 5);
    assert_integer(whole, "count", 100);
    assert_integer(json_object_get_object_member(steps, "link"), "count", 0);
    assert_double(json_object_get_object_member(steps, "link"), "mean", 0);
}

RUN_TESTS(NULL, NULL)
