// nvarguscamerasrc: a test pattern that the sensor writes into its surfaces. As NVIDIA's it
// connects a process to the daemon once; with the option "stale" the daemon is started again after
// 60 pictures.
#include "tests/fakes/jetson/jetson.h"

#include <stdio.h>
#include <string.h>

#define SURFACES 6
#define STALE_AFTER 60

struct sensor {
    GstBaseTransform parent;
    GstVideoInfo info;
    unsigned pictures;
    GstMemory *memories[SURFACES]; // owned; one that nobody else has is free
};

struct sensor_class {
    GstBaseTransformClass parent;
};

struct argus {
    GstBin parent;
    int sensor, mode;
    gboolean bad_exposure;
};

struct argus_class {
    GstBinClass parent;
};

static GstElementClass *argus_parent_class;

static GstCaps *transform_caps(GstBaseTransform *transform, GstPadDirection direction,
                               GstCaps *caps, GstCaps *filter)
{
    (void)transform;
    return jetson_other_caps(caps, filter,
                             direction == GST_PAD_SINK ? JETSON_SURFACES : JETSON_SYSTEM);
}

static gboolean set_caps(GstBaseTransform *transform, GstCaps *in, GstCaps *out)
{
    (void)out;
    return gst_video_info_from_caps(&((struct sensor *)transform)->info, in);
}

// A surface that nobody reads. NULL: the picture is lost.
static GstMemory *take_memory(struct sensor *sensor)
{
    for (int i = 0; i < SURFACES; i++) {
        GstMemory **memory = &sensor->memories[i];

        if (!*memory) {
            *memory = jetson_memory_new((uint32_t)sensor->info.width, (uint32_t)sensor->info.height,
                                        jetson_has_option("blocks"));
        }
        if (*memory && GST_MINI_OBJECT_REFCOUNT_VALUE(*memory) == 1)
            return gst_memory_ref(*memory);
    }
    return NULL;
}

static GstFlowReturn prepare_output(GstBaseTransform *transform, GstBuffer *in, GstBuffer **out)
{
    static unsigned pictures; // of the process
    GstMemory *memory = NULL;

    if (jetson_has_option("stale") && ++pictures > STALE_AFTER)
        return GST_FLOW_EOS;
    memory = take_memory((struct sensor *)transform);
    if (!memory)
        return GST_BASE_TRANSFORM_FLOW_DROPPED;
    *out = gst_buffer_new();
    gst_buffer_append_memory(*out, memory);
    gst_buffer_copy_into(*out, in, GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_FLAGS, 0, -1);
    return GST_FLOW_OK;
}

// A white square that goes to and fro in the corner below on the right, 2 pixels a picture.
static void draw_mover(GstVideoFrame *frame, unsigned picture)
{
    int width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
    int side = height / 10, way = width / 5 - side, at = (int)(2 * picture % (unsigned)(2 * way));
    int x = width - side - (at < way ? at : 2 * way - at);
    guint8 *luma = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);

    for (int y = height - 2 * side; y < height - side; y++)
        memset(luma + y * GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0) + x, 235, (size_t)side);
}

static GstFlowReturn expose(GstBaseTransform *transform, GstBuffer *in, GstBuffer *out)
{
    struct sensor *sensor = (struct sensor *)transform;
    struct nvbuf_surface *surface =
        jetson_surface_of(out, (uint32_t)sensor->info.width, (uint32_t)sensor->info.height);
    gboolean done = FALSE;
    GstVideoFrame frame;

    if (surface && gst_video_frame_map(&frame, &sensor->info, in, GST_MAP_READ)) {
        // Nobody else has the picture.
        if (jetson_has_option("mover"))
            draw_mover(&frame, sensor->pictures++);
        done = jetson_write(surface, &frame);
        gst_video_frame_unmap(&frame);
    }
    return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static gboolean stop(GstBaseTransform *transform)
{
    struct sensor *sensor = (struct sensor *)transform;

    for (int i = 0; i < SURFACES; i++)
        g_clear_pointer(&sensor->memories[i], gst_memory_unref);
    return TRUE;
}

static void sensor_class_init(gpointer type_class, gpointer data)
{
    GstBaseTransformClass *transform = type_class;

    (void)data;
    jetson_add_templates(type_class, JETSON_SYSTEM, JETSON_SURFACES);
    gst_element_class_set_static_metadata(type_class, "Sensor", "Filter/Video", "For edged's tests",
                                          "edged");
    transform->transform_caps = transform_caps;
    transform->get_unit_size = jetson_unit_size;
    transform->set_caps = set_caps;
    transform->prepare_output_buffer = prepare_output;
    transform->transform = expose;
    transform->stop = stop;
}

static GType sensor_type(void)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        g_once_init_leave(
            &type, g_type_register_static_simple(GST_TYPE_BASE_TRANSFORM, "EdgedFakeSensor",
                                                 sizeof(struct sensor_class), sensor_class_init,
                                                 sizeof(struct sensor), NULL, 0));
    }
    return type;
}

enum { SENSOR = 1, MODE, EXPOSURE };

static gboolean is_range(const char *text)
{
    unsigned lowest, highest;
    char rest;

    return sscanf(text, "%u %u%c", &lowest, &highest, &rest) == 2 && 0 < lowest &&
           lowest <= highest;
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    struct argus *argus = (struct argus *)object;

    (void)property;
    if (id == EXPOSURE)
        argus->bad_exposure = !is_range(g_value_get_string(value));
    else
        *(id == SENSOR ? &argus->sensor : &argus->mode) = g_value_get_int(value);
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange change)
{
    const struct argus *argus = (struct argus *)element;

    if (change == GST_STATE_CHANGE_READY_TO_PAUSED && (argus->sensor > 0 || argus->bad_exposure)) {
        GST_ELEMENT_ERROR(element, RESOURCE, NOT_FOUND,
                          ("%s", argus->sensor > 0 ? "Invalid camera device specified"
                                                   : "Invalid Exposure Time Range"),
                          (NULL));
        return GST_STATE_CHANGE_FAILURE;
    }
    return argus_parent_class->change_state(element, change);
}

static void argus_class_init(gpointer type_class, gpointer data)
{
    GObjectClass *object = type_class;

    (void)data;
    argus_parent_class = g_type_class_peek_parent(type_class);
    object->set_property = set_property;
    GST_ELEMENT_CLASS(type_class)->change_state = change_state;
    g_object_class_install_property(
        object, SENSOR, g_param_spec_int("sensor-id", "Sensor", "", 0, 255, 0, G_PARAM_WRITABLE));
    g_object_class_install_property(
        object, MODE, g_param_spec_int("sensor-mode", "Mode", "", -1, 255, -1, G_PARAM_WRITABLE));
    g_object_class_install_property(
        object, EXPOSURE,
        g_param_spec_string("exposuretimerange", "Exposure, in ns", "", "", G_PARAM_WRITABLE));
    gst_element_class_set_static_metadata(type_class, "Argus", "Source/Video", "For edged's tests",
                                          "edged");
}

static void argus_init(GTypeInstance *instance, gpointer type_class)
{
    GstElement *bin = GST_ELEMENT(instance), *sensor = g_object_new(sensor_type(), NULL);
    GstElement *pictures =
        gst_parse_bin_from_description("videotestsrc is-live=true pattern=smpte ! "
                                       "video/x-raw,format=NV12,framerate=[1/1,60/1]",
                                       TRUE, NULL);

    (void)type_class;
    gst_bin_add_many(GST_BIN(bin), pictures, sensor, NULL);
    gst_element_link(pictures, sensor);
    jetson_add_pad(bin, sensor, "src");
    GST_OBJECT_FLAG_SET(bin, GST_ELEMENT_FLAG_SOURCE);
}

GType jetson_argus_type(void)
{
    return g_type_register_static_simple(GST_TYPE_BIN, "EdgedFakeJetsonArgus",
                                         sizeof(struct argus_class), argus_class_init,
                                         sizeof(struct argus), argus_init, 0);
}
