// The machine: which board it is, and each choice that may depend on it with where it comes from
// (built in, the board's profile, or the configuration); its memory; the file system of the clips;
// and what its kernel has to confine a camera process with.
#include "board/heat.h"
#include "daemon/camera/encoder_elements.h"
#include "daemon/client/client.h"
#include "daemon/common/confine.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "kernels/gpu/gpu_block.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#define USER "edged.conf"
#define FRAMES_KEPT 14 // by a camera, and by each of its views, at most
#define MIB (1024.0 * 1024.0)

static void say_board(struct doctor *doctor)
{
    const struct board *board = &doctor->board;

    doctor_say(doctor, DOCTOR_OK, "board", "%s: %s%s%s", board->profile->name,
               board->model[0] ? board->model : "it says no name of its own",
               board->l4t[0] ? ", L4T " : "", board->l4t);
}

static void say_memory(struct doctor *doctor)
{
    enum config_memory memory = doctor->config->memory;

    if (memory == CONFIG_MEMORY_AUTO) {
        doctor_say(doctor, DOCTOR_OK, "first memory", "%s (built-in)",
                   config_memory_name(board_is_jetson(doctor->board.profile)
                                          ? CONFIG_MEMORY_NVMM
                                          : CONFIG_MEMORY_REGISTERED));
    } else {
        doctor_say(doctor, DOCTOR_OK, "first memory", "%s (" USER ")", config_memory_name(memory));
    }
}

// The views that name an encoder of the codec.
static void add_named(const struct config *config, enum config_codec codec, GString *text)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        for (size_t k = 0; k < camera->view_count; k++) {
            const struct config_view *view = &camera->views[k];

            if (view->encoder != CONFIG_ENCODER_AUTO && view->codec == codec) {
                g_string_append_printf(text, "; /%s/%s: %s (" USER ")", camera->name, view->name,
                                       config_encoder_name(view->encoder));
            }
        }
    }
}

static void say_encoders(struct doctor *doctor, enum config_codec codec, const char *subject)
{
    const struct encoder_element *element;
    g_autoptr(GString) text = g_string_new("");
    bool all = true;

    for (size_t i = 0; (element = encoder_element_at(i)); i++) {
        bool without = doctor->board.profile->without >> element->id & 1;

        if (config_encoder_codec(element->id) == codec) {
            all &= !without;
            if (!without)
                g_string_append_printf(text, "%s%s", text->len ? ", " : "", element->name);
        }
    }
    g_string_append(text, all ? " (built-in)" : " (board: no encoder in hardware)");
    add_named(doctor->config, codec, text);
    doctor_say(doctor, DOCTOR_OK, subject, "%s", text->str);
}

static void add_block(GString *text, enum config_kernel kernel, struct config_block block,
                      const char *from)
{
    const char *name = config_kernel_name(kernel);

    if (block.x > 0)
        g_string_append_printf(text, "%s.block = [%d, %d] (%s), ", name, block.x, block.y, from);
    if (block.rows > 0)
        g_string_append_printf(text, "%s.rows = %d (%s), ", name, block.rows, from);
}

static void say_blocks(struct doctor *doctor)
{
    const struct board_profile *profile = doctor->board.profile;
    g_autoptr(GString) text = g_string_new("");

    for (enum config_kernel i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        struct config_block user = doctor->config->blocks[i], board = profile->blocks[i];

        add_block(text, i, user, USER);
        board.x = user.x > 0 ? 0 : board.x;
        board.rows = user.rows > 0 ? 0 : board.rows;
        add_block(text, i, board, "board, reasoned");
    }
    g_string_append(text, text->len ? "others " : "all ");
    if (profile->sm > 0) { // in the chip, with its memory
        g_string_append_printf(text, "[%d, %d]", GPU_BLOCK_SHARED_X, GPU_BLOCK_SHARED_Y);
    } else {
        g_string_append_printf(text, "of %d threads, in the shape that fits the picture",
                               GPU_BLOCK_THREADS);
    }
    doctor_say(doctor, DOCTOR_OK, "blocks", "%s (built-in)", text->str);
}

// How warm the board is, and what is known of its power and its GPU.
static void say_heat(struct doctor *doctor)
{
    g_autoptr(GString) text = g_string_new("");
    struct heat heat;

    heat_read("", &heat);
    for (uint32_t i = 0; i < heat.zone_count; i++) {
        g_string_append_printf(text, "%s %.1f C, ", heat.zones[i].name,
                               heat.zones[i].millidegrees / 1e3);
    }
    if (heat.power_mode[0])
        g_string_append_printf(text, "power mode %s, ", heat.power_mode);
    if (heat.gpu_hz > 0) {
        g_string_append_printf(text, "GPU at %.0f of %.0f MHz, ", (double)heat.gpu_hz / 1e6,
                               (double)heat.gpu_hz_max / 1e6);
    }
    if (heat.gpu_permille >= 0)
        g_string_append_printf(text, "GPU %.1f%% busy, ", heat.gpu_permille / 1e1);
    if (heat.throttled > 0) {
        doctor_say(doctor, DOCTOR_WARNING, "heat",
                   "%sslowed down by %s: cool it better, or take a lower power mode", text->str,
                   heat.throttled_by);
    } else {
        doctor_say(doctor, text->len ? DOCTOR_OK : DOCTOR_INFO, "heat", "%s%s", text->str,
                   text->len ? "nothing slows it down" : "this machine tells of none");
    }
}

void doctor_check_board(struct doctor *doctor)
{
    board_read("", &doctor->board);
    say_board(doctor);
    say_memory(doctor);
    say_encoders(doctor, CONFIG_CODEC_H264, "order for H.264");
    say_encoders(doctor, CONFIG_CODEC_H265, "order for H.265");
    say_blocks(doctor);
    if (doctor->board.profile->camera)
        doctor_say(doctor, DOCTOR_OK, "camera on CSI", "%s (board)", doctor->board.profile->camera);
    say_heat(doctor);
}

void doctor_check_confinement(struct doctor *doctor)
{
    int version = confine_landlock_version();

    if (confine_has_seccomp()) {
        doctor_say(doctor, DOCTOR_OK, "seccomp",
                   "camera processes start no program and debug none");
    } else {
        doctor_say(doctor, DOCTOR_WARNING, "seccomp",
                   "this kernel has none: a camera process may make any system call; use a kernel "
                   "with CONFIG_SECCOMP_FILTER");
    }
    if (version) {
        doctor_say(doctor, DOCTOR_OK, "landlock",
                   "version %d: camera processes reach no other process's memory", version);
    } else {
        doctor_say(doctor, DOCTOR_INFO, "landlock",
                   "this kernel has none or it is off (Linux 5.13 has it, lsm=landlock turns it "
                   "on): only the kernel's own rules guard edged's memory from camera processes");
    }
}

// How much memory the frames of all cameras and views take at most, if all are watched.
static double frames_mib(const struct config *config)
{
    double bytes = 0;

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        double pixels = (double)camera->width * camera->height;

        bytes += FRAMES_KEPT * pixels * (2 + 1.5 * (double)camera->view_count);
    }
    return bytes / MIB;
}

static bool read_available(double *ret_mib)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long kib;
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "MemAvailable: %lu kB", &kib) == 1;
    if (file)
        fclose(file);
    if (found)
        *ret_mib = (double)kib / 1024;
    return found;
}

// The limit is that of this program; the service has one of its own.
static void check_lockable(struct doctor *doctor, double needed)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY) {
        doctor_say(doctor, DOCTOR_OK, "lockable memory", "not limited");
        return;
    }
    doctor_say(
        doctor, DOCTOR_INFO, "lockable memory", "%.0f MiB here, frames take %.0f MiB%s",
        (double)limit.rlim_cur / MIB, needed,
        doctor->has_gpu && (double)limit.rlim_cur / MIB < needed
            ? ": should the driver refuse to register them, raise LimitMEMLOCK= of the service"
            : "");
}

void doctor_check_memory(struct doctor *doctor)
{
    double needed = frames_mib(doctor->config), available = 0;

    if (!read_available(&available)) {
        doctor_say(doctor, DOCTOR_INFO, "free memory", "/proc/meminfo does not say");
    } else if (available < needed) {
        doctor_say(
            doctor, DOCTOR_WARNING, "free memory",
            "%.0f MiB, frames take %.0f MiB when all views are watched: end programs, or make "
            "pictures smaller",
            available, needed);
    } else {
        doctor_say(doctor, DOCTOR_OK, "free memory",
                   "%.0f MiB, frames take %.0f MiB when all views are watched", available, needed);
    }
    check_lockable(doctor, needed);
}

// The file system that has the folder, or will have it.
static void check_clip_folder(struct doctor *doctor, const char *path)
{
    g_autofree char *folder = g_strdup(path);
    struct statvfs found = {0};

    while (statvfs(folder, &found) < 0 && strcmp(folder, "/") != 0) {
        char *parent = g_path_get_dirname(folder);

        g_free(folder);
        folder = parent;
    }
    if (found.f_flag & ST_RDONLY || found.f_blocks == 0) {
        doctor_say(doctor, DOCTOR_FAILED, "clips",
                   "%s: %s cannot be written: set storage.path to a folder on a disk", path,
                   folder);
    } else {
        g_autofree char *left = g_format_size((guint64)found.f_bavail * found.f_frsize);

        doctor_say(doctor, DOCTOR_OK, "clips", "%s, %s free", path, left);
    }
}

void doctor_check_clips(struct doctor *doctor)
{
    JsonObject *recorder = doctor->status ? get_object(doctor->status, "recorder") : NULL;
    const char *path = doctor->config->storage.path;
    const char *error = recorder ? get_string(recorder, "error") : "";

    if (!config_records(doctor->config)) {
        doctor_say(doctor, DOCTOR_INFO, "clips", "no camera is recorded");
    } else if (*error) {
        doctor_say(doctor, DOCTOR_FAILED, "clips",
                   "%s: mend it, edged tries again by itself; or set storage.path", error);
    } else if (!*path) {
        doctor_say(doctor, DOCTOR_OK, "clips",
                   "in the folder clips beside what else edged keeps, /var/lib/edged for the "
                   "service");
    } else {
        check_clip_folder(doctor, path);
    }
}
