// Lets every encoder that edged knows encode two key frames of the first camera's size, because the
// presence of an element proves nothing.
#include "daemon/camera/encoder.h"
#include "daemon/camera/encoder_elements.h"
#include "daemon/camera/slate.h"
#include "daemon/ctl/doctor/doctor_checks.h"

#include "capture/frame_pool.h"

#include <stdio.h>
#include <string.h>

static void forget_unit(void *context, const struct encoder_unit *unit)
{
    (void)context;
    (void)unit;
}

static struct frame *draw_trial(const struct config_camera *camera,
                                const struct frame_allocator *allocator)
{
    struct frame_layout layout;
    struct frame_pool *pool = NULL;
    struct frame *frame;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), (uint32_t)camera->width,
                      (uint32_t)camera->height, FRAME_STRIDE_ALIGN);
    if ((allocator->surfaces &&
         allocator->surfaces->lay_out(allocator->context, &layout, NULL) < 0) ||
        frame_pool_new(&layout, 1, allocator, &pool) < 0) {
        return NULL;
    }
    frame = frame_pool_take(pool);
    frame_pool_unref(pool); // the frame holds it
    slate_draw(frame, camera->name, -1, NULL);
    return frame;
}

// Whether a view of the configuration has this codec.
static bool is_streamed(const struct config *config, enum config_codec codec)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        for (size_t k = 0; k < config->cameras[i].view_count; k++) {
            if (config->cameras[i].views[k].codec == codec)
                return true;
        }
    }
    return false;
}

// Whether a view of the configuration names this encoder.
static bool is_named(const struct config *config, enum config_encoder encoder)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        for (size_t k = 0; k < config->cameras[i].view_count; k++) {
            if (config->cameras[i].views[k].encoder == encoder)
                return true;
        }
    }
    return false;
}

// Whether the board has hardware for it. An encoder that a view names is tried all the same.
static bool is_tried(const struct doctor *doctor, const struct encoder_element *element)
{
    return !(doctor->board.profile->without >> element->id & 1) ||
           is_named(doctor->config, element->id);
}

static int encode(const struct doctor *doctor, const struct encoder_element *element,
                  struct frame *trial, struct encoder_trials *ret_trials,
                  struct encoder **ret_encoder)
{
    const struct config_camera *camera = &doctor->config->cameras[0];
    const struct encoder_settings settings = {.width = trial->layout.width,
                                              .height = trial->layout.height,
                                              .range = FRAME_RANGE_LIMITED,
                                              .fps_numerator = (unsigned)camera->fps,
                                              .fps_denominator = 1,
                                              .bitrate_kbps = camera->views[0].bitrate_kbps,
                                              .jpeg_quality = camera->views[0].jpeg_quality,
                                              .keyframe_frames = (unsigned)camera->fps,
                                              .codec = config_encoder_codec(element->id),
                                              .element = element->id,
                                              .surfaces = trial->surface != NULL};
    struct error error = {0};

    return encoder_new(&settings, trial, NULL, forget_unit, NULL, ret_trials, &error, ret_encoder);
}

// Returns whether it is tried, and encodes.
static bool try_encoder(struct doctor *doctor, const struct encoder_element *element,
                        struct frame *trial)
{
    bool named = is_named(doctor->config, element->id);
    struct encoder *encoder = NULL;
    struct encoder_trials failed;
    int64_t start_ns = clock_now_ns();
    char subject[32], took[32] = "";

    snprintf(subject, sizeof subject, "encoder %s", element->name);
    if (!is_tried(doctor, element)) {
        doctor_say(doctor, DOCTOR_INFO, subject, "not tried: %s has no hardware for it",
                   doctor->board.profile->name);
        return false;
    }
    int r = encode(doctor, element, trial, &failed, &encoder);
    if (r == 0) {
        doctor_say(doctor, DOCTOR_OK, subject, "two key frames of %ux%u in %.0f ms",
                   trial->layout.width, trial->layout.height,
                   (double)(clock_now_ns() - start_ns) / NS_PER_MS);
    } else {
        const struct link_trial *last = &failed.list[failed.count - 1]; // there is one

        if (!last->missing)
            snprintf(took, sizeof took, ", after %u ms", last->took_ms);
        doctor_say(doctor, named ? DOCTOR_FAILED : DOCTOR_INFO, subject, "%s%s%s", last->reason,
                   took, named ? "; set encoder = \"auto\"" : "");
    }
    encoder_free(encoder);
    return r == 0;
}

// "nvv4l2h264enc by descriptor: Failed to process frame., after 12 ms; " of each that failed.
static char *list_failed(const struct encoder_trials *failed)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (unsigned i = 0; i < failed->count; i++) {
        fprintf(out, "%s: %s, after %u ms; ", failed->list[i].encoder, failed->list[i].reason,
                failed->list[i].took_ms);
    }
    fclose(out);
    return text;
}

static void try_surface(struct doctor *doctor, const struct encoder_element *element,
                        struct frame *trial)
{
    struct encoder *encoder = NULL;
    struct encoder_trials failed;
    char subject[48];
    int r = encode(doctor, element, trial, &failed, &encoder);
    _cleanup_(cleanup_free) char *text = list_failed(&failed);

    snprintf(subject, sizeof subject, "%s from nvmm", element->name);
    if (r < 0) {
        doctor_say(doctor, DOCTOR_WARNING, subject, "%spictures are copied for it", text);
    } else {
        doctor_say(doctor, failed.count ? DOCTOR_WARNING : DOCTOR_OK, subject,
                   "%stwo key frames of %ux%u%s", text, trial->layout.width, trial->layout.height,
                   encoder_how(encoder));
    }
    encoder_free(encoder);
}

void doctor_check_surface_encoders(struct doctor *doctor, const struct frame_allocator *surfaces)
{
    _cleanup_(cleanup_frame) struct frame *trial =
        draw_trial(&doctor->config->cameras[0], surfaces);
    const struct encoder_element *element;

    for (size_t i = 0; trial && (element = encoder_element_at(i)); i++) {
        if (element->ways[0].surfaces && is_tried(doctor, element))
            try_surface(doctor, element, trial);
    }
}

void doctor_check_encoders(struct doctor *doctor)
{
    _cleanup_(cleanup_frame) struct frame *trial =
        draw_trial(&doctor->config->cameras[0], frame_allocator_host());
    const struct encoder_element *element;
    bool works[CONFIG_CODEC_MJPEG + 1] = {false};

    if (!trial) {
        doctor_say(doctor, DOCTOR_FAILED, "encoders", "no memory for a frame: end programs");
        return;
    }
    for (size_t i = 0; (element = encoder_element_at(i)); i++)
        works[config_encoder_codec(element->id)] |= try_encoder(doctor, element, trial);
    if (!works[CONFIG_CODEC_H264] && is_streamed(doctor->config, CONFIG_CODEC_H264)) {
        doctor_say(doctor, DOCTOR_FAILED, "encoders",
                   "none makes H.264, which views are to stream: install gstreamer1.0-plugins-ugly "
                   "(x264enc) or gstreamer1.0-plugins-bad (openh264enc)");
    }
    if (!works[CONFIG_CODEC_H265] && is_streamed(doctor->config, CONFIG_CODEC_H265)) {
        doctor_say(doctor, DOCTOR_FAILED, "encoders of H.265",
                   "none makes H.265, which views are to stream: install gstreamer1.0-plugins-bad "
                   "(x265enc), or set codec = \"h264\"");
    }
}
