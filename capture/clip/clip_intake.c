#include "capture/clip/clip_intake.h"

#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

// What the file system says about the clip, before GStreamer says it less clearly.
static int check_path(const char *path, struct error *error)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0) {
        return error_set(error, -errno, "%s", strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(error, -ENODATA, "is not a file");
    }
    return status.st_size > 0 ? 0 : error_set(error, -ENODATA, "is empty");
}

// Links the first stream that the converter takes, anew whenever the clip is played after a stop.
// The converter only converts what no view takes.
static void on_stream(GstElement *decoder, GstPad *stream, gpointer converter)
{
    g_autoptr(GstPad) pad = gst_element_get_static_pad(converter, "sink");

    (void)decoder;
    if (!gst_pad_is_linked(pad)) {
        gst_pad_link(stream, pad);
    }
}

// The sink would take a gap for its first picture, and the format would never be known.
static GstPadProbeReturn drop_gap(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    (void)pad;
    (void)data;
    return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_GAP ? GST_PAD_PROBE_DROP
                                                                           : GST_PAD_PROBE_OK;
}

int clip_intake_new(const char *path, const struct pixel_format *format,
                    const struct source_environment *environment, struct error *error,
                    struct intake **ret_intake)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(format, 0, 0, 0);
    g_autoptr(GstElement) clip = NULL, decoder = NULL, converter = NULL;
    g_autoptr(GstPad) decoded = NULL;
    GstBin *bin;
    int r = check_path(path, error);

    r = r < 0 ? r
              : intake_new("filesrc name=clip ! decodebin name=decoder videoconvert name=converter",
                           caps, true, environment, error, ret_intake);
    if (r < 0) {
        return r;
    }
    bin = GST_BIN(intake_pipeline(*ret_intake));
    clip = gst_bin_get_by_name(bin, "clip");
    decoder = gst_bin_get_by_name(bin, "decoder");
    converter = gst_bin_get_by_name(bin, "converter");
    g_object_set(clip, "location", path, NULL);
    gstreamer_decoders_choose(decoder);
    g_signal_connect_object(decoder, "pad-added", G_CALLBACK(on_stream), converter, 0);
    decoded = gst_element_get_static_pad(converter, "sink");
    gst_pad_add_probe(decoded, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, drop_gap, NULL, NULL);
    return 0;
}
