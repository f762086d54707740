// The side of the intake that makes frames of samples: those that upstream wrote into, surfaces, or
// copies.
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_frame.h"
#include "capture/gstreamer/gstreamer_intake_private.h"
#include "capture/gstreamer/gstreamer_pool.h"
#include "capture/gstreamer/gstreamer_surfaces.h"

#include <errno.h>

// The first picture of a source that was opened before it came.
static int learn_caps(struct intake *intake, GstCaps *caps, struct source_mode *mode,
                      struct error *error)
{
    struct source_mode now = {0};

    if (gstreamer_caps_read(caps, &now) < 0) {
        return error_set(error, -EPIPE, "no video comes out in a format edged knows");
    }
    mode->layout = now.layout;
    if (now.fps_numerator) {
        mode->fps_numerator = now.fps_numerator;
        mode->fps_denominator = now.fps_denominator;
    }
    gst_caps_replace(&intake->caps, caps);
    return 0;
}

// Checks that pictures still look as negotiated.
static int check_caps(struct intake *intake, GstCaps *caps, struct source_mode *mode,
                      struct error *error)
{
    struct source_mode now = {0};

    if (!intake->caps) {
        return learn_caps(intake, caps, mode, error);
    }
    if (caps == intake->caps || (intake->surfaces && gst_caps_is_equal(caps, intake->caps))) {
        return 0;
    }
    if (intake->surfaces || gstreamer_caps_read(caps, &now) < 0 ||
        !frame_layout_equal(&now.layout, &mode->layout)) {
        g_autofree gchar *text = gst_caps_to_string(caps);

        return error_set(error, -EPIPE, "the pictures changed to %s", text);
    }
    gst_caps_replace(&intake->caps, caps);
    return 0;
}

// Copies have frames of their own: with a queue upstream, the lent ones may all be waiting there.
static int make_copy_frames(struct intake *intake, const struct frame_layout *layout)
{
    if (intake->copy_frames) {
        return 0;
    }
    return frame_pool_new(layout, INTAKE_POOL_FRAMES, intake->environment->allocator,
                          &intake->copy_frames) < 0
               ? -ENOMEM
               : 0;
}

static int make_frame(struct intake *intake, GstSample *sample, struct source *source,
                      struct error *error, struct frame **ret_frame)
{
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    struct frame *frame;
    int r = check_caps(intake, gst_sample_get_caps(sample), &source->mode, error);

    if (r < 0) {
        return r;
    }
    if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED)) {
        return -EBADMSG;
    }
    if (intake->surfaces) {
        r = gstreamer_surfaces_take(intake->surfaces, buffer, &source->mode.layout, error,
                                    ret_frame);
        intake->surface_failed = r < 0 && r != -ENOBUFS;
        return r;
    }
    frame = gstreamer_pool_claim(buffer, &source->mode.layout);
    if (frame) {
        *ret_frame = frame;
        return 0;
    }
    r = make_copy_frames(intake, &source->mode.layout);
    return r < 0 ? error_set(error, r, "no frame memory")
                 : gstreamer_frame_copy(sample, intake->copy_frames, intake->environment->copies,
                                        ret_frame);
}

static int64_t capture_time(const struct intake *intake, GstSample *sample, int64_t grabbed_ns)
{
    int64_t base_ns = (int64_t)gst_element_get_base_time(intake->pipeline);

    return intake->in_order ? gstreamer_frame_clip_ns(sample)
                            : gstreamer_frame_pts(sample, base_ns, grabbed_ns);
}

int intake_take(struct intake *intake, struct source *source, struct error *error,
                struct frame **ret_frame)
{
    g_autoptr(GstSample) sample = NULL;
    struct frame *frame;
    int64_t grabbed_ns;
    uint64_t sequence;
    int r;

    pthread_mutex_lock(&intake->lock);
    sample = TAKE(intake->sample);
    pthread_cond_broadcast(&intake->changed);
    grabbed_ns = intake->grabbed_ns;
    sequence = intake->arrived - 1;
    source->counters.dropped += intake->replaced;
    intake->replaced = 0;
    pthread_mutex_unlock(&intake->lock);
    r = make_frame(intake, sample, source, error, &frame);
    if (r == -ENOBUFS || r == -EBADMSG) {
        source->counters.dropped += r == -ENOBUFS;
        source->counters.corrupted += r == -EBADMSG;
        return -EAGAIN;
    }
    if (r < 0) {
        return r;
    }
    frame->pts_ns = capture_time(intake, sample, grabbed_ns);
    frame->grabbed_ns = grabbed_ns;
    frame->sequence = sequence;
    source->counters.frames++;
    *ret_frame = frame;
    return 0;
}

GstSample *intake_take_sample(struct intake *intake)
{
    GstSample *sample;

    pthread_mutex_lock(&intake->lock);
    sample = TAKE(intake->sample);
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    return sample;
}

int intake_repeat(struct intake *intake, const struct frame *shown, struct frame **ret_frame)
{
    struct frame *frame;
    int r = make_copy_frames(intake, &shown->layout);

    if (r < 0) {
        return r;
    }
    frame = frame_pool_take(intake->copy_frames);
    if (!frame) {
        return -ENOBUFS;
    }
    copies_copy_frame(intake->environment->copies, COPY_CLIP_PAUSE, frame, &shown->layout,
                      shown->data);
    frame->pts_ns = frame->grabbed_ns = clock_now_ns();
    frame->sequence = shown->sequence;
    *ret_frame = frame;
    return 0;
}
