// A camera in the network, by RTSP: each picture as soon as it is here. Where pictures come in
// bursts, or computing is slow for a moment, they wait in front of the decoder, where they are
// small, and are taken in order. Where computing does not keep up, whole units are skipped up to a
// key frame, and counted as dropped. A refused connection or a silent one ends the source, which is
// told as of any other camera, and it is opened again. A camera whose next key frame is far has
// opened before its first picture.
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"
#include "capture/gstreamer/rtsp_client.h"
#include "capture/gstreamer/source_gstreamer.h"

#include <errno.h>
#include <stdatomic.h>

#define LABEL "RTSP"
// The access units that wait for the decoder. A parser instead (parsebin) would tell units apart by
// the next one: a picture late. Of any other codec, such as VP8 or MPEG-4, the pictures themselves
// wait.
#define UNITS                                                                                      \
    "video/x-h264, parsed=(boolean)true, alignment=(string)au; "                                   \
    "video/x-h265, parsed=(boolean)true, alignment=(string)au; "                                   \
    "image/jpeg; video/x-raw"
#define UNITS_NS (3 * NS_PER_S)
#define UNITS_BYTES (16u << 20) // 3 s of 44 Mbit/s
// A second after the lane takes the newest picture alone: then the decoder does not keep up.
#define BEHIND_NS (5 * NS_PER_S)
// A transport that fails later than this leaves no time for another before the lane counts as hung.
#define ANOTHER_TRANSPORT_NS (1500 * NS_PER_MS)
// Longer than the distance of key frames in any camera's settings.
#define KEY_FRAME_TIMEOUT_NS (120 * NS_PER_S)

struct source_rtsp {
    struct source_gstreamer gstreamer; // first
    struct rtsp_client *client;        // owned
    int64_t shown_ns;                  // when the last picture came, or the source was opened
    bool unseen;                       // opened before its first picture, which has not come yet
    atomic_ullong skipped;             // units; of the thread that RTP comes by, as the next two
    bool skipping;
    int64_t caught_up_ns;         // when the decoder last had taken all
    _Atomic(GstClockTime) out_ns; // PTS of the unit that it took last
    uint64_t skips_counted;       // of `skipped`, by the lane
};

static void close_client(struct source_rtsp *self)
{
    intake_free(TAKE(self->gstreamer.intake));
    rtsp_client_free(TAKE(self->client));
}

static GstPadProbeReturn on_unit_out(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const GstBuffer *unit = GST_PAD_PROBE_INFO_BUFFER(info);
    struct source_rtsp *self = data;

    (void)pad;
    if (GST_BUFFER_PTS_IS_VALID(unit))
        self->out_ns = GST_BUFFER_PTS(unit);
    return GST_PAD_PROBE_OK;
}

// The queue itself has no limit: it would hold up the camera.
static bool is_too_full(struct source_rtsp *self, GstElement *units, const GstBuffer *newest)
{
    bool dated = GST_BUFFER_PTS_IS_VALID(newest);
    int64_t now_ns = clock_now_ns();
    guint count, bytes;

    g_object_get(units, "current-level-buffers", &count, "current-level-bytes", &bytes, NULL);
    if (count == 0)
        self->caught_up_ns = now_ns;
    if (count == 0 && dated)
        self->out_ns = GST_BUFFER_PTS(newest);
    return (dated && GST_BUFFER_PTS(newest) > self->out_ns + UNITS_NS) || bytes > UNITS_BYTES ||
           now_ns - self->caught_up_ns > BEHIND_NS;
}

static GstPadProbeReturn on_unit_in(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const GstBuffer *unit = GST_PAD_PROBE_INFO_BUFFER(info);
    g_autoptr(GstElement) units = gst_pad_get_parent_element(pad);
    struct source_rtsp *self = data;

    if (is_too_full(self, units, unit))
        self->skipping = true;
    else if (!GST_BUFFER_FLAG_IS_SET(unit, GST_BUFFER_FLAG_DELTA_UNIT))
        self->skipping = false;
    self->skipped += self->skipping;
    return self->skipping ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

// Lets decodebins choose, and units wait in front of the second.
static void set_up(struct source_rtsp *self, GstBin *pipeline)
{
    g_autoptr(GstElement) parser = gst_bin_get_by_name(pipeline, "parser");
    g_autoptr(GstElement) units = gst_bin_get_by_name(pipeline, "units");
    g_autoptr(GstElement) decoder = gst_bin_get_by_name(pipeline, "decoder");
    g_autoptr(GstPad) in = gst_element_get_static_pad(units, "sink");
    g_autoptr(GstPad) out = gst_element_get_static_pad(units, "src");

    gstreamer_decoders_choose(parser);
    gstreamer_decoders_choose(decoder);
    g_object_set(units, "max-size-buffers", 0, "max-size-bytes", 0, "max-size-time", (guint64)0,
                 NULL);
    gst_pad_add_probe(in, GST_PAD_PROBE_TYPE_BUFFER, on_unit_in, self, NULL);
    gst_pad_add_probe(out, GST_PAD_PROBE_TYPE_BUFFER, on_unit_out, self, NULL);
}

// The converter only converts what no view takes.
static int open_by(struct source_rtsp *self, const struct config_camera *camera,
                   const char *protocols, const struct source_environment *environment,
                   struct error *error)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(NULL, 0, 0, 0);
    g_autoptr(GstElement) element = NULL, parser = NULL;
    struct source *source = &self->gstreamer.source;
    int r;

    self->client = rtsp_client_new(camera);
    if (!self->client)
        return error_set(error, -ENOMEM, "out of memory");
    self->skipping = false;
    r = intake_new("rtspsrc name=camera ! decodebin name=parser caps=\"" UNITS "\" "
                   "! queue name=units ! decodebin name=decoder ! videoconvert "
                   "! " GSTREAMER_SQUARE_PIXELS,
                   caps, INTAKE_HELD, environment, error, &self->gstreamer.intake);
    if (r < 0)
        return r;
    element = gst_bin_get_by_name(GST_BIN(intake_pipeline(self->gstreamer.intake)), "camera");
    parser = gst_bin_get_by_name(GST_BIN(intake_pipeline(self->gstreamer.intake)), "parser");
    set_up(self, GST_BIN(intake_pipeline(self->gstreamer.intake)));
    r = rtsp_client_attach(self->client, element, parser, protocols, error);
    return r < 0 ? r : intake_open(self->gstreamer.intake, &source->mode, error);
}

// Pictures will come, of a size that the first one tells. Until then the camera has the wished one.
static void open_unseen(struct source *source, const struct config_camera *camera)
{
    source->mode.fps_numerator = 0;
    frame_layout_init(&source->mode.layout, pixel_format_by_name("NV12"), (uint32_t)camera->width,
                      (uint32_t)camera->height, FRAME_STRIDE_ALIGN);
}

static int open_intake(struct source_gstreamer *gstreamer, const struct config_camera *camera,
                       const struct source_environment *environment, struct error *error)
{
    static const char *const protocols[] = {
        [CONFIG_TRANSPORT_AUTO] = "udp+tcp",
        [CONFIG_TRANSPORT_TCP] = "tcp",
        [CONFIG_TRANSPORT_UDP] = "udp",
    };
    struct source_rtsp *self = (struct source_rtsp *)gstreamer;
    int64_t began_ns = clock_now_ns();
    int r = open_by(self, camera, protocols[camera->transport], environment, error);

    if (r == -EPIPE && camera->transport == CONFIG_TRANSPORT_AUTO &&
        rtsp_client_needs_transport(self->client) &&
        clock_now_ns() - began_ns < ANOTHER_TRANSPORT_NS) {
        close_client(self);
        r = open_by(self, camera, "tcp", environment, error);
    }
    if (r == -ETIMEDOUT && rtsp_client_is_heard(self->client)) {
        open_unseen(&gstreamer->source, camera);
        self->unseen = true;
        r = 0;
    }
    self->shown_ns = clock_now_ns();
    return r < 0 ? rtsp_client_explain(self->client, r, error) : 0;
}

static int rtsp_source_open(const struct config_camera *camera,
                            const struct source_environment *environment, struct error *error,
                            struct source **ret_source)
{
    int r = source_gstreamer_new(&source_rtsp_ops, sizeof(struct source_rtsp), "stream", LABEL,
                                 camera, environment, open_intake, error, ret_source);

    if (r == 0 && ((struct source_rtsp *)*ret_source)->unseen) {
        snprintf((*ret_source)->mode.description, sizeof(*ret_source)->mode.description,
                 LABEL ", before its first picture,");
    }
    return r < 0 ? error_prefix(error, r, "%s", camera->url) : 0;
}

static int rtsp_source_next(struct source *source, int timeout_ms, struct error *error,
                            struct frame **ret_frame)
{
    struct source_rtsp *self = (struct source_rtsp *)source;
    int r = source_gstreamer_next(source, timeout_ms, error, ret_frame);
    int64_t now_ns = clock_now_ns();

    if (r < 0 && r != -EAGAIN)
        return rtsp_client_explain(self->client, r, error);
    if (r == 0) {
        self->shown_ns = now_ns;
        if (self->unseen) {
            self->unseen = false;
            source_mode_describe(&source->mode, LABEL);
        }
    } else if (now_ns - self->shown_ns > KEY_FRAME_TIMEOUT_NS) {
        return error_set(error, -EPIPE,
                         "the camera sends, and no picture can be made of it for "
                         "%d s; set a shorter distance of key frames in the camera",
                         (int)(KEY_FRAME_TIMEOUT_NS / NS_PER_S));
    }
    source->counters.dropped += self->skipped - self->skips_counted;
    self->skips_counted = self->skipped;
    rtsp_client_keep_alive(self->client);
    source->patient_until_ns = rtsp_client_patient_until_ns(self->client);
    source->period_ns = rtsp_client_period_ns(self->client);
    return r;
}

static void rtsp_source_close(struct source *source)
{
    close_client((struct source_rtsp *)source);
    source_gstreamer_close(source);
}

const struct source_ops source_rtsp_ops = {
    .open = rtsp_source_open,
    .start = source_gstreamer_start,
    .next = rtsp_source_next,
    .close = rtsp_source_close,
};
