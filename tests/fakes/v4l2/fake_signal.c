// The input of a capture card, and the events that tell of its signal.
#include "tests/fakes/v4l2/fake_camera.h"

#include <errno.h>
#include <stdio.h>

bool fake_signal_has_news(const struct fake_camera *camera)
{
    unsigned after = fake_option_number(camera, "dv-change-after", 0);

    if (fake_option_is(camera, "lie", "urgent") || fake_option_is(camera, "lie", "events"))
        return true;
    return camera->subscribed && after > 0 && camera->frames >= after && !camera->changed;
}

// Of a process: the next open finds what the signal has become.
static unsigned signal_factor = 1;

int fake_query_signal(const struct fake_camera *camera, struct v4l2_dv_timings *timings)
{
    unsigned width, height;
    char text[512];

    fake_option(camera->spec, "dv", text);
    if (!text[0])
        return fake_refuse(ENOTTY);
    *timings = (struct v4l2_dv_timings){.type = V4L2_DV_BT_656_1120};
    if (sscanf(text, "%ux%u", &width, &height) < 2)
        return fake_refuse(ENOLINK);
    timings->bt.width = width * signal_factor;
    timings->bt.height = height * signal_factor;
    return 0;
}

int fake_take_signal(struct fake_camera *camera, const struct v4l2_dv_timings *timings)
{
    camera->taken_width = timings->bt.width;
    camera->taken_height = timings->bt.height;
    return 0;
}

int fake_dequeue_event(struct fake_camera *camera, struct v4l2_event *event)
{
    if (fake_option_is(camera, "lie", "events")) {
        *event = (struct v4l2_event){.type = V4L2_EVENT_SOURCE_CHANGE};
        return 0;
    }
    if (!fake_signal_has_news(camera) || fake_option_is(camera, "lie", "urgent"))
        return fake_refuse(ENOENT);
    camera->changed = true;
    signal_factor = 2;
    *event = (struct v4l2_event){.type = V4L2_EVENT_SOURCE_CHANGE};
    event->u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
    return 0;
}
