// A camera in the network, by RTSP: the newest picture as soon as it is here. What ends it, a
// refused connection or a silent one, is told as of any other camera, and it is opened again.
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"
#include "capture/gstreamer/source_gstreamer.h"
#include "config/credentials.h"

#include <errno.h>

// Shorter than the wait for the first picture, so that there is time for TCP.
#define UDP_TIMEOUT_US 2000000
#define TCP_TIMEOUT_US 5000000

// Sound is not asked for.
static gboolean on_select_stream(GstElement *camera, guint number, GstCaps *caps, gpointer data)
{
    const char *media = gst_structure_get_string(gst_caps_get_structure(caps, 0), "media");

    (void)camera;
    (void)number;
    (void)data;
    return g_strcmp0(media, "video") == 0;
}

static int set_credentials(GstElement *element, const char *path, struct error *error)
{
    struct credentials credentials;
    int r = credentials_read(path, error, &credentials);

    if (r == 0) {
        g_object_set(element, "user-id", credentials.user, "user-pw", credentials.password, NULL);
        credentials_clear(&credentials);
    }
    return r;
}

static int set_up(GstElement *pipeline, const struct config_camera *camera, struct error *error)
{
    static const char *const protocols[] = {
        [CONFIG_TRANSPORT_AUTO] = "udp+tcp",
        [CONFIG_TRANSPORT_TCP] = "tcp",
        [CONFIG_TRANSPORT_UDP] = "udp",
    };
    g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), "camera");
    g_autoptr(GstElement) decoder = gst_bin_get_by_name(GST_BIN(pipeline), "decoder");

    g_object_set(element, "location", camera->url, "latency", 0, "timeout", (guint64)UDP_TIMEOUT_US,
                 "tcp-timeout", (guint64)TCP_TIMEOUT_US, NULL);
    gst_util_set_object_arg(G_OBJECT(element), "protocols", protocols[camera->transport]);
    g_signal_connect(element, "select-stream", G_CALLBACK(on_select_stream), NULL);
    gstreamer_decoders_choose(decoder);
    return *camera->credentials ? set_credentials(element, camera->credentials, error) : 0;
}

// The converter only converts what no view takes.
static int open_intake(struct source_gstreamer *self, const struct config_camera *camera,
                       const struct source_environment *environment, struct error *error)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(NULL, 0, 0, 0);
    int r = intake_new("rtspsrc name=camera ! decodebin name=decoder ! videoconvert", caps, false,
                       environment, error, &self->intake);

    if (r == 0) {
        r = set_up(intake_pipeline(self->intake), camera, error);
    }
    if (r < 0) {
        return r;
    }
    r = intake_open(self->intake, &self->source.mode, error);
    if (r != -EACCES) {
        return r;
    }
    return *camera->credentials
               ? error_set(error, r, "the camera refuses the user and password in \"%s\"",
                           camera->credentials)
               : error_set(error, r,
                           "the camera wants a user and a password: credentials = \"FILE\", a "
                           "file with the line user:password");
}

static int rtsp_source_open(const struct config_camera *camera,
                            const struct source_environment *environment, struct error *error,
                            struct source **ret_source)
{
    int r = source_gstreamer_new(&source_rtsp_ops, "stream", "RTSP", camera, environment,
                                 open_intake, error, ret_source);

    return r < 0 ? error_prefix(error, r, "%s", camera->url) : 0;
}

const struct source_ops source_rtsp_ops = {
    .name = "rtsp",
    .open = rtsp_source_open,
    .start = source_gstreamer_start,
    .next = source_gstreamer_next,
    .close = source_gstreamer_close,
};
