// The camera process as the front sees it, on a machine without a GPU.

#include "config/config.h"
#include "tests/unit/daemon/camera_front.h"

#include <errno.h>
#include <glob.h>
#include <gst/gst.h>

static bool has_no_signal(const struct front *front)
{
    return front->telemetry.state == LINK_CAMERA_NO_SIGNAL;
}

// Whether the GPU that was asked for is answered for, and not by the configuration.
static bool has_an_answer_about_the_gpu(const struct front *front)
{
    return front->telemetry.gpu[0] && strcmp(front->telemetry.gpu, "backend = \"cpu\"") != 0;
}

static bool is_fatal(const struct front *front)
{
    return front->fatal[0] != 0;
}

static bool stopped(const struct front *front)
{
    return front->telemetries >= 2 && !front->telemetry.views[0].watched;
}

static bool has_units_of_view_1(const struct front *front)
{
    for (unsigned i = 0; i < front->units; i++) {
        if (front->views[i] == 1)
            return true;
    }
    return false;
}

static const char *const pattern =
    "cameras = ( { name = \"p\"; source = \"pattern\"; width = 320; height = 240; fps = 60;"
    " views = ( { name = \"edges\"; view = \"edges\"; keyframe_s = 10.0; } ); } );";

TEST(test_a_view_is_encoded_only_while_it_is_watched)
{
    struct front front;

    begin(&front, pattern);
    until(&front, is_live);
    assert_string_equal(front.hello, EDGED_VERSION);
    assert_int_equal(front.slates, 2);
    assert_int_equal(front.units, 0);

    link_send_bytes(front.link, LINK_VIEW_START, 0, NULL, 0);
    until(&front, has_20_units);
    assert_int_equal(front.lives[0].key_frame, 1);
    for (unsigned i = 1; i < 20; i++) {
        assert_true(front.lives[i].sequence > front.lives[i - 1].sequence);
        assert_int_equal(front.lives[i].key_frame, 0);
        assert_true(front.lives[i].captured_ns > front.lives[i - 1].captured_ns);
        assert_true(front.lives[i].grabbed_ns >= front.lives[i].captured_ns);
        assert_true(front.lives[i].computed_ns >= front.lives[i].grabbed_ns);
        assert_true(front.lives[i].encoded_ns >= front.lives[i].computed_ns);
    }
    until(&front, has_told_of_losses);

    link_send_bytes(front.link, LINK_VIEW_STOP, 0, NULL, 0);
    front.telemetries = 0;
    until(&front, stopped);
    uint64_t encoded = front.telemetry.views[0].encoded;
    front.telemetries = 0;
    until(&front, stopped);
    assert_int_equal(front.telemetry.views[0].encoded, encoded);
    end(&front, 0);
}

// Threads of this process with such a name.
static unsigned count_threads(const char *name)
{
    unsigned count = 0;
    glob_t names;

    assert_int_equal(glob("/proc/self/task/*/comm", 0, NULL, &names), 0);
    for (size_t i = 0; i < names.gl_pathc; i++) {
        FILE *file = fopen(names.gl_pathv[i], "r");
        char line[32] = "";

        if (file && fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = 0;
            count += strcmp(line, name) == 0;
        }
        if (file)
            fclose(file);
    }
    globfree(&names);
    return count;
}

TEST(test_a_camera_has_the_threads_it_is_configured_to_have)
{
    struct front front;
    char settings[512];

    snprintf(settings, sizeof settings, "backend = \"cpu\"; cpu_threads = 3; %s", pattern);
    begin(&front, settings);
    link_send_bytes(front.link, LINK_VIEW_START, 0, NULL, 0);
    until(&front, has_20_units);
    assert_int_equal(count_threads("rows 1"), 1);
    assert_int_equal(count_threads("rows 2"), 1);
    assert_int_equal(count_threads("rows 3"), 0);
    end(&front, 0);
    assert_int_equal(count_threads("rows 1"), 0);
}

TEST(test_telemetry_tells_the_memory_path)
{
    struct front front;

    begin(&front, pattern);
    until(&front, is_live);
    assert_string_equal(front.telemetry.path,
                        "p: pattern NV12 320x240@60 -> host -> CPU -> x264enc, 0 copies a frame");
    assert_string_equal(front.telemetry.format, "NV12");
    assert_string_equal(front.telemetry.views[0].encoder, "x264enc");
    assert_int_equal(front.telemetry.width, 320);
    assert_string_equal(front.telemetry.error, "");
    end(&front, 0);
}

// Long before the next one that is due, at the distance of key frames.
static bool has_another_key_frame(const struct front *front)
{
    for (unsigned i = 1; i < front->units; i++) {
        if (front->lives[i].key_frame)
            return true;
    }
    return false;
}

TEST(test_a_key_frame_comes_when_it_is_wanted)
{
    struct front front;

    begin(&front, pattern);
    link_send_bytes(front.link, LINK_VIEW_START, 0, NULL, 0);
    until(&front, has_10_units);
    assert_false(has_another_key_frame(&front));
    link_send_bytes(front.link, LINK_KEY_FRAME, 0, NULL, 0);
    until(&front, has_another_key_frame);
    end(&front, 0);
}

// Slow and small enough for sanitizers; LOSSLESS_FPS.
static const char *const pattern_on_cpu =
    "backend = \"cpu\"; cameras = ( { name = \"p\"; source = \"pattern\"; width = 160; height = "
    "120;"
    " fps = 20; views = ( { name = \"edges\"; view = \"edges\"; keyframe_s = 10.0; } ); } );";

static void finish(struct front *front)
{
    end(front, 0);
}

static void set_other_blocks(struct front *front)
{
    char settings[512];

    snprintf(settings, sizeof settings,
             "kernels = { gradient = { block = [64, 4]; rows = 16; }; }; %s", pattern_on_cpu);
    begin(front, pattern_on_cpu);
    link_send_bytes(front->link, LINK_VIEW_START, 0, NULL, 0);
    until(front, has_10_units);
    send_settings(front, settings);
    until(front, has_40_units);
    until(front, is_configured);
}

TEST(test_other_blocks_cost_no_frame)
{
    assert_no_frame_is_lost(set_other_blocks, finish);
}

// A view that no encoder can be made for is refused with all that came along; what comes then is
// not.
TEST(test_settings_that_cannot_be_built_leave_those_that_are_there)
{
    static const char text[] =
        "backend = \"cpu\"; cameras = ( { name = \"p\"; source = \"pattern\"; width = 160; height "
        "= 120; fps = 20; views = ( { name = \"edges\"; encoder = \"%s\"; }, { name = \"gray\"; "
        "view = \"gray\"; } ); } );";
    char settings[512];
    struct front front;

    begin(&front, pattern_on_cpu);
    link_send_bytes(front.link, LINK_VIEW_START, 0, NULL, 0);
    until(&front, has_10_units);
    snprintf(settings, sizeof settings, text, "nvv4l2h264enc");
    send_settings(&front, settings);
    until(&front, is_configured);
    assert_string_equal(front.telemetry.views[0].encoder, "x264enc");
    assert_string_equal(front.telemetry.views[1].encoder, "");
    until(&front, has_20_units);
    link_send_bytes(front.link, LINK_VIEW_START, 1, NULL, 0);
    snprintf(settings, sizeof settings, text, "x264enc");
    send_settings(&front, settings);
    until(&front, is_configured);
    assert_string_equal(front.telemetry.views[1].encoder, "x264enc");
    until(&front, has_units_of_view_1);
    end(&front, 0);
}

TEST(test_settings_that_no_running_process_can_follow_end_the_link)
{
    static const char *const others[] = {
        "no settings",
        "cameras = ( { name = \"p\"; source = \"pattern\"; width = 320; height = 120; fps = 20; } "
        ");",
        "cameras = ( { name = \"q\"; source = \"pattern\"; width = 160; height = 120; fps = 20; } "
        ");",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        struct front front;

        begin(&front, pattern_on_cpu);
        until(&front, is_live);
        send_settings(&front, others[i]);
        pthread_join(front.process.thread, NULL);
        assert_int_equal(front.process.result, i ? -EPROTO : -EINVAL);
        link_free(front.link);
    }
}

TEST(test_telemetry_tells_what_computes_and_why)
{
    struct front front;

    begin(&front, pattern_on_cpu);
    until(&front, is_live);
    assert_string_equal(front.telemetry.backend, "CPU");
    assert_string_equal(front.telemetry.gpu, "backend = \"cpu\"");
    end(&front, 0);

    begin(&front, pattern);
    until(&front, is_live);
    assert_string_equal(front.telemetry.backend, "CPU");
    assert_true(has_an_answer_about_the_gpu(&front));
    end(&front, 0);
}

static void try_without_gpu(struct front *front)
{
    begin(front, pattern_on_cpu);
    link_send_bytes(front->link, LINK_VIEW_START, 0, NULL, 0);
    until(front, has_10_units);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "auto", 4);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "cuda", 4);
    until(front, has_an_answer_about_the_gpu);
    assert_string_equal(front->telemetry.backend, "CPU");
    until(front, has_40_units);
}

TEST(test_a_try_without_a_gpu_costs_no_frame_and_says_why)
{
    assert_no_frame_is_lost(try_without_gpu, finish);
}

TEST(test_a_wish_for_no_gpu_ends_the_link)
{
    struct front front;

    begin(&front, pattern_on_cpu);
    until(&front, is_live);
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "cpu", 3);
    pthread_join(front.process.thread, NULL);
    assert_int_equal(front.process.result, -EPROTO);
    link_free(front.link);
}

TEST(test_without_a_camera_there_is_a_slate_and_a_reason)
{
    struct front front;

    begin(&front, "cameras = ( { name = \"p\"; source = \"v4l2\"; device = \"/dev/video-none\";"
                  " width = 320; height = 240; } );");
    until(&front, has_no_signal);
    assert_non_null(strstr(front.telemetry.error, "/dev/video-none"));
    assert_int_equal(front.slates, 2);
    link_send_bytes(front.link, LINK_VIEW_START, 0, NULL, 0);
    until(&front, has_10_units);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(front.lives[i].slate, 1);
    assert_int_equal(front.lives[0].key_frame, 1);
    end(&front, 0);
}

TEST(test_without_an_encoder_the_process_says_why_and_ends)
{
    struct front front;

    begin(&front, "backend = \"cpu\"; cameras = ( { name = \"p\"; source = \"pattern\";"
                  " views = ( { view = \"edges\"; encoder = \"nvv4l2h264enc\"; } ); } );");
    until(&front, is_fatal);
    assert_string_equal(front.fatal, "view \"edges\": no encoder works; nvv4l2h264enc: no element"
                                     " \"nvvidconv\"");
    end(&front, -ENOSYS);
}

TEST(test_a_settings_text_that_is_no_camera_is_refused)
{
    struct front front;

    begin(&front, "cameras = 1;");
    pthread_join(front.process.thread, NULL);
    assert_int_equal(front.process.result, -EINVAL);
    assert_string_equal(front.process.error.text,
                        "the configuration on the link is no single camera");
    link_free(front.link);
}

TEST(test_a_front_that_goes_away_at_once_ends_the_process)
{
    struct front front;

    begin(&front, pattern_on_cpu); // no thread opens a GPU, for which the process does not wait
    end(&front, 0);
}

int main(int argc, char **argv)
{
    setenv("CUDA_VISIBLE_DEVICES", "", 1); // the same on a machine with a GPU
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, NULL);
    gst_deinit();
    return failed;
}
