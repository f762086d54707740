// The V4L2 devices of this machine, and each camera of the configuration: doctor starts its camera
// process as edged does, and reports how the pictures come, or what the process says is wrong.
#include "capture/v4l2/v4l2_mode.h"
#include "daemon/common/service_files.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/front/supervise/process.h"
#include "daemon/front/supervise/supervisor.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define PICTURE_MS 10000 // how long a process may take for its first picture
// How long a process may try to mend its first failure, for example with another kind of memory.
#define MEND_MS 2000

// Returns whether the caller may not open the device.
static bool check_device(struct doctor *doctor, const char *path, const struct config_camera *wish)
{
    struct v4l2_candidate mode;
    struct error error = {0};
    char text[V4L2_CANDIDATE_TEXT_BYTES];
    int r = v4l2_mode_probe(path, wish, &error, &mode);

    if (r == 0) {
        v4l2_candidate_describe(&mode, text);
        doctor_say(doctor, DOCTOR_OK, path, "opens, would deliver %s", text);
    } else if (r == -EACCES) {
        doctor_say(doctor, DOCTOR_WARNING, path, "%s (`usermod -aG video USER`, and log in again)",
                   error.text);
    } else if (r != -EINVAL && r != -ENOENT) { // missing, or no camera: metadata, outputs
        doctor_say(doctor, DOCTOR_WARNING, path, "%s", error.text);
    }
    return r == -EACCES;
}

// Returns whether there are devices that the caller may not open.
static bool check_devices(struct doctor *doctor)
{
    bool denied = false;
    struct config_camera wish = doctor->config->cameras[0]; // borrows all that it points to

    wish.format = (char *)"auto";
    for (int i = 0; i < V4L2_DEVICES; i++) {
        char path[32];

        snprintf(path, sizeof path, "/dev/video%d", i);
        denied |= check_device(doctor, path, &wish);
    }
    return denied;
}

// A camera on trial.
struct trial {
    struct supervisor *supervisor;   // owned; NULL: there is none, for the reason in `error`
    struct supervisor_report camera; // borrows from the supervisor
    struct error error;              // the last that the supervisor told
    guint timer;                     // GLib source id; 0: the time is over
    bool live, failed;
};

static gboolean on_time(gpointer trial)
{
    ((struct trial *)trial)->timer = 0;
    return G_SOURCE_REMOVE;
}

static void set_timer(struct trial *trial, guint ms)
{
    g_clear_handle_id(&trial->timer, g_source_remove);
    trial->timer = g_timeout_add(ms, on_time, trial);
}

static void on_changed(void *context)
{
    struct trial *trial = context;

    if (trial->live) {
        return; // all is known
    }
    supervisor_describe(trial->supervisor, &trial->camera);
    trial->live = strcmp(trial->camera.state, "live") == 0;
    if (trial->camera.error[0])
        error_set(&trial->error, 0, "%s", trial->camera.error);
    // One that has an error while it starts takes long, but may still open.
    bool failed = trial->camera.error[0] && strcmp(trial->camera.state, "starting") != 0;
    if (failed && !trial->failed && trial->timer) {
        trial->failed = true;
        set_timer(trial, MEND_MS);
    }
}

static void trial_init(struct trial *trial, const char *program, const struct config *config,
                       size_t index)
{
    const struct supervisor_environment environment = {
        .program = program, .changed = on_changed, .context = trial};
    struct stream *streams[LINK_VIEWS_MAX] = {0};
    size_t count = config->cameras[index].view_count;
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++)
        r = stream_new("", &payload_h264, 1, &streams[i]);
    if (r == 0)
        trial->supervisor = supervisor_new(config, index, streams, &environment);
    else
        error_set(&trial->error, r, "no stream: %s", strerror(-r));
    for (size_t i = 0; i < count; i++)
        stream_unref(streams[i]);
}

static bool is_waiting(const struct trial *trial)
{
    return trial->supervisor && trial->timer && !trial->live;
}

// Until the process has ended; one that the kernel cannot end is left behind after a while.
static bool is_ending(const struct trial *trial)
{
    return trial->supervisor && trial->timer && !supervisor_is_stopped(trial->supervisor);
}

static void iterate_while(struct trial *trials, size_t count, bool (*is)(const struct trial *trial))
{
    for (size_t i = 0; i < count; i++) {
        while (is(&trials[i]))
            g_main_context_iteration(NULL, TRUE);
    }
}

// Runs the cameras, all at once as edged does, each until its first picture, a failure that lasts,
// or the end of its time. Their logs and those of their supervisors go to `log_fd` in place of
// standard error.
static void run_trials(struct trial *trials, size_t count, int log_fd)
{
    int standard_error = dup(STDERR_FILENO);

    dup2(log_fd, STDERR_FILENO);
    for (size_t i = 0; i < count; i++) {
        if (trials[i].supervisor) {
            set_timer(&trials[i], PICTURE_MS);
            supervisor_start(trials[i].supervisor);
        }
    }
    iterate_while(trials, count, is_waiting);
    for (size_t i = 0; i < count; i++) {
        if (trials[i].supervisor) {
            set_timer(&trials[i], PICTURE_MS);
            supervisor_stop(trials[i].supervisor);
        }
    }
    iterate_while(trials, count, is_ending);
    for (size_t i = 0; i < count; i++)
        g_clear_handle_id(&trials[i].timer, g_source_remove);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
}

// Appends what the process warned of.
static void add_warnings(const char *camera, FILE *log, GString *text)
{
    g_autofree char *start = g_strdup_printf("edged-camera: warning: %s: ", camera);
    _cleanup_(cleanup_free) char *line = NULL;
    size_t size = 0;

    rewind(log);
    while (getline(&line, &size, log) > 0) {
        if (g_str_has_prefix(line, start))
            g_string_append_printf(text, "; %s", g_strchomp(line) + strlen(start));
    }
}

static void say_picture(struct doctor *doctor, const struct config_camera *camera,
                        const char *subject, const struct link_telemetry *telemetry, FILE *log)
{
    g_autoptr(GString) text = g_string_new(telemetry->path + strlen(camera->name) + strlen(": "));

    const char *separator = " (";

    for (enum copy_kind i = 0; i < COPY_KIND_COUNT; i++) {
        if (telemetry->copies[i] > 0) {
            g_string_append_printf(text, "%s%s", separator, copy_kind_name(i));
            separator = ", ";
        }
    }
    if (separator[0] == ',')
        g_string_append(text, ")");
    size_t length = text->len;
    add_warnings(camera->name, log, text);
    doctor_say(doctor, text->len > length ? DOCTOR_WARNING : DOCTOR_OK, subject, "%s", text->str);
}

// Without a camera "auto" is a moving pattern.
static void say_no_camera(struct doctor *doctor, const char *subject, bool denied)
{
    if (denied) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "no device may be opened: add the user to group video");
    } else {
        doctor_say(doctor, DOCTOR_INFO, subject,
                   "no camera found: a moving pattern until one is plugged in");
    }
}

static const char *find_advice(const struct config_camera *camera)
{
    switch (camera->source) {
    case CONFIG_SOURCE_V4L2:
        return "plug one in, end what uses it, or set device to one of `v4l2-ctl --list-devices`";
    case CONFIG_SOURCE_FILE:
        return "set path";
    case CONFIG_SOURCE_GSTREAMER:
        return "install what is missing, correct pipeline, or see to what else uses the camera";
    default:
        return "see to the camera and to what else uses it";
    }
}

static void say_trial(struct doctor *doctor, const struct config_camera *camera,
                      const struct trial *trial, FILE *log, bool denied)
{
    g_autofree char *subject = g_strdup_printf("camera %s", camera->name);

    if (trial->live && strstr(trial->camera.telemetry->path, "pattern (no camera found)")) {
        say_no_camera(doctor, subject, denied);
    } else if (trial->live) {
        say_picture(doctor, camera, subject, trial->camera.telemetry, log);
    } else {
        doctor_say(doctor, DOCTOR_FAILED, subject, "%s; %s",
                   trial->error.text[0] ? trial->error.text : "no picture within 10 s",
                   find_advice(camera));
    }
}

static void try_cameras(struct doctor *doctor, bool denied)
{
    size_t count = doctor->config->camera_count;
    struct trial *trials = g_new0(struct trial, count);
    _cleanup_(cleanup_free) char *program = NULL;
    struct error error = {0};
    FILE *log = tmpfile();
    int r = log ? process_find_program("edged-camera", "EDGED_CAMERA_PROGRAM", &error, &program)
                : error_set(&error, -errno, "no file for a log: %s", strerror(errno));

    for (size_t i = 0; i < count && r == 0; i++)
        trial_init(&trials[i], program, doctor->config, i);
    if (r == 0)
        run_trials(trials, count, fileno(log));
    else
        doctor_say(doctor, DOCTOR_FAILED, "cameras", "%s", error.text);
    for (size_t i = 0; i < count && r == 0; i++) {
        say_trial(doctor, &doctor->config->cameras[i], &trials[i], log, denied);
        supervisor_free(trials[i].supervisor);
    }
    if (log)
        fclose(log);
    g_free(trials);
}

// The service may have other rights than the user that calls doctor.
static void say_user(struct doctor *doctor)
{
    uid_t uid;
    gid_t gid;

    if (service_user_find(&uid, &gid) && uid != geteuid()) {
        doctor_say(doctor, DOCTOR_INFO, "user",
                   "cameras are opened as %s, by edged.service as edged, who may have other rights",
                   geteuid() == 0 ? "root" : g_get_user_name());
    }
}

void doctor_check_cameras(struct doctor *doctor)
{
    bool denied = check_devices(doctor);

    if (!doctor->running) {
        say_user(doctor);
        try_cameras(doctor, denied);
        return;
    }
    for (size_t i = 0; i < doctor->config->camera_count; i++) {
        g_autofree char *subject = g_strdup_printf("camera %s", doctor->config->cameras[i].name);

        doctor_say(doctor, DOCTOR_INFO, subject,
                   "not opened: edged is running and has the camera, `edgectl status` tells of it");
    }
}
