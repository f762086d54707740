// The camera process with a GPU, as the front sees it.
#include "tests/unit/daemon/camera_gpu_bed.h"

TEST(test_the_gpu_computes_from_memory_that_the_camera_fills, setup, teardown)
{
    struct front front;

    begin(&front, CAMERA);
    until(&front, is_live);
    assert_string_equal(front.telemetry.path, "p: pattern NV12 160x120@20 -> registered -> CUDA "
                                              "sm_87 -> x264enc, 0 copies a frame");
    assert_string_equal(front.telemetry.backend, "CUDA sm_87");
    assert_string_equal(front.telemetry.gpu, "Board");
    end(&front, 0);
}

TEST(test_slates_are_shown_while_the_driver_opens, setup, teardown)
{
    struct front front;

    machine.hangs = true;
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, has_10_units);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(front.lives[i].slate, 1);
    }
    assert_int_equal(front.telemetry.state, LINK_CAMERA_STARTING);
    assert_string_equal(front.telemetry.backend, "");
    sem_post(&machine.answer);
    until(&front, is_on_gpu);
    end(&front, 0);
}

static void answer_at_last(void)
{
    sem_post(&machine.answer);
}

TEST(test_a_driver_that_hangs_does_not_keep_the_process, setup, teardown)
{
    struct front front;

    machine.hangs = true;
    front_before_free = answer_at_last; // where the program would have ended by _exit()
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, has_10_units);
    int64_t ended_ns = clock_now_ns();
    end(&front, -ENOTRECOVERABLE);
    assert_lasted(ended_ns, 0, 2 * NS_PER_S);
}

TEST(test_frames_are_encoded_as_they_are_after_the_gpu_had_them, setup, teardown)
{
    struct front front;

    begin(&front, CAMERA);
    for (uint32_t view = 0; view < 3; view++) {
        watch(&front, view);
    }
    until(&front, has_40_units);
    assert_int_equal(machine.sides_mixed, 0);
    end(&front, 0);
}

static int frames_left;

static void count_frames(void)
{
    frames_left = machine.frames_out;
}

TEST(test_a_lost_gpu_ends_the_process_with_its_sentence, setup, teardown)
{
    struct front front;

    begin(&front, CAMERA);
    watch(&front, 0);
    front_before_free = count_frames;
    until(&front, has_10_units);
    int frames_before = machine.frames_out;
    machine.faults = true;
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, "view \"edges\": " FAULT);
    assert_string_equal(front.telemetry.gpu, "view \"edges\": " FAULT);
    assert_string_equal(front.telemetry.backend, "");
    end(&front, -ENOTRECOVERABLE);
    assert_true(frames_left < frames_before); // the camera's are back
    assert_int_equal(machine.called_when_lost, 0);
}

TEST(test_a_block_that_a_new_gpu_refuses_gives_way_to_its_own, setup, teardown)
{
    struct front front;

    machine.hangs = true;
    begin(&front, CAMERA);
    send_settings(&front, "kernels = { gradient = { block = [1024, 1]; }; }; " CAMERA);
    watch(&front, 0);
    until(&front, has_10_units); // of the slate, with views on the CPU, which takes any block
    sem_post(&machine.answer);
    until(&front, is_on_gpu);
    assert_int_equal(times_said("warning: p: kernels.gradient.block = [1024, 1]: 1 to 512, using "
                                "the one chosen for this GPU\n"),
                     1); // for two views
    end(&front, 0);
}

static bool has_said_what_is_kept(const struct front *front)
{
    (void)front;
    return times_said("[1024, 1]: 1 to 512, keeping the one before\n") > 0;
}

static bool has_said_that_a_launch_failed(const struct front *front)
{
    (void)front;
    return times_said("the launch of block [64, 4], 16 rows, failed\n") > 0;
}

static bool has_said_that_it_is_slow(const struct front *front)
{
    (void)front;
    return times_said("block [1, 8] is slow\n") > 0;
}

static void set_blocks_to_complain_of(struct front *front)
{
    begin(front, CAMERA);
    until(front, is_on_gpu);
    watch(front, 0);
    until(front, has_10_units);
    send_settings(front, "kernels = { gradient = { block = [64, 4]; rows = 16; }; }; " CAMERA);
    until(front, is_configured);
    link_send_bytes(front->link, LINK_KEY_FRAME, 0, NULL, 0);
    until(front, has_20_units);
    send_settings(front, "kernels = { gradient = { block = [1024, 1]; }; }; " CAMERA);
    until(front, has_said_what_is_kept);
    machine.refuses_launch = true;
    until(front, has_said_that_a_launch_failed);
    send_settings(front, "kernels = { gradient = { block = [1, 8]; }; }; " CAMERA);
    until(front, has_said_that_it_is_slow);
    until(front, has_40_units);
    assert_int_equal(times_said("warning: "), 3);
}

TEST(test_blocks_to_complain_of_are_told_once_and_cost_no_frame, setup, teardown)
{
    assert_no_frame_is_lost(set_blocks_to_complain_of, finish);
}

static bool has_no_signal(const struct front *front)
{
    return front->telemetry.state == LINK_CAMERA_NO_SIGNAL;
}

TEST(test_views_forget_a_camera_that_is_lost, setup, teardown)
{
    struct front front;

    begin(&front, "backend = \"cpu\"; cameras = ( { name = \"g\"; source = \"gstreamer\"; width = "
                  "160; height = 120; fps = 20; pipeline = \"videotestsrc is-live=true "
                  "num-buffers=10\"; } );");
    until(&front, has_no_signal);
    assert_true(machine.views_forgotten > 0);
    end(&front, 0);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, NULL);
    gst_deinit();
    return failed;
}
