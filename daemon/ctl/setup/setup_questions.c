#include "daemon/ctl/setup/setup_questions.h"

#include "config/users.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/camera_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES_MAX 256

struct answer {
    char text[ANSWER_BYTES_MAX];
};

// Asks a question. The answer is what is typed, without the newline, or `usual` if nothing is
// typed. -ECANCELED at the end of the input.
static int ask(const char *question, const char *usual, struct answer *ret_answer)
{
    printf("%s [%s]: ", question, usual);
    standard_output_flush();
    if (!fgets(ret_answer->text, sizeof ret_answer->text, stdin)) {
        putchar('\n');
        return -ECANCELED;
    }
    ret_answer->text[strcspn(ret_answer->text, "\n")] = '\0';
    if (!ret_answer->text[0]) {
        snprintf(ret_answer->text, sizeof ret_answer->text, "%s", usual);
    }
    return 0;
}

static int keep(const struct answer *answer, char **ret_text)
{
    *ret_text = strdup(answer->text);
    return *ret_text ? 0 : -ENOMEM;
}

bool setup_questions_confirm(const char *question)
{
    struct answer answer;

    return ask(question, "yes", &answer) == 0 && (answer.text[0] == 'y' || answer.text[0] == 'Y');
}

// Prints the devices that are cameras. Returns how many there are.
static unsigned print_devices(const struct config_camera *camera)
{
    struct config_camera wish = *camera;
    unsigned count = 0;

    wish.format = (char *)"auto";
    for (int i = 0; i < CAMERA_DEVICES; i++) {
        char path[32], mode_text[CAMERA_MODE_BYTES];
        struct v4l2_candidate mode;

        snprintf(path, sizeof path, "/dev/video%d", i);
        if (camera_probe(path, &wish, NULL, &mode) == 0) {
            camera_mode_text(&mode, mode_text);
            printf("Camera: %s, %s\n", path, mode_text);
            count++;
        }
    }
    return count;
}

static int ask_device(const struct config_camera *camera, struct setup_answers *answers)
{
    struct answer answer;
    unsigned count;
    int r;

    if (answers->device ||
        (camera->source != CONFIG_SOURCE_AUTO && camera->source != CONFIG_SOURCE_V4L2)) {
        return 0;
    }
    count = print_devices(camera);
    if (count == 0) {
        puts("No USB camera is there: viewers see a moving pattern until one is plugged in. Those "
             "of "
             "other kinds are\nset in edged.conf: edged.conf(5), source.");
    }
    if (count < 2) {
        return 0;
    }
    r = ask("Its device, or auto for the first that works",
            camera->device[0] ? camera->device : "auto", &answer);
    if (r == 0 && strcmp(answer.text, "auto") == 0) {
        answer.text[0] = '\0';
    }
    return r < 0 ? r : keep(&answer, &answers->device);
}

static int ask_camera(const struct config_camera *camera, struct setup_answers *answers)
{
    struct answer answer;
    int r = answers->camera ? 0 : ask("Name of the camera", camera->name, &answer);

    return r < 0 || answers->camera ? r : keep(&answer, &answers->camera);
}

static int ask_view(const struct config_camera *camera, struct setup_answers *answers)
{
    while (!answers->view) {
        struct config_view *view;
        struct error error = {0};
        struct answer answer;
        int r = ask("What it shows: edges, canny, binary, overlay, motion, direction, gray, camera",
                    config_view_kind_name(camera->views[0].view), &answer);

        if (r < 0) {
            return r;
        }
        if (config_view_new(answer.text, &error, &view) < 0) {
            printf("%s\n", error.text);
        } else {
            config_view_free(view);
            r = keep(&answer, &answers->view);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int ask_user(const struct setup_config *config, struct setup_answers *answers)
{
    bool others = setup_config_has_users(config);
    struct answer answer;

    if (answers->user) {
        return 0;
    }
    do {
        int r = others
                    ? ask("Another user who may watch", "none", &answer)
                    : ask("User who may watch, or none for this machine alone", "viewer", &answer);

        if (r < 0) {
            return r;
        }
        if (strcmp(answer.text, "none") == 0) {
            return 0;
        }
    } while (!users_name_is_valid(answer.text) && puts("Allowed: " USERS_NAMES));
    return keep(&answer, &answers->user);
}

static int ask_address(const struct setup_config *config, struct setup_answers *answers)
{
    const char *now = config->old->rtsp.address;
    struct answer answer;
    int r;

    if (answers->address || (!answers->user && !setup_config_has_users(config))) {
        return 0;
    }
    r = ask("Address to listen on; 0.0.0.0 is every one of this machine",
            config_is_loopback(now) ? "0.0.0.0" : now, &answer);
    return r < 0 ? r : keep(&answer, &answers->address);
}

static int ask_tls(const struct setup_config *config, struct setup_answers *answers)
{
    struct answer answer;
    int r;

    if (answers->tls || config->old->rtsp.tls_port != 0 || !answers->address ||
        config_is_loopback(answers->address)) {
        return 0;
    }
    r = ask("Encrypted as well, for players that know rtsps", "no", &answer);
    answers->tls = r == 0 && (answer.text[0] == 'y' || answer.text[0] == 'Y');
    return r;
}

int setup_questions_ask(const struct setup_config *config, struct setup_answers *answers,
                        struct error *error)
{
    const struct config_camera *camera = &config->old->cameras[0];
    int r = ask_device(camera, answers);

    r = r < 0 ? r : ask_camera(camera, answers);
    r = r < 0 ? r : ask_view(camera, answers);
    r = r < 0 ? r : ask_user(config, answers);
    r = r < 0 ? r : ask_address(config, answers);
    r = r < 0 ? r : ask_tls(config, answers);
    return r == -ECANCELED ? error_set(error, r, "nothing is written")
           : r < 0         ? error_set(error, r, "%s", strerror(-r))
                           : 0;
}
