// The camera process with a GPU that has no room, and one that is tried while frames flow.
#include "tests/unit/daemon/camera_gpu_bed.h"

TEST(test_memory_that_the_gpu_has_not_comes_from_the_host, setup, teardown)
{
    struct front front;

    machine.allocation_result = -ENOMEM;
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, is_live_on_cpu);
    until(&front, has_10_units);
    assert_string_equal(front.telemetry.backend, "CPU");
    assert_string_equal(front.telemetry.gpu, "the GPU is out of memory: pattern: no frame memory: "
                                             "Cannot allocate memory: the driver said no");
    assert_int_equal(front.telemetry.gpu_may_return, 1);
    assert_int_equal(times_said(", using the CPU\n"), 1);
    assert_int_equal(front.telemetry.reconnects, 0);
    end(&front, 0);
}

// Whatever the driver says of the camera's frames, and whatever the source makes of that.
TEST(test_memory_that_the_driver_refuses_is_no_lost_camera, setup, teardown)
{
    static const struct {
        int result;
        unsigned may_return;
    } cases[] = {{-EIO, 1}, {-ENOTSUP, 0}, {-EINVAL, 0}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct front front;

        machine.allocation_result = cases[i].result;
        begin(&front, CAMERA);
        until(&front, is_live_on_cpu);
        assert_non_null(strstr(front.telemetry.gpu, "the driver said no"));
        assert_int_equal(front.telemetry.gpu_may_return, cases[i].may_return);
        assert_int_equal(times_said("no signal"), 0);
        end(&front, 0);
    }
}

static bool is_refused_again(const struct front *front)
{
    (void)front;
    return machine.views_begun == 2;
}

static void try_full_gpu(struct front *front)
{
    machine.view_has_no_memory = true;
    begin(front, CAMERA);
    until(front, is_live_on_cpu);
    watch(front, 0);
    until(front, has_10_units);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "auto", 4);
    until(front, is_refused_again);
    until(front, has_40_units);
}

TEST(test_a_gpu_that_is_still_full_when_tried_costs_no_frame, setup, teardown)
{
    assert_no_frame_is_lost(try_full_gpu, finish);
}

TEST(test_a_gpu_that_was_full_is_taken_when_it_has_room, setup, teardown)
{
    struct front front;

    try_full_gpu(&front);
    assert_true(is_live_on_cpu(&front));
    assert_int_equal(times_said("no GPU memory for a view, using the CPU\n"), 1);
    machine.view_has_no_memory = false;
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "auto", 4);
    until(&front, is_on_gpu);
    assert_int_equal(front.telemetry.gpu_may_return, 0);
    end(&front, 0);
}

TEST(test_a_view_that_does_not_fit_on_the_gpu_runs_on_the_cpu, setup, teardown)
{
    struct front front;

    machine.view_has_no_memory = true;
    begin(&front, CAMERA);
    until(&front, is_live_on_cpu);
    assert_string_equal(front.telemetry.gpu,
                        "the GPU is out of memory: view \"edges\": no GPU memory for a view");
    assert_int_equal(times_said("p: the GPU is out of memory: view \"edges\": no GPU memory for a "
                                "view, using the CPU\n"),
                     1);
    end(&front, 0);
}

static bool has_begun_a_view(const struct front *front)
{
    (void)front;
    return machine.views_begun > 0;
}

TEST(test_a_process_is_stopped_while_it_gives_the_gpu_up, setup, teardown)
{
    struct front front;

    machine.view_is_slow = machine.view_has_no_memory = true;
    begin(&front, CAMERA);
    until(&front, has_begun_a_view);
    end(&front, 0);
    assert_int_equal(times_said(", using the CPU\n"), 1);
}

TEST(test_a_view_that_fails_on_a_broken_gpu_is_a_fault, setup, teardown)
{
    struct front front;

    machine.view_has_no_memory = machine.broken = true;
    begin(&front, CAMERA);
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, FAULT);
    end(&front, -ENOTRECOVERABLE);
    assert_int_equal(machine.called_when_lost, 0);
}

static void try_slow_gpu(struct front *front)
{
    machine.hangs = true;
    begin(front, "backend = \"cpu\"; " CAMERA);
    until(front, is_live_on_cpu);
    watch(front, 0);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "auto", 4);
    until(front, has_20_units); // the driver takes its time
}

static void answer_and_finish(struct front *front)
{
    sem_post(&machine.answer);
    until(front, is_on_gpu);
    finish(front);
}

TEST(test_a_driver_that_takes_its_time_costs_no_frame, setup, teardown)
{
    assert_no_frame_is_lost(try_slow_gpu, answer_and_finish);
}

TEST(test_frames_flow_on_while_the_gpu_is_tried_and_taken, setup, teardown)
{
    struct front front;
    int64_t longest_ns = 0;

    try_slow_gpu(&front);
    sem_post(&machine.answer);
    until(&front, is_on_gpu);
    until(&front, has_40_units);
    for (unsigned i = 1; i < front.units; i++) {
        int64_t gap_ns = front.lives[i].captured_ns - front.lives[i - 1].captured_ns;

        longest_ns = gap_ns > longest_ns ? gap_ns : longest_ns;
        assert_int_equal(front.lives[i].key_frame, 0); // the same encoder goes on
        assert_int_equal(front.lives[i].slate, 0);
    }
    print_message("longest gap: %.1f ms\n", (double)longest_ns / NS_PER_MS);
    assert_true(longest_ns < at_most_ns(500 * NS_PER_MS));
    assert_string_equal(front.telemetry.backend, "CUDA sm_87");
    assert_int_equal(front.telemetry.reconnects, 0);
    end(&front, 0);
}

static bool has_no_gpu_today(const struct front *front)
{
    return strcmp(front->telemetry.gpu, "no GPU today") == 0;
}

TEST(test_a_gpu_that_breaks_while_it_is_tried_is_a_fault, setup, teardown)
{
    struct front front;

    machine.view_has_no_memory = machine.broken = true;
    begin(&front, "backend = \"cpu\"; " CAMERA);
    until(&front, is_live_on_cpu);
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "auto", 4);
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, FAULT);
    end(&front, -ENOTRECOVERABLE);
    assert_int_equal(machine.called_when_lost, 0);
}

static void try_absent_gpu(struct front *front)
{
    machine.open_result = -EIO;
    begin(front, "backend = \"cpu\"; " CAMERA);
    until(front, is_live_on_cpu);
    watch(front, 0);
    until(front, has_10_units);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "cuda", 4);
    until(front, has_no_gpu_today);
    until(front, has_40_units);
    assert_int_equal(times_said("warning: p: backend = \"cuda\": no GPU today, using the CPU\n"),
                     1);
}

TEST(test_a_try_that_fails_leaves_the_frames_alone, setup, teardown)
{
    assert_no_frame_is_lost(try_absent_gpu, finish);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, NULL);
    gst_deinit();
    return failed;
}
