// The appsrc takes frames without blocking: this thread waits on the bus, which tells when it has
// room again (an application message) and when the pipeline has failed.
#include "daemon/ctl/process/clip_writer.h"

#include "capture/gstreamer/gstreamer_caps.h"
#include "daemon/common/media_bus.h"
#include "daemon/common/unit_probe.h"

#include <errno.h>
#include <gst/app/gstappsrc.h>

#define WAITING_BYTES_MAX (16 * 1000 * 1000)

struct clip_writer {
    GstElement *pipeline; // owned
    GstAppSrc *source;    // owned reference
    const char *name;
};

static int encoder_launch(int bitrate_kbps, struct error *error, char **ret_launch)
{
    g_autoptr(GstElementFactory) x264 = NULL, openh264 = NULL;

    gst_init(NULL, NULL);
    x264 = gst_element_factory_find("x264enc");
    openh264 = gst_element_factory_find("openh264enc");
    if (x264) {
        *ret_launch = g_strdup_printf("x264enc bitrate=%d speed-preset=faster", bitrate_kbps);
        return 0;
    }
    if (openh264) {
        *ret_launch = g_strdup_printf("openh264enc bitrate=%d", 1000 * bitrate_kbps);
        return 0;
    }
    return error_set(error, -ENOTSUP,
                     "no H.264 encoder is installed: x264enc (gstreamer1.0-plugins-ugly) or "
                     "openh264enc (gstreamer1.0-plugins-bad)");
}

// In 4:2:0 two columns and two rows share a colour, so an odd last one is not shown; the planes
// stay as they are.
static GstCaps *make_caps(const struct clip_writer_settings *settings, const char *colorimetry)
{
    const struct frame_layout *layout = settings->layout;
    GstVideoInfo info;

    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, layout->width & ~1U,
                              layout->height & ~1U);
    info.fps_n = settings->like->fps_n;
    info.fps_d = settings->like->fps_d;
    info.par_n = settings->like->par_n;
    info.par_d = settings->like->par_d;
    gst_video_colorimetry_from_string(&info.colorimetry, colorimetry);
    return gst_video_info_to_caps(&info);
}

// The muxer takes the colours from the caps. Those that the encoder writes into the stream are
// replaced.
static void set_colours(GstElement *pipeline, const struct frame_layout *layout)
{
    g_autoptr(GstElement) parser = gst_bin_get_by_name(GST_BIN(pipeline), "parser");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(parser, "sink");

    unit_probe_h264(pad, &(struct h264_sps){layout->range, layout->colour, false});
}

static void on_need_data(GstAppSrc *source, guint length, gpointer data)
{
    (void)length;
    (void)data;
    gst_element_post_message(
        GST_ELEMENT(source),
        gst_message_new_application(GST_OBJECT(source), gst_structure_new_empty("room")));
}

int clip_writer_new(const struct clip_writer_settings *settings, struct error *error,
                    struct clip_writer **ret_writer)
{
    GstAppSrcCallbacks callbacks = {.need_data = on_need_data};
    g_autofree char *encoder = NULL, *colorimetry = NULL, *launch = NULL;
    g_autoptr(GstCaps) caps = NULL;
    struct clip_writer *writer;
    GstElement *pipeline;
    int r;

    if (settings->layout->width < 2 || settings->layout->height < 2) {
        return error_set(error, -EINVAL,
                         "%s: H.264 has no pictures of %ux%u, allowed is 2x2 and "
                         "more",
                         settings->name, settings->layout->width, settings->layout->height);
    }
    r = encoder_launch(settings->bitrate_kbps, error, &encoder);
    if (r < 0) {
        return r;
    }
    colorimetry = gstreamer_caps_colorimetry(settings->layout);
    launch = g_strdup_printf("appsrc name=source format=time ! videoconvert "
                             "! video/x-raw,format=(string){NV12,I420},colorimetry=%s ! %s "
                             "! h264parse ! video/x-h264,stream-format=byte-stream,alignment=au "
                             "! h264parse name=parser ! %s ! filesink name=output async=false",
                             colorimetry, encoder, settings->muxer);
    r = media_pipeline_new(launch, error, &pipeline);
    if (r < 0) {
        return r;
    }
    writer = g_new0(struct clip_writer, 1);
    writer->pipeline = pipeline;
    writer->name = settings->name;
    writer->source = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(pipeline), "source"));
    media_set_location(pipeline, "output", settings->path);
    set_colours(pipeline, settings->layout);
    caps = make_caps(settings, colorimetry);
    gst_app_src_set_caps(writer->source, caps);
    gst_app_src_set_callbacks(writer->source, &callbacks, NULL, NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    *ret_writer = writer;
    return 0;
}

void clip_writer_free(struct clip_writer *writer)
{
    if (writer) {
        cleanup_pipeline(&writer->pipeline);
        gst_clear_object(&writer->source);
        g_free(writer);
    }
}

// An old message only makes it look once more.
static int wait_for_room(struct clip_writer *writer, struct error *error)
{
    g_autoptr(GstBus) bus = gst_element_get_bus(writer->pipeline);

    for (;;) {
        bool room = gst_app_src_get_current_level_bytes(writer->source) < WAITING_BYTES_MAX;
        g_autoptr(GstMessage) message = gst_bus_timed_pop_filtered(
            bus, room ? 0 : GST_CLOCK_TIME_NONE, GST_MESSAGE_APPLICATION | GST_MESSAGE_ERROR);

        if (message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
            return media_failure(message, writer->name, error);
        }
        if (room && !message) {
            return 0;
        }
    }
}

// The encoder may hold many frames back, so it gets a buffer of its own.
static GstBuffer *copy_frame(const struct frame *frame)
{
    const struct frame_layout *layout = &frame->layout;
    gsize offsets[GST_VIDEO_MAX_PLANES] = {layout->planes[0].offset, layout->planes[1].offset};
    gint strides[GST_VIDEO_MAX_PLANES] = {(gint)layout->planes[0].stride,
                                          (gint)layout->planes[1].stride};
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, layout->size, NULL);

    gst_buffer_fill(buffer, 0, frame->data, layout->size);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                   layout->width & ~1U, layout->height & ~1U, 2, offsets, strides);
    GST_BUFFER_PTS(buffer) = (GstClockTime)frame->pts_ns;
    return buffer;
}

int clip_writer_push(struct clip_writer *writer, const struct frame *frame, struct error *error)
{
    int r = wait_for_room(writer, error);

    if (r == 0) {
        gst_app_src_push_buffer(writer->source, copy_frame(frame)); // failures come by the bus
    }
    return r;
}

int clip_writer_finish(struct clip_writer *writer, struct error *error)
{
    gst_app_src_end_of_stream(writer->source);
    return media_wait(writer->pipeline, writer->name, error);
}
