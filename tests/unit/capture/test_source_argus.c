// A camera of a Jetson's own stack, played by tests/fakes/jetson, where nothing adopts its
// surfaces: pictures, which way up they are, what they cost, and what is refused.
#include "tests/unit/capture/source_harness.h"

#include "capture/gstreamer/source_argus.h"
#include "tests/unit/fake_nvmm.h"

#include <glib/gstdio.h>
#include <gst/gst.h>

static int setup(void **state)
{
    g_autofree char *folder = g_build_filename(g_getenv("EDGED_BUILD"), "tests/fakes/jetson", NULL);
    g_autofree char *registry = g_strdup_printf("/tmp/edged-argus-%d.registry", getpid());

    (void)state;
    g_setenv("GST_PLUGIN_PATH", folder, TRUE);
    g_setenv("GST_REGISTRY", registry, TRUE);
    gst_init(NULL, NULL);
    g_unlink(registry);
    fake_nvmm_play("");
    return 0;
}

static void open_flipped(struct harness *harness, enum config_flip flip, int width, int height)
{
    harness_init(harness);
    harness->camera.width = width;
    harness->camera.height = height;
    harness->camera.flip = flip;
    harness_start(harness, &source_argus_ops);
}

// Mean of the luma of 16x16 pixels in a corner: 0 top left, then clockwise.
static unsigned luma_at(const struct frame *frame, unsigned corner)
{
    uint32_t left = corner == 1 || corner == 2 ? frame->layout.width - 16 : 0;
    uint32_t top = corner >= 2 ? frame->layout.height - 16 : 0;
    unsigned sum = 0;

    for (uint32_t y = top; y < top + 16; y++) {
        for (uint32_t x = left; x < left + 16; x++)
            sum += frame_plane(frame, 0)[y * frame->layout.planes[0].stride + x];
    }
    return sum / 256;
}

static void read_corners(enum config_flip flip, unsigned ret_lumas[4])
{
    struct harness harness;
    struct frame *frame;

    open_flipped(&harness, flip, 320, 240);
    assert_true(harness.source->mode.flipped);
    frame = harness_next(&harness);
    assert_int_equal(frame->layout.width, 320);
    assert_int_equal(frame->layout.height, 240);
    for (unsigned corner = 0; corner < 4; corner++)
        ret_lumas[corner] = luma_at(frame, corner);
    frame_unref(frame);
    source_close(harness.source);
}

// White, blue, noise and dark blue, the noise another one in each picture.
TEST(test_a_picture_is_turned_clockwise)
{
    static const struct {
        enum config_flip flip;
        unsigned from[4]; // which corner comes to each
    } cases[] = {
        {CONFIG_FLIP_ROTATE_90, {3, 0, 1, 2}},  {CONFIG_FLIP_ROTATE_180, {2, 3, 0, 1}},
        {CONFIG_FLIP_ROTATE_270, {1, 2, 3, 0}}, {CONFIG_FLIP_HORIZONTAL, {1, 0, 3, 2}},
        {CONFIG_FLIP_VERTICAL, {3, 2, 1, 0}},
    };
    unsigned upright[4], turned[4];

    read_corners(CONFIG_FLIP_NONE, upright);
    for (unsigned a = 0; a < 4; a++) {
        for (unsigned b = 0; b < a; b++)
            assert_true(upright[a] > upright[b] + 20 || upright[b] > upright[a] + 20);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        read_corners(cases[i].flip, turned);
        for (unsigned corner = 0; corner < 4; corner++) {
            unsigned expected = upright[cases[i].from[corner]];

            assert_in_range(turned[corner], expected - MIN(expected, 10), expected + 10);
        }
    }
}

TEST(test_a_sensor_that_is_not_there_is_told_in_the_stacks_own_words)
{
    struct harness harness;

    harness_init(&harness);
    harness.camera.sensor = 1;
    assert_int_equal(harness_open(&harness, &source_argus_ops), -EPIPE);
    assert_contains(harness.error.text, "sensor 1: ");
    assert_contains(harness.error.text, "Invalid camera device specified");
}

TEST(test_controls_are_properties_of_the_stacks_source)
{
    static struct config_control known = {(char *)"sensor-mode", 2};
    static struct config_control unknown = {(char *)"brightness", 2};
    struct harness harness;

    harness_init(&harness);
    harness.camera.controls = &known;
    harness.camera.control_count = 1;
    harness_start(&harness, &source_argus_ops);
    frame_unref(harness_next(&harness));
    source_close(harness.source);
    harness_init(&harness);
    harness.camera.controls = &unknown;
    harness.camera.control_count = 1;
    assert_int_equal(harness_open(&harness, &source_argus_ops), -EINVAL);
    assert_contains(harness.error.text,
                    "controls.brightness: nvarguscamerasrc has no such property");
}

TEST(test_a_control_that_is_a_range_gets_both_ends)
{
    static struct config_control exposure = {(char *)"exposuretimerange", 20000000};
    struct harness harness;

    harness_init(&harness);
    harness.camera.controls = &exposure;
    harness.camera.control_count = 1;
    harness_start(&harness, &source_argus_ops);
    frame_unref(harness_next(&harness));
    source_close(harness.source);
    harness_init(&harness);
    exposure.value = 0;
    harness.camera.controls = &exposure;
    harness.camera.control_count = 1;
    assert_int_equal(harness_open(&harness, &source_argus_ops), -EPIPE);
    assert_contains(harness.error.text, "Invalid Exposure Time Range");
}

TEST(test_auto_asks_the_kernel_whether_there_is_a_sensor)
{
    g_autofree char *root = g_dir_make_tmp("edged-argus-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(root, "sys/class/video4linux/video0", NULL);
    g_autofree char *name = g_build_filename(folder, "name", NULL);
    g_autofree char *temporary = g_build_filename(root, "tmp", NULL);
    g_autofree char *socket = g_build_filename(temporary, "argus_socket", NULL);
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", root);

    assert_false(source_argus_has_camera(root));
    assert_int_equal(g_mkdir_with_parents(folder, 0755), 0);
    assert_true(g_file_set_contents(name, "HD Webcam C525\n", -1, NULL));
    assert_false(source_argus_has_camera(root));
    assert_true(g_file_set_contents(name, "vi-output, imx219 10-0010\n", -1, NULL));
    assert_false(source_argus_has_camera(root));
    assert_int_equal(g_mkdir_with_parents(temporary, 0755), 0);
    assert_true(g_file_set_contents(socket, "", -1, NULL));
    assert_true(source_argus_has_camera(root));
    assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

RUN_TESTS(setup, NULL)
