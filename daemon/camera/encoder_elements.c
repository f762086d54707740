#include "daemon/camera/encoder_elements.h"

#include "daemon/camera/jpeg.h"
#include "daemon/common/unit_probe.h"

#include <errno.h>
#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEYFRAME_LONGEST_S 10 // as the schema has it
// openh264enc fails for good at a picture of more than two thirds of its raw bytes: WelsEncodeNal()
// wants half as much room again. Noise gets there when the rate control has many bits for a frame,
// as it has when frames come seldom: the element measures their rate. With a quantizer of 22 or
// more every view of white noise stays below; 24 leaves a margin.
#define OPENH264_QUANTIZER_MIN 24

// Passes frames on as they are until "size" gets a size.
#define SCALER "videoscale ! capsfilter name=size ! "

// Sets a property from text when the element has it.
static void set(GstElement *element, const char *property, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set(GstElement *element, const char *property, const char *format, ...)
{
    char value[256];
    va_list arguments;

    if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), property))
        return;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    gst_util_set_object_arg(G_OBJECT(element), property, value);
}

// The distance at which a software encoder makes key frames by itself: as long as possible, because
// encoder.c forces each key frame. It has to, as the distance may change while the encoder plays,
// and no element's property can. A hardware encoder that cannot be forced keeps the distance it
// began with.
static unsigned longest_distance(const struct encoder_settings *settings)
{
    return KEYFRAME_LONGEST_S * settings->fps_numerator / settings->fps_denominator + 1;
}

static void set_bits_per_second(GstElement *encoder, int bitrate_kbps)
{
    set(encoder, "bitrate", "%d", bitrate_kbps * 1000);
    set(encoder, "max-bitrate", "%d", bitrate_kbps * 1500);
}

static void set_kilobits_per_second(GstElement *encoder, int bitrate_kbps)
{
    set(encoder, "bitrate", "%d", bitrate_kbps);
}

static void set_control(GstElement *encoder, int bitrate_kbps)
{
    set(encoder, "extra-controls", "controls,video_bitrate=%d", bitrate_kbps * 1000);
}

// Jetson's hardware encoders. insert-sps-pps puts the parameter sets in front of every IDR; with
// poc-type 2, which H.264 alone has, pictures cannot come in another order.
static void configure_nvv4l2(GstElement *encoder, const struct encoder_settings *settings)
{
    set_bits_per_second(encoder, settings->bitrate_kbps);
    set(encoder, "iframeinterval", "%u", settings->keyframe_frames);
    set(encoder, "idrinterval", "%u", settings->keyframe_frames);
    set(encoder, "insert-sps-pps", "true");
    set(encoder, "insert-vui", "true");
    set(encoder, "maxperf-enable", "true");
    set(encoder, "preset-level", "1");
    set(encoder, "num-B-Frames", "0");
    set(encoder, "poc-type", "2");
    set(encoder, "profile", "0");
}

// Any V4L2 memory-to-memory encoder of the kernel; controls that it does not have are passed over.
static void configure_v4l2(GstElement *encoder, const struct encoder_settings *settings)
{
    set(encoder, "extra-controls",
        "controls,video_bitrate=%d,h264_i_frame_period=%u,video_gop_size=%u,"
        "repeat_sequence_header=1,video_b_frames=0",
        settings->bitrate_kbps * 1000, settings->keyframe_frames, settings->keyframe_frames);
}

// The encoder of a GPU on a card, and of a Thor by CUDA: nvcudah264enc from GStreamer 1.22 on,
// nvh264enc before. Presets have other names in each, and drivers refuse the older ones.
static void configure_nvcodec(GstElement *encoder, const struct encoder_settings *settings)
{
    set_kilobits_per_second(encoder, settings->bitrate_kbps);
    set(encoder, "gop-size", "%u", longest_distance(settings));
    set(encoder, "rate-control", "cbr");
    set(encoder, "rc-mode", "cbr");
    set(encoder, "tune", "ultra-low-latency");
    set(encoder, "zero-reorder-delay", "true");
    set(encoder, "zerolatency", "true");
    set(encoder, "b-frames", "0");
    set(encoder, "bframes", "0");
}

static void configure_x264(GstElement *encoder, const struct encoder_settings *settings)
{
    set(encoder, "tune", "zerolatency");
    set(encoder, "speed-preset", "ultrafast");
    set_kilobits_per_second(encoder, settings->bitrate_kbps);
    set(encoder, "key-int-max", "%u", longest_distance(settings));
    set(encoder, "byte-stream", "true");
}

static void configure_openh264(GstElement *encoder, const struct encoder_settings *settings)
{
    set_bits_per_second(encoder, settings->bitrate_kbps);
    set(encoder, "gop-size", "%u", longest_distance(settings));
    set(encoder, "rate-control", "bitrate");
    set(encoder, "complexity", "low");
    set(encoder, "qp-min", "%d", OPENH264_QUANTIZER_MIN);
    set(encoder, "enable-frame-skip", "false");
}

// Without open-gop a forced key frame is an IDR picture. info is x265's own description of itself,
// 2 kB in front of each key frame.
static void configure_x265(GstElement *encoder, const struct encoder_settings *settings)
{
    set(encoder, "tune", "zerolatency");
    set(encoder, "speed-preset", "ultrafast");
    set_kilobits_per_second(encoder, settings->bitrate_kbps);
    set(encoder, "key-int-max", "%u", longest_distance(settings));
    set(encoder, "option-string",
        "info=0:open-gop=0:range=%s:colorprim=%u:transfer=%u:colormatrix=%u",
        settings->range == FRAME_RANGE_FULL ? "full" : "limited", settings->colour.primaries,
        settings->colour.transfer, settings->colour.matrix);
}

// A Jetson's encoder, in the ways that gst-nvvideo4linux2 of JetPack 5 has. It takes the surface
// itself where its queue of input imports descriptors. Otherwise it has the VIC transform each
// surface into one of its own. From system memory nvvidconv copies by the CPU into a surface, which
// the VIC transforms into another, and the encoder again; it reads rows where the caps have them,
// whatever a buffer says of its strides. An element without the property or the value is passed
// over by its parser, a release in which a way does not work by its trial.
#define NVV4L2_WAYS(name)                                                                          \
    {                                                                                              \
        {.fragment = name " name=encoder output-io-mode=dmabuf-import",                            \
         .surfaces = true,                                                                         \
         .how = " by descriptor"},                                                                 \
            {.fragment = name " name=encoder",                                                     \
             .surfaces = true,                                                                     \
             .how = " by transform",                                                               \
             .copies = {[COPY_VIC_TRANSFORM] = 1}},                                                \
        {                                                                                          \
            .fragment =                                                                            \
                "nvvidconv ! video/x-raw(memory:NVMM),format=NV12 ! " name " name=encoder",        \
            .packed = true, .how = "", .copies = {                                                 \
                [COPY_NVMM_COPY] = 1,                                                              \
                [COPY_VIC_TRANSFORM] = 2                                                           \
            }                                                                                      \
        }                                                                                          \
    }

#define CONVERTED .copies = {[COPY_ENCODER_CONVERT] = 1}
#define UPLOADED .copies = {[COPY_ENCODER_UPLOAD] = 1}
#define ONE_WAY(fragment_, ...)                                                                    \
    {                                                                                              \
        {                                                                                          \
            .fragment = (fragment_), .how = "", __VA_ARGS__                                        \
        }                                                                                          \
    }

static const struct encoder_element elements[] = {
    {.id = CONFIG_ENCODER_NVV4L2,
     .name = "nvv4l2h264enc",
     .ways = NVV4L2_WAYS("nvv4l2h264enc"),
     .configure = configure_nvv4l2,
     .set_bitrate = set_bits_per_second},
    {.id = CONFIG_ENCODER_V4L2,
     .name = "v4l2h264enc",
     .ways = ONE_WAY(SCALER "v4l2h264enc name=encoder"),
     .configure = configure_v4l2,
     .set_bitrate = set_control},
    {.id = CONFIG_ENCODER_NVCUDA,
     .name = "nvcudah264enc",
     .ways = ONE_WAY(SCALER "nvcudah264enc name=encoder", UPLOADED),
     .configure = configure_nvcodec,
     .set_bitrate = set_kilobits_per_second},
    {.id = CONFIG_ENCODER_NVENC,
     .name = "nvh264enc",
     .ways = ONE_WAY(SCALER "nvh264enc name=encoder", UPLOADED),
     .configure = configure_nvcodec,
     .set_bitrate = set_kilobits_per_second},
    {.id = CONFIG_ENCODER_X264,
     .name = "x264enc",
     .ways = ONE_WAY(SCALER "x264enc name=encoder ! video/x-h264,profile=constrained-baseline"),
     .repeats_sets = true,
     .configure = configure_x264,
     .set_bitrate = set_kilobits_per_second},
    {.id = CONFIG_ENCODER_OPENH264,
     .name = "openh264enc",
     .ways = ONE_WAY(SCALER "videoconvert ! video/x-raw,format=I420 ! openh264enc name=encoder",
                     CONVERTED),
     .configure = configure_openh264,
     .set_bitrate = set_bits_per_second},
    {.id = CONFIG_ENCODER_NVV4L2_H265,
     .name = "nvv4l2h265enc",
     .ways = NVV4L2_WAYS("nvv4l2h265enc"),
     .configure = configure_nvv4l2,
     .set_bitrate = set_bits_per_second},
    {.id = CONFIG_ENCODER_V4L2_H265,
     .name = "v4l2h265enc",
     .ways = ONE_WAY(SCALER "v4l2h265enc name=encoder"),
     .configure = configure_v4l2,
     .set_bitrate = set_control},
    {.id = CONFIG_ENCODER_X265,
     .name = "x265enc",
     .ways =
         ONE_WAY(SCALER "videoconvert ! video/x-raw,format=I420 ! x265enc name=encoder", CONVERTED),
     .configure = configure_x265,
     .set_bitrate = set_kilobits_per_second},
    {.id = CONFIG_ENCODER_TURBOJPEG, .name = "turbojpeg", .ways = ONE_WAY("")},
};

const struct encoder_element *encoder_element_at(size_t index)
{
    return index < G_N_ELEMENTS(elements) ? &elements[index] : NULL;
}

// The pipeline around an element
// ---------------------------------------------------------------------

static void release_frame(void *frame)
{
    frame_unref(frame);
}

// Memory of the frame's, which holds the frame.
static GstMemory *wrap(struct frame *frame, GstMemoryFlags flags, void *data, size_t size)
{
    return gst_memory_new_wrapped(flags, data, size, 0, size, frame_ref(frame), release_frame);
}

// The planes of a frame for those that read them by the CPU: in one memory, or of a surface each in
// its own.
static void append_planes(GstBuffer *buffer, struct frame *frame)
{
    const struct frame_layout *layout = &frame->layout;
    gsize offsets[GST_VIDEO_MAX_PLANES] = {layout->planes[0].offset, layout->planes[1].offset};
    gint strides[GST_VIDEO_MAX_PLANES] = {(gint)layout->planes[0].stride,
                                          (gint)layout->planes[1].stride};

    if (!frame->surface) {
        gst_buffer_append_memory(buffer,
                                 wrap(frame, GST_MEMORY_FLAG_READONLY, frame->data, layout->size));
    }
    for (unsigned i = 0; frame->surface && i < 2; i++) {
        offsets[i] = gst_buffer_get_size(buffer);
        gst_buffer_append_memory(buffer,
                                 wrap(frame, GST_MEMORY_FLAG_READONLY, frame_plane(frame, i),
                                      layout->planes[i].stride * layout->planes[i].rows));
    }
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                   layout->width & ~1U, layout->height & ~1U, 2, offsets, strides);
}

static bool lies_in(const GstVideoInfo *info, const struct frame *frame)
{
    bool same = !frame->surface;

    for (unsigned i = 0; i < 2; i++) {
        same = same && frame->layout.planes[i].offset == GST_VIDEO_INFO_PLANE_OFFSET(info, i) &&
               (gint)frame->layout.planes[i].stride == GST_VIDEO_INFO_PLANE_STRIDE(info, i);
    }
    return same;
}

// For elements that know the caps alone: copies planes, whose buffer it takes over, to where those
// have them. NULL: they cannot be read.
static GstBuffer *pack_planes(struct encoder_pipeline *pipeline, const struct frame *frame,
                              GstBuffer *planes)
{
    GstVideoInfo info;
    GstVideoFrame from, to;
    bool copied = false;

    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, frame->layout.width & ~1U,
                              frame->layout.height & ~1U);
    pipeline->packs = !lies_in(&info, frame);
    if (!pipeline->packs)
        return planes;
    GstBuffer *packed = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&info), NULL);
    if (gst_video_frame_map(&from, &info, planes, GST_MAP_READ)) {
        if (gst_video_frame_map(&to, &info, packed, GST_MAP_WRITE)) {
            copied = gst_video_frame_copy(&to, &from);
            gst_video_frame_unmap(&to);
        }
        gst_video_frame_unmap(&from);
    }
    gst_buffer_unref(planes);
    if (!copied)
        gst_clear_buffer(&packed);
    return packed;
}

// NULL: the CPU cannot get at a surface, as the encoder is then made to say.
static GstBuffer *wrap_frame(struct encoder_pipeline *pipeline, struct frame *frame)
{
    GstBuffer *buffer = gst_buffer_new();
    struct error error = {0};

    if (pipeline->way->surfaces) {
        // Not read-only: elements map what they take for a struct to be filled in, too.
        gst_buffer_append_memory(
            buffer, wrap(frame, 0, frame->surface->handle, frame->surface->handle_size));
    } else if (frame_begin_cpu_access(frame, &error) == 0) {
        append_planes(buffer, frame);
        buffer = pipeline->way->packed ? pack_planes(pipeline, frame, buffer) : buffer;
    } else {
        GST_ELEMENT_ERROR(pipeline->encoder, RESOURCE, READ, ("%s", error.text), (NULL));
        gst_clear_buffer(&buffer);
    }
    return buffer;
}

// The next picture is to be a key frame. Encoders hear of it by an event, a Jetson's by a signal
// alone, and where it is built on CUVID (Thor) by a property that resets itself.
static void force_key_frame(struct encoder_pipeline *pipeline)
{
    guint signal = g_signal_lookup("force-IDR", G_OBJECT_TYPE(pipeline->encoder));

    if (signal > 0) {
        g_signal_emit(pipeline->encoder, signal, 0);
    } else if (g_object_class_find_property(G_OBJECT_GET_CLASS(pipeline->encoder), "force-idr")) {
        g_object_set(pipeline->encoder, "force-idr", TRUE, NULL);
    } else {
        gst_pad_push_event(pipeline->feed, gst_video_event_new_downstream_force_key_unit(
                                               GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE,
                                               GST_CLOCK_TIME_NONE, TRUE, 0));
    }
}

// Every JPEG is a key frame.
static GstFlowReturn push_jpeg(struct encoder_pipeline *pipeline, struct frame *frame,
                               int64_t pts_ns)
{
    const uint8_t *bytes;
    size_t size;
    int r = jpeg_make(pipeline->jpeg, frame, 0, pipeline->jpeg_quality, &pipeline->failure, &bytes,
                      &size);

    frame_unref(frame);
    if (r < 0)
        return GST_FLOW_ERROR;
    pipeline->output(pipeline->context, pts_ns, bytes, size);
    return GST_FLOW_OK;
}

GstFlowReturn encoder_pipeline_push(struct encoder_pipeline *pipeline, struct frame *frame,
                                    int64_t pts_ns, bool key_frame)
{
    if (pipeline->jpeg)
        return push_jpeg(pipeline, frame, pts_ns);
    GstBuffer *buffer = wrap_frame(pipeline, frame);

    frame_unref(frame);
    if (!buffer)
        return GST_FLOW_ERROR;
    GST_BUFFER_PTS(buffer) = (GstClockTime)pts_ns;
    if (key_frame)
        force_key_frame(pipeline);
    return gst_pad_push(pipeline->feed, buffer);
}

// Stream start, caps and segment, as every stream begins. The caps say nothing of colours, so that
// no element converts them: encoders take the code values as they are.
static void feed_begin(struct encoder_pipeline *pipeline, const struct encoder_settings *settings)
{
    GstSegment segment;
    GstCaps *caps = gst_caps_new_simple(
        "video/x-raw", "format", G_TYPE_STRING, "NV12", "width", G_TYPE_INT, settings->width,
        "height", G_TYPE_INT, settings->height, "framerate", GST_TYPE_FRACTION,
        settings->fps_numerator, settings->fps_denominator, "pixel-aspect-ratio", GST_TYPE_FRACTION,
        1, 1, "interlace-mode", G_TYPE_STRING, "progressive", NULL);

    if (pipeline->way->surfaces)
        gst_caps_set_features(caps, 0, gst_caps_features_new("memory:NVMM", NULL));
    gst_pad_push_event(pipeline->feed, gst_event_new_stream_start("edged"));
    gst_pad_push_event(pipeline->feed, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pipeline->feed, gst_event_new_segment(&segment));
}

static GstFlowReturn take_sample(GstAppSink *sink, void *context)
{
    const struct encoder_pipeline *pipeline = context;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    GstMapInfo map;

    if (!sample)
        return GST_FLOW_EOS;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    int64_t pts_ns = (int64_t)gst_segment_to_running_time(gst_sample_get_segment(sample),
                                                          GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        pipeline->output(pipeline->context, pts_ns, map.data, map.size);
        gst_buffer_unmap(buffer, &map);
    }
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static int init_jpeg(struct encoder_pipeline *pipeline, const struct encoder_settings *settings,
                     struct error *error)
{
    const uint32_t most = CONFIG_MJPEG_SIDE_MAX;

    pipeline->jpeg_quality = settings->jpeg_quality;
    if (settings->width > most || settings->height > most) {
        return error_set(error, -ENOSYS, "got pictures of %ux%u, allowed for MJPEG are up to %ux%u",
                         settings->width, settings->height, most, most);
    }
    return jpeg_new(&pipeline->jpeg) < 0 ? error_set(error, -ENOSYS, "out of memory") : 0;
}

int encoder_pipeline_init(struct encoder_pipeline *pipeline, const struct encoder_element *element,
                          const struct encoder_way *way, const struct encoder_settings *settings,
                          encoder_pipeline_output *output, void *context, struct error *error)
{
    GstAppSinkCallbacks callbacks = {.new_sample = take_sample};
    char description[512];
    GError *failure = NULL;

    pipeline->element = element;
    pipeline->way = way;
    pipeline->output = output;
    pipeline->context = context;
    if (settings->codec == CONFIG_CODEC_MJPEG)
        return init_jpeg(pipeline, settings, error);
    bool h264 = settings->codec == CONFIG_CODEC_H264;
    const char *caps = !h264                   ? " ! video/x-h265"
                       : element->repeats_sets ? "" // its fragment ends in them
                                               : " ! h264parse config-interval=-1 ! video/x-h264";

    snprintf(description, sizeof description,
             "%s%s,stream-format=byte-stream,alignment=au "
             "! appsink name=sink sync=false async=false enable-last-sample=false",
             way->fragment, caps);
    GstElement *bin = gst_parse_bin_from_description(description, TRUE, &failure);
    if (failure) {
        bool missing = g_error_matches(failure, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT);
        bool parser = missing && strstr(failure->message, "h264parse");

        error_set(error, -ENOSYS, "%s%s", failure->message,
                  parser ? ", which gstreamer1.0-plugins-bad has" : "");
        g_error_free(failure);
        if (bin)
            gst_object_unref(gst_object_ref_sink(bin));
        return missing && !parser ? -ENOENT : -ENOSYS;
    }
    pipeline->pipeline = gst_pipeline_new(NULL);
    gst_bin_add(GST_BIN(pipeline->pipeline), bin);
    pipeline->encoder = gst_bin_get_by_name(GST_BIN(bin), "encoder");
    pipeline->size = gst_bin_get_by_name(GST_BIN(bin), "size");
    element->configure(pipeline->encoder, settings);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(bin), "sink");
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, pipeline, NULL);
    GstPad *exit = gst_element_get_static_pad(sink, "sink");
    if (h264)
        unit_probe_h264(exit, &(struct h264_sps){settings->range, settings->colour, true});
    else
        unit_probe_h265(exit);
    gst_object_unref(exit);
    gst_object_unref(sink);

    GstPad *entry = gst_element_get_static_pad(bin, "sink");
    pipeline->feed = gst_object_ref_sink(gst_pad_new("feed", GST_PAD_SRC));
    GstPadLinkReturn linked = gst_pad_link(pipeline->feed, entry);
    gst_object_unref(entry);
    if (linked != GST_PAD_LINK_OK ||
        gst_element_set_state(pipeline->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
        return error_set(error, -ENOSYS, "does not start");
    }
    gst_pad_set_active(pipeline->feed, TRUE);
    feed_begin(pipeline, settings);
    return 0;
}

void encoder_pipeline_set_bitrate(struct encoder_pipeline *pipeline, int bitrate_kbps)
{
    if (pipeline->element->set_bitrate)
        pipeline->element->set_bitrate(pipeline->encoder, bitrate_kbps);
}

void encoder_pipeline_set_size(struct encoder_pipeline *pipeline, unsigned width, unsigned height)
{
    if (pipeline->size) {
        GstCaps *caps = gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, width, "height",
                                            G_TYPE_INT, height, NULL);

        g_object_set(pipeline->size, "caps", caps, NULL);
        gst_caps_unref(caps);
    }
}

int encoder_pipeline_error(struct encoder_pipeline *pipeline, struct error *error,
                           const char *otherwise)
{
    if (!pipeline->pipeline) {
        const char *text = pipeline->failure.text;

        return error_set(error, -ENOSYS, "%s", text[0] ? text : otherwise);
    }
    GstBus *bus = gst_element_get_bus(pipeline->pipeline);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError *failure = NULL;

    if (message) {
        gst_message_parse_error(message, &failure, NULL);
        gst_message_unref(message);
    }
    gst_object_unref(bus);
    error_set(error, -ENOSYS, "%s", failure ? failure->message : otherwise);
    g_clear_error(&failure);
    return -ENOSYS;
}

void encoder_pipeline_stop(struct encoder_pipeline *pipeline)
{
    if (pipeline->feed)
        gst_pad_set_active(pipeline->feed, FALSE);
    if (pipeline->pipeline)
        gst_element_set_state(pipeline->pipeline, GST_STATE_NULL);
}

void encoder_pipeline_finish(struct encoder_pipeline *pipeline)
{
    gst_clear_object(&pipeline->feed);
    gst_clear_object(&pipeline->size);
    gst_clear_object(&pipeline->encoder);
    gst_clear_object(&pipeline->pipeline);
    jpeg_free(TAKE(pipeline->jpeg));
}
