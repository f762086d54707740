// The V4L2 devices of this machine, and whether each camera of the configuration has its source.
#include "capture/gstreamer/source_argus.h"
#include "daemon/common/pipeline_check.h"
#include "daemon/ctl/camera_probe.h"
#include "daemon/ctl/doctor/doctor_checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARGUS "nvarguscamerasrc ! nvvidconv ! fakesink"

// How many devices deliver pictures, and how many could not be opened.
struct devices {
    unsigned usable, denied;
};

static void check_device(struct doctor *doctor, const char *path, const struct config_camera *wish,
                         struct devices *devices)
{
    struct v4l2_candidate mode;
    struct error error = {0};
    char text[CAMERA_MODE_BYTES];
    int r = camera_probe(path, wish, &error, &mode);

    if (r == 0) {
        camera_mode_text(&mode, text);
        doctor_say(doctor, DOCTOR_OK, path, "opens, would deliver %s", text);
        devices->usable++;
    } else if (r == -EACCES) {
        doctor_say(doctor, DOCTOR_WARNING, path, "%s (`usermod -aG video USER`, and log in again)",
                   error.text);
        devices->denied++;
    } else if (r != -EINVAL && r != -ENOENT) { // missing, or no camera: metadata, outputs
        doctor_say(doctor, DOCTOR_WARNING, path, "%s", error.text);
    }
}

static struct devices check_devices(struct doctor *doctor)
{
    struct devices devices = {0};
    struct config_camera wish = doctor->config->cameras[0];

    wish.format = (char *)"auto";
    for (int i = 0; i < CAMERA_DEVICES; i++) {
        char path[32];

        snprintf(path, sizeof path, "/dev/video%d", i);
        check_device(doctor, path, &wish, &devices);
    }
    return devices;
}

// The checks of a camera return whether it is there, so that a picture can be taken.

static bool check_any_device(struct doctor *doctor, const struct config_camera *camera,
                             const char *subject, struct devices devices)
{
    if (devices.usable > 0) {
        doctor_say(doctor, DOCTOR_OK, subject, "takes the first device that works");
    } else if (devices.denied > 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "no device may be opened: add the user to group video");
    } else if (camera->source == CONFIG_SOURCE_AUTO) {
        doctor_say(doctor, DOCTOR_INFO, subject,
                   "no camera found: a moving pattern until one is plugged in");
    } else {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "no camera found: plug one in, or set source = \"auto\"");
    }
    return devices.usable > 0;
}

static bool check_v4l2(struct doctor *doctor, const struct config_camera *camera,
                       const char *subject, struct devices devices)
{
    struct v4l2_candidate mode;
    struct error error = {0};
    char text[CAMERA_MODE_BYTES];

    if (!camera->device[0] || camera->source == CONFIG_SOURCE_AUTO) {
        return check_any_device(doctor, camera, subject, devices);
    }
    if (camera_probe(camera->device, camera, &error, &mode) < 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "%s; `v4l2-ctl --list-devices` shows what there is for device", error.text);
        return false;
    }
    camera_mode_text(&mode, text);
    doctor_say(doctor, DOCTOR_OK, subject, "%s, %s", camera->device, text);
    return true;
}

static void check_file(struct doctor *doctor, const struct config_camera *camera,
                       const char *subject)
{
    if (access(camera->path, R_OK) < 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject, "%s: %s; set path", camera->path,
                   strerror(errno));
    } else {
        doctor_say(doctor, DOCTOR_OK, subject, "%s can be read", camera->path);
    }
}

static bool check_pipeline(struct doctor *doctor, const char *pipeline, const char *subject)
{
    struct error error = {0};

    if (pipeline_check(pipeline, &error) < 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "pipeline: %s; install what is missing, or correct it", error.text);
        return false;
    }
    doctor_say(doctor, DOCTOR_OK, subject, "GStreamer has the elements of its pipeline");
    return true;
}

static bool check_camera(struct doctor *doctor, const struct config_camera *camera,
                         struct devices devices)
{
    g_autofree char *subject = g_strdup_printf("camera %s", camera->name);

    switch (camera->source) {
    case CONFIG_SOURCE_AUTO:
        return source_argus_has_camera("") ? check_pipeline(doctor, ARGUS, subject)
                                           : check_v4l2(doctor, camera, subject, devices);
    case CONFIG_SOURCE_V4L2:
        return check_v4l2(doctor, camera, subject, devices);
    case CONFIG_SOURCE_GSTREAMER:
        return check_pipeline(doctor, camera->pipeline, subject);
    case CONFIG_SOURCE_ARGUS:
        return check_pipeline(doctor, ARGUS, subject);
    case CONFIG_SOURCE_RTSP:
        return check_pipeline(doctor, "rtspsrc ! rtph264depay ! decodebin ! fakesink", subject);
    case CONFIG_SOURCE_FILE:
        check_file(doctor, camera, subject);
        break;
    case CONFIG_SOURCE_PATTERN:
        doctor_say(doctor, DOCTOR_OK, subject, "the moving pattern");
        break;
    }
    return false; // no camera
}

void doctor_check_cameras(struct doctor *doctor)
{
    struct devices devices = check_devices(doctor);

    for (size_t i = 0; i < doctor->config->camera_count; i++) {
        if (check_camera(doctor, &doctor->config->cameras[i], devices)) {
            doctor_take_picture(doctor, &doctor->config->cameras[i]);
        }
    }
}
