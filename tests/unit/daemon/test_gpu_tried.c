// The camera process, in a thread, with a GPU that hangs, has no room, breaks, or is tried while
// frames flow.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/camera_front.h"
#include "tests/unit/fake_gpu.h"

#include "kernels/graph/view.h"

#include <errno.h>
#include <gst/gst.h>
#include <stdatomic.h>

#define BOARD "board=orin-nano"
// Opening the GPU allocates six times in its memory, for the self-tests, and registers memory once,
// to test that; what comes then is the views' and the frames'. The 15th event is recorded where it
// is asked whether a GPU that refuses memory is broken.
#define FULL BOARD ",fail=cuMemAlloc_v2:7+:2"
#define BROKEN BOARD ",fail=cuMemAlloc_v2:7+:700,fail=cuEventRecord:15+:700"
#define FAULT                                                                                      \
    "waiting for the GPU: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, "  \
    "700)"
#define WAITS BOARD ",wait=cuInit:1"

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
    fake_gpu_play(BOARD);
    front_before_free = NULL;
    catch_stderr();
    (void)state;
    return 0;
}

static int teardown(void **state)
{
    release_stderr();
    assert_int_equal(fake_gpu_leaks(), 0);
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
    for (const char *at = log; (at = strstr(at, text)); at++)
        times++;
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

// A process that has lost its GPU leaves memory that its end releases.
static int teardown_lost(void **state)
{
    release_stderr();
    return fake_gpu_end(state);
}

TEST(test_slates_are_shown_while_the_driver_opens, setup, teardown)
{
    struct front front;

    fake_gpu_play(WAITS);
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, has_10_units);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(front.lives[i].slate, 1);
    assert_int_equal(front.telemetry.state, LINK_CAMERA_STARTING);
    assert_string_equal(front.telemetry.backend, "");
    fake_gpu_change(BOARD);
    until(&front, is_on_gpu);
    end(&front, 0);
}

static void answer_at_last(void)
{
    fake_gpu_change(BOARD);
}

TEST(test_a_driver_that_hangs_does_not_keep_the_process, setup, teardown)
{
    struct front front;

    fake_gpu_play(WAITS);
    front_before_free = answer_at_last; // where the program would have ended by _exit()
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, has_10_units);
    int64_t ended_ns = clock_now_ns();
    end(&front, -ENOTRECOVERABLE);
    assert_lasted(ended_ns, 0, 2 * NS_PER_S);
}

// The driver ends a process that touches managed memory while a kernel runs.
TEST(test_frames_are_encoded_as_they_are_after_the_gpu_had_them, setup, teardown)
{
    struct front front;

    begin(&front, "memory = \"managed\"; " CAMERA);
    for (uint32_t view = 0; view < 3; view++)
        watch(&front, view);
    until(&front, has_40_units);
    assert_true(is_on_gpu(&front));
    end(&front, 0);
}

static bool has_no_signal(const struct front *front)
{
    return front->telemetry.state == LINK_CAMERA_NO_SIGNAL;
}

// The linker puts it in the place of view_forget().
static atomic_uint views_forgotten;

void __real_view_forget(struct view *view);
void __wrap_view_forget(struct view *view);

void __wrap_view_forget(struct view *view)
{
    views_forgotten++;
    __real_view_forget(view);
}

TEST(test_views_forget_a_camera_that_is_lost, setup, teardown)
{
    struct front front;

    begin(&front, "backend = \"cpu\"; cameras = ( { name = \"g\"; source = \"gstreamer\"; width = "
                  "160; height = 120; fps = 20; pipeline = \"videotestsrc is-live=true "
                  "num-buffers=10\"; } );");
    until(&front, has_no_signal);
    assert_true(views_forgotten > 0);
    end(&front, 0);
}

TEST(test_memory_that_the_gpu_has_not_comes_from_the_host, setup, teardown)
{
    struct front front;

    fake_gpu_play(BOARD ",fail=cuMemHostRegister_v2:2+:2");
    begin(&front, CAMERA);
    watch(&front, 0);
    until(&front, is_live_on_cpu);
    until(&front, has_10_units);
    assert_string_equal(front.telemetry.backend, "CPU");
    assert_non_null(strstr(front.telemetry.gpu, "the GPU is out of memory: pattern: no frame "
                                                "memory: Cannot allocate memory: "));
    assert_int_equal(front.telemetry.gpu_may_return, 1);
    assert_int_equal(times_said(", using the CPU\n"), 1);
    assert_int_equal(front.telemetry.reconnects, 0);
    end(&front, 0);
}

// Whatever the driver says of the camera's frames, and whatever the source makes of that.
TEST(test_memory_that_the_driver_refuses_is_no_lost_camera, setup, teardown)
{
    static const struct {
        const char *options, *text;
        unsigned may_return;
    } cases[] = {
        {BOARD ",fail=cuMemHostRegister_v2:2+:999", "CUDA_ERROR_UNKNOWN", 1},
        {BOARD ",fail=cuMemHostRegister_v2:2+:801", "CUDA_ERROR_NOT_SUPPORTED", 0},
        {BOARD ",fail=cuMemHostRegister_v2:2+:1", "CUDA_ERROR_INVALID_VALUE", 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct front front;

        fake_gpu_play(cases[i].options);
        begin(&front, CAMERA);
        until(&front, is_live_on_cpu);
        assert_non_null(strstr(front.telemetry.gpu, cases[i].text));
        assert_int_equal(front.telemetry.gpu_may_return, cases[i].may_return);
        assert_int_equal(times_said("no signal"), 0);
        end(&front, 0);
    }
}

static uint64_t calls_before;

static bool has_called(const struct front *front)
{
    (void)front;
    return fake_gpu_calls() > calls_before;
}

static void try_full_gpu(struct front *front)
{
    fake_gpu_play(FULL);
    begin(front, CAMERA);
    until(front, is_live_on_cpu);
    watch(front, 0);
    until(front, has_10_units);
    calls_before = fake_gpu_calls();
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "auto", 4);
    until(front, has_called);
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
    assert_int_equal(times_said("the GPU is out of memory: "), 1);
    fake_gpu_change(BOARD);
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "auto", 4);
    until(&front, is_on_gpu);
    assert_int_equal(front.telemetry.gpu_may_return, 0);
    end(&front, 0);
}

TEST(test_a_view_that_does_not_fit_on_the_gpu_runs_on_the_cpu, setup, teardown)
{
    static const char why[] = "the GPU is out of memory: view \"edges\": ";
    struct front front;

    fake_gpu_play(FULL);
    begin(&front, CAMERA);
    until(&front, is_live_on_cpu);
    assert_memory_equal(front.telemetry.gpu, why, sizeof why - 1);
    assert_int_equal(times_said("p: the GPU is out of memory: view \"edges\": "), 1);
    end(&front, 0);
}

static bool has_begun_a_view(const struct front *front)
{
    (void)front;
    return fake_gpu_waiting() > 0;
}

// As an allocation takes its time when memory is nearly full.
TEST(test_a_process_is_stopped_while_it_gives_the_gpu_up, setup, teardown)
{
    struct front front;

    fake_gpu_play(FULL ",wait=cuMemAlloc_v2:7");
    begin(&front, CAMERA);
    until(&front, has_begun_a_view);
    link_free(front.link);
    fake_gpu_change(FULL);
    pthread_join(front.process.thread, NULL);
    assert_int_equal(front.process.result, 0);
    assert_int_equal(times_said(", using the CPU\n"), 1);
}

TEST(test_a_view_that_fails_on_a_broken_gpu_is_a_fault, setup, teardown_lost)
{
    struct front front;

    fake_gpu_play(BROKEN);
    begin(&front, CAMERA);
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, FAULT);
    end(&front, -ENOTRECOVERABLE);
}

static void try_slow_gpu(struct front *front)
{
    fake_gpu_play(WAITS);
    begin(front, "backend = \"cpu\"; " CAMERA);
    until(front, is_live_on_cpu);
    watch(front, 0);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "auto", 4);
    until(front, has_20_units); // the driver takes its time
}

static void answer_and_finish(struct front *front)
{
    fake_gpu_change(BOARD);
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
    fake_gpu_change(BOARD);
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

static bool has_no_driver(const struct front *front)
{
    return strstr(front->telemetry.gpu, "CUDA_ERROR_UNKNOWN") != NULL;
}

TEST(test_a_gpu_that_breaks_while_it_is_tried_is_a_fault, setup, teardown_lost)
{
    struct front front;

    fake_gpu_play(BROKEN);
    begin(&front, "backend = \"cpu\"; " CAMERA);
    until(&front, is_live_on_cpu);
    link_send_bytes(front.link, LINK_TRY_GPU, 0, "auto", 4);
    until(&front, has_a_fault);
    assert_string_equal(front.gpu_fault, FAULT);
    end(&front, -ENOTRECOVERABLE);
}

static void try_absent_gpu(struct front *front)
{
    fake_gpu_play(BOARD ",fail=cuInit:1+:999");
    begin(front, "backend = \"cpu\"; " CAMERA);
    until(front, is_live_on_cpu);
    watch(front, 0);
    until(front, has_10_units);
    link_send_bytes(front->link, LINK_TRY_GPU, 0, "cuda", 4);
    until(front, has_no_driver);
    until(front, has_40_units);
    assert_int_equal(times_said("warning: p: backend = \"cuda\": "), 1);
}

TEST(test_a_try_that_fails_leaves_the_frames_alone, setup, teardown)
{
    assert_no_frame_is_lost(try_absent_gpu, finish);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, fake_gpu_end);
    gst_deinit();
    return failed;
}
