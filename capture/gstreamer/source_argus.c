// Argus delivers surfaces in NVMM, memory of the Jetson's multimedia engines. Where something
// adopts them they are read in place if they are pitch-linear. Of others, and of pictures that are
// to be flipped, nvvidconv has the VIC make pitch-linear ones, which is counted, as every copy.
// Otherwise nvvidconv brings the pictures into edged's frames: the VIC converts, and the CPU
// copies.
#include "capture/gstreamer/source_argus.h"

#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/source_gstreamer.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static bool is_sensor(const char *path)
{
    g_autofree char *name = NULL;

    return g_file_get_contents(path, &name, NULL, NULL) && g_str_has_prefix(name, "vi-output");
}

bool source_argus_has_camera(const char *root)
{
    g_autofree char *pattern = g_strconcat(root, "/sys/class/video4linux/*/name", NULL);
    g_autofree char *socket = g_strconcat(root, "/tmp/argus_socket", NULL);
    g_autoptr(GstElementFactory) factory = NULL;
    glob_t found = {0};
    bool any = false;

    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !any; i++)
            any = is_sensor(found.gl_pathv[i]);
    }
    globfree(&found);
    if (any && g_file_test(socket, G_FILE_TEST_EXISTS)) {
        gst_init(NULL, NULL);
        factory = gst_element_factory_find("nvarguscamerasrc");
    }
    return factory;
}

// nvvidconv's flip-method, which counts its quarter turns the other way round.
static int flip_method(enum config_flip flip)
{
    static const int methods[] = {
        [CONFIG_FLIP_NONE] = 0,       [CONFIG_FLIP_ROTATE_90] = 3,  [CONFIG_FLIP_ROTATE_180] = 2,
        [CONFIG_FLIP_ROTATE_270] = 1, [CONFIG_FLIP_HORIZONTAL] = 4, [CONFIG_FLIP_VERTICAL] = 6,
    };

    return methods[flip];
}

static int set_control(GstElement *element, const struct config_control *control,
                       struct error *error)
{
    const GParamSpec *property =
        g_object_class_find_property(G_OBJECT_GET_CLASS(element), control->name);
    char value[32];

    if (!property || !(property->flags & G_PARAM_WRITABLE)) {
        return error_set(error, -EINVAL,
                         "controls.%s: nvarguscamerasrc has no such property to set; "
                         "`gst-inspect-1.0 nvarguscamerasrc` lists them",
                         control->name);
    }
    // Ranges are texts: "lowest highest".
    snprintf(value, sizeof value, property->value_type == G_TYPE_STRING ? "%d %d" : "%d",
             control->value, control->value);
    gst_util_set_object_arg(G_OBJECT(element), control->name, value);
    return 0;
}

// The sensor's picture, before it is turned.
static GstCaps *sensor_caps(const struct config_camera *camera)
{
    bool on_side = config_flip_is_quarter(camera->flip);
    GstCaps *caps =
        gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "NV12", "width", G_TYPE_INT,
                            on_side ? camera->height : camera->width, "height", G_TYPE_INT,
                            on_side ? camera->width : camera->height, "framerate",
                            GST_TYPE_FRACTION, camera->fps, 1, NULL);

    gst_caps_set_features(caps, 0, gst_caps_features_new("memory:NVMM", NULL));
    return caps;
}

static int set_up(GstElement *pipeline, const struct config_camera *camera, struct error *error)
{
    g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), "camera");
    g_autoptr(GstElement) filter = gst_bin_get_by_name(GST_BIN(pipeline), "sensor");
    g_autoptr(GstElement) converter = gst_bin_get_by_name(GST_BIN(pipeline), "converter");
    g_autoptr(GstCaps) caps = sensor_caps(camera);
    char method[4];
    int r = 0;

    g_object_set(element, "sensor-id", camera->sensor, NULL);
    g_object_set(filter, "caps", caps, NULL);
    snprintf(method, sizeof method, "%d", flip_method(camera->flip));
    if (converter)
        gst_util_set_object_arg(G_OBJECT(converter), "flip-method", method);
    for (size_t i = 0; i < camera->control_count && r == 0; i++)
        r = set_control(element, &camera->controls[i], error);
    return r;
}

// A way for the camera's pictures to edged, best first. nvvidconv has 4 surfaces unless told, and
// waits while none is free: too few where an encoder keeps some of them until its next picture.
struct way {
    const char *fragment;
    bool surfaces; // they stay in NVMM
    bool converts; // the VIC makes other ones of them
};

static const struct way ways[] = {
    {.fragment = "nvarguscamerasrc name=camera ! capsfilter name=sensor", .surfaces = true},
    {.fragment = "nvarguscamerasrc name=camera ! capsfilter name=sensor ! "
                 "nvvidconv name=converter bl-output=false output-buffers=16",
     .surfaces = true,
     .converts = true},
    {.fragment = "nvarguscamerasrc name=camera ! capsfilter name=sensor ! "
                 "nvvidconv name=converter",
     .converts = true},
};

// Sets `ret_missed` where the failure is that pictures cannot be had in this way, rather than the
// camera's.
static int open_way(struct source_gstreamer *self, const struct config_camera *camera,
                    const struct source_environment *environment, const struct way *way,
                    struct error *error, bool *ret_missed)
{
    g_autoptr(GstCaps) caps = NULL;
    const struct pixel_format *format;
    int r = source_gstreamer_format(camera, error, &format);

    if (r < 0)
        return r;
    format = way->surfaces ? pixel_format_by_name("NV12") : format;
    caps = gstreamer_caps_new(format, camera->width, camera->height, camera->fps);
    if (way->surfaces)
        gst_caps_set_features(caps, 0, gst_caps_features_new("memory:NVMM", NULL));
    r = intake_new(way->fragment, caps, INTAKE_NEWEST, environment, error, &self->intake);
    *ret_missed = r < 0;
    if (r == 0 && way->surfaces)
        r = intake_expect_surfaces(self->intake, error);
    if (r == 0)
        r = set_up(intake_pipeline(self->intake), camera, error);
    if (r == 0)
        r = intake_open(self->intake, &self->source.mode, error);
    if (r == 0 && way->surfaces) {
        r = intake_measure_surface(self->intake, &self->source.mode, error);
        *ret_missed = r < 0;
    }
    return r;
}

// Whether the way is one for this camera: only NV12 is adopted, and only a converter flips.
static bool may_go(const struct way *way, const struct config_camera *camera,
                   const struct source_environment *environment)
{
    bool nv12 = strcmp(camera->format, "auto") == 0 || strcmp(camera->format, "NV12") == 0;

    return (!way->surfaces || (environment->surfaces && nv12)) &&
           (way->converts || camera->flip == CONFIG_FLIP_NONE);
}

static int open_intake(struct source_gstreamer *self, const struct config_camera *camera,
                       const struct source_environment *environment, struct error *error)
{
    bool missed = true;
    int r = -EINVAL;

    for (size_t i = 0; i < ARRAY_LENGTH(ways) && r < 0 && missed; i++) {
        if (!may_go(&ways[i], camera, environment))
            continue;
        missed = false;
        intake_free(TAKE(self->intake));
        r = open_way(self, camera, environment, &ways[i], error, &missed);
        self->converts = ways[i].converts;
        if (r < 0 && missed && ways[i].surfaces)
            self->source.surfaces_missed = *error;
    }
    return r;
}

// NVIDIA's element connects a process to nvargus-daemon once. When the daemon has been started
// again, no picture comes in that process any more, and the element just ends.
#define TRIES 3
static unsigned tries_in_vain;

static int note_try(const struct config_camera *camera, int r, struct error *error)
{
    bool in_vain = r == -ENODATA || r == -EPIPE || r == -ETIMEDOUT;
    const struct error why = *error;

    tries_in_vain = in_vain ? tries_in_vain + 1 : 0;
    if (r == -ENODATA) {
        error_set(error, r,
                  "%s; nvarguscamerasrc's own lines say why: is nvargus-daemon there, and has the "
                  "sensor a mode of %dx%d at %d fps?",
                  why.text, camera->width, camera->height, camera->fps);
    }
    return tries_in_vain < TRIES ? r : -ESTALE;
}

static int argus_source_open(const struct config_camera *camera,
                             const struct source_environment *environment, struct error *error,
                             struct source **ret_source)
{
    int r = source_gstreamer_new(&source_argus_ops, sizeof(struct source_gstreamer), "camera",
                                 "Argus", camera, environment, open_intake, error, ret_source);

    r = note_try(camera, r, error);
    if (r < 0)
        return error_prefix(error, r, "sensor %d", camera->sensor);
    (*ret_source)->mode.flipped = true;
    return 0;
}

static int argus_source_next(struct source *source, int timeout_ms, struct error *error,
                             struct frame **ret_frame)
{
    const struct source_gstreamer *self = (struct source_gstreamer *)source;
    int r = source_gstreamer_next(source, timeout_ms, error, ret_frame);

    source->surface_failed = intake_surface_failed(self->intake);
    if (r == 0 && self->converts)
        copies_count(self->environment->copies, COPY_VIC_CONVERT);
    if (r == 0 && !source->mode.surfaces)
        copies_count(self->environment->copies, COPY_NVMM_COPY);
    return r;
}

const struct source_ops source_argus_ops = {
    .open = argus_source_open,
    .start = source_gstreamer_start,
    .next = argus_source_next,
    .close = source_gstreamer_close,
};
