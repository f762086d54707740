// Shared by the elements of surfaces.
#include "tests/fakes/jetson/jetson.h"

gboolean jetson_are_surfaces(const GstCaps *caps)
{
    return gst_caps_features_contains(gst_caps_get_features(caps, 0), JETSON_FEATURE);
}

GstCaps *jetson_other_caps(const GstCaps *caps, GstCaps *filter, unsigned with)
{
    GstCaps *other = gst_caps_new_empty(), *result = other;

    for (unsigned memory = JETSON_SURFACES; memory > 0; memory--) {
        for (guint i = 0; (with & memory) && i < gst_caps_get_size(caps); i++) {
            gst_caps_append_structure_full(
                other, gst_structure_copy(gst_caps_get_structure(caps, i)),
                memory == JETSON_SURFACES ? gst_caps_features_new(JETSON_FEATURE, NULL) : NULL);
        }
    }
    if (filter) {
        result = gst_caps_intersect_full(filter, other, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(other);
    }
    return result;
}

gboolean jetson_unit_size(GstBaseTransform *transform, GstCaps *caps, gsize *size)
{
    GstVideoInfo info;

    (void)transform;
    *size = sizeof(struct nvbuf_surface);
    if (!jetson_are_surfaces(caps) && gst_video_info_from_caps(&info, caps))
        *size = GST_VIDEO_INFO_SIZE(&info);
    return TRUE;
}

void jetson_add_templates(gpointer type_class, unsigned sink, unsigned src)
{
    for (int i = 0; i < 2; i++) {
        g_autoptr(GstCaps) any = gst_caps_from_string("video/x-raw,format=NV12");
        g_autoptr(GstCaps) caps = jetson_other_caps(any, NULL, i ? src : sink);

        gst_element_class_add_pad_template(
            type_class, gst_pad_template_new(i ? "src" : "sink", i ? GST_PAD_SRC : GST_PAD_SINK,
                                             GST_PAD_ALWAYS, caps));
    }
}
