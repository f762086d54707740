// A camera process with a played GPU and a front's end of its link, for the tests of both; what it
// logs is caught.
#pragma once

#include "config/config.h"
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/camera_front.h"
#include "tests/unit/daemon/played_gpu.h"

#include <errno.h>
#include <gst/gst.h>

// Slow and small enough for sanitizers; LOSSLESS_FPS.
#define CAMERA                                                                                     \
    "cameras = ( { name = \"p\"; source = \"pattern\"; width = 160; height = 120; fps = 20;"       \
    " views = ( { name = \"edges\"; view = \"edges\"; keyframe_s = 10.0; },"                       \
    " { name = \"camera\"; view = \"camera\"; keyframe_s = 10.0; },"                               \
    " { name = \"gray\"; view = \"gray\"; keyframe_s = 10.0; } ); } );"

static inline bool is_on_gpu(const struct front *front)
{
    return strstr(front->telemetry.path, "-> CUDA sm_87 ->") != NULL;
}

static inline bool is_live_on_cpu(const struct front *front)
{
    return is_live(front) && strstr(front->telemetry.path, "-> host -> CPU ->") != NULL;
}

static inline bool has_a_fault(const struct front *front)
{
    return front->gpu_fault[0] != 0;
}

static inline int setup(void **state)
{
    play_machine();
    front_before_free = NULL;
    catch_stderr();
    (void)state;
    return 0;
}

static inline int teardown(void **state)
{
    release_stderr();
    assert_int_equal(machine.frames_out, 0);
    sem_destroy(&machine.answer);
    (void)state;
    return 0;
}

// How often the log has said `text`.
static inline unsigned times_said(const char *text)
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

static inline void watch(struct front *front, uint32_t view)
{
    link_send_bytes(front->link, LINK_VIEW_START, view, NULL, 0);
}

static inline void finish(struct front *front)
{
    end(front, 0);
    teardown(NULL);
    setup(NULL);
}
