// Which board this is, and each choice that may depend on it with where it comes from: built in,
// the board's profile, or the configuration.
#include "board/heat.h"
#include "daemon/camera/encoder_elements.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "kernels/gpu/gpu_block.h"

#include <glib.h>

#define USER "edged.conf"

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
                   config_memory_name(board_has_encoder(doctor->board.profile)
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
            if (!without) {
                g_string_append_printf(text, "%s%s", text->len ? ", " : "", element->name);
            }
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

    if (block.x > 0) {
        g_string_append_printf(text, "%s.block = [%d, %d] (%s), ", name, block.x, block.y, from);
    }
    if (block.rows > 0) {
        g_string_append_printf(text, "%s.rows = %d (%s), ", name, block.rows, from);
    }
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
    if (heat.power_mode[0]) {
        g_string_append_printf(text, "power mode %s, ", heat.power_mode);
    }
    if (heat.gpu_hz > 0) {
        g_string_append_printf(text, "GPU at %.0f of %.0f MHz, ", (double)heat.gpu_hz / 1e6,
                               (double)heat.gpu_hz_max / 1e6);
    }
    if (heat.gpu_permille >= 0) {
        g_string_append_printf(text, "GPU %.1f%% busy, ", heat.gpu_permille / 1e1);
    }
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
    if (doctor->board.profile->camera) {
        doctor_say(doctor, DOCTOR_OK, "camera on CSI", "%s (board)", doctor->board.profile->camera);
    }
    say_heat(doctor);
}
