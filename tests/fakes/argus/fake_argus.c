// A GStreamer plugin with the elements of a Jetson's camera stack: nvarguscamerasrc, whose pictures
// are a test pattern that is said to lie in NVMM, and nvvidconv, which takes nothing else, turns it
// and hands out pictures in plain memory. There is one sensor, number 0, at up to 60 frames a
// second; it does not start with an exposuretimerange that is not "lowest highest", in ns.
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdio.h>

#define FEATURE "memory:NVMM"

// Says, or says no longer, that pictures lie in NVMM.
struct label {
    GstBaseTransform parent;
    gboolean off;
};

struct label_class {
    GstBaseTransformClass parent;
};

struct stack {
    GstBin parent;
    GstElement *inside; // nvvidconv: the videoflip; not owned
    int sensor, mode, method;
    gboolean bad_exposure;
};

struct stack_class {
    GstBinClass parent;
};

static GstElementClass *stack_parent_class;

static GstCaps *label_transform_caps(GstBaseTransform *transform, GstPadDirection direction,
                                     GstCaps *caps, GstCaps *filter)
{
    gboolean nvmm = ((struct label *)transform)->off == (direction == GST_PAD_SRC);
    GstCaps *other = gst_caps_copy(caps), *result = other;

    for (guint i = 0; i < gst_caps_get_size(other); i++) {
        gst_caps_set_features(other, i, nvmm ? gst_caps_features_new(FEATURE, NULL) : NULL);
    }
    if (filter) {
        result = gst_caps_intersect_full(filter, other, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(other);
    }
    return result;
}

static gboolean label_unit_size(GstBaseTransform *transform, GstCaps *caps, gsize *size)
{
    GstVideoInfo info;

    (void)transform;
    *size = gst_video_info_from_caps(&info, caps) ? GST_VIDEO_INFO_SIZE(&info) : 0;
    return *size > 0;
}

static GstFlowReturn label_transform(GstBaseTransform *transform, GstBuffer *buffer)
{
    (void)transform;
    (void)buffer;
    return GST_FLOW_OK;
}

static void label_class_init(gpointer type_class, gpointer data)
{
    GstBaseTransformClass *transform = type_class;

    (void)data;
    for (int i = 0; i < 2; i++) {
        GstCaps *caps = gst_caps_from_string("video/x-raw(ANY)");
        GstPadTemplate *template = gst_pad_template_new(
            i ? "src" : "sink", i ? GST_PAD_SRC : GST_PAD_SINK, GST_PAD_ALWAYS, caps);

        gst_element_class_add_pad_template(type_class, template);
        gst_caps_unref(caps);
    }
    gst_element_class_set_static_metadata(type_class, "NVMM's label", "Filter/Video",
                                          "For edged's tests", "edged");
    transform->transform_caps = label_transform_caps;
    transform->get_unit_size = label_unit_size;
    transform->transform_ip = label_transform;
}

static void label_init(GTypeInstance *instance, gpointer type_class)
{
    (void)type_class;
    gst_base_transform_set_in_place(GST_BASE_TRANSFORM(instance), TRUE);
}

static GstElement *make_label(gboolean off)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        g_once_init_leave(
            &type, g_type_register_static_simple(GST_TYPE_BASE_TRANSFORM, "EdgedNvmmLabel",
                                                 sizeof(struct label_class), label_class_init,
                                                 sizeof(struct label), label_init, 0));
    }
    struct label *label = g_object_new(type, NULL);
    label->off = off;
    return GST_ELEMENT(label);
}

static void add_pad(GstElement *bin, GstElement *inside, const char *name)
{
    GstPad *target = gst_element_get_static_pad(inside, name);

    gst_element_add_pad(bin, gst_ghost_pad_new(name, target));
    gst_object_unref(target);
}

enum { SENSOR = 1, MODE, METHOD, EXPOSURE };

static gboolean is_range(const char *text)
{
    unsigned lowest, highest;
    char rest;

    return sscanf(text, "%u %u%c", &lowest, &highest, &rest) == 2 && 0 < lowest &&
           lowest <= highest;
}

// videoflip's method for each flip-method of nvvidconv.
static const int methods[] = {0, 3, 2, 1, 4, 7, 5, 6};

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    struct stack *stack = (struct stack *)object;

    (void)property;
    if (id == SENSOR) {
        stack->sensor = g_value_get_int(value);
    } else if (id == MODE) {
        stack->mode = g_value_get_int(value);
    } else if (id == EXPOSURE) {
        stack->bad_exposure = !is_range(g_value_get_string(value));
    } else {
        g_object_set(stack->inside, "method", methods[g_value_get_int(value)], NULL);
    }
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange change)
{
    struct stack *stack = (struct stack *)element;

    if (change == GST_STATE_CHANGE_READY_TO_PAUSED && stack->sensor > 0) {
        GST_ELEMENT_ERROR(
            element, RESOURCE, NOT_FOUND,
            ("Invalid camera device specified %d specified, 1 available", stack->sensor), (NULL));
        return GST_STATE_CHANGE_FAILURE;
    }
    if (change == GST_STATE_CHANGE_READY_TO_PAUSED && stack->bad_exposure) {
        GST_ELEMENT_ERROR(element, RESOURCE, SETTINGS, ("Invalid Exposure Time Range"), (NULL));
        return GST_STATE_CHANGE_FAILURE;
    }
    return stack_parent_class->change_state(element, change);
}

static void stack_class_init(gpointer type_class, gpointer data)
{
    GObjectClass *object = type_class;
    gboolean camera = data != NULL;

    stack_parent_class = g_type_class_peek_parent(type_class);
    object->set_property = set_property;
    if (camera) {
        g_object_class_install_property(
            object, SENSOR,
            g_param_spec_int("sensor-id", "Sensor", "Its number", 0, 255, 0, G_PARAM_WRITABLE));
        g_object_class_install_property(object, MODE,
                                        g_param_spec_int("sensor-mode", "Mode", "Of the sensor", -1,
                                                         255, -1, G_PARAM_WRITABLE));
        g_object_class_install_property(
            object, EXPOSURE,
            g_param_spec_string("exposuretimerange", "Exposure", "", "", G_PARAM_WRITABLE));
        GST_ELEMENT_CLASS(type_class)->change_state = change_state;
    } else {
        g_object_class_install_property(
            object, METHOD,
            g_param_spec_int("flip-method", "Flip", "How to turn", 0, 7, 0, G_PARAM_WRITABLE));
    }
    gst_element_class_set_static_metadata(type_class, camera ? "Argus" : "VIC", "Source/Video",
                                          "For edged's tests", "edged");
}

static void camera_init(GTypeInstance *instance, gpointer type_class)
{
    GstElement *bin = GST_ELEMENT(instance), *label = make_label(FALSE);
    GstElement *pictures =
        gst_parse_bin_from_description("videotestsrc is-live=true pattern=smpte ! "
                                       "video/x-raw,framerate=[1/1,60/1]",
                                       TRUE, NULL);

    (void)type_class;
    gst_bin_add_many(GST_BIN(bin), pictures, label, NULL);
    gst_element_link(pictures, label);
    add_pad(bin, label, "src");
    GST_OBJECT_FLAG_SET(bin, GST_ELEMENT_FLAG_SOURCE);
}

static void converter_init(GTypeInstance *instance, gpointer type_class)
{
    GstElement *bin = GST_ELEMENT(instance), *label = make_label(TRUE);
    struct stack *stack = (struct stack *)instance;

    (void)type_class;
    stack->inside = gst_element_factory_make("videoflip", NULL);
    gst_bin_add_many(GST_BIN(bin), label, stack->inside, NULL);
    gst_element_link(label, stack->inside);
    add_pad(bin, label, "sink");
    add_pad(bin, stack->inside, "src");
}

static gboolean register_stack(GstPlugin *plugin, const char *element, const char *name,
                               GInstanceInitFunc init, gboolean camera)
{
    const GTypeInfo info = {.class_size = sizeof(struct stack_class),
                            .class_init = stack_class_init,
                            .class_data = GINT_TO_POINTER(camera),
                            .instance_size = sizeof(struct stack),
                            .instance_init = init};

    return gst_element_register(plugin, element, GST_RANK_NONE,
                                g_type_register_static(GST_TYPE_BIN, name, &info, 0));
}

static gboolean plugin_init(GstPlugin *plugin)
{
    return register_stack(plugin, "nvarguscamerasrc", "EdgedFakeArgus", camera_init, TRUE) &&
           register_stack(plugin, "nvvidconv", "EdgedFakeVic", converter_init, FALSE);
}

#define PACKAGE "edged"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, fake_argus, "A Jetson's camera stack",
                  plugin_init, EDGED_VERSION, "MIT/X11", PACKAGE, "edged")
