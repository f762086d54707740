// nvv4l2h264enc and nvv4l2h265enc: a reader of surfaces, a queue and an encoder on the CPU. As in
// NVIDIA's driver an order for a key frame waits for the next frame that leaves the queue,
// whichever that is; a second order that comes meanwhile changes nothing.
#include "tests/fakes/jetson/jetson.h"

#include <stdio.h>

#define KEPT 4          // surfaces that the input still has when the next comes
#define REPORT_EVERY 25 // pictures: a process that takes too long for its end is killed
#define COLD_US 100000  // until the first frame is encoded
#define FRAME_US 4000   // that a frame takes

enum io_mode { IO_AUTO = 0, IO_IMPORT = 5 };

// From surfaces to system memory: what the encoder's hardware reads.
struct reader {
    GstBaseTransform parent;
    GstVideoInfo info;
    enum io_mode mode;
    GQueue kept; // of GstBuffer
    unsigned imported, transformed;
};

struct reader_class {
    GstBaseTransformClass parent;
};

struct encoder {
    GstBin parent;
    struct reader *reader;
    GstElement *inside;
    gint ordered;   // atomic: a key frame was asked for
    gboolean begun; // the queue's thread only: a frame was encoded
    GString *told;  // of other properties, with their values
};

struct encoder_class {
    GstBinClass parent;
};

static GObjectClass *reader_parent_class, *encoder_parent_class;

static GstCaps *transform_caps(GstBaseTransform *transform, GstPadDirection direction,
                               GstCaps *caps, GstCaps *filter)
{
    (void)transform;
    return jetson_other_caps(caps, filter,
                             direction == GST_PAD_SINK ? JETSON_SYSTEM : JETSON_SURFACES);
}

static gboolean set_caps(GstBaseTransform *transform, GstCaps *in, GstCaps *out)
{
    (void)in;
    return gst_video_info_from_caps(&((struct reader *)transform)->info, out);
}

static void forget_kept(struct reader *reader, unsigned left)
{
    while (g_queue_get_length(&reader->kept) > left)
        gst_buffer_unref(g_queue_pop_head(&reader->kept));
}

static void append_to_report(const char *text)
{
    g_autofree char *path = jetson_report();
    FILE *file = path ? fopen(path, "ae") : NULL;

    if (file) {
        fprintf(file, "%s\n", text);
        fclose(file);
    }
}

// Tells of the pictures since the last time.
static void report_pictures(struct reader *reader)
{
    g_autofree char *text =
        g_strdup_printf("imported=%u transformed=%u", reader->imported, reader->transformed);

    append_to_report(text);
    reader->imported = reader->transformed = 0;
}

static GstFlowReturn read_surface(GstBaseTransform *transform, GstBuffer *in, GstBuffer *out)
{
    struct reader *reader = (struct reader *)transform;
    struct nvbuf_surface *surface =
        jetson_surface_of(in, (uint32_t)reader->info.width, (uint32_t)reader->info.height);
    gboolean import = reader->mode == IO_IMPORT, done = FALSE;
    GstVideoFrame frame;

    if (!surface || jetson_has_option("refuse") ||
        (jetson_has_option("thor") && !jetson_has_cuvid()) ||
        (import && jetson_has_option("refuse-import"))) {
        GST_ELEMENT_ERROR(transform, RESOURCE, WRITE, ("Failed to process frame."), (NULL));
        return GST_FLOW_ERROR;
    }
    if (gst_video_frame_map(&frame, &reader->info, out, GST_MAP_WRITE)) {
        done = jetson_read(surface, &frame);
        gst_video_frame_unmap(&frame);
    }
    if (reader->imported + reader->transformed == REPORT_EVERY)
        report_pictures(reader);
    if (import) {
        reader->imported++;
        g_queue_push_tail(&reader->kept, gst_buffer_ref(in));
        forget_kept(reader, KEPT);
    } else {
        reader->transformed++;
    }
    return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

// NVIDIA's elements do not listen to the event by which GStreamer's are told to make a key frame.
static gboolean on_event(GstBaseTransform *transform, GstEvent *event)
{
    if (gst_video_event_is_force_key_unit(event)) {
        gst_event_unref(event);
        return TRUE;
    }
    return GST_BASE_TRANSFORM_CLASS(reader_parent_class)->sink_event(transform, event);
}

static gboolean stop(GstBaseTransform *transform)
{
    forget_kept((struct reader *)transform, 0);
    return TRUE;
}

static void reader_finalize(GObject *object)
{
    report_pictures((struct reader *)object);
    reader_parent_class->finalize(object);
}

static void reader_class_init(gpointer type_class, gpointer data)
{
    GstBaseTransformClass *transform = type_class;

    (void)data;
    reader_parent_class = g_type_class_peek_parent(type_class);
    jetson_add_templates(type_class, JETSON_SURFACES, JETSON_SYSTEM);
    gst_element_class_set_static_metadata(type_class, "Input", "Filter/Video", "For edged's tests",
                                          "edged");
    G_OBJECT_CLASS(type_class)->finalize = reader_finalize;
    transform->transform_caps = transform_caps;
    transform->get_unit_size = jetson_unit_size;
    transform->set_caps = set_caps;
    transform->transform = read_surface;
    transform->sink_event = on_event;
    transform->stop = stop;
}

static GType reader_type(void)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        g_once_init_leave(
            &type, g_type_register_static_simple(GST_TYPE_BASE_TRANSFORM, "EdgedFakeReader",
                                                 sizeof(struct reader_class), reader_class_init,
                                                 sizeof(struct reader), NULL, 0));
    }
    return type;
}

static GType io_mode_type(void)
{
    static const GEnumValue with[] = {{IO_AUTO, "GST_V4L2_IO_AUTO", "auto"},
                                      {IO_IMPORT, "GST_V4L2_IO_DMABUF_IMPORT", "dmabuf-import"},
                                      {0, NULL, NULL}};
    static const GEnumValue without[] = {{IO_AUTO, "GST_V4L2_IO_AUTO", "auto"}, {0, NULL, NULL}};
    static gsize type;

    if (g_once_init_enter(&type)) {
        g_once_init_leave(&type,
                          g_enum_register_static("EdgedFakeIoMode",
                                                 jetson_has_option("no-import") ? without : with));
    }
    return type;
}

static GType preset_type(void)
{
    static const GEnumValue presets[] = {{0, "Disable HW-Preset", "DisablePreset"},
                                         {1, "UltraFastPreset", "UltraFastPreset"},
                                         {4, "SlowPreset", "SlowPreset"},
                                         {0, NULL, NULL}};
    static gsize type;

    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("EdgedFakePreset", presets));
    return type;
}

enum { IO_MODE = 1, BITRATE, INTERVAL, FORCE_IDR, PRESET, FIRST_OTHER };

// Of JetPack 5, whose profiles are an enum, of which 0 is the lowest; what is set is told alone.
static const struct {
    const char *name;
    gboolean is_switch, h264_alone;
} others[] = {
    {.name = "idrinterval"},
    {.name = "profile"},
    {.name = "num-B-Frames"},
    {.name = "insert-sps-pps", .is_switch = TRUE},
    {.name = "insert-vui", .is_switch = TRUE},
    {.name = "maxperf-enable", .is_switch = TRUE},
    {.name = "poc-type", .h264_alone = TRUE}, // the last ones
};

static void tell(struct encoder *encoder, const GValue *value, const GParamSpec *property)
{
    g_autofree char *text = gst_value_serialize(value);

    g_string_append_printf(encoder->told, " %s=%s", property->name, text);
}

// By an action signal or, with the option "cuvid", by a property; with "no-idr" by nothing.
static void force_idr(GstElement *element)
{
    g_atomic_int_set(&((struct encoder *)element)->ordered, TRUE);
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    struct encoder *encoder = data;

    (void)info;
    g_usleep(encoder->begun ? FRAME_US : COLD_US);
    encoder->begun = TRUE;
    if (g_atomic_int_compare_and_exchange(&encoder->ordered, TRUE, FALSE)) {
        gst_pad_send_event(
            pad, gst_video_event_new_downstream_force_key_unit(
                     GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE, TRUE, 0));
    }
    return GST_PAD_PROBE_OK;
}

// Frames on their way out of the queue.
static void watch_frames(struct encoder *encoder)
{
    g_autoptr(GstPad) pad = gst_element_get_static_pad(encoder->inside, "sink");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, encoder, NULL);
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    struct encoder *encoder = (struct encoder *)object;

    if (id >= PRESET)
        tell(encoder, value, property);
    else if (id == IO_MODE)
        encoder->reader->mode = (enum io_mode)g_value_get_enum(value);
    else if (id == FORCE_IDR)
        force_idr(GST_ELEMENT(object));
    else if (id == BITRATE)
        g_object_set(encoder->inside, "bitrate", g_value_get_uint(value) / 1000, NULL);
    else
        g_object_set(encoder->inside, "key-int-max", (int)g_value_get_uint(value), NULL);
}

static void encoder_finalize(GObject *object)
{
    struct encoder *encoder = (struct encoder *)object;

    g_string_prepend(encoder->told, G_OBJECT_TYPE_NAME(object));
    append_to_report(encoder->told->str);
    g_string_free(encoder->told, TRUE);
    encoder_parent_class->finalize(object);
}

static void install_others(GObjectClass *object, gboolean h265)
{
    for (guint i = 0; i < G_N_ELEMENTS(others) && (!h265 || !others[i].h264_alone); i++) {
        const char *name = others[i].name;

        g_object_class_install_property(
            object, FIRST_OTHER + i,
            others[i].is_switch
                ? g_param_spec_boolean(name, name, "", FALSE, G_PARAM_WRITABLE)
                : g_param_spec_uint(name, name, "", 0, G_MAXUINT, 0, G_PARAM_WRITABLE));
    }
    g_object_class_install_property(
        object, PRESET,
        g_param_spec_enum("preset-level", "Preset", "", preset_type(), 1, G_PARAM_WRITABLE));
}

static gboolean is_h265(gpointer type_class)
{
    return g_str_has_suffix(G_OBJECT_CLASS_NAME(type_class), "265");
}

static void encoder_class_init(gpointer type_class, gpointer data)
{
    GObjectClass *object = type_class;

    (void)data;
    encoder_parent_class = g_type_class_peek_parent(type_class);
    object->finalize = encoder_finalize;
    object->set_property = set_property;
    if (jetson_has_cuvid()) {
        g_object_class_install_property(
            object, FORCE_IDR, g_param_spec_boolean("force-idr", "", "", FALSE, G_PARAM_WRITABLE));
    } else if (!jetson_has_option("no-idr")) {
        g_signal_new_class_handler("force-IDR", G_OBJECT_CLASS_TYPE(type_class),
                                   G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION, G_CALLBACK(force_idr), NULL,
                                   NULL, NULL, G_TYPE_NONE, 0);
    }
    install_others(object, is_h265(type_class));
    if (!jetson_has_cuvid()) {
        g_object_class_install_property(object, IO_MODE,
                                        g_param_spec_enum("output-io-mode", "Output IO mode", "",
                                                          io_mode_type(), IO_AUTO,
                                                          G_PARAM_WRITABLE));
    }
    g_object_class_install_property(
        object, BITRATE,
        g_param_spec_uint("bitrate", "Bit rate", "", 0, G_MAXUINT, 4000000, G_PARAM_WRITABLE));
    g_object_class_install_property(
        object, INTERVAL,
        g_param_spec_uint("iframeinterval", "Interval", "", 0, G_MAXINT, 30, G_PARAM_WRITABLE));
    gst_element_class_set_static_metadata(type_class, "Encoder of surfaces", "Codec/Encoder/Video",
                                          "For edged's tests", "edged");
}

static void encoder_init(GTypeInstance *instance, gpointer type_class)
{
    struct encoder *encoder = (struct encoder *)instance;
    gboolean h265 = is_h265(type_class);
    GstElement *tail;

    puts("NvMMLiteOpen : Block : BlockType = 4 "); // NVIDIA's writes this to standard output too
    encoder->told = g_string_new(NULL);
    encoder->reader = g_object_new(reader_type(), NULL);
    tail = gst_parse_bin_from_description(
        h265 ? "queue max-size-buffers=4 ! videoconvert ! video/x-raw,format=I420 ! "
               "x265enc name=inside tune=zerolatency speed-preset=ultrafast "
               "option-string=info=0:open-gop=0"
             : "queue max-size-buffers=4 ! x264enc name=inside tune=zerolatency "
               "speed-preset=ultrafast byte-stream=true ! "
               "video/x-h264,profile=constrained-baseline",
        TRUE, NULL);
    encoder->inside = gst_bin_get_by_name(GST_BIN(tail), "inside");
    gst_object_unref(encoder->inside); // the bin has it
    watch_frames(encoder);
    gst_bin_add_many(GST_BIN(encoder), GST_ELEMENT(encoder->reader), tail, NULL);
    gst_element_link(GST_ELEMENT(encoder->reader), tail);
    jetson_add_pad(GST_ELEMENT(encoder), GST_ELEMENT(encoder->reader), "sink");
    jetson_add_pad(GST_ELEMENT(encoder), tail, "src");
}

GType jetson_encoder_type(gboolean h265)
{
    return g_type_register_static_simple(
        GST_TYPE_BIN, h265 ? "EdgedFakeNvenc265" : "EdgedFakeNvenc264",
        sizeof(struct encoder_class), encoder_class_init, sizeof(struct encoder), encoder_init, 0);
}
