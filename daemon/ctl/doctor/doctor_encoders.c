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
            if (config->cameras[i].views[k].codec == codec) {
                return true;
            }
        }
    }
    return false;
}

// Whether a view of the configuration names this encoder.
static bool is_named(const struct config *config, enum config_encoder encoder)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        for (size_t k = 0; k < config->cameras[i].view_count; k++) {
            if (config->cameras[i].views[k].encoder == encoder) {
                return true;
            }
        }
    }
    return false;
}

// What encoder_new() says of the only element that was tried, behind its name.
static const char *find_reason(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    return found ? found + strlen(name) + strlen(": ") : text;
}

static int encode(const struct doctor *doctor, const struct encoder_element *element,
                  struct frame *trial, struct error *error, struct encoder **ret_encoder)
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

    return encoder_new(&settings, trial, NULL, forget_unit, NULL, error, ret_encoder);
}

// Returns whether it encodes.
static bool try_encoder(struct doctor *doctor, const struct encoder_element *element,
                        struct frame *trial)
{
    bool named = is_named(doctor->config, element->id);
    struct encoder *encoder = NULL;
    struct error error = {0};
    int64_t start_ns = clock_now_ns();
    char subject[32];
    int r = encode(doctor, element, trial, &error, &encoder);

    snprintf(subject, sizeof subject, "encoder %s", element->name);
    if (r == 0) {
        doctor_say(doctor, DOCTOR_OK, subject, "two key frames of %ux%u in %.0f ms",
                   trial->layout.width, trial->layout.height,
                   (double)(clock_now_ns() - start_ns) / NS_PER_MS);
    } else {
        doctor_say(doctor, named ? DOCTOR_FAILED : DOCTOR_INFO, subject, "%s%s",
                   find_reason(error.text, element->name), named ? "; set encoder = \"auto\"" : "");
    }
    encoder_free(encoder);
    return r == 0;
}

static void try_surface(struct doctor *doctor, const struct encoder_element *element,
                        struct frame *trial)
{
    struct encoder *encoder = NULL;
    struct error error = {0};
    char subject[48];
    int r = encode(doctor, element, trial, &error, &encoder);

    snprintf(subject, sizeof subject, "%s from nvmm", element->name);
    if (r < 0) {
        const char *ways = strstr(error.text, element->name);

        doctor_say(doctor, DOCTOR_WARNING, subject, "%s; pictures are copied for it",
                   ways ? ways : error.text);
    } else {
        doctor_say(doctor, error.text[0] ? DOCTOR_WARNING : DOCTOR_OK, subject,
                   "%s%stwo key frames of %ux%u%s", error.text, error.text[0] ? "; " : "",
                   trial->layout.width, trial->layout.height, encoder_how(encoder));
    }
    encoder_free(encoder);
}

void doctor_check_surface_encoders(struct doctor *doctor, const struct frame_allocator *surfaces)
{
    _cleanup_(cleanup_frame) struct frame *trial =
        draw_trial(&doctor->config->cameras[0], surfaces);
    const struct encoder_element *element;

    for (size_t i = 0; trial && (element = encoder_element_at(i)); i++) {
        if (element->ways[0].surfaces) {
            try_surface(doctor, element, trial);
        }
    }
}

// Says so where the board has none. An encoder that a view names is tried all the same.
static bool has_hardware(struct doctor *doctor, const struct encoder_element *element)
{
    const struct board_profile *profile = doctor->board.profile;
    char subject[32];

    if (!(profile->without >> element->id & 1) || is_named(doctor->config, element->id)) {
        return true;
    }
    snprintf(subject, sizeof subject, "encoder %s", element->name);
    doctor_say(doctor, DOCTOR_INFO, subject, "not tried: %s has no hardware for it", profile->name);
    return false;
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
    for (size_t i = 0; (element = encoder_element_at(i)); i++) {
        works[config_encoder_codec(element->id)] |=
            has_hardware(doctor, element) && try_encoder(doctor, element, trial);
    }
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
