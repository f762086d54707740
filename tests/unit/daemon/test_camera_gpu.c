// The camera process with a played GPU, as the front sees it: one that hangs, has no room, breaks,
// or is tried while frames flow.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/camera_front.h"
#include "tests/unit/daemon/played_gpu.h"

#include "config/config.h"

#include <errno.h>
#include <gst/gst.h>

// Slow and small enough for sanitizers; LOSSLESS_FPS.
#define CAMERA                                                                                     \
    "cameras = ( { name = \"p\"; source = \"pattern\"; width = 160; height = 120; fps = 20;"       \
    " views = ( { name = \"edges\"; view = \"edges\"; keyframe_s = 10.0; },"                       \
    " { name = \"camera\"; view = \"camera\"; keyframe_s = 10.0; },"                               \
    " { name = \"gray\"; view = \"gray\"; keyframe_s = 10.0; } ); } );"

static bool is_on_gpu(const struct front *front)
{
    return strstr(front->telemetry.path, "-> CUDA sm_87 ->") != NULL;
}

static bool is_live_on_cpu(const struct front *front)
{
    return is_live(front) && strstr(front->telemetry.path, "-> host -> CPU ->") != NULL;
}

static bool has_a_fault(const struct front *front)
{
    return front->gpu_fault[0] != 0;
}

static int setup(void **state)
{
    play_machine();
    front_before_free = NULL;
    catch_stderr();
    (void)state;
    return 0;
}

static int teardown(void **state)
{
    release_stderr();
    assert_int_equal(machine.frames_out, 0);
    sem_destroy(&machine.answer);
    (void)state;
    return 0;
}

// How often the log has said `text`.
static unsigned times_said(const char *text)
{
    static char log[8192];
    ssize_t size = pread(fileno(caught), log, sizeof log - 1, 0);
    unsigned times = 0;

    assert_true(size >= 0);
    log[size] = 0;
    for (const char *at = log; (at = strstr(at, text)); at++) {
        times++;
    }
    return times;
}

static void watch(struct front *front, uint32_t view)
{
    link_send_bytes(front->link, LINK_VIEW_START, view, NULL, 0);
}

static void finish(struct front *front)
{
    end(front, 0);
    teardown(NULL);
    setup(NULL);
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
