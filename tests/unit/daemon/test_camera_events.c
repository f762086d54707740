// Motion events of a camera process: they come with nobody watching, and end with the signal.
#include "tests/unit/daemon/camera_front.h"

#include "capture/frame.h"

#include <gst/gst.h>

static bool has_event(const struct front *front)
{
    return front->event_count >= 1;
}

static bool has_3_events(const struct front *front)
{
    return front->event_count >= 3;
}

static bool tells_of_motion(const struct front *front)
{
    const struct link_region *region = &front->telemetry.regions[0];

    return has_event(front) && region->moving && region->share > 0;
}

static bool has_no_signal(const struct front *front)
{
    return front->telemetry.state == LINK_CAMERA_NO_SIGNAL;
}

// The pattern's scene moves by 2 pixels a frame, its number stays where it is. No pixel differs by
// more than 255.
static const char *const pattern =
    "backend = \"cpu\"; cameras = ( { name = \"p\"; source = \"pattern\"; width = 320; height = "
    "240;"
    " fps = 30; regions = ( { name = \"low\"; polygon = ( [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], "
    "[0.0, 1.0] ); erode = 0; start = 0.1; duration_s = 0.2; }, { name = \"still\"; threshold = "
    "255; } ); } "
    ");";

TEST(test_events_come_with_nobody_watching)
{
    struct front front;

    begin(&front, pattern);
    until(&front, tells_of_motion);
    assert_int_equal(front.event_count, 1);
    assert_int_equal(front.units, 0);
    const struct link_event *event = &front.events[0];
    assert_int_equal(event->kind, LINK_EVENT_MOTION_STARTED);
    assert_string_equal(event->region.name, "low");
    assert_true(event->at_ns - event->started_ns >= 200 * NS_PER_MS);
    assert_true(event->at_ns <= clock_now_ns());
    assert_true(event->peak_share >= event->region.share && event->region.share >= 0.001F);
    assert_true(event->region.box.width > 0 &&
                event->region.box.x + event->region.box.width <= 160);
    assert_true(event->region.box.y >= 120 &&
                event->region.box.y + event->region.box.height <= 240);

    const struct link_region *regions = front.telemetry.regions;
    assert_string_equal(regions[0].name, "low");
    assert_string_equal(regions[1].name, "still");
    assert_int_equal(regions[1].moving, 0);
    assert_true(regions[1].share == 0);
    assert_string_equal(regions[2].name, "");
    end(&front, 0);
}

TEST(test_a_camera_without_regions_tells_of_none)
{
    struct front front;

    begin(&front, "backend = \"cpu\"; cameras = ( { source = \"pattern\"; width = 320; height = "
                  "240; } );");
    until(&front, is_live);
    assert_string_equal(front.telemetry.regions[0].name, "");
    assert_int_equal(front.event_count, 0);
    end(&front, 0);
}

// Snow for 20 frames, again and again: each time an event, whose end is that of the signal.
TEST(test_motion_is_over_when_the_signal_is_lost)
{
    struct front front;

    begin(&front,
          "backend = \"cpu\"; cameras = ( { name = \"g\"; source = \"gstreamer\"; width = "
          "320; height = 240; fps = 30; pipeline = \"videotestsrc pattern=snow is-live=true "
          "num-buffers=20\"; regions = ( { duration_s = 0.1; } ); } );");
    until(&front, has_event);
    front.telemetry.state = LINK_CAMERA_STARTING;
    until(&front, has_no_signal);
    assert_string_equal(front.telemetry.regions[0].name, "region0");
    assert_int_equal(front.telemetry.regions[0].moving, 0);
    assert_true(front.telemetry.regions[0].share == 0);
    until(&front, has_3_events);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(front.events[i].kind, LINK_EVENT_MOTION_STARTED);
        assert_true(i == 0 || front.events[i].started_ns > front.events[i - 1].started_ns);
    }
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
