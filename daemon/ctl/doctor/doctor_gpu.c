// The GPU: its driver, kernels, self-tests and memory, and whether it makes every kind of view as
// the CPU does. Not to have one is no failure; one that computes wrongly is.
#include "capture/nvmm/nvbufsurface.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/ctl/gpu_session.h"
#include "kernels/gpu/gpu_surfaces.h"
#include "kernels/selftest/gpu_selftest.h"
#include "kernels/tune/rig.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

// A machine without a GPU is fine, unless the configuration wants one.
static void say_none(struct doctor *doctor, int code, const struct error *why)
{
    bool wanted = doctor->config->backend == CONFIG_BACKEND_CUDA;
    enum doctor_verdict without = wanted ? DOCTOR_WARNING : DOCTOR_INFO;

    switch (code) {
    case -ENODEV:
        doctor_say(doctor, without, "GPU", "%s: the CPU computes%s", why->text,
                   wanted ? "; install NVIDIA's driver or set backend = \"auto\"" : "");
        break;
    case -ENOTSUP:
        doctor_say(doctor, without, "GPU",
                   "%s: the CPU computes; to use a GPU build edged where nvcc knows that GPU",
                   why->text);
        break;
    case -ENOSYS:
        doctor_say(doctor, DOCTOR_WARNING, "GPU", "%s: the CPU computes; install a newer driver",
                   why->text);
        break;
    default:
        doctor_say(doctor, DOCTOR_FAILED, "GPU",
                   "%s: the CPU computes; see what the kernel's log says of the GPU (dmesg)",
                   why->text);
        break;
    }
}

static void say_gpu(struct doctor *doctor, const struct gpu_info *info)
{
    doctor_say(doctor, DOCTOR_OK, "GPU", "%s, sm_%d, %d multiprocessors, driver for CUDA %d.%d",
               info->name, info->sm, info->multiprocessors, info->driver_version / 1000,
               info->driver_version % 1000 / 10);
    doctor_say(doctor, DOCTOR_OK, "CUDA kernels", "loaded for sm_%d", info->sm);
}

// A GPU in the chip tells the family of a Jetson, even where its device tree cannot be read.
static void compare_board(struct doctor *doctor, const struct gpu_info *info)
{
    const struct board_profile *profile = doctor->board.profile;

    if (info->integrated && info->sm != profile->sm) {
        doctor_say(doctor, DOCTOR_WARNING, "GPU of the board",
                   "sm_%d in the chip is not that of %s, as which edged goes on: in a container "
                   "have it see /sys/firmware/devicetree, else report it",
                   info->sm, profile->name);
    }
}

// Returns whether the GPU computes as it should.
static bool run_selftests(struct doctor *doctor, struct gpu *gpu)
{
    bool right = true;

    for (size_t i = 0; gpu_selftest_name(i) && !gpu_is_lost(gpu); i++) {
        struct gpu_selftest_result result;
        struct error error = {0};
        char subject[32];

        snprintf(subject, sizeof subject, "self-test %s", gpu_selftest_name(i));
        if (gpu_selftest_run(gpu, i, SELFTEST_FULL, &error, &result) < 0) {
            right = false;
            doctor_say(doctor, DOCTOR_FAILED, subject,
                       "%s; set backend = \"cpu\" until the GPU, its power, cooling and driver are "
                       "seen to",
                       error.text);
        } else {
            doctor_say(doctor, DOCTOR_OK, subject, "%s: %s, in %.2f ms", gpu_selftest_what(i),
                       result.value, (double)result.took_ns / NS_PER_MS);
        }
    }
    return right;
}

// Returns whether the kind passes its test.
static bool check_kind(struct doctor *doctor, struct gpu *gpu, enum config_memory kind)
{
    bool wanted = doctor->config->memory == kind;
    struct gpu_memory *memory = NULL;
    struct error why = {0};
    char subject[32];
    bool works = gpu_memory_new(gpu, kind, &why, &memory) == 0 && gpu_memory_kind(memory) == kind;

    gpu_memory_free(memory);
    snprintf(subject, sizeof subject, "memory %s", config_memory_name(kind));
    if (works) {
        doctor_say(doctor, DOCTOR_OK, subject, "CPU and GPU see the same bytes");
    } else {
        doctor_say(doctor, wanted ? DOCTOR_WARNING : DOCTOR_INFO, subject, "%s%s", why.text,
                   wanted ? "; edged takes the next kind, set memory = \"auto\"" : "");
    }
    return works;
}

// Only where it is wanted: most machines have none.
static void check_surfaces(struct doctor *doctor, struct gpu *gpu)
{
    enum config_memory memory = doctor->config->memory;
    bool wanted = memory == CONFIG_MEMORY_NVMM ||
                  (memory == CONFIG_MEMORY_AUTO && board_is_jetson(doctor->board.profile));
    struct gpu_surfaces *surfaces = NULL;
    struct error why = {0};

    if (!wanted)
        return;
    nvbufsurface_hide_displays();
    if (gpu_surfaces_new(gpu, &why, &surfaces) == 0) {
        doctor_say(doctor, DOCTOR_OK, "memory nvmm", "CPU and GPU see the same bytes");
        doctor_check_surface_encoders(doctor, gpu_surfaces_allocator(surfaces));
    } else {
        doctor_say(doctor, DOCTOR_WARNING, "memory nvmm",
                   "%s; pictures of a sensor and for an encoder are copied", why.text);
    }
    gpu_surfaces_free(surfaces);
}

static void check_kinds(struct doctor *doctor, struct gpu *gpu)
{
    check_surfaces(doctor, gpu);
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++)
        doctor->has_gpu |= check_kind(doctor, gpu, i);
    if (!doctor->has_gpu) {
        doctor_say(doctor, DOCTOR_FAILED, "memory",
                   "CPU and GPU share none: the CPU computes; free memory or see to the driver");
    }
}

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
    if (r == 0)
        *ret_equal = made && expected && are_equal(made, expected);
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

        if (r < 0)
            return error_prefix(error, r, "%s", name);
        if (!equal)
            g_string_append_printf(wrong, "%s%s", wrong->len ? ", " : "", name);
    }
    return 0;
}

static void check_views(struct doctor *doctor, struct gpu_session *session)
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

void doctor_check_gpu(struct doctor *doctor)
{
    struct gpu_session session = {0};
    struct error error = {0};
    int r;

    if (doctor->config->backend == CONFIG_BACKEND_CPU) {
        doctor_say(doctor, DOCTOR_INFO, "GPU", "left alone: backend = \"cpu\"");
        return;
    }
    r = gpu_new(&error, &session.gpu);
    if (r < 0) {
        say_none(doctor, r, &error);
        return;
    }
    say_gpu(doctor, gpu_info(session.gpu));
    compare_board(doctor, gpu_info(session.gpu));
    if (run_selftests(doctor, session.gpu))
        check_kinds(doctor, session.gpu);
    doctor->has_gpu =
        doctor->has_gpu &&
        gpu_memory_new(session.gpu, doctor->config->memory, NULL, &session.memory) == 0 &&
        gpu_memory_kind(session.memory) != CONFIG_MEMORY_HOST;
    if (doctor->has_gpu)
        check_views(doctor, &session);
    if (gpu_is_lost(session.gpu)) {
        gpu_session_lose(&session);
        doctor->has_gpu = false;
    }
    gpu_session_close(&session);
}
