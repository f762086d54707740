// The frame rate that a camera's process tells, in hand-worked times.

#include "daemon/camera/report.h"
#include "tests/unit/unit.h"

#define MS(x) ((x)*NS_PER_MS)

static uint32_t fps_milli(struct report *report)
{
    struct link_telemetry telemetry;

    report_get(report, &telemetry);
    return telemetry.fps_milli;
}

// Frames at these times, the last of which ends a window of at least 1 s.
static void give_frames(struct report *report, struct source *source, int64_t from_ms,
                        int64_t period_ms, int count)
{
    for (int i = 0; i < count; i++) {
        bool ended = report_source_frame(report, source, MS(from_ms + i * period_ms), 0);

        assert_int_equal(ended, i == count - 1);
    }
}

TEST(test_fps_is_the_rate_of_frames_however_late_the_first_one_came)
{
    const struct copies copies = {.count = {0}};
    struct source source = {.counters = {0}};
    struct report report;

    report_init(&report, &copies);
    report_source_opened(&report);
    give_frames(&report, &source, 5000, 100, 11);
    assert_int_equal(fps_milli(&report), 10000);
    give_frames(&report, &source, 6200, 200, 5); // five in 1 s, the first 0.2 s after the others
    assert_int_equal(fps_milli(&report), 5000);
    report_source_closed(&report, &source, true);
    assert_int_equal(fps_milli(&report), 0);
    report_source_opened(&report);
    give_frames(&report, &source, 60000, 4000, 2);
    assert_int_equal(fps_milli(&report), 250);
    report_finish(&report);
}

RUN_TESTS(NULL, NULL)
