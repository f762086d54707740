// Takes a picture from a camera of the configuration as edged would, because that a camera opens
// proves nothing: into memory that CPU and GPU share, or adopting the camera's own, where there is
// such memory.
#include "capture/source.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "kernels/gpu/gpu_surfaces.h"

#include <errno.h>
#include <glib.h>

// The slowest cameras take seconds to set their exposure; none takes longer.
#define PATIENCE_NS (10 * NS_PER_S)

// The first picture; the CPU may then read it.
static int take(struct source *source, struct error *error, struct frame **ret_frame)
{
    int64_t until_ns = clock_now_ns() + PATIENCE_NS;
    int r;

    do {
        r = source_next(source, 200, error, ret_frame);
    } while (r == -EAGAIN && clock_now_ns() < until_ns);
    if (r == -EAGAIN) {
        return error_set(error, r, "no picture within %d s", (int)(PATIENCE_NS / NS_PER_S));
    }
    r = r < 0 ? r : frame_begin_cpu_access(*ret_frame, error);
    return r < 0 ? r : frame_end_cpu_access(*ret_frame, error);
}

// Opens the camera and takes one, as the lane does. The source is to be closed after the frame.
static int open_and_take(const struct config_camera *camera,
                         const struct source_environment *environment, struct error *error,
                         struct source **ret_source, struct frame **ret_frame)
{
    int r = source_open(camera, environment, error, ret_source);

    if (r < 0 || (*ret_source)->ops == &source_pattern_ops) { // "auto" found no camera
        return r;
    }
    r = source_start(*ret_source, error);
    return r < 0 ? r : take(*ret_source, error, ret_frame);
}

static void say_taken(struct doctor *doctor, const char *subject, const struct source *source,
                      const struct copies *copies, const struct error *missed, int64_t took_ns)
{
    g_autoptr(GString) copied = g_string_new("");

    for (enum copy_kind i = 0; i < COPY_KIND_COUNT; i++) {
        if (copies->count[i] > 0) {
            g_string_append_printf(copied, "%s%s", copied->len ? ", " : "", copy_kind_name(i));
        }
    }
    doctor_say(doctor, missed->text[0] ? DOCTOR_WARNING : DOCTOR_OK, subject,
               "%s%s, the first after %.0f ms, copied by: %s%s%s", source->mode.description,
               source->mode.surfaces ? " in nvmm" : "", (double)took_ns / NS_PER_MS,
               copied->len ? copied->str : "nobody",
               missed->text[0] ? "; not in the camera's own memory: " : "", missed->text);
}

void doctor_take_picture(struct doctor *doctor, const struct config_camera *camera)
{
    g_autofree char *subject = g_strdup_printf("picture of %s", camera->name);
    g_autoptr(JsonObject) running = doctor_ask_status(doctor, NULL, &(int){0});
    _cleanup_(cleanup_source) struct source *source = NULL;
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    struct copies copies = {0};
    struct source_environment environment = {
        .allocator = doctor->has_gpu ? gpu_session_allocator(&doctor->gpu) : frame_allocator_host(),
        .copies = &copies,
        .surfaces = doctor->surfaces ? gpu_surfaces_allocator(doctor->surfaces) : NULL};
    struct error error = {0}, missed = {0};
    int64_t start_ns = clock_now_ns();
    int r;

    if (running) {
        doctor_say(doctor, DOCTOR_INFO, subject,
                   "not taken: edged is running and has the camera, `edgectl status` tells of it");
        return;
    }
    r = open_and_take(camera, &environment, &error, &source, &frame);
    if (r < 0 && source && source->surface_failed) {
        missed = error;
        environment.surfaces = NULL;
        source_close(TAKE(source));
        r = open_and_take(camera, &environment, &error, &source, &frame);
    }
    if (r < 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject, "%s: see to the camera and to what else uses it",
                   error.text);
    } else if (frame) {
        say_taken(doctor, subject, source, &copies,
                  missed.text[0] ? &missed : &source->surfaces_missed, clock_now_ns() - start_ns);
    }
}
