#include "daemon/ctl/process/clip_reader.h"

#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_frame.h"
#include "daemon/common/media_bus.h"

#include <errno.h>
#include <gst/app/gstappsink.h>

// After so long without a picture a clip whose last picture has come is over, although its demuxer
// does not say so (as GIF's does not); any other clip is broken.
#define OVER_NS (2 * NS_PER_S)
#define STUCK_NS (60 * NS_PER_S)
// Containers round durations, so a clip may be a quarter of a second shorter.
#define ROUNDING_NS (NS_PER_S / 4)
// The rate of clips that name none, in frames a second.
#define RATE 25

struct clip_reader {
    char *name;           // owned; what errors call the clip
    GstElement *pipeline; // owned
    GstAppSink *sink;     // owned reference
    const struct frame_allocator *allocator;
    struct frame_pool *pool; // owned reference
    GstSample *sample;       // owned; decoded, but not handed out yet; else NULL
    bool over;               // nothing is left to decode
    GstVideoInfo info;       // of the newest sample, as the layout
    struct frame_layout layout;
    struct copies copies; // nobody reads these counts
    int64_t duration_ns;  // -1: unknown
    // Of the last frame that was handed out; end_ns is 0 before the first one.
    int64_t pts_ns, end_ns;
};

static int64_t period_ns(const struct clip_reader *reader)
{
    const GstVideoInfo *info = &reader->info;

    return info->fps_n > 0 && info->fps_d > 0 ? NS_PER_S * info->fps_d / info->fps_n
                                              : NS_PER_S / RATE;
}

// Makes a pool of frames like the sample, unless the pool is one already.
static int take_caps(struct clip_reader *reader, struct error *error)
{
    GstCaps *caps = gst_sample_get_caps(reader->sample);
    struct source_mode mode = {0};
    GstVideoInfo info;
    int r;

    if (!caps || !gst_video_info_from_caps(&info, caps) || gstreamer_caps_read(caps, &mode) < 0) {
        return error_set(error, -EINVAL, "%s: no size or format in its video", reader->name);
    }
    reader->info = info;
    frame_layout_init(&reader->layout, mode.layout.format, mode.layout.width, mode.layout.height,
                      FRAME_STRIDE_ALIGN);
    reader->layout.range = mode.layout.range;
    reader->layout.colour = mode.layout.colour;
    if (reader->pool && frame_layout_equal(frame_pool_layout(reader->pool), &reader->layout)) {
        return 0;
    }
    frame_pool_unref(TAKE(reader->pool));
    r = frame_pool_new(&reader->layout, CLIP_READER_FRAMES, reader->allocator, &reader->pool);
    return r < 0 ? error_set(error, r, "%s: no memory for frames of %ux%u", reader->name,
                             mode.layout.width, mode.layout.height)
                 : 0;
}

static int take_failure(struct clip_reader *reader, struct error *error)
{
    g_autoptr(GstBus) bus = gst_element_get_bus(reader->pipeline);
    g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);

    return message ? media_failure(message, reader->name, error) : 0;
}

static bool has_reached_end(const struct clip_reader *reader)
{
    return reader->duration_ns >= 0 && reader->end_ns + ROUNDING_NS >= reader->duration_ns;
}

static int check_end(const struct clip_reader *reader, struct error *error)
{
    if (reader->end_ns == 0) {
        return error_set(error, -ENODATA, "%s: no video in it", reader->name);
    }
    if (reader->duration_ns >= 0 && !has_reached_end(reader)) {
        return error_set(error, -ENODATA, "%s: truncated, the video ends after %.1f s of %.1f s",
                         reader->name, (double)reader->end_ns / (double)NS_PER_S,
                         (double)reader->duration_ns / (double)NS_PER_S);
    }
    return 0;
}

// Waits for the next sample, unless there is one, or for the end of the clip.
static int decode(struct clip_reader *reader, struct error *error)
{
    int64_t begun_ns = clock_now_ns();
    int r = 0;

    while (r == 0 && !reader->sample && !reader->over) {
        int64_t quiet_ns;

        reader->sample = gst_app_sink_try_pull_sample(reader->sink, GST_SECOND / 2);
        quiet_ns = clock_now_ns() - begun_ns;
        if (reader->sample) {
            return take_caps(reader, error);
        }
        r = take_failure(reader, error);
        if (r == 0 && (gst_app_sink_is_eos(reader->sink) ||
                       (has_reached_end(reader) && quiet_ns >= OVER_NS))) {
            reader->over = true;
            return check_end(reader, error);
        }
        if (r == 0 && quiet_ns >= STUCK_NS) {
            r = error_set(error, -ETIMEDOUT,
                          "%s: nothing came for a minute after %.1f s, the file may be damaged",
                          reader->name, (double)reader->end_ns / (double)NS_PER_S);
        }
    }
    return r;
}

static int start(struct clip_reader *reader, const char *path, bool rgb, struct error *error)
{
    g_autofree char *launch =
        g_strdup_printf("filesrc name=input ! decodebin name=decoder ! "
                        "videoconvert ! video/x-raw,format=(string)%s "
                        "! appsink name=sink sync=false max-buffers=2",
                        rgb ? "RGB" : "{NV12,I420,Y42B,Y444,GRAY8,RGB,BGR,BGRx}");
    gint64 duration_ns;
    int r = media_pipeline_new(launch, error, &reader->pipeline);

    if (r < 0) {
        return r;
    }
    media_set_location(reader->pipeline, "input", path);
    media_choose_decoders(reader->pipeline, "decoder");
    reader->sink = GST_APP_SINK(gst_bin_get_by_name(GST_BIN(reader->pipeline), "sink"));
    gst_element_set_state(reader->pipeline, GST_STATE_PLAYING);
    r = decode(reader, error);
    if (r == 0 && gst_element_query_duration(reader->pipeline, GST_FORMAT_TIME, &duration_ns)) {
        reader->duration_ns = duration_ns;
    }
    return r;
}

int clip_reader_new(const char *path, const char *name, bool rgb,
                    const struct frame_allocator *allocator, struct error *error,
                    struct clip_reader **ret_reader)
{
    struct clip_reader *reader = calloc(1, sizeof *reader);
    int r;

    if (!reader) {
        return error_set(error, -ENOMEM, "%s: out of memory", name);
    }
    reader->allocator = allocator;
    reader->duration_ns = -1;
    reader->name = strdup(name);
    r = reader->name ? start(reader, path, rgb, error) : error_set(error, -ENOMEM, "out of memory");
    if (r < 0) {
        clip_reader_free(reader);
        return r;
    }
    *ret_reader = reader;
    return 0;
}

void clip_reader_free(struct clip_reader *reader)
{
    if (reader) {
        cleanup_pipeline(&reader->pipeline);
        g_clear_pointer(&reader->sample, gst_sample_unref);
        gst_clear_object(&reader->sink);
        frame_pool_unref(reader->pool);
        free(reader->name);
        free(reader);
    }
}

const struct frame_layout *clip_reader_layout(const struct clip_reader *reader)
{
    return &reader->layout;
}

const GstVideoInfo *clip_reader_info(const struct clip_reader *reader)
{
    return &reader->info;
}

int64_t clip_reader_duration_ns(const struct clip_reader *reader)
{
    return reader->duration_ns;
}

// Gives the frame a time, because muxers refuse frames without one, or with that of another frame.
static void stamp(struct clip_reader *reader, struct frame *frame)
{
    const GstBuffer *buffer = gst_sample_get_buffer(reader->sample);
    int64_t duration_ns = GST_BUFFER_DURATION_IS_VALID(buffer)
                              ? (int64_t)GST_BUFFER_DURATION(buffer)
                              : period_ns(reader);
    int64_t pts_ns = gstreamer_frame_clip_ns(reader->sample);

    if (pts_ns < 0 || (reader->end_ns > 0 && pts_ns <= reader->pts_ns)) {
        pts_ns = reader->end_ns;
    }
    reader->pts_ns = frame->pts_ns = pts_ns;
    reader->end_ns = pts_ns + duration_ns;
}

int clip_reader_next(struct clip_reader *reader, struct error *error, struct frame **ret_frame)
{
    struct frame *frame = NULL;
    int r = decode(reader, error);

    if (r < 0 || reader->over) {
        return r;
    }
    r = gstreamer_frame_copy(reader->sample, reader->pool, &reader->copies, &frame);
    if (r < 0) {
        return error_set(error, r, "%s: a frame that is smaller than it says", reader->name);
    }
    stamp(reader, frame);
    g_clear_pointer(&reader->sample, gst_sample_unref);
    *ret_frame = frame;
    return 1;
}
