// A camera in the network, by RTSP: the newest picture as soon as it is here. What ends it, a
// refused connection or a silent one, is told as of any other camera, and it is opened again. A
// camera whose next key frame is far has opened before its first picture.
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"
#include "capture/gstreamer/rtsp_client.h"
#include "capture/gstreamer/source_gstreamer.h"

#include <errno.h>

#define LABEL "RTSP"
// A transport that fails later than this leaves no time for another before the lane counts as hung.
#define ANOTHER_TRANSPORT_NS (1500 * NS_PER_MS)
// Longer than the distance of key frames in any camera's settings.
#define KEY_FRAME_TIMEOUT_NS (120 * NS_PER_S)

struct source_rtsp {
    struct source_gstreamer gstreamer; // first
    struct rtsp_client *client;        // owned
    int64_t shown_ns;                  // when the last picture came, or the source was opened
    bool unseen;                       // opened before its first picture, which has not come yet
};

static void close_client(struct source_rtsp *self)
{
    intake_free(TAKE(self->gstreamer.intake));
    rtsp_client_free(TAKE(self->client));
}

// The converter only converts what no view takes.
static int open_by(struct source_rtsp *self, const struct config_camera *camera,
                   const char *protocols, const struct source_environment *environment,
                   struct error *error)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(NULL, 0, 0, 0);
    g_autoptr(GstElement) element = NULL, decoder = NULL;
    struct source *source = &self->gstreamer.source;
    int r;

    self->client = rtsp_client_new(camera);
    if (!self->client) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    r = intake_new("rtspsrc name=camera ! decodebin name=decoder ! videoconvert "
                   "! " GSTREAMER_SQUARE_PIXELS,
                   caps, false, environment, error, &self->gstreamer.intake);
    if (r < 0) {
        return r;
    }
    element = gst_bin_get_by_name(GST_BIN(intake_pipeline(self->gstreamer.intake)), "camera");
    decoder = gst_bin_get_by_name(GST_BIN(intake_pipeline(self->gstreamer.intake)), "decoder");
    gstreamer_decoders_choose(decoder);
    r = rtsp_client_attach(self->client, element, decoder, protocols, error);
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

    if (r < 0 && r != -EAGAIN) {
        return rtsp_client_explain(self->client, r, error);
    }
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
