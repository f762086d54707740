#include "capture/gstreamer/gstreamer_frame.h"

#include <errno.h>
#include <gst/video/video.h>

// Copies from wherever the planes of `video` lie.
static void copy_video(const GstVideoFrame *video, struct copies *copies, struct frame *frame)
{
    struct frame_layout layout = frame->layout;
    unsigned count = layout.format->plane_count;
    const uint8_t *lowest = video->data[0];

    for (unsigned i = 1; i < count; i++) {
        const uint8_t *plane = video->data[i];

        lowest = plane < lowest ? plane : lowest;
    }
    for (unsigned i = 0; i < count; i++) {
        layout.planes[i].offset = (uintptr_t)video->data[i] - (uintptr_t)lowest;
        layout.planes[i].stride = (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(video, i);
    }
    copies_copy_frame(copies, COPY_GSTREAMER_FALLBACK, frame, &layout, lowest);
}

int gstreamer_frame_copy(GstSample *sample, struct frame_pool *frames, struct copies *copies,
                         struct frame **ret_frame)
{
    struct frame *frame;
    GstVideoFrame video;
    GstVideoInfo info;

    if (!gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) ||
        !gst_video_frame_map(&video, &info, gst_sample_get_buffer(sample), GST_MAP_READ)) {
        return -EBADMSG;
    }
    frame = frame_pool_take(frames);
    if (frame) {
        copy_video(&video, copies, frame);
        *ret_frame = frame;
    }
    gst_video_frame_unmap(&video);
    return frame ? 0 : -ENOBUFS;
}

int64_t gstreamer_frame_pts(GstSample *sample, int64_t base_time_ns, int64_t fallback_ns)
{
    const GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstClockTime running;

    if (!GST_BUFFER_PTS_IS_VALID(buffer))
        return fallback_ns;
    running = gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME,
                                          GST_BUFFER_PTS(buffer));
    return GST_CLOCK_TIME_IS_VALID(running) ? base_time_ns + (int64_t)running : fallback_ns;
}

int64_t gstreamer_frame_clip_ns(GstSample *sample)
{
    GstClockTime time = gst_segment_to_stream_time(gst_sample_get_segment(sample), GST_FORMAT_TIME,
                                                   GST_BUFFER_PTS(gst_sample_get_buffer(sample)));

    return GST_CLOCK_TIME_IS_VALID(time) ? (int64_t)time : -1;
}

int64_t gstreamer_frame_clip_end_ns(GstSample *sample)
{
    const GstSegment *segment = gst_sample_get_segment(sample);
    GstClockTime time = gst_segment_to_stream_time(segment, GST_FORMAT_TIME, segment->stop);

    return GST_CLOCK_TIME_IS_VALID(time) ? (int64_t)time : -1;
}
