// Every mistake in a configuration gets its sentence, word for word.
#include "config/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#define VIEW_KEYS                                                                                  \
    "name, view, stages, operator, blur, norm, gain, threshold, colour, morphology, times, "       \
    "erode, mark, "                                                                                \
    "thresholds, low, high, polygon, mask, label, left, right, codec, encoder, governor, "         \
    "bitrate_kbps, jpeg_quality, keyframe_s, "                                                     \
    "allow"
#define VIEWS                                                                                      \
    "\"camera\", \"gray\", \"edges\", \"binary\", \"canny\", \"motion\", \"overlay\", "            \
    "\"direction\", \"split\", \"custom\""
#define SIDES "allowed: the name of another view of the camera, or a kind of view, but no split"
#define FORMATS                                                                                    \
    "\"auto\" or a fourcc as V4L2 names it: \"YUYV\", \"UYVY\", \"NV12\", \"NV21\", \"YU12\", "    \
    "\"GREY\", \"MJPG\", \"RGB3\", \"BGR3\", \"XR24\", a sensor's raw samples "                    \
    "(\"RGGB\", \"RG10\", \"pRAA\", \"RG12\", \"pRCC\", \"RG16\" and their other orders) or any "  \
    "other that libv4l2 converts"
#define ADDRESSES CONFIG_LOOPBACK ", or with users, or auth = \"none\", any address of this machine"
#define NAMES "1 to 32 of the characters A-Z a-z 0-9 _ -"

struct expectation {
    const char *text;
    const char *problem;
};

static void check(const char *text, int result, const char *expected)
{
    _cleanup_(cleanup_free) char *found = NULL;
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(&found, &size);

    assert_non_null(problems);
    assert_int_equal(config_parse(text, "t.conf", problems, &config), result);
    fclose(problems);
    assert_string_equal(found, expected);
}

// Each text has one problem, on line 1: "t.conf:1: error: " and the newline are added here.
static void check_each(const struct expectation *expectations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_(cleanup_free) char *line = NULL;

        assert_true(asprintf(&line, "t.conf:1: error: %s\n", expectations[i].problem) > 0);
        check(expectations[i].text, -EINVAL, line);
    }
}

TEST(test_problems_come_in_the_order_of_the_lines)
{
    check("cameras = ( { name = \"a\";\n"
          "  views = ( { name = \"one\"; view = \"gray\"; low = 3; },\n"
          "            { name = \"one\"; view = \"canny\"; } ); } );\n"
          "cpu_threads = 0;\n",
          -EINVAL,
          "t.conf:2: warning: cameras[0].views[0].low: no effect with view = \"gray\", only with "
          "\"canny\", \"split\", \"custom\"\n"
          "t.conf:3: error: cameras[0].views[1].name: got \"one\", which is the name of views[0], "
          "too; allowed: a name of its own\n"
          "t.conf:4: error: cpu_threads: got 0, allowed: an integer from 1 to 16 (threads)\n");
}

TEST(test_what_follows_from_an_error_is_left_out)
{
    check("rtsp = { address = \"0.0.0.0\";\nusers = 5; };\nhttp = { port = 1; address = "
          "\"0.0.0.0\"; };\n",
          -EINVAL, "t.conf:2: error: rtsp.users: got the integer 5, allowed: a string\n");
    check("cameras = ( { source = \"gstreamer\"; pipelin = \"x\"; } );", -EINVAL,
          "t.conf:1: error: cameras[0].pipelin: unknown key, did you mean \"pipeline\"?\n");
    // A warning hides no error.
    check(
        "cameras = ( { source = \"rtsp\"; device = \"/dev/video0\"; } );", -EINVAL,
        "t.conf:1: warning: cameras[0].device: no effect with source = \"rtsp\", only with "
        "\"v4l2\"\n"
        "t.conf:1: error: cameras[0].url: got nothing, allowed: a string that is not empty, needed "
        "with source = \"rtsp\"\n");
}

TEST(test_values_outside_the_borders_are_refused)
{
    static const struct expectation outside[] = {
        {"cpu_threads = 0;", "cpu_threads: got 0, allowed: an integer from 1 to 16 (threads)"},
        {"cpu_threads = 17;", "cpu_threads: got 17, allowed: an integer from 1 to 16 (threads)"},
        {"rtsp = { port = -1; };",
         "rtsp.port: got -1, allowed: an integer from 0 to 65535 (TCP port)"},
        {"rtsp = { port = 65536; };",
         "rtsp.port: got 65536, allowed: an integer from 0 to 65535 (TCP port)"},
        {"cameras = ( { width = 14; } );",
         "cameras[0].width: got 14, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { width = 17; } );",
         "cameras[0].width: got 17, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { width = 8194; } );",
         "cameras[0].width: got 8194, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { height = 14; } );",
         "cameras[0].height: got 14, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { height = 719; } );",
         "cameras[0].height: got 719, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { height = 8194; } );",
         "cameras[0].height: got 8194, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { fps = 0; } );",
         "cameras[0].fps: got 0, allowed: an integer from 1 to 240 (frames a second)"},
        {"cameras = ( { fps = 241; } );",
         "cameras[0].fps: got 241, allowed: an integer from 1 to 240 (frames a second)"},
        {"cameras = ( { views = ( { gain = 0.009; } ); } );",
         "cameras[0].views[0].gain: got 0.009, allowed: a number from 0.01 to 100 (factor)"},
        {"cameras = ( { views = ( { gain = 100.5; } ); } );",
         "cameras[0].views[0].gain: got 100.5, allowed: a number from 0.01 to 100 (factor)"},
        {"cameras = ( { views = ( { view = \"edges\"; }, { name = \"b\"; gain = -1; } ); } );",
         "cameras[0].views[1].gain: got -1, allowed: a number from 0.01 to 100 (factor)"},
        {"cameras = ( { views = ( { bitrate_kbps = 63; } ); } );",
         "cameras[0].views[0].bitrate_kbps: got 63, allowed: an integer from 64 to 100000 "
         "(kbit/s)"},
        {"cameras = ( { views = ( { bitrate_kbps = 100001; } ); } );",
         "cameras[0].views[0].bitrate_kbps: got 100001, allowed: an integer from 64 to 100000 "
         "(kbit/s)"},
        {"cameras = ( { views = ( { keyframe_s = 0.09; } ); } );",
         "cameras[0].views[0].keyframe_s: got 0.09, allowed: a number from 0.1 to 10 (seconds)"},
        {"cameras = ( { views = ( { keyframe_s = 11; } ); } );",
         "cameras[0].views[0].keyframe_s: got 11, allowed: a number from 0.1 to 10 (seconds)"},
    };

    check_each(outside, ARRAY_LENGTH(outside));
}

// 4294968576 is 2^32 + 1280: cut to 32 bits it would be a fine width.
TEST(test_integers_too_long_for_an_int_are_refused_not_cut)
{
    static const struct expectation cut[] = {
        {"cameras = ( { width = 4294968576; } );",
         "cameras[0].width: got 4294968576, allowed: an even integer from 16 to 8192 (pixels)"},
        {"/* c * / */ cameras = ( { width = 4294968576; } );",
         "cameras[0].width: got 4294968576, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { width = 4294968576L; } );",
         "cameras[0].width: got 4294968576, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { width = 0x100000500; } );",
         "cameras[0].width: got 4294968576, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { width = -4294966016; } );",
         "cameras[0].width: got -4294966016, allowed: an even integer from 16 to 8192 (pixels)"},
        {"cameras = ( { views = ( { gain = 4294967297; } ); } );",
         "cameras[0].views[0].gain: got 4294967297, allowed: a number from 0.01 to 100 (factor)"},
        {"cameras = ( { controls = { zoom = 2147483648; }; } );",
         "cameras[0].controls.zoom: got 2147483648, allowed: an integer from -2147483648 to "
         "2147483647"},
    };

    check_each(cut, ARRAY_LENGTH(cut));
}

TEST(test_unknown_keys_get_the_nearest_or_all)
{
    static const struct expectation unknown[] = {
        {"memry = \"auto\";", "memry: unknown key, did you mean \"memory\"?"},
        {"cameras = ( { widht = 640; } );",
         "cameras[0].widht: unknown key, did you mean \"width\"?"},
        {"cameras = ( { views = ( { keyframes = 1; } ); } );",
         "cameras[0].views[0].keyframes: unknown key, did you mean \"keyframe_s\"?"},
        {"cameras = ( { views = ( { bitrate = 1; } ); } );",
         "cameras[0].views[0].bitrate: unknown key, did you mean \"bitrate_kbps\"?"},
        {"rtsp = { broadcasting = true; };",
         "rtsp.broadcasting: unknown key, allowed: address, auth, users, tokens, port, plain, "
         "tls_port, certificate, key, limits, multicast"},
        {"cameras = ( { views = ( { zoom = 3; } ); } );",
         "cameras[0].views[0].zoom: unknown key, allowed: " VIEW_KEYS},
        {"cameras = ( { views = ( { palette = 80; } ); } );",
         "cameras[0].views[0].palette: unknown key, allowed: " VIEW_KEYS},
        {"an_unknown_key_longer_than_any_word_worth_comparing = 1;",
         "an_unknown_key_longer_than_any_word_worth_comparing: unknown key, allowed: backend, "
         "memory, cpu_threads, rtsp, control, http, cameras, kernels"},
    };

    check_each(unknown, ARRAY_LENGTH(unknown));
}

TEST(test_unknown_words_get_the_list_and_the_nearest)
{
    static const struct expectation unknown[] = {
        {"backend = \"gpu\";",
         "backend: got \"gpu\", allowed: \"auto\", \"cuda\", \"cpu\"; did you "
         "mean \"cuda\"?"},
        {"memory = \"fast\";",
         "memory: got \"fast\", allowed: \"auto\", \"nvmm\", \"registered\", \"pinned\", "
         "\"managed\", \"host\""},
        {"cameras = ( { source = \"v4l\"; } );",
         "cameras[0].source: got \"v4l\", allowed: \"auto\", \"v4l2\", \"gstreamer\", \"file\", "
         "\"pattern\", \"rtsp\", \"argus\"; did you mean \"v4l2\"?"},
        {"cameras = ( { io = \"read\"; } );",
         "cameras[0].io: got \"read\", allowed: \"auto\", \"userptr\", \"mmap\""},
        {"cameras = ( { views = ( { view = \"edgse\"; } ); } );",
         "cameras[0].views[0].view: got \"edgse\", allowed: " VIEWS "; did you mean \"edges\"?"},
        {"cameras = ( { views = ( { view = \"sepia\"; } ); } );",
         "cameras[0].views[0].view: got \"sepia\", allowed: " VIEWS},
        {"cameras = ( { views = ( { operator = \"sharr\"; } ); } );",
         "cameras[0].views[0].operator: got \"sharr\", allowed: \"sobel\", \"sobel5\", "
         "\"scharr\", \"prewitt\"; did you mean \"scharr\"?"},
        {"cameras = ( { views = ( { codec = \"h266\"; } ); } );",
         "cameras[0].views[0].codec: got \"h266\", allowed: \"h264\", \"h265\", "
         "\"mjpeg\"; did you mean \"h264\"?"},
        {"cameras = ( { views = ( { codec = \"mjpeg\"; jpeg_quality = 96; } ); } );",
         "cameras[0].views[0].jpeg_quality: got 96, allowed: an integer from 1 to 95 "
         "(percent)"},
        {"cameras = ( { width = 2592; height = 1944; views = ( { codec = \"mjpeg\"; } ); } );",
         "cameras[0].views[0].codec: got \"mjpeg\" of a view of 2592x1944 pixels, allowed: of at "
         "most 2040x2040, for RTP carries no larger JPEG"},
        {"cameras = ( { views = ( { view = \"split\"; codec = \"mjpeg\"; } ); } );",
         "cameras[0].views[0].codec: got \"mjpeg\" of a view of 2560x720 pixels, allowed: of at "
         "most 2040x2040, for RTP carries no larger JPEG"},
        {"cameras = ( { views = ( { encoder = \"turbojpeg\"; } ); } );",
         "cameras[0].views[0].encoder: got \"turbojpeg\", which makes MJPEG; allowed: \"auto\" or "
         "one that makes this view's codec"},
        {"cameras = ( { views = ( { encoder = \"x264\"; } ); } );",
         "cameras[0].views[0].encoder: got \"x264\", allowed: \"auto\", \"nvv4l2h264enc\", "
         "\"v4l2h264enc\", \"x264enc\", \"openh264enc\", \"nvv4l2h265enc\", \"v4l2h265enc\", "
         "\"x265enc\", \"turbojpeg\"; did you mean \"x264enc\"?"},
        {"cameras = ( { views = ( { codec = \"h265\"; encoder = \"x264enc\"; } ); } );",
         "cameras[0].views[0].encoder: got \"x264enc\", which makes H.264; allowed: \"auto\" or "
         "one "
         "that makes this view's codec"},
        {"cameras = ( { views = ( { encoder = \"x265enc\"; } ); } );",
         "cameras[0].views[0].encoder: got \"x265enc\", which makes H.265; allowed: \"auto\" or "
         "one "
         "that makes this view's codec"},
        {"cameras = ( { views = ( { allow = [\"operater\"]; } ); } );",
         "cameras[0].views[0].allow: got [\"operater\"], allowed: an array [ … ] of 1 to 12 of the "
         "words \"viewer\", \"operator\", \"admin\"; did you mean \"operator\"?"},
        {"cameras = ( { views = ( { allow = [ ]; } ); } );",
         "cameras[0].views[0].allow: got [], allowed: an array [ … ] of 1 to 12 of the words "
         "\"viewer\", \"operator\", \"admin\""},
        {"cameras = ( { format = \"YUY\"; } );",
         "cameras[0].format: got \"YUY\", allowed: " FORMATS},
    };

    check_each(unknown, ARRAY_LENGTH(unknown));
}

TEST(test_a_split_shows_two_other_views_that_fit_an_encoder)
{
    static const struct expectation wrong[] = {
        {"cameras = ( { views = ( { view = \"split\"; left = \"edgse\"; } ); } );",
         "cameras[0].views[0].left: got \"edgse\", " SIDES},
        {"cameras = ( { views = ( { view = \"split\"; right = \"split\"; } ); } );",
         "cameras[0].views[0].right: got \"split\", " SIDES},
        {"cameras = ( { views = ( { name = \"camera\"; view = \"split\"; } ); } );",
         "cameras[0].views[0].left: got \"camera\", " SIDES},
        {"cameras = ( { views = ( { view = \"split\"; left = \"two\"; }, "
         "{ name = \"two\"; view = \"split\"; } ); } );",
         "cameras[0].views[0].left: got \"two\", " SIDES},
        {"cameras = ( { width = 2050; views = ( { view = \"split\"; } ); } );",
         "cameras[0].views[0].view: got \"split\" of a camera 2050 pixels wide, allowed: of at "
         "most "
         "2048, for encoders take no picture wider than 4096"},
    };

    check_each(wrong, ARRAY_LENGTH(wrong));
}

TEST(test_wrong_types_name_both_types)
{
    static const struct expectation wrong[] = {
        {"backend = 1;",
         "backend: got the integer 1, allowed: a string: \"auto\", \"cuda\", \"cpu\""},
        {"rtsp = 8554;", "rtsp: got the integer 8554, allowed: a group { … }"},
        {"rtsp = { port = \"8554\"; };",
         "rtsp.port: got the string \"8554\", allowed: an integer from 0 to 65535 (TCP port)"},
        {"rtsp = { address = 127; };",
         "rtsp.address: got the integer 127, allowed: a string: " ADDRESSES},
        {"control = { socket = true; };",
         "control.socket: got the boolean true, allowed: a string: a path of at most 107 bytes"},
        {"http = { tls = 1; };", "http.tls: got the integer 1, allowed: true or false"},
        {"http = { tls = \"yes\"; };", "http.tls: got the string \"yes\", allowed: true or false"},
        {"cameras = { name = \"front\"; };",
         "cameras: got a group { … }, allowed: a list ( { … }, … ) of at most 64 groups"},
        {"cameras = [ 1, 2 ];",
         "cameras: got an array [ … ], allowed: a list ( { … }, … ) of at most 64 groups"},
        {"cameras = ( \"front\" );",
         "cameras[0]: got the string \"front\", allowed: a group { … }"},
        {"cameras = ( { fps = 29.97; } );",
         "cameras[0].fps: got the number 29.97, allowed: an integer from 1 to 240 (frames a "
         "second)"},
        {"cameras = ( { fps = ( ); } );",
         "cameras[0].fps: got a list ( … ), allowed: an integer from 1 to 240 (frames a second)"},
        {"cameras = ( { controls = 3; } );",
         "cameras[0].controls: got the integer 3, allowed: a group { name = value; … } of "
         "integers and booleans"},
        {"cameras = ( { controls = { zoom = 1.5; }; } );",
         "cameras[0].controls.zoom: got the number 1.5, allowed: an integer from -2147483648 to "
         "2147483647"},
        {"cameras = ( { views = ( { gain = false; } ); } );",
         "cameras[0].views[0].gain: got the boolean false, allowed: a number from 0.01 to 100 "
         "(factor)"},
    };

    check_each(wrong, ARRAY_LENGTH(wrong));
}

TEST(test_names_are_checked_and_unique)
{
    static const struct expectation names[] = {
        {"cameras = ( { name = \"a b\"; } );", "cameras[0].name: got \"a b\", allowed: " NAMES},
        {"cameras = ( { name = \"\"; } );", "cameras[0].name: got \"\", allowed: " NAMES},
        {"cameras = ( { name = \"a/../b\"; } );",
         "cameras[0].name: got \"a/../b\", allowed: " NAMES},
        {"cameras = ( { name = \"123456789012345678901234567890123\"; } );",
         "cameras[0].name: got \"123456789012345678901234567890123\", allowed: " NAMES},
        {"cameras = ( { name = \"front\"; }, { }, { name = \"front\"; } );",
         "cameras[2].name: got \"front\", which is the name of cameras[0], too; allowed: a name of "
         "its own"},
        {"cameras = ( { views = ( { }, { name = \"edges\"; view = \"gray\"; } ); } );",
         "cameras[0].views[1].name: got \"edges\", which is the name of views[0], too; allowed: a "
         "name of its own"},
        {"cameras = ( { views = ( { }, { } ); } );",
         "cameras[0].views[1].name: got \"edges\", which is the name of views[0], too; allowed: a "
         "name of its own"},
    };

    check_each(names, ARRAY_LENGTH(names));
}

// The name and the kind that are refused here leave the default, which is no name to clash with.
TEST(test_refused_names_clash_with_nothing)
{
    check("cameras = ( { name = \"camera1\"; }, { name = \"a b\"; views = ( 5, { view = \"edge\"; "
          "}, { "
          "name = \"ö\"; }, { } ); } );",
          -EINVAL,
          "t.conf:1: error: cameras[1].name: got \"a b\", allowed: " NAMES "\n"
          "t.conf:1: error: cameras[1].views[0]: got the integer 5, allowed: a group { … }\n"
          "t.conf:1: error: cameras[1].views[1].view: got \"edge\", allowed: " VIEWS
          "; did you mean \"edges\"?\n"
          "t.conf:1: error: cameras[1].views[2].name: got \"ö\", allowed: " NAMES "\n");
}

TEST(test_sources_miss_what_they_need)
{
    static const struct expectation missing[] = {
        {"cameras = ( { source = \"file\"; } );",
         "cameras[0].path: got nothing, allowed: a string that is not empty, needed with source = "
         "\"file\""},
        {"cameras = ( { source = \"gstreamer\"; pipeline = \"\"; } );",
         "cameras[0].pipeline: got \"\", allowed: a string that is not empty, needed with source = "
         "\"gstreamer\""},
    };

    check_each(missing, ARRAY_LENGTH(missing));
}

TEST(test_keys_without_effect_are_warnings)
{
    check("cameras = ( { source = \"pattern\";\n"
          "  device = \"/dev/video0\";\n"
          "  pipeline = \"x\";\n"
          "  controls = { zoom = 1; };\n"
          "  views = ( { view = \"gray\";\n"
          "    gain = 2; } ); } );\n",
          0,
          "t.conf:2: warning: cameras[0].device: no effect with source = \"pattern\", only with "
          "\"v4l2\"\n"
          "t.conf:3: warning: cameras[0].pipeline: no effect with source = \"pattern\", only with "
          "\"gstreamer\"\n"
          "t.conf:4: warning: cameras[0].controls: no effect with source = \"pattern\", only with "
          "\"auto\", \"v4l2\", \"argus\"\n"
          "t.conf:6: warning: cameras[0].views[0].gain: no effect with view = \"gray\", only with "
          "\"edges\", \"binary\", \"overlay\", \"direction\", \"split\", \"custom\"\n");
}

// `before`, then `count` times the element, "%d" in it its number, with commas between, `after`.
static char *repeat(const char *before, const char *element, int count, const char *after)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    fputs(before, file);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "", file);
        fprintf(file, element, i);
    }
    fputs(after, file);
    assert_int_equal(fclose(file), 0);
    return TAKE(text);
}

TEST(test_too_many_cameras_and_views_are_refused)
{
    _cleanup_(cleanup_free) char *cameras = repeat("cameras = ( ", "{ name = \"%d\"; }", 65, " );"),
                                 *views = repeat("cameras = ( { views = ( ", "{ name = \"%d\"; }",
                                                 17, " ); } );");

    check(cameras, -EINVAL, "t.conf:1: error: cameras: got 65 cameras, allowed: at most 64\n");
    check(views, -EINVAL, "t.conf:1: error: cameras[0].views: got 17 views, allowed: at most 16\n");
}

TEST(test_all_problems_come_in_one_run)
{
    check(
        "backend = \"cup\";\n"
        "cameras = (\n"
        "  { fps = 0; },\n"
        "  { name = \"back\";\n"
        "    views = ( {\n"
        "      gain = -1;\n"
        "      nrom = \"l1\"; } ); }\n"
        ");\n",
        -EINVAL,
        "t.conf:1: error: backend: got \"cup\", allowed: \"auto\", \"cuda\", \"cpu\"; did you mean "
        "\"cpu\"?\n"
        "t.conf:3: error: cameras[0].fps: got 0, allowed: an integer from 1 to 240 (frames a "
        "second)\n"
        "t.conf:6: error: cameras[1].views[0].gain: got -1, allowed: a number from 0.01 to 100 "
        "(factor)\n"
        "t.conf:7: error: cameras[1].views[0].nrom: unknown key, did you mean \"norm\"?\n");
}

RUN_TESTS(NULL, NULL)
