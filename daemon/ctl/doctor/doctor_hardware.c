// The further checks of `edgectl doctor --hardware`: the device nodes of GPU, codecs and cameras
// with their majors; the GPU as the running edged sees it; and how many frames a second four views
// with their encoders make, as fast as they can.
#include "capture/frame_pool.h"
#include "daemon/camera/encoder.h"
#include "daemon/client/client.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/ctl/gpu_session.h"
#include "kernels/gpu/gpu_surfaces.h"
#include "kernels/tune/rig.h"

#include <fcntl.h>
#include <glib.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define VIEWS 4
#define COMPUTING_NS NS_PER_S
#define ENCODING_NS (3 * NS_PER_S)
#define FPS 30
#define BITRATE_KBPS 4000
#define MOVED 2 // rows from one picture to the next

// Devices
// ---------------------------------------------------------------------

static void add_node(GString *text, const char *path, unsigned *opened)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        g_string_append_printf(text, "; %s: %s", path, strerror(errno));
    else
        (*opened)++;
}

static void say_nodes(struct doctor *doctor, const char *pattern)
{
    g_autoptr(GString) majors = g_string_new(""), refused = g_string_new("");
    unsigned last = 0, opened = 0;
    glob_t found = {0};

    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct stat node;

            if (stat(found.gl_pathv[i], &node) < 0 || !S_ISCHR(node.st_mode))
                continue;
            if (major(node.st_rdev) != last)
                g_string_append_printf(majors, " %u", last = major(node.st_rdev));
            add_node(refused, found.gl_pathv[i], &opened);
        }
    }
    if (majors->len) {
        doctor_say(doctor, refused->len ? DOCTOR_INFO : DOCTOR_OK, pattern, "major%s, %u open%s",
                   majors->str, opened, refused->str);
    }
    globfree(&found);
}

// The drivers of character devices that have to do with GPUs, codecs and cameras.
static void say_majors(struct doctor *doctor)
{
    static const char *const words[] = {"nv",          "host1x", "17000000", "drm",
                                        "video4linux", "media",  "dma_heap"};
    g_autofree char *devices = NULL;
    g_autoptr(GString) text = g_string_new("");

    if (!g_file_get_contents("/proc/devices", &devices, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(devices, "\n", -1);
    for (char **line = lines; *line && strcmp(*line, "Block devices:") != 0; line++) {
        for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
            if (strstr(*line, words[i])) {
                g_string_append_printf(text, "%s%s", text->len ? ", " : "", g_strstrip(*line));
                break;
            }
        }
    }
    doctor_say(doctor, DOCTOR_INFO, "majors", "%s", text->len ? text->str : "none");
}

// The service may open fewer devices than the user who runs this.
static void say_running(struct doctor *doctor)
{
    g_autoptr(GList) cameras = doctor->status ? get_list(doctor->status, "cameras") : NULL;

    for (GList *item = cameras; item; item = item->next) {
        JsonObject *camera = json_node_get_object(item->data);
        g_autofree char *subject =
            g_strdup_printf("GPU of running camera %s", get_string(camera, "name"));

        doctor_say(doctor, DOCTOR_INFO, subject, "%s, %s", get_string(camera, "backend"),
                   get_string(camera, "gpu"));
    }
}

void doctor_check_devices(struct doctor *doctor)
{
    static const char *const patterns[] = {"/dev/nvgpu/igpu0/*", "/dev/nvhost-*", "/dev/nvmap",
                                           "/dev/nvidia*",       "/dev/dri/*",    "/dev/dma_heap/*",
                                           "/dev/v4l2-nv*",      "/dev/video*",   "/dev/media*"};

    say_majors(doctor);
    for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++)
        say_nodes(doctor, patterns[i]);
    say_running(doctor);
}

// Speed
// ---------------------------------------------------------------------

struct speed_view {
    struct config_view *settings; // owned
    struct view *view;            // owned
    struct encoder *encoder;      // owned; NULL: only computing is measured
    unsigned pushed;              // frames
};

struct speed {
    struct gpu_session session;
    struct gpu_surfaces *surfaces; // owned; NULL: none, or no encoder that takes them
    struct frame *inputs[2];       // references; the second is the first one moved
    unsigned next;                 // of the two
    struct speed_view views[VIEWS];
};

static void forget_unit(void *context, const struct encoder_unit *unit)
{
    (void)context;
    (void)unit;
}

// Computes the picture of one view, and hands it to its encoder if it has one.
static int run_view(struct speed *speed, struct speed_view *view, struct error *error)
{
    const int64_t at_ns = (int64_t)(view->pushed + 1) * NS_PER_S / FPS;
    const struct link_access_unit life = {.captured_ns = at_ns, .computed_ns = at_ns};
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int r = gpu_session_view_run(&speed->session, view->view, speed->inputs[speed->next], error,
                                 &output);

    if (r == 0 && view->encoder) {
        r = encoder_push(view->encoder, output, &life, false);
        r = r < 0 ? error_set(error, r, "the encoder has failed") : 0;
        view->pushed++;
        encoder_wait_for_room(view->encoder, clock_now_ns() + NS_PER_S);
    }
    return r;
}

// Frames a second of all views for that long.
static int measure(struct speed *speed, int64_t ns, struct error *error, double *ret_fps)
{
    int64_t start_ns = clock_now_ns(), now_ns = start_ns;
    unsigned frames = 0;
    int r = 0;

    while (r == 0 && now_ns - start_ns < ns) {
        for (size_t i = 0; i < VIEWS && r == 0; i++)
            r = run_view(speed, &speed->views[i], error);
        speed->next = !speed->next;
        frames++;
        now_ns = clock_now_ns();
    }
    *ret_fps = frames / ((double)(now_ns - start_ns) / (double)NS_PER_S);
    return r;
}

static int make_view(struct speed *speed, struct speed_view *view, const char *kind,
                     struct error *error)
{
    const struct frame_allocator *allocator = speed->surfaces
                                                  ? gpu_surfaces_allocator(speed->surfaces)
                                                  : gpu_session_allocator(&speed->session);
    int r = config_view_new(kind, error, &view->settings);

    const struct view_setup setup = {.settings = view->settings,
                                     .input = &speed->inputs[0]->layout,
                                     .output = VIEW_OUTPUT_STREAM,
                                     .frames = ENCODER_PICTURES,
                                     .allocator = allocator,
                                     .gpu = speed->session.gpu,
                                     .pool = speed->session.pool};
    return r < 0 ? r : view_new(&setup, error, &view->view);
}

static int make_encoder(struct speed *speed, struct speed_view *view, unsigned without,
                        struct error *error)
{
    const struct frame_layout *layout = view_output_layout(view->view);
    const struct encoder_settings settings = {.width = layout->width,
                                              .height = layout->height,
                                              .range = layout->range,
                                              .colour = layout->colour,
                                              .fps_numerator = FPS,
                                              .fps_denominator = 1,
                                              .bitrate_kbps = BITRATE_KBPS,
                                              .keyframe_frames = FPS,
                                              .governor = CONFIG_GOVERNOR_OFF,
                                              .without = without,
                                              .surfaces = speed->surfaces != NULL};
    _cleanup_(cleanup_frame) struct frame *trial = NULL;
    struct encoder_trials failed;
    int r = gpu_session_view_run(&speed->session, view->view, speed->inputs[0], error, &trial);

    return r < 0 ? r
                 : encoder_new(&settings, trial, NULL, forget_unit, NULL, &failed, error,
                               &view->encoder);
}

static int begin(struct speed *speed, const struct doctor *doctor, uint32_t width, uint32_t height,
                 struct error *error)
{
    static const char *const kinds[VIEWS] = {"edges", "canny", "binary", "motion"};
    struct frame_layout layout;
    int r =
        gpu_session_open(&speed->session, doctor->config->backend, doctor->config->memory, error);

    if (r == 0 && speed->session.gpu && board_encoders(doctor->board.profile))
        gpu_surfaces_new(speed->session.gpu, error, &speed->surfaces);
    frame_layout_init(&layout, pixel_format_by_name("YUYV"), width, height, FRAME_STRIDE_ALIGN);
    for (size_t i = 0; i < 2 && r == 0; i++) {
        r = scene_frame_new(&layout, gpu_session_allocator(&speed->session), error,
                            &speed->inputs[i]);
    }
    if (r == 0) {
        memmove(speed->inputs[1]->data, speed->inputs[1]->data + MOVED * layout.planes[0].stride,
                layout.size - MOVED * layout.planes[0].stride);
    }
    for (size_t i = 0; i < VIEWS && r == 0; i++)
        r = make_view(speed, &speed->views[i], kinds[i], error);
    return r;
}

static void finish(struct speed *speed)
{
    for (size_t i = 0; i < VIEWS; i++) {
        encoder_free(speed->views[i].encoder);
        view_free(speed->views[i].view);
        config_view_free(speed->views[i].settings);
    }
    for (size_t i = 0; i < 2; i++)
        frame_unref(speed->inputs[i]);
    gpu_surfaces_free(speed->surfaces);
    gpu_session_close(&speed->session);
}

static void check_speed(struct doctor *doctor, uint32_t width, uint32_t height)
{
    struct speed speed = {0};
    struct error error = {0};
    double computed = 0, encoded = 0;
    char subject[32];
    int r = begin(&speed, doctor, width, height, &error);

    r = r < 0 ? r : measure(&speed, COMPUTING_NS, &error, &computed);
    for (size_t i = 0; i < VIEWS && r == 0; i++)
        r = make_encoder(&speed, &speed.views[i], doctor->board.profile->without, &error);
    r = r < 0 ? r : measure(&speed, ENCODING_NS, &error, &encoded);
    snprintf(subject, sizeof subject, "%d views of %ux%u", VIEWS, width, height);
    if (r < 0) {
        doctor_say(doctor, DOCTOR_WARNING, subject, "not measured: %s", error.text);
    } else {
        doctor_say(doctor, DOCTOR_OK, subject,
                   "%.1f frames/s by %s and %s%s, %.1f without encoding", encoded,
                   view_backend(speed.views[0].view), encoder_name(speed.views[0].encoder),
                   encoder_how(speed.views[0].encoder), computed);
    }
    finish(&speed);
}

void doctor_check_speed(struct doctor *doctor)
{
    check_speed(doctor, 1280, 720);
    check_speed(doctor, 1920, 1080);
}
