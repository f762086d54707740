// One pipeline holds both halves, decoder to appsink and appsrc to file; the appsink's thread runs
// the view in between. So one bus tells how it ended. Stopping the pipeline waits for the appsink's
// thread, which may wait for room in the appsrc: after an error, flushing that one lets it go.
#include "daemon/ctl/media.h"
#include "daemon/ctl/progress.h"
#include "daemon/media_bus.h"
#include "kernels/view.h"

#include <errno.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>
#include <math.h>
#include <string.h>

#define FRAMES 2

struct clip {
    struct gpu_session *session;
    const struct config_view *settings;
    GstAppSrc *source;        // owned reference
    struct frame_pool *input; // owned reference; with the view made for the first frame
    struct view *view;        // owned
    GstVideoInfo info;        // of the decoded frames
    GstClockTime end;         // of the last frame
    GstClockTime duration;    // as the container says; NONE when it does not
    struct progress progress; // in milliseconds of a duration that is known
    struct error error;       // why the appsink's thread gave up
};

static void clip_finish(struct clip *clip)
{
    view_free(clip->view);
    frame_pool_unref(clip->input);
    gst_clear_object(&clip->source);
}

static void set_output_caps(struct clip *clip)
{
    const struct frame_layout *layout = view_output_layout(clip->view);
    GstVideoInfo info;
    g_autoptr(GstCaps) caps = NULL;

    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, layout->width, layout->height);
    info.fps_n = clip->info.fps_n;
    info.fps_d = clip->info.fps_d;
    info.par_n = clip->info.par_n;
    info.par_d = clip->info.par_d;
    info.colorimetry = clip->info.colorimetry;
    info.colorimetry.range = layout->range == FRAME_RANGE_FULL ? GST_VIDEO_COLOR_RANGE_0_255
                                                               : GST_VIDEO_COLOR_RANGE_16_235;
    caps = gst_video_info_to_caps(&info);
    gst_app_src_set_caps(clip->source, caps);
}

// The first frame says what the clip is like.
static int clip_open(struct clip *clip, GstCaps *caps)
{
    struct frame_layout layout;
    int r;

    if (!gst_video_info_from_caps(&clip->info, caps)) {
        return error_set(&clip->error, -EINVAL, "no size or format in its video");
    }
    frame_layout_init(
        &layout,
        pixel_format_by_gst_name(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&clip->info))),
        (uint32_t)clip->info.width, (uint32_t)clip->info.height, 64);
    if (clip->info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255) {
        layout.range = FRAME_RANGE_FULL;
    }
    const struct view_setup setup = {
        .settings = clip->settings, .input = &layout, .frames = FRAMES};
    r = gpu_session_view_new(clip->session, &setup, &clip->error, &clip->view);
    if (r < 0) {
        return r;
    }
    r = frame_pool_new(&layout, FRAMES, gpu_session_allocator(clip->session), &clip->input);
    if (r < 0) {
        clip->session->failed |= clip->session->gpu != NULL;
        return error_set(&clip->error, r, "no memory for frames of %ux%u", layout.width,
                         layout.height);
    }
    set_output_caps(clip);
    return 0;
}

static struct frame *copy_in(struct clip *clip, GstBuffer *buffer)
{
    struct frame *frame = frame_pool_take(clip->input);
    GstVideoFrame picture;

    if (!gst_video_frame_map(&picture, &clip->info, buffer, GST_MAP_READ)) {
        frame_unref(frame);
        return NULL;
    }
    for (unsigned i = 0; i < frame->layout.format->plane_count; i++) {
        for (uint32_t y = 0; y < frame->layout.planes[i].rows; y++) {
            memcpy(frame_plane(frame, i) + y * frame->layout.planes[i].stride,
                   (uint8_t *)GST_VIDEO_FRAME_PLANE_DATA(&picture, i) +
                       y * (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(&picture, i),
                   frame->layout.planes[i].width_bytes);
        }
    }
    gst_video_frame_unmap(&picture);
    return frame;
}

// The encoder may hold many frames back, so it gets a buffer of its own.
static GstBuffer *copy_out(const struct frame *frame, const GstBuffer *times)
{
    const struct frame_layout *layout = &frame->layout;
    gsize offsets[GST_VIDEO_MAX_PLANES] = {layout->planes[0].offset, layout->planes[1].offset};
    gint strides[GST_VIDEO_MAX_PLANES] = {(gint)layout->planes[0].stride,
                                          (gint)layout->planes[1].stride};
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, layout->size, NULL);

    gst_buffer_fill(buffer, 0, frame->data, layout->size);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                   layout->width, layout->height, 2, offsets, strides);
    GST_BUFFER_PTS(buffer) = GST_BUFFER_PTS(times);
    GST_BUFFER_DURATION(buffer) = GST_BUFFER_DURATION(times);
    return buffer;
}

static int clip_run(struct clip *clip, GstBuffer *buffer)
{
    _cleanup_(cleanup_frame) struct frame *input = copy_in(clip, buffer), *output = NULL;
    int r;

    if (!input) {
        return error_set(&clip->error, -EINVAL, "a frame that is smaller than it says");
    }
    r = gpu_session_view_run(clip->session, clip->view, input, &clip->error, &output);
    if (r < 0) {
        return error_prefix(&clip->error, r, "the view failed");
    }
    if (GST_BUFFER_PTS_IS_VALID(buffer)) {
        clip->end = GST_BUFFER_PTS(buffer);
        clip->end += GST_BUFFER_DURATION_IS_VALID(buffer) ? GST_BUFFER_DURATION(buffer) : 0;
    }
    if (clip->progress.steps > 0) {
        progress_reach(&clip->progress, (size_t)(clip->end / GST_MSECOND));
    }
    return gst_app_src_push_buffer(clip->source, copy_out(output, buffer)) == GST_FLOW_OK
               ? 0
               : error_set(&clip->error, -EIO, "the encoder took no more frames");
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    struct clip *clip = data;
    g_autoptr(GstSample) sample = gst_app_sink_pull_sample(sink);
    int r = 0;

    if (!sample) {
        return GST_FLOW_EOS;
    }
    if (!clip->view) {
        gint64 duration;

        r = clip_open(clip, gst_sample_get_caps(sample));
        if (gst_element_query_duration(GST_ELEMENT(sink), GST_FORMAT_TIME, &duration)) {
            clip->duration = (GstClockTime)duration;
            progress_start(&clip->progress, clip->settings->name,
                           (size_t)(clip->duration / GST_MSECOND) + 1);
        }
    }
    if (r == 0) {
        r = clip_run(clip, gst_sample_get_buffer(sample));
    }
    if (r < 0) {
        GST_ELEMENT_ERROR(sink, STREAM, FAILED, ("%s", clip->error.text), (NULL));
        return GST_FLOW_ERROR;
    }
    return GST_FLOW_OK;
}

static void on_end(GstAppSink *sink, gpointer data)
{
    struct clip *clip = data;

    (void)sink;
    gst_app_src_end_of_stream(clip->source);
}

static int encoder_launch(const struct config_view *settings, struct error *error,
                          char **ret_launch)
{
    g_autoptr(GstElementFactory) x264 = NULL, openh264 = NULL;

    gst_init(NULL, NULL);
    x264 = gst_element_factory_find("x264enc");
    openh264 = gst_element_factory_find("openh264enc");
    if (x264) {
        *ret_launch =
            g_strdup_printf("x264enc bitrate=%d speed-preset=faster", settings->bitrate_kbps);
        return 0;
    }
    if (openh264) {
        *ret_launch = g_strdup_printf("openh264enc bitrate=%d", 1000 * settings->bitrate_kbps);
        return 0;
    }
    return error_set(error, -ENOTSUP,
                     "no H.264 encoder is installed: x264enc (gstreamer1.0-plugins-ugly) or "
                     "openh264enc (gstreamer1.0-plugins-bad)");
}

static int make_pipeline(struct clip *clip, const struct media_clip_files *files,
                         struct error *error, GstElement **ret_pipeline)
{
    GstAppSinkCallbacks callbacks = {.eos = on_end, .new_sample = on_sample};
    g_autofree char *encoder = NULL, *launch = NULL;
    g_autoptr(GstElement) sink = NULL;
    int r = encoder_launch(clip->settings, error, &encoder);

    if (r < 0) {
        return r;
    }
    launch = g_strdup_printf(
        "filesrc name=input ! decodebin ! videoconvert ! video/x-raw,format=(string){NV12,I420} "
        "! appsink name=sink sync=false async=false max-buffers=2 "
        "appsrc name=source format=time block=true max-bytes=16000000 ! videoconvert ! %s "
        "! h264parse ! %s ! filesink name=output async=false",
        encoder, files->muxer);
    r = media_pipeline_new(launch, error, ret_pipeline);
    if (r < 0) {
        return r;
    }
    media_set_location(*ret_pipeline, "input", files->input);
    media_set_location(*ret_pipeline, "output", files->output);
    clip->source = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(*ret_pipeline), "source"));
    sink = gst_bin_get_by_name(GST_BIN(*ret_pipeline), "sink");
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, clip, NULL);
    return 0;
}

// Containers round durations: a quarter of a second is no loss.
static int check_end(const struct clip *clip, const char *input, struct error *error)
{
    if (!clip->view) {
        return error_set(error, -ENODATA, "%s: no video in it", input);
    }
    if (clip->duration != GST_CLOCK_TIME_NONE && clip->end + GST_SECOND / 4 < clip->duration) {
        return error_set(error, -ENODATA, "%s: truncated, the video ends after %.1f s of %.1f s",
                         input, (double)clip->end / GST_SECOND,
                         (double)clip->duration / GST_SECOND);
    }
    return 0;
}

int media_process_clip(struct gpu_session *session, const struct config_view *settings,
                       const struct media_clip_files *files, struct error *error)
{
    struct clip clip = {.session = session,
                        .settings = settings,
                        .duration = GST_CLOCK_TIME_NONE,
                        .progress = {.what = settings->name, .percent = -1}};
    GstElement *pipeline = NULL;
    int r = make_pipeline(&clip, files, error, &pipeline);

    if (r == 0) {
        gst_element_set_state(pipeline, GST_STATE_PLAYING);
        r = media_wait(pipeline, files->input, files->name, error);
    }
    if (r < 0 && clip.source) {
        gst_element_send_event(GST_ELEMENT(clip.source), gst_event_new_flush_start());
    }
    cleanup_pipeline(&pipeline); // joins the threads that use the clip
    if (r == 0) {
        r = check_end(&clip, files->input, error);
    }
    progress_end(&clip.progress);
    clip_finish(&clip);
    return r;
}
