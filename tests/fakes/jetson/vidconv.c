// nvvidconv, between surfaces and system memory, at the same size, turned or not.
#include "tests/fakes/jetson/jetson.h"

#include <stdio.h>

struct vidconv {
    GstBaseTransform parent;
    GstVideoInfo from, to;
    gboolean blocks, from_surfaces, to_surfaces;
    int method; // nvvidconv's flip-method
};

struct vidconv_class {
    GstBaseTransformClass parent;
};

static GstBaseTransformClass *parent_class;

// Quarter turns, and mirrors at a diagonal.
static gboolean swaps_sides(const struct vidconv *vidconv)
{
    return vidconv->method % 2 != 0;
}

static void swap_sides(GstStructure *structure)
{
    const GValue *width = gst_structure_get_value(structure, "width");
    const GValue *height = gst_structure_get_value(structure, "height");
    GValue kept = G_VALUE_INIT;

    if (width && height) {
        g_value_init(&kept, G_VALUE_TYPE(width));
        g_value_copy(width, &kept);
        gst_structure_set_value(structure, "width", height);
        gst_structure_take_value(structure, "height", &kept);
    }
}

static GstCaps *transform_caps(GstBaseTransform *transform, GstPadDirection direction,
                               GstCaps *caps, GstCaps *filter)
{
    g_autoptr(GstCaps) turned = gst_caps_copy(caps);

    (void)direction;
    for (guint i = 0; swaps_sides((struct vidconv *)transform) && i < gst_caps_get_size(turned);
         i++) {
        swap_sides(gst_caps_get_structure(turned, i));
    }
    return jetson_other_caps(turned, filter, JETSON_SYSTEM | JETSON_SURFACES);
}

static gboolean set_caps(GstBaseTransform *transform, GstCaps *in, GstCaps *out)
{
    struct vidconv *vidconv = (struct vidconv *)transform;

    vidconv->from_surfaces = jetson_are_surfaces(in);
    vidconv->to_surfaces = jetson_are_surfaces(out);
    return gst_video_info_from_caps(&vidconv->from, in) &&
           gst_video_info_from_caps(&vidconv->to, out);
}

static GstFlowReturn prepare_output(GstBaseTransform *transform, GstBuffer *in, GstBuffer **out)
{
    const struct vidconv *vidconv = (struct vidconv *)transform;
    GstMemory *memory;

    if (!vidconv->to_surfaces) {
        return parent_class->prepare_output_buffer(transform, in, out);
    }
    memory = jetson_memory_new((uint32_t)vidconv->to.width, (uint32_t)vidconv->to.height,
                               vidconv->blocks);
    if (!memory) {
        return GST_FLOW_ERROR;
    }
    *out = gst_buffer_new();
    gst_buffer_append_memory(*out, memory);
    gst_buffer_copy_into(*out, in, GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_FLAGS, 0, -1);
    return GST_FLOW_OK;
}

// Between system memory and the surface that is on one side. It is not turned there.
static gboolean convert(struct vidconv *vidconv, struct nvbuf_surface *surface, GstBuffer *other)
{
    gboolean to_surface = vidconv->to_surfaces, done = FALSE;
    GstVideoFrame frame;

    if (vidconv->method != 0) {
        fprintf(stderr, "fake_jetson: nvvidconv turns surfaces alone\n");
    } else if (gst_video_frame_map(&frame, &vidconv->from, other,
                                   to_surface ? GST_MAP_READ : GST_MAP_WRITE)) {
        done = to_surface ? jetson_write_by_cpu(surface, &frame) : jetson_read(surface, &frame);
        gst_video_frame_unmap(&frame);
    }
    return done;
}

static GstFlowReturn transform_buffer(GstBaseTransform *transform, GstBuffer *in, GstBuffer *out)
{
    struct vidconv *vidconv = (struct vidconv *)transform;
    struct nvbuf_surface *from =
        vidconv->from_surfaces
            ? jetson_surface_of(in, (uint32_t)vidconv->from.width, (uint32_t)vidconv->from.height)
            : NULL;
    struct nvbuf_surface *to =
        vidconv->to_surfaces
            ? jetson_surface_of(out, (uint32_t)vidconv->to.width, (uint32_t)vidconv->to.height)
            : NULL;
    gboolean done = FALSE;

    if (from && to) {
        done = jetson_turn(from, to, vidconv->method);
    } else if (from || to) {
        done = convert(vidconv, from ? from : to, from ? out : in);
    }
    return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

enum { BLOCKS = 1, FLIP };

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    (void)property;
    if (id == BLOCKS) {
        ((struct vidconv *)object)->blocks = g_value_get_boolean(value);
    } else {
        ((struct vidconv *)object)->method = g_value_get_int(value);
        gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(object));
    }
}

static void class_init(gpointer type_class, gpointer data)
{
    GstBaseTransformClass *transform = type_class;
    GObjectClass *object = type_class;

    (void)data;
    parent_class = g_type_class_peek_parent(type_class);
    jetson_add_templates(type_class, JETSON_SYSTEM | JETSON_SURFACES,
                         JETSON_SYSTEM | JETSON_SURFACES);
    gst_element_class_set_static_metadata(type_class, "VIC", "Filter/Video", "For edged's tests",
                                          "edged");
    object->set_property = set_property;
    g_object_class_install_property(object, BLOCKS,
                                    g_param_spec_boolean("bl-output", "Block-linear", "", TRUE,
                                                         G_PARAM_WRITABLE | G_PARAM_CONSTRUCT));
    g_object_class_install_property(
        object, FLIP, g_param_spec_int("flip-method", "Flip", "", 0, 7, 0, G_PARAM_WRITABLE));
    transform->transform_caps = transform_caps;
    transform->get_unit_size = jetson_unit_size;
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
