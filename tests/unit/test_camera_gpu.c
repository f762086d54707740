// The camera process with a GPU, as the front sees it.

#include "config/config.h"
#include "tests/unit/camera_front.h"
#include "tests/unit/played_gpu.h"

#include <errno.h>
#include <gst/gst.h>

// Slow and small enough for busy machines and sanitizers to lose nothing.
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

// stderr while a test runs, as text.
static FILE *caught;
static int stderr_before;

static int setup(void **state)
{
    play_machine();
    front_before_free = NULL;
    caught = tmpfile();
    assert_non_null(caught);
    fflush(stderr);
    stderr_before = dup(2);
    assert_int_equal(dup2(fileno(caught), 2), 2);
    (void)state;
    return 0;
}

static int teardown(void **state)
{
    dup2(stderr_before, 2);
    close(stderr_before);
    fclose(caught);
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

static void assert_no_frame_is_lost(const struct front *front)
{
    assert_int_equal(front->telemetry.dropped, 0);
    assert_int_equal(front->telemetry.views[0].dropped, 0);
    for (unsigned i = 1; i < front->units; i++) {
        assert_int_equal(front->lives[i].sequence, front->lives[0].sequence + i);
    }
}

static void test_the_gpu_computes_from_memory_that_the_camera_fills(void **state)
{
    struct front front;

    begin(&front, CAMERA);
    until(&front, is_live);
    assert_string_equal(front.telemetry.path, "p: pattern NV12 160x120@20 -> registered -> CUDA "
                                              "sm_87 -> x264enc, 0 copies a frame");
    assert_string_equal(front.telemetry.backend, "CUDA sm_87");
    assert_string_equal(front.telemetry.gpu, "Board");
    end(&front, 0);
    (void)state;
}

static void test_slates_are_shown_while_the_driver_opens(void **state)
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
    (void)state;
}

static void answer_at_last(void)
{
    sem_post(&machine.answer);
}

static void test_a_driver_that_hangs_does_not_keep_the_process(void **state)
{
    struct front front;

    machine.hangs = true;
    front_before_free = answer_at_last; // where the program would have ended by _exit()
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, has_10_units);
    int64_t ended = clock_now_ns();
    end(&front, -ENOTRECOVERABLE);
    assert_true(clock_now_ns() - ended < 2 * NS_PER_S);
    (void)state;
}

static void test_frames_are_encoded_as_they_are_after_the_gpu_had_them(void **state)
{
    struct front front;

    begin(&front, CAMERA);
    for (uint32_t view = 0; view < 3; view++) {
        watch(&front, view);
    }
    until(&front, has_40_units);
    assert_int_equal(machine.sides_mixed, 0);
    end(&front, 0);
    (void)state;
}

static void test_a_lost_gpu_ends_the_process_with_its_sentence(void **state)
{
    struct front front;

    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, has_10_units);
    int frames_before = machine.frames_out;
    machine.faults = true;
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, "view \"edges\": " FAULT);
    assert_string_equal(front.telemetry.gpu, "view \"edges\": " FAULT);
    assert_string_equal(front.telemetry.backend, "");
    assert_true(machine.frames_out < frames_before); // the camera's are back
    end(&front, -ENOTRECOVERABLE);
    assert_int_equal(machine.called_when_lost, 0);
    (void)state;
}

static void test_memory_that_the_gpu_has_not_comes_from_the_host(void **state)
{
    struct front front;

    machine.has_no_memory = true;
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, is_live_on_cpu);
    until(&front, has_10_units);
    assert_string_equal(front.telemetry.backend, "CPU");
    assert_string_not_equal(front.telemetry.gpu, "");
    assert_int_equal(times_said(", using the CPU\n"), 1);
    assert_int_equal(front.telemetry.reconnects, 0);
    end(&front, 0);
    (void)state;
}

static void test_a_view_that_does_not_fit_on_the_gpu_runs_on_the_cpu(void **state)
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
    (void)state;
}

static void test_a_view_that_fails_on_a_broken_gpu_is_a_fault(void **state)
{
    struct front front;

    machine.view_has_no_memory = machine.broken = true;
    begin(&front, CAMERA);
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, FAULT);
    end(&front, -ENOTRECOVERABLE);
    assert_int_equal(machine.called_when_lost, 0);
    (void)state;
}

static void test_a_block_that_a_new_gpu_refuses_gives_way_to_its_own(void **state)
{
    static const struct config_block bad[CONFIG_KERNEL_COUNT] = {{2000, 1}};
    struct front front;

    machine.hangs = true;
    begin(&front, CAMERA);
    link_send_bytes(front.link, LINK_BLOCKS, 0, bad, sizeof bad);
    watch(&front, 0);
    until(&front, has_10_units); // of the slate, with views on the CPU, which takes any block
    sem_post(&machine.answer);
    until(&front, is_on_gpu);
    assert_int_equal(times_said("warning: p: kernels.gradient.block = [2000, 1]: 1 to 1024, using "
                                "the one chosen for this GPU\n"),
                     1); // for two views
    end(&front, 0);
    (void)state;
}

static bool has_said_what_is_kept(const struct front *front)
{
    (void)front;
    return times_said("[2000, 1]: 1 to 1024, keeping the one before\n") > 0;
}

static bool has_said_that_a_launch_failed(const struct front *front)
{
    (void)front;
    return times_said("the launch of block [64, 4] failed\n") > 0;
}

static bool has_said_that_it_is_slow(const struct front *front)
{
    (void)front;
    return times_said("block [1, 8] is slow\n") > 0;
}

static void test_blocks_to_complain_of_are_told_once_and_cost_no_frame(void **state)
{
    static const struct config_block good[CONFIG_KERNEL_COUNT] = {{64, 4}},
                                     bad[CONFIG_KERNEL_COUNT] = {{2000, 1}},
                                     slow[CONFIG_KERNEL_COUNT] = {{1, 8}};
    struct front front;

    begin(&front, CAMERA);
    until(&front, is_on_gpu);
    watch(&front, 0);
    until(&front, has_10_units);
    link_send_bytes(front.link, LINK_BLOCKS, 0, good, sizeof good);
    link_send_bytes(front.link, LINK_KEY_FRAME, 0, NULL, 0);
    until(&front, has_20_units);
    link_send_bytes(front.link, LINK_BLOCKS, 0, bad, sizeof bad);
    until(&front, has_said_what_is_kept);
    machine.refuses_launch = true;
    until(&front, has_said_that_a_launch_failed);
    link_send_bytes(front.link, LINK_BLOCKS, 0, slow, sizeof slow);
    until(&front, has_said_that_it_is_slow);
    until(&front, has_40_units);
    assert_no_frame_is_lost(&front);
    assert_int_equal(times_said("warning: "), 3);
    end(&front, 0);
    (void)state;
}

static void test_frames_flow_on_while_the_gpu_is_tried_and_taken(void **state)
{
    struct front front;
    int64_t longest_ns = 0;

    machine.hangs = true;
    begin(&front, "backend = \"cpu\"; " CAMERA);
    until(&front, is_live_on_cpu);
    watch(&front, 0);
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "auto", 4);
    until(&front, has_20_units); // the driver takes its time
    assert_no_frame_is_lost(&front);
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
    assert_true(longest_ns < 500 * NS_PER_MS);
    assert_string_equal(front.telemetry.backend, "CUDA sm_87");
    assert_int_equal(front.telemetry.reconnects, 0);
    end(&front, 0);
    (void)state;
}

static bool has_no_gpu_today(const struct front *front)
{
    return strcmp(front->telemetry.gpu, "no GPU today") == 0;
}

static void test_a_try_that_fails_leaves_the_frames_alone(void **state)
{
    struct front front;

    machine.open_result = -EIO;
    begin(&front, "backend = \"cpu\"; " CAMERA);
    until(&front, is_live_on_cpu);
    watch(&front, 0);
    until(&front, has_10_units);
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "cuda", 4);
    until(&front, has_no_gpu_today);
    until(&front, has_40_units);
    assert_no_frame_is_lost(&front);
    assert_int_equal(times_said("warning: p: backend = \"cuda\": no GPU today, using the CPU\n"),
                     1);
    end(&front, 0);
    (void)state;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_gpu_computes_from_memory_that_the_camera_fills),
        TEST(test_slates_are_shown_while_the_driver_opens),
        TEST(test_a_driver_that_hangs_does_not_keep_the_process),
        TEST(test_frames_are_encoded_as_they_are_after_the_gpu_had_them),
        TEST(test_a_lost_gpu_ends_the_process_with_its_sentence),
        TEST(test_memory_that_the_gpu_has_not_comes_from_the_host),
        TEST(test_a_view_that_does_not_fit_on_the_gpu_runs_on_the_cpu),
        TEST(test_a_view_that_fails_on_a_broken_gpu_is_a_fault),
        TEST(test_a_block_that_a_new_gpu_refuses_gives_way_to_its_own),
        TEST(test_blocks_to_complain_of_are_told_once_and_cost_no_frame),
        TEST(test_frames_flow_on_while_the_gpu_is_tried_and_taken),
        TEST(test_a_try_that_fails_leaves_the_frames_alone),
    };

    gst_init(&argc, &argv);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gst_deinit();
    return failed;
}
