// nvvidconv, between surfaces and system memory, at the same size, turned or not.
#include "tests/fakes/jetson/jetson.h"

#include <stdio.h>

// The element's surfaces, all of which are there from the start.
struct surface_pool {
    GstBufferPool parent;
    uint32_t width, height;
    gboolean blocks;
};

struct surface_pool_class {
    GstBufferPoolClass parent;
};

struct vidconv {
    GstBaseTransform parent;
    GstVideoInfo from, to;
    guint surfaces;
    gboolean blocks, from_surfaces, to_surfaces;
    int method; // nvvidconv's flip-method
};

struct vidconv_class {
    GstBaseTransformClass parent;
};

static GstBaseTransformClass *parent_class;
static GstBufferPoolClass *pool_parent_class;

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

static GstFlowReturn allocate(GstBufferPool *pool, GstBuffer **ret_buffer,
                              GstBufferPoolAcquireParams *parameters)
{
    const struct surface_pool *self = (struct surface_pool *)pool;
    GstMemory *memory = jetson_memory_new(self->width, self->height, self->blocks);

    (void)parameters;
    if (!memory)
        return GST_FLOW_ERROR;
    *ret_buffer = gst_buffer_new();
    gst_buffer_append_memory(*ret_buffer, memory);
    return GST_FLOW_OK;
}

// GStreamer's forgets the surfaces it has got when there is not another one.
static gboolean start_pool(GstBufferPool *pool)
{
    gboolean done = pool_parent_class->start(pool);

    if (!done)
        pool_parent_class->stop(pool);
    return done;
}

static void pool_class_init(gpointer type_class, gpointer data)
{
    (void)data;
    pool_parent_class = g_type_class_peek_parent(type_class);
    GST_BUFFER_POOL_CLASS(type_class)->alloc_buffer = allocate;
    GST_BUFFER_POOL_CLASS(type_class)->start = start_pool;
}

static GType pool_type(void)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        g_once_init_leave(
            &type, g_type_register_static_simple(GST_TYPE_BUFFER_POOL, "EdgedFakeSurfacePool",
                                                 sizeof(struct surface_pool_class), pool_class_init,
                                                 sizeof(struct surface_pool), NULL, 0));
    }
    return type;
}

// A neighbour that keeps all surfaces stops the element.
static gboolean decide_allocation(GstBaseTransform *transform, GstQuery *query)
{
    const struct vidconv *vidconv = (struct vidconv *)transform;
    guint size = sizeof(struct nvbuf_surface), count = vidconv->surfaces;
    g_autoptr(GstBufferPool) pool = NULL;
    GstCaps *caps;
    GstStructure *config;

    if (!vidconv->to_surfaces)
        return parent_class->decide_allocation(transform, query);
    pool = gst_object_ref_sink(g_object_new(pool_type(), NULL));
    ((struct surface_pool *)pool)->width = (uint32_t)vidconv->to.width;
    ((struct surface_pool *)pool)->height = (uint32_t)vidconv->to.height;
    ((struct surface_pool *)pool)->blocks = vidconv->blocks;
    gst_query_parse_allocation(query, &caps, NULL);
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, size, count, count);
    if (gst_query_get_n_allocation_pools(query) > 0)
        gst_query_set_nth_allocation_pool(query, 0, pool, size, count, count);
    else
        gst_query_add_allocation_pool(query, pool, size, count, count);
    return gst_buffer_pool_set_config(pool, config);
}

// Between system memory and the surface that is on one side. Where rows lie is taken from the caps,
// not from the buffer.
static gboolean convert(struct vidconv *vidconv, struct nvbuf_surface *surface, GstBuffer *other)
{
    gboolean to_surface = vidconv->to_surfaces, done = FALSE;
    GstVideoFrame frame = {.info = to_surface ? vidconv->from : vidconv->to};
    GstMapInfo map;

    if (!gst_buffer_map(other, &map, to_surface ? GST_MAP_READ : GST_MAP_WRITE))
        return FALSE;
    for (unsigned i = 0; i < 2; i++)
        frame.data[i] = map.data + GST_VIDEO_INFO_PLANE_OFFSET(&frame.info, i);
    if (map.size >= GST_VIDEO_INFO_SIZE(&frame.info))
        done = to_surface ? jetson_write_by_cpu(surface, &frame) : jetson_read(surface, &frame);
    gst_buffer_unmap(other, &map);
    return done;
}

// Into system memory by way of another surface.
static gboolean convert_turned(struct vidconv *vidconv, const struct nvbuf_surface *from,
                               GstBuffer *out)
{
    uint32_t width = (uint32_t)vidconv->to.width, height = (uint32_t)vidconv->to.height;
    GstMemory *memory = jetson_memory_new(width, height, FALSE);
    g_autoptr(GstBuffer) buffer = gst_buffer_new();
    struct nvbuf_surface *turned;

    if (!memory)
        return FALSE;
    gst_buffer_append_memory(buffer, memory);
    turned = jetson_surface_of(buffer, width, height);
    return turned && jetson_turn(from, turned, vidconv->method) && convert(vidconv, turned, out);
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

    if (from && to)
        done = jetson_turn(from, to, vidconv->method);
    else if (from)
        done = convert_turned(vidconv, from, out);
    else if (to)
        done = convert(vidconv, to, in);
    return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

enum { BLOCKS = 1, FLIP, SURFACES };

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    (void)property;
    if (id == BLOCKS) {
        ((struct vidconv *)object)->blocks = g_value_get_boolean(value);
    } else if (id == SURFACES) {
        ((struct vidconv *)object)->surfaces = g_value_get_uint(value);
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
    g_object_class_install_property(object, SURFACES,
                                    g_param_spec_uint("output-buffers", "Surfaces", "", 1,
                                                      G_MAXUINT, 4,
                                                      G_PARAM_WRITABLE | G_PARAM_CONSTRUCT));
    transform->transform_caps = transform_caps;
    transform->get_unit_size = jetson_unit_size;
    transform->set_caps = set_caps;
    transform->decide_allocation = decide_allocation;
    transform->transform = transform_buffer;
}

GType jetson_vidconv_type(void)
{
    return g_type_register_static_simple(GST_TYPE_BASE_TRANSFORM, "EdgedFakeVidconv",
                                         sizeof(struct vidconv_class), class_init,
                                         sizeof(struct vidconv), NULL, 0);
}
