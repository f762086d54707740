// The media's pipeline runs on the system clock with a base time that is set once, when it is made:
// so a time stamp of the camera becomes one of the pipeline by a subtraction, before and after
// PLAYING, and no sink waits for latency that a pipeline without a jitter buffer does not have.
//
// Threads: medias are made and ended on the RTSP server's client and media threads.

#include "daemon/front/mount.h"

#include <dlfcn.h>
#include <errno.h>

#define MOUNT_CAPS "video/x-h264, stream-format=(string)byte-stream, alignment=(string)au"
#define ATTACHMENT_KEY "edged-attachment"
#define PREPARE_ATTEMPTS 5
// No attempt begins later: one that finds no picture takes 20 s.
#define PREPARE_NS NS_PER_S

struct mount {
    GstRTSPMediaFactory parent;
    struct stream *stream; // a reference
    gint generation;       // of the media that viewers share; atomic
};

struct mount_class {
    GstRTSPMediaFactoryClass parent;
};

// What links one media to the stream; freed with the media.
struct attachment {
    struct mount *mount;   // a reference
    struct stream *stream; // the mount's
    GstAppSrc *source;     // a reference
    int64_t base_ns;
    gint generation; // of the mount when the media was made
};

GType mount_get_type(void);
static void mount_init(GTypeInstance *instance, gpointer type_class);
static void mount_class_init(gpointer type_class, gpointer data);

GType mount_get_type(void)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        GType made = g_type_register_static_simple(GST_TYPE_RTSP_MEDIA_FACTORY, "EdgedMount",
                                                   sizeof(struct mount_class), mount_class_init,
                                                   sizeof(struct mount), mount_init, 0);

        g_once_init_leave(&type, made);
    }
    return type;
}

static gchar *gen_key(GstRTSPMediaFactory *factory, const GstRTSPUrl *url)
{
    struct mount *mount = (struct mount *)factory;

    (void)url; // the inherited key holds the query, so that each query would get its own media
    return g_strdup_printf("%d", g_atomic_int_get(&mount->generation));
}

static void set_if_there(GstElement *element, const char *property, const char *value)
{
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), property)) {
        gst_util_set_object_arg(G_OBJECT(element), property, value);
    }
}

static GstElement *make_source(void)
{
    GstElement *source = gst_element_factory_make("appsrc", "source");
    GstCaps *caps = gst_caps_from_string(MOUNT_CAPS);

    g_object_set(source, "caps", caps, "is-live", TRUE, "format", GST_FORMAT_TIME, "block", FALSE,
                 "max-bytes", G_GUINT64_CONSTANT(0), NULL);
    gst_caps_unref(caps);
    return source;
}

static GstElement *create_element(GstRTSPMediaFactory *factory, const GstRTSPUrl *url)
{
    GstElement *bin = gst_bin_new(NULL);
    GstElement *source = make_source();
    GstElement *parser = gst_element_factory_make("h264parse", NULL);
    GstElement *payloader = gst_element_factory_make("rtph264pay", "pay0");

    (void)factory;
    (void)url;
    // No config-interval: the encoder repeats the parameter sets before every key frame already,
    // and the payloader would put them before each slice of one, where FFmpeg takes them for the
    // start of another picture.
    g_object_set(payloader, "pt", 96, NULL);
    set_if_there(payloader, "aggregate-mode", "zero-latency"); // since 1.18
    gst_bin_add_many(GST_BIN(bin), source, parser, payloader, NULL);
    gst_element_link_many(source, parser, payloader, NULL);
    return bin;
}

static void free_attachment(gpointer data)
{
    struct attachment *attachment = data;

    stream_detach(attachment->stream, attachment->source);
    gst_object_unref(attachment->source);
    g_object_unref(attachment->mount);
    g_free(attachment);
}

static GstPadProbeReturn on_payload(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const struct attachment *attachment = data;
    const GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);

    (void)pad;
    if (GST_BUFFER_PTS_IS_VALID(buffer)) {
        stream_note_payloaded(attachment->stream, attachment->source,
                              attachment->base_ns + (int64_t)GST_BUFFER_PTS(buffer));
    }
    return GST_PAD_PROBE_OK;
}

// Whoever comes from now on gets another media. Those who share this one keep it.
static void retire(struct attachment *attachment)
{
    g_atomic_int_compare_and_exchange(&attachment->mount->generation, attachment->generation,
                                      attachment->generation + 1);
}

static void on_target_state(GstRTSPMedia *media, gint state, gpointer data)
{
    struct attachment *attachment = data;

    (void)media;
    stream_set_playing(attachment->stream, attachment->source, state == GST_STATE_PLAYING);
    if (state == GST_STATE_NULL) {
        retire(attachment); // it is about to end and cannot be prepared again
    }
}

static void on_unprepared(GstRTSPMedia *media, gpointer data)
{
    struct attachment *attachment = data;

    (void)media;
    stream_detach(attachment->stream, attachment->source);
}

static int64_t set_clock(GstElement *element)
{
    GstObject *pipeline = gst_object_get_parent(GST_OBJECT(element));
    GstClock *clock = gst_system_clock_obtain(); // CLOCK_MONOTONIC
    int64_t base_ns = clock_now_ns();

    gst_pipeline_use_clock(GST_PIPELINE(pipeline), clock);
    gst_element_set_start_time(GST_ELEMENT(pipeline), GST_CLOCK_TIME_NONE);
    gst_element_set_base_time(GST_ELEMENT(pipeline), (GstClockTime)base_ns);
    gst_pipeline_set_latency(GST_PIPELINE(pipeline), 0);
    gst_object_unref(clock);
    gst_object_unref(pipeline);
    return base_ns;
}

static void watch_payloader(GstElement *bin, struct attachment *attachment)
{
    GstElement *payloader = gst_bin_get_by_name(GST_BIN(bin), "pay0");
    GstPad *pad = gst_element_get_static_pad(payloader, "sink");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_payload, attachment, NULL);
    gst_object_unref(pad);
    gst_object_unref(payloader);
}

static void configure(GstRTSPMediaFactory *factory, GstRTSPMedia *media)
{
    GstRTSPMediaFactoryClass *parent = g_type_class_peek(GST_TYPE_RTSP_MEDIA_FACTORY);
    GstElement *bin = gst_rtsp_media_get_element(media);
    struct attachment *attachment = g_new0(struct attachment, 1);

    parent->configure(factory, media);
    attachment->mount = g_object_ref((struct mount *)factory);
    attachment->stream = attachment->mount->stream;
    attachment->generation = g_atomic_int_get(&attachment->mount->generation);
    attachment->source = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(bin), "source"));
    attachment->base_ns = set_clock(bin);
    g_signal_connect(media, "target-state", G_CALLBACK(on_target_state), attachment);
    g_signal_connect(media, "unprepared", G_CALLBACK(on_unprepared), attachment);
    watch_payloader(bin, attachment);
    g_object_set_data_full(G_OBJECT(media), ATTACHMENT_KEY, attachment, free_attachment);
    gst_object_unref(bin);
    // Without memory nothing is fed, and DESCRIBE ends in an error of the media.
    stream_attach(attachment->stream, attachment->source, attachment->base_ns);
}

static void finalize(GObject *object)
{
    GObjectClass *parent = g_type_class_peek(GST_TYPE_RTSP_MEDIA_FACTORY);

    stream_unref(((struct mount *)object)->stream);
    parent->finalize(object);
}

static void mount_class_init(gpointer type_class, gpointer data)
{
    GstRTSPMediaFactoryClass *factory = type_class;

    (void)data;
    factory->gen_key = gen_key;
    factory->create_element = create_element;
    factory->configure = configure;
    G_OBJECT_CLASS(type_class)->finalize = finalize;
}

static void mount_init(GTypeInstance *instance, gpointer type_class)
{
    (void)type_class;
    ((struct mount *)instance)->stream = NULL;
}

GstRTSPMediaFactory *mount_new(struct stream *stream)
{
    struct mount *mount = g_object_new(mount_get_type(), NULL);
    GstRTSPMediaFactory *factory = &mount->parent;

    mount->stream = stream_ref(stream);
    gst_rtsp_media_factory_set_shared(factory, TRUE);
    gst_rtsp_media_factory_set_latency(factory, 0);
    gst_rtsp_media_factory_set_suspend_mode(factory, GST_RTSP_SUSPEND_MODE_NONE);
    gst_rtsp_media_factory_set_transport_mode(factory, GST_RTSP_TRANSPORT_MODE_PLAY);
    gst_rtsp_media_factory_set_protocols(factory,
                                         GST_RTSP_LOWER_TRANS_UDP | GST_RTSP_LOWER_TRANS_TCP);
    return factory;
}

struct stream *mount_stream(GstRTSPMediaFactory *factory)
{
    return ((struct mount *)factory)->stream;
}

// With gst_rtsp_media_can_be_shared() (1.24) the library began to return medias locked; unlocking
// came with 1.18. The release that runs decides, and edged builds with older ones: look them up.
static void unlock_constructed(GstRTSPMedia *media)
{
    if (dlsym(RTLD_DEFAULT, "gst_rtsp_media_can_be_shared")) {
        void (*unlock)(GstRTSPMedia *) = dlsym(RTLD_DEFAULT, "gst_rtsp_media_unlock");

        unlock(media);
    }
}

GstRTSPMedia *mount_construct(GstRTSPMediaFactory *factory, const GstRTSPUrl *url)
{
    GstRTSPMedia *media = gst_rtsp_media_factory_construct(factory, url);

    if (media) {
        unlock_constructed(media);
    }
    return media;
}

GstRTSPMedia *mount_hold_media(GstRTSPMediaFactory *factory, GstRTSPThreadPool *threads,
                               GstRTSPContext *context)
{
    int64_t give_up_ns = clock_now_ns() + PREPARE_NS;

    for (int i = 0; i < PREPARE_ATTEMPTS && clock_now_ns() < give_up_ns; i++) {
        GstRTSPMedia *media = mount_construct(factory, context->uri);
        GstRTSPThread *thread =
            gst_rtsp_thread_pool_get_thread(threads, GST_RTSP_THREAD_TYPE_MEDIA, context);

        if (gst_rtsp_media_prepare(media, thread)) {
            return media;
        }
        // It ended, or began to, between the look-up and now.
        retire(g_object_get_data(G_OBJECT(media), ATTACHMENT_KEY));
        g_object_unref(media);
    }
    return NULL;
}

void mount_release_media(gpointer media)
{
    gst_rtsp_media_unprepare(media);
    g_object_unref(media);
}

int mount_check_elements(struct error *error)
{
    static const char *const needed[] = {"appsrc", "h264parse", "rtph264pay",
                                         "rtpbin", "udpsink",   "appsink"};

    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++) {
        GstElementFactory *factory = gst_element_factory_find(needed[i]);

        if (!factory) {
            return error_set(error, -ENOENT,
                             "the GStreamer element %s is missing, and RTSP cannot do without it "
                             "(packages gstreamer1.0-plugins-base, -good and -bad)",
                             needed[i]);
        }
        gst_object_unref(factory);
    }
    return 0;
}
