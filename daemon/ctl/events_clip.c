// Frames come in the appsink's thread; the main thread waits on the bus for the end.
#include "daemon/ctl/events_clip.h"

#include "daemon/camera/sentry.h"
#include "daemon/media_bus.h"
#include "daemon/pnm.h"

#include <errno.h>
#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <inttypes.h>
#include <string.h>

struct clip {
    const struct config_camera *camera;
    bool frames;
    FILE *output;
    struct sentry *sentry;
    struct frame *frame; // owned; its luma, which regions look at alone
    GstVideoInfo info;
    struct error error; // why the appsink's thread gave up
};

// Names of regions need no escaping, and a '.' is a '.' in every locale.
static void print_number(struct clip *clip, const char *name, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    fprintf(clip->output, ",\"%s\":%s", name, g_ascii_formatd(text, sizeof text, "%.4f", value));
}

static void print_time(struct clip *clip, const char *name, int64_t time_ns)
{
    print_number(clip, name, (double)time_ns / (double)NS_PER_S);
}

static void print_region(struct clip *clip, const struct link_region *region)
{
    print_number(clip, "share", region->share);
    fprintf(clip->output, ",\"box\":{\"x\":%u,\"y\":%u,\"width\":%u,\"height\":%u}", region->x,
            region->y, region->width, region->height);
}

static void print_event(void *context, const struct link_event *event)
{
    struct clip *clip = context;
    bool ended = event->kind == LINK_EVENT_MOTION_ENDED;

    fprintf(clip->output, "{\"event\":\"motion_%s\",\"region\":\"%s\",\"number\":%" PRIu64,
            ended ? "ended" : "started", event->region.name, event->number);
    print_time(clip, "time_s", event->at_ns);
    print_time(clip, "started_s", event->started_ns);
    print_region(clip, &event->region);
    print_number(clip, "peak", event->peak_share);
    fputs("}\n", clip->output);
}

static void print_frame(struct clip *clip)
{
    const struct link_region *region;

    for (size_t i = 0; (region = sentry_region(clip->sentry, i)); i++) {
        fprintf(clip->output, "{\"event\":\"frame\",\"region\":\"%s\",\"moving\":%s", region->name,
                region->moving ? "true" : "false");
        print_time(clip, "time_s", clip->frame->pts_ns);
        print_region(clip, region);
        fputs("}\n", clip->output);
    }
}

// The first frame, and one of another size or format, says what the clip is like from here on.
static int take_caps(struct clip *clip, GstCaps *caps)
{
    GstVideoInfo info;

    if (!gst_video_info_from_caps(&info, caps)) {
        return error_set(&clip->error, -EINVAL, "no size or format in its video");
    }
    if (clip->frame && gst_video_info_is_equal(&info, &clip->info)) {
        return 0;
    }
    frame_unref(TAKE(clip->frame));
    clip->info = info;
    return picture_frame_new("GREY", (uint32_t)info.width, (uint32_t)info.height,
                             frame_allocator_host(), &clip->error, &clip->frame);
}

static int see_sample(struct clip *clip, GstSample *sample)
{
    const struct frame_layout *layout = &clip->frame->layout;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstClockTime time = gst_segment_to_stream_time(gst_sample_get_segment(sample), GST_FORMAT_TIME,
                                                   GST_BUFFER_PTS(buffer));
    GstVideoFrame picture;

    if (!gst_video_frame_map(&picture, &clip->info, buffer, GST_MAP_READ)) {
        return error_set(&clip->error, -EINVAL, "a frame that is smaller than it says");
    }
    for (uint32_t y = 0; y < layout->height; y++) {
        memcpy(frame_plane(clip->frame, 0) + y * layout->planes[0].stride,
               (uint8_t *)GST_VIDEO_FRAME_PLANE_DATA(&picture, 0) +
                   y * (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(&picture, 0),
               layout->width);
    }
    gst_video_frame_unmap(&picture);
    if (GST_CLOCK_TIME_IS_VALID(time)) {
        clip->frame->pts_ns = (int64_t)time;
    }
    sentry_see(clip->sentry, clip->frame);
    if (clip->frames) {
        print_frame(clip);
    }
    return 0;
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    struct clip *clip = data;
    g_autoptr(GstSample) sample = gst_app_sink_pull_sample(sink);
    int r;

    if (!sample) {
        return GST_FLOW_EOS;
    }
    r = take_caps(clip, gst_sample_get_caps(sample));
    if (r == 0) {
        r = see_sample(clip, sample);
    }
    if (r < 0) {
        GST_ELEMENT_ERROR(sink, STREAM, FAILED, ("%s", clip->error.text), (NULL));
        return GST_FLOW_ERROR;
    }
    return GST_FLOW_OK;
}

static int play(struct clip *clip, const char *path, struct error *error)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    _cleanup_(cleanup_pipeline) GstElement *pipeline = NULL;
    g_autoptr(GstElement) sink = NULL;
    int r = media_pipeline_new("filesrc name=input ! decodebin ! videoconvert ! "
                               "video/x-raw,format=(string){NV12,I420,GRAY8} ! "
                               "appsink name=sink sync=false async=false max-buffers=2",
                               error, &pipeline);

    if (r < 0) {
        return r;
    }
    media_set_location(pipeline, "input", path);
    sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, clip, NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    return media_wait(pipeline, path, path, error);
}

int events_read_clip(const struct config_camera *camera, const char *path, bool frames,
                     FILE *output, struct error *error)
{
    struct clip clip = {.camera = camera, .frames = frames, .output = output};
    int r = sentry_new(camera, print_event, &clip, &clip.sentry);

    r = r < 0 ? error_set(error, r, "out of memory") : play(&clip, path, error);
    if (r == 0 && !clip.frame) {
        r = error_set(error, -ENODATA, "%s: no video in it", path);
    }
    frame_unref(clip.frame);
    sentry_free(clip.sentry);
    return r;
}
