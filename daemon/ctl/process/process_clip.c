#include "daemon/ctl/process/process_clip.h"

#include "capture/clip/clip_reader.h"
#include "capture/frame_pool.h"
#include "capture/gstreamer/gstreamer_caps.h"
#include "daemon/common/media.h"
#include "daemon/common/unit_probe.h"
#include "daemon/ctl/progress.h"

#include <errno.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

// A clip as H.264 in MP4 or Matroska, written frame by frame.
//
// The appsrc takes frames without blocking: this thread waits on the bus, which tells when it has
// room again (an application message) and when the pipeline has failed.
struct clip_writer_settings {
    const struct frame_layout *layout; // NV12; an odd last column or row is left out
    const GstVideoInfo *like;          // the rate and pixel aspect ratio
    int bitrate_kbps;
    const char *muxer; // "mp4mux" or "matroskamux"
    const char *path;  // where it is written
    const char *name;  // what errors call it; outlives the writer
};

#define WAITING_BYTES_MAX (16 * 1000 * 1000)

struct clip_writer {
    GstElement *pipeline; // owned
    GstAppSrc *source;    // owned reference
    const char *name;
};

static int encoder_launch(int bitrate_kbps, struct error *error, char **ret_launch)
{
    g_autoptr(GstElementFactory) x264 = NULL, openh264 = NULL, parser = NULL;

    gst_init(NULL, NULL);
    parser = gst_element_factory_find("h264parse");
    if (!parser) {
        return error_set(error, -ENOTSUP,
                         "h264parse is not installed, which clips need: gstreamer1.0-plugins-bad "
                         "has it");
    }
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

// -EINVAL: a picture of one column or row, which H.264 has not; -ENOTSUP: no H.264 encoder is
// installed. The caller frees *ret_writer.
static int clip_writer_new(const struct clip_writer_settings *settings, struct error *error,
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
    if (r < 0)
        return r;
    colorimetry = gstreamer_caps_colorimetry(settings->layout);
    launch = g_strdup_printf("appsrc name=source format=time ! videoconvert "
                             "! video/x-raw,format=(string){NV12,I420},colorimetry=%s ! %s "
                             "! h264parse ! video/x-h264,stream-format=byte-stream,alignment=au "
                             "! h264parse name=parser ! %s ! filesink name=output async=false",
                             colorimetry, encoder, settings->muxer);
    r = media_pipeline_new(launch, error, &pipeline);
    if (r < 0)
        return r;
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

// Takes NULL. A clip that is not finished stays unfinished.
static void clip_writer_free(struct clip_writer *writer)
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

        if (message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
            return media_failure(message, writer->name, error);
        if (room && !message)
            return 0;
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

// Copies a frame in, to be shown at its pts_ns; waits while too many wait for the encoder. -EIO
// with GStreamer's words.
static int clip_writer_push(struct clip_writer *writer, const struct frame *frame,
                            struct error *error)
{
    int r = wait_for_room(writer, error);

    if (r == 0) {
        gst_app_src_push_buffer(writer->source, copy_frame(frame)); // failures come by the bus
    }
    return r;
}

// Waits until all is written.
static int clip_writer_finish(struct clip_writer *writer, struct error *error)
{
    gst_app_src_end_of_stream(writer->source);
    return media_wait(writer->pipeline, writer->name, error);
}

// A clip that is being read. The view is made for frames like the first one.
struct reading {
    const struct process_clip *clip;
    struct clip_reader *reader; // owned
    struct flip *flip;          // owned; NULL: pictures stay as they are
    struct view *view;          // owned
    struct frame_layout layout; // of all frames
    struct progress progress;   // in milliseconds of a duration that is known
};

static int reading_begin(struct reading *reading, enum view_output output, struct error *error)
{
    const struct process_clip *clip = reading->clip;
    const struct clip_facts *facts;
    // Exact pictures with the camera's colours are RGB; streams are YUV, as the daemon's.
    bool rgb = output == VIEW_OUTPUT_EXACT && config_view_reads_colour(clip->settings);
    int r = clip_reader_new(clip->input, clip->input_name, rgb,
                            gpu_session_allocator(clip->session), error, &reading->reader);

    if (r < 0) {
        clip->session->failed |= r == -ENOMEM && clip->session->gpu;
        return r;
    }
    facts = clip_reader_facts(reading->reader);
    reading->layout = facts->layout;
    r = gpu_session_flip_new(clip->session, clip->flip, &reading->layout, error, &reading->flip);
    if (r < 0)
        return r;
    const struct view_setup setup = {.settings = clip->settings,
                                     .input = reading->flip ? flip_layout(reading->flip)
                                                            : &reading->layout,
                                     .output = output,
                                     .frames = CLIP_READER_FRAMES};
    r = gpu_session_view_new(clip->session, &setup, error, &reading->view);
    if (r == 0 && facts->duration_ns >= 0) {
        progress_start(&reading->progress, clip->settings->name,
                       (size_t)(facts->duration_ns / NS_PER_MS) + 1);
    }
    return r;
}

static void reading_end(struct reading *reading)
{
    progress_end(&reading->progress);
    view_free(reading->view);
    flip_free(reading->flip);
    clip_reader_free(reading->reader);
}

// The next frame: 1, or 0 at the end of the clip.
static int reading_next(struct reading *reading, struct error *error, struct frame **ret_frame)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    int r = clip_reader_next(reading->reader, error, &frame);

    if (r <= 0)
        return r;
    if (!frame_layout_equal(&frame->layout, &reading->layout)) {
        return error_set(error, -EINVAL,
                         "%s: its colours change after %.1f s, allowed are clips of one format",
                         reading->clip->input_name, (double)frame->pts_ns / (double)NS_PER_S);
    }
    if (reading->progress.steps > 0)
        progress_reach(&reading->progress, (size_t)(frame->pts_ns / NS_PER_MS));
    *ret_frame = TAKE(frame);
    return 1;
}

// The view's picture of *frame, which becomes the flipped one.
static int compute(struct reading *reading, struct frame **frame, struct error *error,
                   struct frame **ret_output)
{
    struct gpu_session *session = reading->clip->session;
    int r = gpu_session_flip_run(session, reading->flip, error, frame);

    if (r == 0)
        r = gpu_session_view_run(session, reading->view, *frame, error, ret_output);
    return r < 0 ? error_prefix(error, r, "the view failed") : 0;
}

// Says which row or column is missing in the output, whose sides are even.
static void say_what_is_cut(const char *name, const struct frame_layout *layout)
{
    if (layout->width % 2 != 0 || layout->height % 2 != 0) {
        fprintf(stderr, "edgectl: %s: H.264 has even sizes only, %ux%u becomes %ux%u\n", name,
                layout->width, layout->height, layout->width & ~1U, layout->height & ~1U);
    }
}

static int write_all(struct reading *reading, struct clip_writer *writer, struct error *error)
{
    int r;

    do {
        _cleanup_(cleanup_frame) struct frame *input = NULL, *output = NULL;

        r = reading_next(reading, error, &input);
        if (r > 0) {
            r = compute(reading, &input, error, &output);
            r = r == 0 ? clip_writer_push(writer, output, error) : r;
            r = r == 0 ? 1 : r;
        }
    } while (r > 0);
    return r == 0 ? clip_writer_finish(writer, error) : r;
}

int process_clip_to_clip(const struct process_clip *clip, const char *muxer, const char *path,
                         const char *name, struct error *error)
{
    struct reading reading = {.clip = clip,
                              .progress = {.what = clip->settings->name, .percent = -1}};
    struct clip_writer *writer = NULL;
    int r = reading_begin(&reading, VIEW_OUTPUT_STREAM, error);

    if (r == 0) {
        const struct clip_writer_settings settings = {.layout = view_output_layout(reading.view),
                                                      .like =
                                                          &clip_reader_facts(reading.reader)->info,
                                                      .bitrate_kbps = clip->settings->bitrate_kbps,
                                                      .muxer = muxer,
                                                      .path = path,
                                                      .name = name};
        say_what_is_cut(name, settings.layout);
        r = clip_writer_new(&settings, error, &writer);
    }
    if (r == 0)
        r = write_all(&reading, writer, error);
    clip_writer_free(writer);
    reading_end(&reading);
    return r;
}

int process_clip_to_picture(const struct process_clip *clip, unsigned number, struct error *error,
                            struct frame **ret_picture)
{
    struct reading reading = {.clip = clip,
                              .progress = {.what = clip->settings->name, .percent = -1}};
    bool remembers = config_view_remembers(clip->settings);
    struct frame *picture = NULL;
    int r = reading_begin(&reading, VIEW_OUTPUT_EXACT, error);

    for (unsigned i = 0; i <= number && r >= 0; i++) {
        _cleanup_(cleanup_frame) struct frame *input = NULL;

        r = reading_next(&reading, error, &input);
        if (r == 0) {
            r = error_set(error, -ERANGE, "%s: --frame %u: allowed are 0 to %u", clip->input_name,
                          number, i - 1);
        } else if (r > 0 && (remembers || i == number)) {
            frame_unref(TAKE(picture));
            r = compute(&reading, &input, error, &picture);
        }
    }
    reading_end(&reading);
    if (r < 0) {
        frame_unref(picture);
        return r;
    }
    *ret_picture = picture;
    return 0;
}
