// The camera process with a GPU, as the front sees it.
#include "tests/unit/daemon/camera_gpu_bed.h"

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
