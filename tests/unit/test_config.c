// What good configurations become, and back to text.
#include "config/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

// Loads text that must be free of problems, warnings included.
static struct config *parse(const char *text)
{
    _cleanup_(cleanup_free) char *problem_text = NULL;
    struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(&problem_text, &size);

    assert_non_null(problems);
    assert_int_equal(config_parse(text, "test.conf", problems, &config), 0);
    fclose(problems);
    assert_string_equal(problem_text, "");
    return config;
}

static char *format(const struct config *config, size_t camera)
{
    char *text = NULL;

    assert_int_equal(config_format(config, camera, &text), 0);
    return text;
}

static void assert_number_equal(double got, double wanted)
{
    assert_true(got == wanted);
}

static void test_empty_text_is_one_auto_camera_with_edges(void **state)
{
    _cleanup_(cleanup_config) struct config *config = parse("");
    const struct config_camera *camera = &config->cameras[0];
    const struct config_view *view = &camera->views[0];

    (void)state;
    assert_int_equal(config->backend, CONFIG_BACKEND_AUTO);
    assert_int_equal(config->memory, CONFIG_MEMORY_AUTO);
    assert_string_equal(config->rtsp.address, "127.0.0.1");
    assert_int_equal(config->rtsp.port, 8554);
    assert_string_equal(config->control.socket, "");
    assert_int_equal(config->camera_count, 1);
    assert_string_equal(camera->name, "front");
    assert_int_equal(camera->source, CONFIG_SOURCE_AUTO);
    assert_string_equal(camera->device, "");
    assert_string_equal(camera->format, "auto");
    assert_int_equal(camera->io, CONFIG_V4L2_IO_AUTO);
    assert_int_equal(camera->width, 1280);
    assert_int_equal(camera->height, 720);
    assert_int_equal(camera->fps, 30);
    assert_int_equal(camera->control_count, 0);
    assert_int_equal(camera->view_count, 1);
    assert_string_equal(view->name, "edges");
    assert_int_equal(view->view, CONFIG_VIEW_EDGES);
    assert_int_equal(view->operator, CONFIG_OPERATOR_SOBEL);
    assert_int_equal(view->norm, CONFIG_NORM_L2);
    assert_number_equal(view->gain, 1.0);
    assert_int_equal(view->encoder, CONFIG_ENCODER_AUTO);
    assert_int_equal(view->bitrate_kbps, 4000);
    assert_number_equal(view->keyframe_s, 1.0);
}

static const char two_cameras[] =
    "backend = \"cpu\";  memory = \"host\";\n"
    "rtsp = { address = \"::1\"; port = 0; };\n"
    "control = { socket = \"/run/a \\\"quoted\\\" one\\n.sock\"; };\n"
    "cameras = ( {\n"
    "  name = \"front\"; source = \"v4l2\"; device = \"/dev/video0\"; format = \"MJPG\";\n"
    "  io = \"mmap\"; width = 640; height = 480; fps = 15;\n"
    "  controls = { exposure_time_absolute = 100; auto_exposure = true; gain = -5; };\n"
    "  views = ( { view = \"edges\"; norm = \"l1\"; gain = 2; keyframe_s = 0.1; },\n"
    "            { name = \"raw\"; view = \"camera\"; encoder = \"x264enc\"; },\n"
    "            { view = \"gray\"; bitrate_kbps = 64; } );\n"
    "}, { source = \"gstreamer\"; pipeline = \"videotestsrc ! identity\"; },\n"
    "   { name = \"clip\"; source = \"file\"; path = \"/srv/stra\xc3\x9f"
    "e.mp4\"; } );\n";

static void test_cameras_and_views_come_as_written(void **state)
{
    _cleanup_(cleanup_config) struct config *config = parse(two_cameras);
    const struct config_camera *camera = &config->cameras[0];

    (void)state;
    assert_int_equal(config->backend, CONFIG_BACKEND_CPU);
    assert_int_equal(config->memory, CONFIG_MEMORY_HOST);
    assert_int_equal(config->rtsp.port, 0);
    assert_string_equal(config->control.socket, "/run/a \"quoted\" one\n.sock");
    assert_int_equal(config->camera_count, 3);
    assert_string_equal(camera->device, "/dev/video0");
    assert_string_equal(camera->format, "MJPG");
    assert_int_equal(camera->io, CONFIG_V4L2_IO_MMAP);
    assert_int_equal(camera->fps, 15);
    assert_int_equal(camera->control_count, 3);
    assert_string_equal(camera->controls[0].name, "exposure_time_absolute");
    assert_int_equal(camera->controls[0].value, 100);
    assert_int_equal(camera->controls[1].value, 1);
    assert_int_equal(camera->controls[2].value, -5);
    assert_int_equal(camera->view_count, 3);
    assert_string_equal(camera->views[0].name, "edges");
    assert_int_equal(camera->views[0].norm, CONFIG_NORM_L1);
    assert_number_equal(camera->views[0].gain, 2.0);
    assert_number_equal(camera->views[0].keyframe_s, 0.1);
    assert_string_equal(camera->views[1].name, "raw");
    assert_int_equal(camera->views[1].encoder, CONFIG_ENCODER_X264);
    assert_string_equal(camera->views[2].name, "gray");
    assert_int_equal(camera->views[2].bitrate_kbps, 64);
    assert_string_equal(config->cameras[1].name, "camera1");
    assert_string_equal(config->cameras[1].pipeline, "videotestsrc ! identity");
    assert_string_equal(config->cameras[1].views[0].name, "edges");
    assert_string_equal(config->cameras[2].path, "/srv/stra\xc3\x9f"
                                                 "e.mp4");
}

// The loader marks long integers for libconfig; in a string nothing may change.
static void test_long_numbers_in_strings_stay_as_they_are(void **state)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("/* \" 12345678901 */ control = { socket = \"\\\" 12345678901 # \\\\\"; };");

    (void)state;
    assert_string_equal(config->control.socket, "\" 12345678901 # \\");
}

static void test_formatted_text_reads_back_as_the_same_settings(void **state)
{
    _cleanup_(cleanup_config) struct config *config = parse(two_cameras);
    _cleanup_(cleanup_free) char *text = format(config, SIZE_MAX);
    _cleanup_(cleanup_config) struct config *again = parse(text);
    _cleanup_(cleanup_free) char *text_again = format(again, SIZE_MAX);

    (void)state;
    assert_string_equal(text, text_again);
    assert_string_equal(again->control.socket, config->control.socket);
    assert_string_equal(again->cameras[2].path, config->cameras[2].path);
    assert_int_equal(again->cameras[0].controls[2].value, -5);
    assert_number_equal(again->cameras[0].views[0].keyframe_s, 0.1);
}

static void test_format_of_one_camera_differs_only_with_its_settings(void **state)
{
    static const char other_fps[] = "cameras = ( { name = \"a\"; }, { name = \"b\"; fps = 25; } );";
    static const char other_order_of_keys[] =
        "cameras = ( { name = \"a\"; }, { fps = 30; name = \"b\"; source = \"auto\"; } );";
    _cleanup_(cleanup_config) struct config *before =
        parse("cameras = ( { name = \"a\"; }, { name = \"b\"; } );");
    _cleanup_(cleanup_config) struct config *after = parse(other_fps);
    _cleanup_(cleanup_config) struct config *same = parse(other_order_of_keys);
    _cleanup_(cleanup_free) char *a_before = format(before, 0);
    _cleanup_(cleanup_free) char *a_after = format(after, 0);
    _cleanup_(cleanup_free) char *b_before = format(before, 1);
    _cleanup_(cleanup_free) char *b_after = format(after, 1);
    _cleanup_(cleanup_free) char *b_same = format(same, 1);
    _cleanup_(cleanup_config) struct config *alone = parse(b_after);

    (void)state;
    assert_string_equal(a_before, a_after);
    assert_string_not_equal(b_before, b_after);
    assert_string_equal(b_before, b_same);
    assert_int_equal(alone->camera_count, 1);
    assert_string_equal(alone->cameras[0].name, "b");
    assert_int_equal(alone->cameras[0].fps, 25);
}

static void test_numbers_are_read_and_written_alike_in_every_locale(void **state)
{
    // setlocale() leaves the locale alone where one is not installed.
    static const char *const locales[] = {"C", "C.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(locales); i++) {
        _cleanup_(cleanup_config) struct config *config = NULL;
        _cleanup_(cleanup_free) char *text = NULL;

        setlocale(LC_ALL, locales[i]);
        config = parse("cameras = ( { views = ( { gain = 0.3; keyframe_s = 2.5; } ); } );");
        text = format(config, SIZE_MAX);
        setlocale(LC_ALL, "C");
        assert_non_null(strstr(text, "gain = 0.3;"));
        assert_non_null(strstr(text, "keyframe_s = 2.5;"));
    }
}

// Every key's borders stand on the good side; test_config_problems.c stands on the other.
static void test_borders_are_allowed(void **state)
{
    static const char *const inside[] = {
        "rtsp = { port = 0; };",
        "rtsp = { port = 65535; };",
        "rtsp = { address = \"127.255.0.1\"; };",
        "rtsp = { address = \"localhost\"; };",
        "cameras = ( { width = 16; height = 16; fps = 1; } );",
        "cameras = ( { width = 8192; height = 8192; fps = 240; } );",
        "cameras = ( { width = 0x280; format = \"Y16 \"; } );",
        "cameras = ( { views = ( { gain = 0.01; bitrate_kbps = 64; keyframe_s = 0.1; } ); } );",
        "cameras = ( { views = ( { gain = 100; bitrate_kbps = 100000; keyframe_s = 10; } ); } );",
        "cameras = ( { controls = { low = -2147483648; high = 2147483647; none = false; }; } );",
        "cameras = ( { name = \"ABCDEFGHIJKLMNOPQRSTUVWXYZ012-_z\"; } );",
        "cameras = ( { views = ( ); } );",
        "cameras = ( );",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(inside); i++) {
        config_free(parse(inside[i]));
    }
}

static void test_full_lists_are_allowed(void **state)
{
    char text[8192] = "cameras = ( ";
    _cleanup_(cleanup_config) struct config *config = NULL;

    (void)state;
    strcat(text, "{ views = ( ");
    for (int i = 0; i < 16; i++) {
        sprintf(text + strlen(text), "%s{ name = \"v%d\"; }", i ? ", " : "", i);
    }
    strcat(text, " ); }");
    for (int i = 1; i < 64; i++) {
        strcat(text, ", { }");
    }
    strcat(text, " );");
    config = parse(text);
    assert_int_equal(config->camera_count, 64);
    assert_int_equal(config->cameras[0].view_count, 16);
    assert_string_equal(config->cameras[63].name, "camera63");
}

static void test_view_keys_are_set_from_text(void **state)
{
    struct config_view *view = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(config_view_new("edges", &error, &view), 0);
    assert_string_equal(view->name, "edges");
    assert_int_equal(config_view_set(view, "gain", "1.5", &error), 0);
    assert_number_equal(view->gain, 1.5);
    assert_int_equal(config_view_set(view, "gain", "2", &error), 0);
    assert_number_equal(view->gain, 2.0);
    assert_int_equal(config_view_set(view, "norm", "l1", &error), 0);
    assert_int_equal(view->norm, CONFIG_NORM_L1);
    assert_int_equal(config_view_set(view, "operator", "prewitt", &error), 0);
    assert_int_equal(view->operator, CONFIG_OPERATOR_PREWITT);
    assert_int_equal(config_view_set(view, "blur", "5", &error), 0);
    assert_int_equal(view->blur, 5);
    assert_int_equal(config_view_set(view, "blur", "3", &error), 0);
    assert_int_equal(view->blur, 3);
    assert_int_equal(config_view_set(view, "name", "7", &error), 0);
    assert_string_equal(view->name, "7");
    assert_int_equal(config_view_set(view, "bitrate_kbps", "500", &error), 0);
    assert_int_equal(view->bitrate_kbps, 500);
    config_view_free(view);
}

static void test_refused_view_keys_say_what_is_allowed(void **state)
{
    static const struct {
        const char *key, *value, *message;
    } refused[] = {
        {"gain", "-1", "gain: got -1, allowed: a number from 0.01 to 100 (factor)"},
        {"gain", "nan", "gain: got nan, allowed: a number from 0.01 to 100 (factor)"},
        {"gain", "1x", "gain: got the string \"1x\", allowed: a number from 0.01 to 100 (factor)"},
        {"gain", "", "gain: got the string \"\", allowed: a number from 0.01 to 100 (factor)"},
        {"norm", "l3", "norm: got \"l3\", allowed: \"l2\", \"l1\"; did you mean \"l2\"?"},
        {"bitrate_kbps", "99999999999999999999",
         "bitrate_kbps: got the number 1e+20, allowed: an integer from 64 to 100000 (kbit/s)"},
        {"blur", "4", "blur: got 4, allowed: 0, 3, 5 (pixels)"},
        {"blur", "6", "blur: got 6, allowed: 0, 3, 5 (pixels)"},
        {"gian", "1", "gian: unknown key, did you mean \"gain\"?"},
        {"radius", "2",
         "radius: unknown key, allowed: name, view, operator, blur, norm, gain, threshold, "
         "morphology, times, erode, low, high, codec, encoder, bitrate_kbps, keyframe_s"},
    };
    struct config_view *view = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(config_view_new("edges", &error, &view), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        assert_int_equal(config_view_set(view, refused[i].key, refused[i].value, &error), -EINVAL);
        assert_string_equal(error.text, refused[i].message);
        assert_int_equal(config_view_set(view, refused[i].key, refused[i].value, NULL), -EINVAL);
    }
    assert_number_equal(view->gain, 1.0);
    config_view_free(view);
}

static void test_a_threshold_is_good_for_its_view(void **state)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { views = ( { view = \"motion\"; }, { view = \"binary\"; },"
              " { name = \"m\"; view = \"motion\"; threshold = 255; erode = 0; },"
              " { name = \"o\"; view = \"binary\"; threshold = \"otsu\"; } ); } );");
    _cleanup_(cleanup_free) char *text = format(config, SIZE_MAX);
    _cleanup_(cleanup_config) struct config *again = parse(text);
    struct config_view *view = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(config->cameras[0].views[0].threshold, 25);
    assert_int_equal(config->cameras[0].views[0].erode, 1);
    assert_int_equal(config->cameras[0].views[1].threshold, 80);
    assert_int_equal(config->cameras[0].views[2].threshold, 255);
    assert_int_equal(config->cameras[0].views[2].erode, 0);
    assert_int_equal(again->cameras[0].views[2].threshold, 255);
    assert_int_equal(config->cameras[0].views[3].threshold, CONFIG_THRESHOLD_OTSU);
    assert_int_equal(again->cameras[0].views[3].threshold, CONFIG_THRESHOLD_OTSU);
    assert_int_equal(config_view_new("motion", NULL, &view), 0);
    assert_int_equal(view->threshold, 25);
    assert_int_equal(config_view_set(view, "threshold", "1", NULL), 0);
    assert_int_equal(view->threshold, 1);
    assert_int_equal(config_view_set(view, "threshold", "otsu", NULL), 0);
    assert_int_equal(view->threshold, CONFIG_THRESHOLD_OTSU);
    assert_int_equal(config_view_set(view, "threshold", "otzu", &error), -EINVAL);
    assert_string_equal(error.text, "threshold: got \"otzu\", allowed: an integer from 1 to 255 "
                                    "(gray levels) or \"otsu\"");
    config_view_free(view);
}

static void test_gain_is_refused_for_a_gray_view(void **state)
{
    struct config_view *view = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(config_view_new("gray", &error, &view), 0);
    assert_int_equal(config_view_set(view, "gain", "2", &error), -EINVAL);
    assert_string_equal(error.text,
                        "gain: no effect with view = \"gray\", only with \"edges\", \"binary\"");
    config_view_free(view);
}

static void test_thresholds_of_a_canny_view_may_be_fractions_in_any_order(void **state)
{
    struct config_view *view = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(config_view_new("canny", &error, &view), 0);
    assert_number_equal(view->low, 50);
    assert_number_equal(view->high, 150);
    assert_int_equal(config_view_set(view, "low", "200.5", &error), 0);
    assert_int_equal(config_view_set(view, "high", "0", &error), 0);
    assert_number_equal(view->low, 200.5);
    assert_number_equal(view->high, 0);
    assert_int_equal(config_view_set(view, "low", "-1", &error), -EINVAL);
    assert_string_equal(error.text, "low: got -1, allowed: a number from 0 to 32767 (gradient)");
    config_view_free(view);
}

static void test_unknown_kind_of_view_says_the_known_ones(void **state)
{
    struct config_view *view = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(config_view_new("sepia", &error, &view), -EINVAL);
    assert_null(view);
    assert_string_equal(error.text, "view: got \"sepia\", allowed: \"camera\", \"gray\", "
                                    "\"edges\", \"binary\", \"canny\", \"motion\"");
}

static void test_names_are_the_words_of_the_file(void **state)
{
    (void)state;
    assert_string_equal(config_backend_name(CONFIG_BACKEND_CUDA), "cuda");
    assert_string_equal(config_memory_name(CONFIG_MEMORY_REGISTERED), "registered");
    assert_string_equal(config_source_name(CONFIG_SOURCE_PATTERN), "pattern");
    assert_string_equal(config_view_kind_name(CONFIG_VIEW_GRAY), "gray");
    assert_string_equal(config_encoder_name(CONFIG_ENCODER_OPENH264), "openh264enc");
    assert_string_equal(config_kernel_name(CONFIG_KERNEL_GRADIENT), "gradient");
    assert_string_equal(config_kernel_name(CONFIG_KERNEL_GRAY), "gray");
    assert_string_equal(config_kernel_name(CONFIG_KERNEL_CONVERT), "convert");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_text_is_one_auto_camera_with_edges),
        cmocka_unit_test(test_cameras_and_views_come_as_written),
        cmocka_unit_test(test_long_numbers_in_strings_stay_as_they_are),
        cmocka_unit_test(test_formatted_text_reads_back_as_the_same_settings),
        cmocka_unit_test(test_format_of_one_camera_differs_only_with_its_settings),
        cmocka_unit_test(test_numbers_are_read_and_written_alike_in_every_locale),
        cmocka_unit_test(test_borders_are_allowed),
        cmocka_unit_test(test_full_lists_are_allowed),
        cmocka_unit_test(test_view_keys_are_set_from_text),
        cmocka_unit_test(test_refused_view_keys_say_what_is_allowed),
        cmocka_unit_test(test_a_threshold_is_good_for_its_view),
        cmocka_unit_test(test_gain_is_refused_for_a_gray_view),
        cmocka_unit_test(test_thresholds_of_a_canny_view_may_be_fractions_in_any_order),
        cmocka_unit_test(test_unknown_kind_of_view_says_the_known_ones),
        cmocka_unit_test(test_names_are_the_words_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
