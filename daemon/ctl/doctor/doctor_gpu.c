// The GPU. Not to have one is no failure; one that computes wrongly is.
#include "capture/nvmm/nvbufsurface.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/ctl/gpu_session.h"
#include "kernels/gpu/gpu_surfaces.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>
#include <stdio.h>

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
                  (memory == CONFIG_MEMORY_AUTO && board_has_encoder(doctor->board.profile));
    struct gpu_surfaces *surfaces = NULL;
    struct error why = {0};

    if (!wanted) {
        return;
    }
    nvbufsurface_hide_displays();
    if (gpu_surfaces_new(gpu, &why, &surfaces) == 0) {
        doctor_say(doctor, DOCTOR_OK, "memory nvmm", "CPU and GPU see the same bytes");
        doctor_check_surface_encoders(doctor, gpu_surfaces_allocator(surfaces));
    } else {
        doctor_say(doctor, DOCTOR_WARNING, "memory nvmm",
                   "%s; pictures for the encoder are copied, from the next kind of memory",
                   why.text);
    }
    gpu_surfaces_free(surfaces);
}

static void check_kinds(struct doctor *doctor, struct gpu *gpu)
{
    check_surfaces(doctor, gpu);
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++) {
        doctor->has_gpu |= check_kind(doctor, gpu, i);
    }
    if (!doctor->has_gpu) {
        doctor_say(doctor, DOCTOR_FAILED, "memory",
                   "CPU and GPU share none: the CPU computes; free memory or see to the driver");
    }
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
    if (run_selftests(doctor, session.gpu)) {
        check_kinds(doctor, session.gpu);
    }
    doctor->has_gpu =
        doctor->has_gpu &&
        gpu_memory_new(session.gpu, doctor->config->memory, NULL, &session.memory) == 0 &&
        gpu_memory_kind(session.memory) != CONFIG_MEMORY_HOST;
    if (doctor->has_gpu) {
        doctor_check_views(doctor, &session);
    }
    if (gpu_is_lost(session.gpu)) {
        gpu_session_lose(&session);
        doctor->has_gpu = false;
    }
    gpu_session_close(&session);
}
