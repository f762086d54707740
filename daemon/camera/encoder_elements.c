#include "daemon/camera/encoder_elements.h"

#include <stdarg.h>
#include <stdio.h>

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

    if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), property)) {
        return;
    }
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
    {.id = CONFIG_ENCODER_X264,
     .name = "x264enc",
     .ways = ONE_WAY(SCALER "x264enc name=encoder ! video/x-h264,profile=constrained-baseline"),
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
};

const struct encoder_element *encoder_element_at(size_t index)
{
    return index < G_N_ELEMENTS(elements) ? &elements[index] : NULL;
}
