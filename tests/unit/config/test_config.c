// Good configurations: their values, and back to text.
#include "tests/unit/config/config_text.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

TEST(test_empty_text_is_one_auto_camera_with_edges)
{
    _cleanup_(cleanup_config) struct config *config = parse("");
    const struct config_camera *camera = &config->cameras[0];
    const struct config_view *view = &camera->views[0];

    assert_int_equal(config->backend, CONFIG_BACKEND_AUTO);
    assert_int_equal(config->memory, CONFIG_MEMORY_AUTO);
    assert_int_equal(config->cpu_threads, 1);
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
    assert_int_equal(view->op, CONFIG_OPERATOR_SOBEL);
    assert_int_equal(view->norm, CONFIG_NORM_L2);
    assert_number_equal(view->gain, 1.0);
    assert_int_equal(view->encoder, CONFIG_ENCODER_AUTO);
    assert_int_equal(view->bitrate_kbps, 4000);
    assert_number_equal(view->keyframe_s, 1.0);
}

static const char two_cameras[] =
    "backend = \"cpu\";  memory = \"host\";  cpu_threads = 4;\n"
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

TEST(test_cameras_and_views_come_as_written)
{
    _cleanup_(cleanup_config) struct config *config = parse(two_cameras);
    const struct config_camera *camera = &config->cameras[0];

    assert_int_equal(config->backend, CONFIG_BACKEND_CPU);
    assert_int_equal(config->memory, CONFIG_MEMORY_HOST);
    assert_int_equal(config->cpu_threads, 4);
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

// 107 bytes and the zero fill sun_path; edged could not start with more.
TEST(test_a_socket_path_is_one_that_a_unix_socket_takes)
{
    _cleanup_(cleanup_free) char *text = NULL, *longer = NULL, *found = NULL;
    struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(&found, &size);

    assert_non_null(problems);
    assert_true(asprintf(&text, "control = { socket = \"/%0106d\"; };", 0) > 0);
    config_free(parse(text));
    assert_true(asprintf(&longer, "control = { socket = \"/%0107d\"; };", 0) > 0);
    assert_int_equal(config_parse(longer, "test.conf", problems, &config), -EINVAL);
    fclose(problems);
    assert_non_null(strstr(found, "…\", allowed: a path of at most 107 bytes\n"));
}

TEST(test_format_of_one_camera_differs_only_with_its_settings)
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

    assert_string_equal(a_before, a_after);
    assert_string_not_equal(b_before, b_after);
    assert_string_equal(b_before, b_same);
    assert_int_equal(alone->camera_count, 1);
    assert_string_equal(alone->cameras[0].name, "b");
    assert_int_equal(alone->cameras[0].fps, 25);
}

TEST(test_numbers_are_read_and_written_alike_in_every_locale)
{
    // setlocale() leaves the locale alone where one is not installed.
    static const char *const locales[] = {"C", "C.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8"};

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

// Every key's borders stand on the good side; problems.txt stands on the other.
TEST(test_borders_are_allowed)
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

    for (size_t i = 0; i < ARRAY_LENGTH(inside); i++)
        config_free(parse(inside[i]));
}

TEST(test_full_lists_are_allowed)
{
    char text[8192] = "cameras = ( ";
    _cleanup_(cleanup_config) struct config *config = NULL;

    strcat(text, "{ views = ( ");
    for (int i = 0; i < 16; i++)
        sprintf(text + strlen(text), "%s{ name = \"v%d\"; }", i ? ", " : "", i);
    strcat(text, " ); }");
    for (int i = 1; i < 64; i++)
        strcat(text, ", { }");
    strcat(text, " );");
    config = parse(text);
    assert_int_equal(config->camera_count, 64);
    assert_int_equal(config->cameras[0].view_count, 16);
    assert_string_equal(config->cameras[63].name, "camera63");
}

RUN_TESTS(NULL, NULL)
