// Whether the GPU makes every kind of view as the CPU does.
#include "daemon/ctl/bench/rig.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/ctl/gpu_session.h"

#include <glib.h>
#include <string.h>

#define WIDTH 1280
#define HEIGHT 720

// Makes the second of two pictures, between which something moves. The caller owns *ret_output.
static int compute(struct gpu_session *session, const struct config_view *settings,
                   struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *first = NULL, *second = NULL, *output = NULL;
    const struct frame_allocator *allocator = gpu_session_allocator(session);
    struct frame_layout layout;
    const struct view_setup setup = {
        .settings = settings, .input = &layout, .output = VIEW_OUTPUT_STREAM, .frames = 1};
    struct view *view = NULL;
    int r;

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), WIDTH, HEIGHT, FRAME_STRIDE_ALIGN);
    r = scene_frame_new(&layout, allocator, error, &first);
    r = r < 0 ? r : scene_frame_new(&layout, allocator, error, &second);
    r = r < 0 ? r : gpu_session_view_new(session, &setup, error, &view);
    if (r == 0) {
        memset(&second->data[layout.size / 2], UINT8_MAX, layout.size / 4);
        r = gpu_session_view_run(session, view, first, error, &output);
    }
    if (r == 0) {
        frame_unref(TAKE(output)); // the view has one frame
        r = gpu_session_view_run(session, view, second, error, ret_output);
    }
    view_free(view);
    return r;
}

static bool are_equal(const struct frame *a, const struct frame *b)
{
    for (unsigned plane = 0; plane < a->layout.format->plane_count; plane++) {
        for (size_t row = 0; row < a->layout.planes[plane].rows; row++) {
            if (memcmp(frame_plane(a, plane) + row * a->layout.planes[plane].stride,
                       frame_plane(b, plane) + row * b->layout.planes[plane].stride,
                       a->layout.planes[plane].width_bytes) != 0) {
                return false;
            }
        }
    }
    return true;
}

static int compare(struct gpu_session *gpu, struct gpu_session *cpu, const char *kind,
                   struct error *error, bool *ret_equal)
{
    _cleanup_(cleanup_frame) struct frame *made = NULL, *expected = NULL;
    struct config_view *settings = NULL;
    int r = config_view_new(kind, error, &settings);

    r = r < 0 ? r : compute(cpu, settings, error, &expected);
    r = r < 0 ? r : compute(gpu, settings, error, &made);
    if (r == 0) {
        *ret_equal = made && expected && are_equal(made, expected);
    }
    config_view_free(settings);
    return r;
}

// Names in `wrong` the kinds of view that differ.
static int compare_all(struct gpu_session *gpu, struct gpu_session *cpu, GString *wrong,
                       struct error *error)
{
    for (enum config_view_kind kind = CONFIG_VIEW_CAMERA; kind < CONFIG_VIEW_CUSTOM; kind++) {
        const char *name = config_view_kind_name(kind);
        bool equal = true;
        int r = compare(gpu, cpu, name, error, &equal);

        if (r < 0) {
            return error_prefix(error, r, "%s", name);
        }
        if (!equal) {
            g_string_append_printf(wrong, "%s%s", wrong->len ? ", " : "", name);
        }
    }
    return 0;
}

void doctor_check_views(struct doctor *doctor, struct gpu_session *session)
{
    g_autoptr(GString) wrong = g_string_new("");
    struct gpu_session cpu = {0};
    struct error error = {0};
    int r = gpu_session_open(&cpu, CONFIG_BACKEND_CPU, CONFIG_MEMORY_HOST, &error);

    r = r < 0 ? r : compare_all(session, &cpu, wrong, &error);
    if (r < 0) {
        doctor_say(doctor, DOCTOR_FAILED, "views",
                   "%s; edged computes on the CPU where a GPU fails, set backend = \"cpu\" to have "
                   "it do so from the start",
                   error.text);
    } else if (wrong->len) {
        doctor_say(doctor, DOCTOR_FAILED, "views",
                   "the GPU's picture is not the CPU's: %s; set backend = \"cpu\", and report it",
                   wrong->str);
    } else {
        doctor_say(doctor, DOCTOR_OK, "views", "%d kinds: the GPU's pictures are the CPU's",
                   CONFIG_VIEW_CUSTOM);
    }
    gpu_session_close(&cpu);
}
