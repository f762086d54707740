// The side of the intake that knows of surfaces.
#include "capture/gstreamer/gstreamer_intake_private.h"
#include "capture/gstreamer/gstreamer_surfaces.h"

#include <errno.h>

int intake_expect_surfaces(struct intake *intake, struct error *error)
{
    intake->surfaces = gstreamer_surfaces_new(intake->environment->surfaces);
    return intake->surfaces ? 0 : error_set(error, -ENOMEM, "out of memory");
}

// The newest sample, which stays to be taken. NULL: none came.
static GstSample *wait_for_sample(struct intake *intake)
{
    GstSample *sample = NULL;

    if (intake_wait(intake, clock_now_ns() + INTAKE_OPEN_TIMEOUT_NS) == INTAKE_SAMPLE) {
        pthread_mutex_lock(&intake->lock);
        sample = intake->sample ? gst_sample_ref(intake->sample) : NULL;
        pthread_mutex_unlock(&intake->lock);
    }
    return sample;
}

int intake_measure_surface(struct intake *intake, struct source_mode *mode, struct error *error)
{
    g_autoptr(GstSample) sample = wait_for_sample(intake);
    struct frame *frame;
    int r;

    if (!sample) {
        return error_set(error, -ETIMEDOUT, "it delivered nothing within %d s",
                         (int)(INTAKE_OPEN_TIMEOUT_NS / NS_PER_S));
    }
    r = gstreamer_surfaces_take(intake->surfaces, gst_sample_get_buffer(sample), &mode->layout,
                                error, &frame);
    if (r == 0) {
        mode->layout = frame->layout;
        mode->surfaces = true;
        frame_unref(frame);
    }
    return r;
}

bool intake_surface_failed(const struct intake *intake)
{
    return intake->surface_failed;
}
