// nvvidconv, from system memory into surfaces of the same size.
#include "tests/fakes/jetson/jetson.h"

#include <gst/base/gstbasetransform.h>

struct vidconv {
    GstBaseTransform parent;
    GstVideoInfo info;
};

struct vidconv_class {
    GstBaseTransformClass parent;
};

static GstCaps *transform_caps(GstBaseTransform *transform, GstPadDirection direction,
                               GstCaps *caps, GstCaps *filter)
{
    GstCaps *other = gst_caps_copy(caps), *result = other;

    (void)transform;
    for (guint i = 0; i < gst_caps_get_size(other); i++) {
        gst_caps_set_features(
            other, i,
            direction == GST_PAD_SINK ? gst_caps_features_new(JETSON_FEATURE, NULL) : NULL);
    }
    if (filter) {
        result = gst_caps_intersect_full(filter, other, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(other);
    }
    return result;
}

static gboolean set_caps(GstBaseTransform *transform, GstCaps *in, GstCaps *out)
{
    (void)out;
    return gst_video_info_from_caps(&((struct vidconv *)transform)->info, in);
}

static GstFlowReturn prepare_output(GstBaseTransform *transform, GstBuffer *in, GstBuffer **out)
{
    const GstVideoInfo *info = &((struct vidconv *)transform)->info;

    *out = jetson_buffer_new((uint32_t)info->width, (uint32_t)info->height);
    if (!*out) {
        return GST_FLOW_ERROR;
    }
    gst_buffer_copy_into(*out, in, GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_FLAGS, 0, -1);
    return GST_FLOW_OK;
}

static GstFlowReturn transform_buffer(GstBaseTransform *transform, GstBuffer *in, GstBuffer *out)
{
    GstVideoInfo *info = &((struct vidconv *)transform)->info;
    struct nvbuf_surface *surface =
        jetson_surface_of(out, (uint32_t)info->width, (uint32_t)info->height);
    GstVideoFrame frame;
    gboolean done = FALSE;

    if (surface && gst_video_frame_map(&frame, info, in, GST_MAP_READ)) {
        done = jetson_write_by_cpu(surface, &frame);
        gst_video_frame_unmap(&frame);
    }
    return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static void class_init(gpointer type_class, gpointer data)
{
    GstBaseTransformClass *transform = type_class;

    (void)data;
    for (int i = 0; i < 2; i++) {
        g_autoptr(GstCaps) caps = gst_caps_from_string(
            i ? "video/x-raw(" JETSON_FEATURE "),format=NV12" : "video/x-raw,format=NV12");

        gst_element_class_add_pad_template(
            type_class, gst_pad_template_new(i ? "src" : "sink", i ? GST_PAD_SRC : GST_PAD_SINK,
                                             GST_PAD_ALWAYS, caps));
    }
    gst_element_class_set_static_metadata(type_class, "VIC", "Filter/Video", "For edged's tests",
                                          "edged");
    transform->transform_caps = transform_caps;
    transform->set_caps = set_caps;
    transform->prepare_output_buffer = prepare_output;
    transform->transform = transform_buffer;
}

GType jetson_vidconv_type(void)
{
    return g_type_register_static_simple(GST_TYPE_BASE_TRANSFORM, "EdgedFakeVidconv",
                                         sizeof(struct vidconv_class), class_init,
                                         sizeof(struct vidconv), NULL, 0);
}
