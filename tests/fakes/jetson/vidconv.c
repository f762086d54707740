// nvvidconv, between surfaces and system memory, at the same size.
#include "tests/fakes/jetson/jetson.h"

#include <stdio.h>

struct vidconv {
    GstBaseTransform parent;
    GstVideoInfo info;
    gboolean blocks, from_surfaces, to_surfaces;
};

struct vidconv_class {
    GstBaseTransformClass parent;
};

static GstBaseTransformClass *parent_class;

static GstCaps *transform_caps(GstBaseTransform *transform, GstPadDirection direction,
                               GstCaps *caps, GstCaps *filter)
{
    (void)transform, (void)direction;
    return jetson_other_caps(caps, filter, JETSON_SYSTEM | JETSON_SURFACES);
}

static gboolean set_caps(GstBaseTransform *transform, GstCaps *in, GstCaps *out)
{
    struct vidconv *vidconv = (struct vidconv *)transform;

    vidconv->from_surfaces = jetson_are_surfaces(in);
    vidconv->to_surfaces = jetson_are_surfaces(out);
    return gst_video_info_from_caps(&vidconv->info, in);
}

static GstFlowReturn prepare_output(GstBaseTransform *transform, GstBuffer *in, GstBuffer **out)
{
    const struct vidconv *vidconv = (struct vidconv *)transform;
    GstMemory *memory;

    if (!vidconv->to_surfaces) {
        return parent_class->prepare_output_buffer(transform, in, out);
    }
    memory = jetson_memory_new((uint32_t)vidconv->info.width, (uint32_t)vidconv->info.height,
                               vidconv->blocks);
    if (!memory) {
        return GST_FLOW_ERROR;
    }
    *out = gst_buffer_new();
    gst_buffer_append_memory(*out, memory);
    gst_buffer_copy_into(*out, in, GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_FLAGS, 0, -1);
    return GST_FLOW_OK;
}

// Between system memory and the surface that is on one side.
static gboolean convert(struct vidconv *vidconv, struct nvbuf_surface *surface, GstBuffer *other)
{
    gboolean to_surface = vidconv->to_surfaces, done = FALSE;
    GstVideoFrame frame;

    if (gst_video_frame_map(&frame, &vidconv->info, other,
                            to_surface ? GST_MAP_READ : GST_MAP_WRITE)) {
        done = to_surface ? jetson_write_by_cpu(surface, &frame) : jetson_read(surface, &frame);
        gst_video_frame_unmap(&frame);
    }
    return done;
}

static GstFlowReturn transform_buffer(GstBaseTransform *transform, GstBuffer *in, GstBuffer *out)
{
    struct vidconv *vidconv = (struct vidconv *)transform;
    uint32_t width = (uint32_t)vidconv->info.width, height = (uint32_t)vidconv->info.height;
    struct nvbuf_surface *from =
        vidconv->from_surfaces ? jetson_surface_of(in, width, height) : NULL;
    struct nvbuf_surface *to = vidconv->to_surfaces ? jetson_surface_of(out, width, height) : NULL;
    gboolean done = FALSE;

    if (from && to) {
        done = jetson_copy(from, to);
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
    } else if (g_value_get_int(value) != 0) {
        fprintf(stderr, "fake_jetson: nvvidconv flips nothing here\n");
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
