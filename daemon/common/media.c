#include "daemon/common/media.h"

#include "capture/clip/clip_reader.h"
#include "daemon/common/picture_file.h"

#include <errno.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

int media_pipeline_new(const char *launch, struct error *error, GstElement **ret_pipeline)
{
    g_autoptr(GError) failure = NULL;
    GstElement *pipeline;

    gst_init(NULL, NULL); // only the first call does anything; PGM and PPM need none of it
    pipeline = gst_parse_launch_full(launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (!pipeline) {
        return error_set(error, -ENOTSUP, "%s; is every GStreamer plugin installed?",
                         failure->message);
    }
    *ret_pipeline = pipeline;
    return 0;
}

void cleanup_pipeline(GstElement **pipeline)
{
    if (*pipeline) {
        gst_element_set_state(*pipeline, GST_STATE_NULL);
        gst_object_unref(*pipeline);
    }
}

void media_set_location(GstElement *pipeline, const char *name, const char *path)
{
    g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), name);

    g_object_set(element, "location", path, NULL);
}

int media_failure(GstMessage *message, const char *name, struct error *error)
{
    g_autoptr(GError) failure = NULL;

    gst_message_parse_error(message, &failure, NULL);
    return error_set(error, -EIO, "%s: %s", name, failure->message);
}

int media_wait(GstElement *pipeline, const char *name, struct error *error)
{
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) message =
        gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

    return GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS ? 0 : media_failure(message, name, error);
}

int media_read_picture(const char *path, const char *name, const struct frame_allocator *allocator,
                       struct error *error, struct frame **ret_frame)
{
    struct clip_reader *reader;
    int r;

    if (picture_file_is(path))
        return picture_file_read(path, name, allocator, error, ret_frame);
    r = clip_reader_new(path, name, true, allocator, error, &reader);
    if (r < 0)
        return r;
    r = clip_reader_next(reader, error, ret_frame);
    clip_reader_free(reader);
    return r < 0 ? r : 0;
}

static GstBuffer *wrap_frame(const struct frame *frame)
{
    const struct frame_layout *layout = &frame->layout;
    gsize offsets[GST_VIDEO_MAX_PLANES] = {layout->planes[0].offset};
    gint strides[GST_VIDEO_MAX_PLANES] = {(gint)layout->planes[0].stride};
    GstVideoFormat format = gst_video_format_from_string(layout->format->gst_name);
    GstBuffer *buffer = gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, frame->data,
                                                    layout->size, 0, layout->size, NULL, NULL);

    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, layout->width,
                                   layout->height, 1, offsets, strides);
    return buffer;
}

int media_write_picture(const struct frame *frame, const char *encoder, const char *path,
                        const char *name, struct error *error)
{
    const struct frame_layout *layout = &frame->layout;
    g_autofree char *launch = g_strdup_printf(
        "appsrc name=source format=time caps=video/x-raw,format=%s,width=%u,height=%u,"
        "framerate=0/1 ! videoconvert ! %s ! filesink name=output",
        layout->format->gst_name, layout->width, layout->height, encoder);
    _cleanup_(cleanup_pipeline) GstElement *pipeline = NULL;
    g_autoptr(GstElement) source = NULL;
    int r = media_pipeline_new(launch, error, &pipeline);

    if (r < 0)
        return r;
    media_set_location(pipeline, "output", path);
    source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    gst_app_src_push_buffer(GST_APP_SRC(source), wrap_frame(frame));
    gst_app_src_end_of_stream(GST_APP_SRC(source));
    return media_wait(pipeline, name, error);
}
