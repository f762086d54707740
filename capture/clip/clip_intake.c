#include "capture/clip/clip_intake.h"

#include "capture/clip/exif.h"
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIF_END 65536         // bytes of a JPEG in which its EXIF data are
#define RAW_START "YUV4MPEG2 " // the first bytes of raw video (Y4M)

// Reads the orientation of a picture, whether the clip is raw video, and what the file system says
// about it, before GStreamer says it less clearly.
static int read_start(const char *path, struct error *error, enum exif_orientation *ret_orientation,
                      bool *ret_raw)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return error_set(error, -errno, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(error, -ENODATA, "is not a file");
    if (status.st_size <= 0)
        return error_set(error, -ENODATA, "is empty");
    g_autofree uint8_t *start = g_malloc(EXIF_END);
    ssize_t length = read(fd, start, EXIF_END);

    if (length < 0)
        return error_set(error, -errno, "%s", strerror(errno));
    *ret_orientation = exif_read_jpeg(start, (size_t)length);
    *ret_raw =
        (size_t)length > strlen(RAW_START) && memcmp(start, RAW_START, strlen(RAW_START)) == 0;
    return 0;
}

// How the clip tells that its pictures are to be turned or mirrored, as telephones' clips and
// pictures do, and what videoflip calls it. A clip's demuxer tells before any stream is decoded; a
// picture's EXIF data are read from the file, because no decoder does.
static const struct {
    const char *orientation, *direction;
    enum exif_orientation exif;
} turns[] = {
    {"rotate-90", "90r", EXIF_RIGHT_TOP},           {"rotate-180", "180", EXIF_BOTTOM_RIGHT},
    {"rotate-270", "90l", EXIF_LEFT_BOTTOM},        {"flip-rotate-0", "horiz", EXIF_TOP_RIGHT},
    {"flip-rotate-90", "ur-ll", EXIF_RIGHT_BOTTOM}, {"flip-rotate-180", "vert", EXIF_BOTTOM_LEFT},
    {"flip-rotate-270", "ul-lr", EXIF_LEFT_TOP},
};
#define DIRECTION "edged-direction" // data of the decoder: one of turns[]

static GstPadProbeReturn note_orientation(GstPad *pad, GstPadProbeInfo *info, gpointer decoder)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    g_autofree char *orientation = NULL;
    GstTagList *tags;

    (void)pad;
    if (GST_EVENT_TYPE(event) == GST_EVENT_TAG) {
        gst_event_parse_tag(event, &tags);
        if (gst_tag_list_get_string(tags, GST_TAG_IMAGE_ORIENTATION, &orientation)) {
            for (size_t i = 0; i < ARRAY_LENGTH(turns); i++) {
                if (g_str_equal(orientation, turns[i].orientation))
                    g_object_set_data(decoder, DIRECTION, (gpointer)turns[i].direction);
            }
        }
    }
    return GST_PAD_PROBE_OK;
}

static void on_demuxed(GstElement *demuxer, GstPad *stream, gpointer decoder)
{
    (void)demuxer;
    gst_pad_add_probe(stream, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_orientation, decoder, NULL);
}

static void on_element(GstBin *decoder, GstElement *element, gpointer data)
{
    GstElementFactory *factory = gst_element_get_factory(element);

    (void)data;
    if (factory && gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_DEMUXER))
        g_signal_connect_object(element, "pad-added", G_CALLBACK(on_demuxed), decoder, 0);
}

// The first element that the stream goes into: the one that turns its pictures, which is made when
// the clip is played the first time, or the converter.
static GstElement *find_first(GstElement *decoder, GstElement *converter)
{
    const char *direction = g_object_get_data(G_OBJECT(decoder), DIRECTION);
    GstBin *pipeline = GST_BIN(GST_ELEMENT_PARENT(decoder));
    GstElement *turn = gst_bin_get_by_name(pipeline, "turn");
    g_autofree char *launch = NULL;

    if (turn || !direction)
        return turn ? turn : gst_object_ref(converter);
    launch = g_strdup_printf("videoconvert ! videoflip video-direction=%s", direction);
    turn = gst_parse_bin_from_description(launch, TRUE, NULL);
    if (!turn)
        return gst_object_ref(converter);
    gst_object_set_name(GST_OBJECT(turn), "turn");
    gst_bin_add(pipeline, turn);
    gst_element_link(turn, converter);
    gst_element_sync_state_with_parent(turn);
    return gst_object_ref(turn);
}

// Links the first stream that the converter takes, anew whenever the clip is played after a stop.
// The converter only converts what no view takes.
static void on_stream(GstElement *decoder, GstPad *stream, gpointer converter)
{
    g_autoptr(GstElement) first = find_first(decoder, converter);
    g_autoptr(GstPad) pad = gst_element_get_static_pad(first, "sink");

    if (!gst_pad_is_linked(pad))
        gst_pad_link(stream, pad);
}

// All streams are there. A file of sound alone may be read to its end before anybody notices that
// nothing takes its stream.
static void on_last_stream(GstElement *decoder, gpointer converter)
{
    g_autoptr(GstPad) pad = gst_element_get_static_pad(converter, "sink");
    g_autoptr(GstElement) turn = gst_bin_get_by_name(GST_BIN(GST_ELEMENT_PARENT(decoder)), "turn");

    if (!turn && !gst_pad_is_linked(pad))
        GST_ELEMENT_ERROR(decoder, STREAM, WRONG_TYPE, ("no video"), ("not-linked"));
}

// Pictures keep the size of the first: where a clip changes its size midway, the others are scaled
// to it, with black beside them where their shape is another.
static GstPadProbeReturn keep_size(GstPad *pad, GstPadProbeInfo *info, gpointer shape)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    g_autoptr(GstCaps) fixed = NULL;
    GstCaps *caps;
    int width, height;

    (void)pad;
    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
        return GST_PAD_PROBE_OK;
    gst_event_parse_caps(event, &caps);
    if (!gst_structure_get(gst_caps_get_structure(caps, 0), "width", G_TYPE_INT, &width, "height",
                           G_TYPE_INT, &height, NULL)) {
        return GST_PAD_PROBE_OK;
    }
    fixed = gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, width, "height", G_TYPE_INT,
                                height, "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, NULL);
    g_object_set(shape, "caps", fixed, NULL);
    return GST_PAD_PROBE_REMOVE;
}

// The sink would take a gap for its first picture, and the format would never be known.
static GstPadProbeReturn drop_gap(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    (void)pad;
    (void)data;
    return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_GAP ? GST_PAD_PROBE_DROP
                                                                           : GST_PAD_PROBE_OK;
}

// Sets up decodebin: which decoders it may choose, how pictures are turned, and that its first
// video is linked once it knows the streams of the clip.
static void connect_decodebin(GstBin *bin, enum exif_orientation orientation)
{
    g_autoptr(GstElement) decoder = gst_bin_get_by_name(bin, "decoder");
    g_autoptr(GstElement) converter = gst_bin_get_by_name(bin, "converter");

    for (size_t i = 0; i < ARRAY_LENGTH(turns); i++) {
        if (turns[i].exif == orientation)
            g_object_set_data(G_OBJECT(decoder), DIRECTION, (gpointer)turns[i].direction);
    }
    gstreamer_decoders_choose(decoder);
    g_signal_connect(decoder, "element-added", G_CALLBACK(on_element), NULL);
    g_signal_connect_object(decoder, "pad-added", G_CALLBACK(on_stream), converter, 0);
    g_signal_connect_object(decoder, "no-more-pads", G_CALLBACK(on_last_stream), converter, 0);
}

int clip_intake_new(const char *path, const struct pixel_format *format,
                    const struct source_environment *environment, struct error *error,
                    struct intake **ret_intake)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(format, 0, 0, 0);
    g_autoptr(GstElement) clip = NULL, converter = NULL, shape = NULL;
    g_autoptr(GstPad) decoded = NULL, shaped = NULL;
    GstBin *bin;
    enum exif_orientation orientation = EXIF_TOP_LEFT;
    bool raw = false;
    int r = read_start(path, error, &orientation, &raw);

    if (r < 0)
        return r;
    // On a busy machine decodebin of GStreamer 1.28.2 hangs or fails with raw video. If y4mdec is
    // missing, decodebin says so.
    raw = raw && gst_registry_check_feature_version(gst_registry_get(), "y4mdec", 1, 0, 0);
    r = intake_new(raw ? "filesrc name=clip ! y4mdec ! videoconvert name=converter "
                         "! " GSTREAMER_SQUARE_PIXELS
                       : "filesrc name=clip ! decodebin name=decoder "
                         "videoconvert name=converter ! " GSTREAMER_SQUARE_PIXELS,
                   caps, INTAKE_EVERY, environment, error, ret_intake);
    if (r < 0)
        return r;
    bin = GST_BIN(intake_pipeline(*ret_intake));
    clip = gst_bin_get_by_name(bin, "clip");
    g_object_set(clip, "location", path, NULL);
    if (!raw)
        connect_decodebin(bin, orientation);
    converter = gst_bin_get_by_name(bin, "converter");
    decoded = gst_element_get_static_pad(converter, "sink");
    gst_pad_add_probe(decoded, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, drop_gap, NULL, NULL);
    shape = gst_bin_get_by_name(bin, "shape");
    shaped = gst_element_get_static_pad(shape, "src");
    gst_pad_add_probe(shaped, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, keep_size, shape, NULL);
    return 0;
}
