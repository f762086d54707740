#include "daemon/ctl/setup/setup_questions.h"

#include "capture/gstreamer/source_argus.h"
#include "capture/v4l2/v4l2_mode.h"
#include "config/users.h"
#include "daemon/common/service_files.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/setup/setup_service.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Reads a line. -ECANCELED at the end of the input; -E2BIG, with the whole line taken, if it is too
// long.
static int read_answer(struct setup_answer *ret_answer)
{
    size_t length = 0;
    int byte;

    while ((byte = getchar()) != EOF && byte != '\n') {
        if (length < sizeof ret_answer->text)
            ret_answer->text[length++] = (char)byte;
    }
    if (byte == EOF) {
        putchar('\n');
        return -ECANCELED;
    }
    if (length == sizeof ret_answer->text) {
        printf("That is too long, allowed: at most %d bytes.\n", SETUP_ANSWER_BYTES - 1);
        return -E2BIG;
    }
    ret_answer->text[length] = '\0';
    g_strstrip(ret_answer->text);
    return 0;
}

int setup_ask(const char *question, const char *usual, struct setup_answer *ret_answer)
{
    int r;

    do {
        printf("%s [%s]: ", question, usual);
        standard_output_flush();
        r = read_answer(ret_answer);
    } while (r == -E2BIG);
    if (r == 0 && !ret_answer->text[0])
        g_strlcpy(ret_answer->text, usual, sizeof ret_answer->text);
    return r;
}

// -ECANCELED at the end of the input.
static int ask_yes_or_no(const char *question, bool usual, bool *ret_yes)
{
    struct setup_answer answer;
    int r;

    while ((r = setup_ask(question, usual ? "yes" : "no", &answer)) == 0) {
        bool yes = g_ascii_strcasecmp(answer.text, "yes") == 0 ||
                   g_ascii_strcasecmp(answer.text, "y") == 0;

        if (yes || g_ascii_strcasecmp(answer.text, "no") == 0 ||
            g_ascii_strcasecmp(answer.text, "n") == 0) {
            *ret_yes = yes;
            return 0;
        }
        puts("Allowed: yes or no.");
    }
    return r;
}

bool setup_questions_confirm(const char *question)
{
    bool yes;

    return ask_yes_or_no(question, true, &yes) == 0 && yes;
}

// Whether `address` is one of this machine: a socket can be bound to it. An address that is none at
// all is refused by edged's own rule.
static int check_address(const struct setup_config *config, const char *address,
                         struct error *error)
{
    const struct setup_answers one = {.address = (char *)address};
    int r = setup_config_try(config, &one, error);

    if (r < 0 || setup_service_has_address(address))
        return r;
    if (strcmp(config->file.path, CONFIG_DEFAULT_PATH) != 0) { // may be for another machine
        fprintf(stderr,
                "This machine does not have the address %s: edged cannot listen on it "
                "here.\n",
                address);
        return 0;
    }
    return error_set(
        error, -EINVAL,
        "rtsp.address: this machine does not have the address %s, allowed: 0.0.0.0 "
        "for all of its addresses, 127.0.0.1 for itself alone, or one that `ip address` "
        "shows",
        address);
}

#define DEVICES_ALLOWED                                                                            \
    "auto, a device of this machine such as /dev/video0, or the URL of an IP camera such as "      \
    "rtsp://192.168.1.20/stream1"

// Takes the user and password, percent-encoded or not, out of the URL.
static int part_login(char *url, struct password *ret_login, struct error *error)
{
    char *host = strstr(url, "://") + 3, *at = strrchr(host, '@');
    g_autofree char *user = NULL, *password = NULL, *login = NULL;
    char *colon;

    if (!at)
        return 0;
    *at = '\0';
    colon = strchr(host, ':');
    if (colon)
        *colon = '\0';
    user = g_uri_unescape_string(host, NULL);
    password = g_uri_unescape_string(colon ? colon + 1 : "", NULL);
    login = g_strdup_printf("%s:%s", user ? user : host,
                            password ? password
                            : colon  ? colon + 1
                                     : "");
    memmove(host, at + 1, strlen(at + 1) + 1);
    if (login[0] == ':' || strpbrk(login, "\r\n") || strlen(login) > PASSWORD_BYTES_MAX) {
        return error_set(error, -EINVAL,
                         "the camera's user and password: allowed are at most %d bytes, with a "
                         "user, on one line",
                         PASSWORD_BYTES_MAX);
    }
    g_strlcpy(ret_login->text, login, sizeof ret_login->text);
    explicit_bzero(login, strlen(login));
    return 0;
}

// *device becomes what the configuration takes.
static int check_device(const struct setup_config *config, char *device, struct password *ret_login,
                        struct error *error)
{
    struct setup_answers one = {.device = device};
    struct stat status;
    int r;

    if (strcmp(device, "auto") == 0) {
        device[0] = '\0';
    } else if (setup_answers_is_url(device)) {
        for (char *letter = device; *letter != ':'; letter++)
            *letter = g_ascii_tolower(*letter);
        r = part_login(device, ret_login, error);
        if (r < 0)
            return r;
    } else if (device[0] != '/' || (stat(device, &status) == 0 && !S_ISCHR(status.st_mode))) {
        return error_set(error, -EINVAL, "device: got \"%s\", allowed: " DEVICES_ALLOWED, device);
    }
    return setup_config_try(config, &one, error);
}

static int check_view(const struct setup_config *config, const char *kind, struct error *error)
{
    struct config_view *view;
    int r = config_view_new(kind, error, &view);

    (void)config;
    if (r == 0)
        config_view_free(view);
    return r;
}

static int check_camera(const struct setup_config *config, const char *name, struct error *error)
{
    const struct setup_answers one = {.camera = (char *)name};

    return setup_config_try(config, &one, error);
}

static int check_mode(const struct setup_config *config, const char *word, struct error *error)
{
    enum config_record_mode mode;

    (void)config;
    return setup_config_read_mode(word, error, &mode);
}

// "none" becomes "".
static int check_broker(const struct setup_config *config, const char *broker, struct error *error)
{
    const struct setup_answers one = {.broker = (char *)broker};

    return strcmp(broker, "none") == 0 ? 0 : setup_config_try(config, &one, error);
}

int setup_questions_check(const struct setup_config *config, struct setup_answers *answers,
                          struct error *error)
{
    int r = 0;

    if (answers->user && !users_name_is_valid(answers->user)) {
        return error_set(error, -EINVAL, "--user: got \"%s\", allowed: " USERS_NAMES,
                         answers->user);
    }
    if (answers->device)
        r = check_device(config, answers->device, &answers->login, error);
    if (r == 0 && answers->camera)
        r = check_camera(config, answers->camera, error);
    if (r == 0 && answers->view)
        r = check_view(config, answers->view, error);
    if (r == 0 && answers->record)
        r = check_mode(config, answers->record, error);
    if (r == 0 && answers->broker)
        r = check_broker(config, answers->broker, error);
    if (answers->broker && strcmp(answers->broker, "none") == 0)
        answers->broker[0] = '\0';
    if (answers->storage && (*answers->storage != '/' || service_files_hides(answers->storage))) {
        return error_set(
            error, -EINVAL,
            "--storage: got \"%s\", allowed: a path that begins with \"/\", but is not "
            "below /home, /root or /run/user, which the service does not see",
            answers->storage);
    }
    if (r == 0 && answers->address)
        r = check_address(config, answers->address, error);
    return r;
}

// Prints the devices that are cameras. Returns how many there are.
static unsigned print_devices(const struct config_camera *camera)
{
    struct config_camera wish = *camera;
    unsigned count = 0;

    wish.format = (char *)"auto";
    if (source_argus_has_camera("")) {
        puts("Camera: on the Jetson's CSI connector, which auto takes before any other");
        count++;
    }
    for (int i = 0; i < V4L2_DEVICES; i++) {
        char path[32], text[V4L2_CANDIDATE_TEXT_BYTES];
        struct v4l2_candidate mode;

        snprintf(path, sizeof path, "/dev/video%d", i);
        if (v4l2_mode_probe(path, &wish, NULL, &mode) == 0) {
            v4l2_candidate_describe(&mode, text);
            printf("Camera: %s, %s\n", path, text);
            count++;
        }
    }
    return count;
}

// The user and password of an IP camera whose URL has none.
static int ask_login(struct setup_answers *answers)
{
    struct error error = {0};
    struct setup_answer user;
    struct password password;
    int r;

    do {
        r = setup_ask("User of that camera, or none if it asks for no password", "none", &user);
        if (r < 0 || strcmp(user.text, "none") == 0)
            return r;
    } while ((strchr(user.text, ':') || strlen(user.text) > PASSWORD_BYTES_MAX / 2) &&
             printf("Allowed: at most %d bytes, without a colon.\n", PASSWORD_BYTES_MAX / 2) > 0);
    while ((r = password_ask_once("Password of that user at the camera", &error, &password)) ==
               -EINVAL ||
           (r == 0 && strlen(user.text) + 1 + strlen(password.text) > PASSWORD_BYTES_MAX)) {
        printf("%s\n", r < 0 ? error.text : "User and password are too long.");
    }
    if (r == 0) {
        g_strlcpy(answers->login.text, user.text, sizeof answers->login.text);
        g_strlcat(answers->login.text, ":", sizeof answers->login.text);
        g_strlcat(answers->login.text, password.text, sizeof answers->login.text);
    }
    password_clear(&password);
    return r;
}

static int ask_device(const struct setup_config *config, struct setup_answers *answers)
{
    const struct config_camera *camera = &config->old->cameras[0];
    struct error error = {0};
    struct setup_answer answer;
    bool wrong;
    int r;

    if (answers->device ||
        (camera->source != CONFIG_SOURCE_AUTO && camera->source != CONFIG_SOURCE_V4L2)) {
        return setup_answers_is_url(answers->device) && !answers->login.text[0] ? ask_login(answers)
                                                                                : 0;
    }
    if (print_devices(camera) == 0) {
        puts(
            "There is no camera on USB: with auto, viewers see a moving pattern until you plug one "
            "in.");
    }
    do {
        password_clear(&answers->login);
        r = setup_ask("Camera: auto for the first that works, a device such as /dev/video0,\n"
                      "or the URL of an IP camera, rtsp://HOST/PATH",
                      camera->device[0] ? camera->device : "auto", &answer);
        if (r < 0)
            return r;
        wrong = check_device(config, answer.text, &answers->login, &error) < 0;
        if (wrong) {
            printf("%s\n", error.text);
        } else if (answer.text[0] == '/' && strcmp(answer.text, camera->device) != 0 &&
                   access(answer.text, F_OK) < 0) {
            printf("There is no %s: plug the camera in, or take another.\n", answer.text);
            wrong = true;
        }
    } while (wrong);
    answers->device = g_strdup(answer.text);
    return setup_answers_is_url(answers->device) && !answers->login.text[0] ? ask_login(answers)
                                                                            : 0;
}

// Asks for what is NULL, until the answer passes `check`.
static int ask_checked(const struct setup_config *config, const char *question, const char *usual,
                       int (*check)(const struct setup_config *config, const char *answer,
                                    struct error *error),
                       char **text)
{
    while (!*text) {
        struct error error = {0};
        struct setup_answer answer;
        int r = setup_ask(question, usual, &answer);

        if (r < 0)
            return r;
        if (check(config, answer.text, &error) < 0)
            printf("%s\n", error.text);
        else
            *text = g_strdup(answer.text);
    }
    return 0;
}

static int ask_user(const struct setup_config *config, struct setup_answers *answers)
{
    bool others = setup_config_has_users(config);
    struct setup_answer answer;

    if (answers->user)
        return 0;
    do {
        int r = others ? setup_ask("Another user who may watch (" USERS_NAMES ")", "none", &answer)
                       : setup_ask("User who may watch (" USERS_NAMES "),\n"
                                   "or none for this machine alone",
                                   "viewer", &answer);

        if (r < 0)
            return r;
        if (strcmp(answer.text, "none") == 0)
            return 0;
    } while (!users_name_is_valid(answer.text) && puts("Allowed: " USERS_NAMES));
    answers->user = g_strdup(answer.text);
    return 0;
}

static int ask_address(const struct setup_config *config, struct setup_answers *answers)
{
    const char *now = config->old->rtsp.address;

    if (!answers->user && !setup_config_has_users(config))
        return 0;
    return ask_checked(config, "Address to listen on; 0.0.0.0 is every one of this machine",
                       config_is_loopback(now) ? "0.0.0.0" : now, check_address, &answers->address);
}

static int ask_tls(const struct setup_config *config, struct setup_answers *answers)
{
    if (answers->tls || config->old->rtsp.tls_port != 0 || !answers->address ||
        config_is_loopback(answers->address)) {
        return 0;
    }
    return ask_yes_or_no("Encrypted as well, for players that know rtsps", false, &answers->tls);
}

static int ask_page(const struct setup_config *config, struct setup_answers *answers)
{
    if (answers->page || !answers->address || config_is_loopback(answers->address) ||
        !config_is_loopback(config->old->http.address)) {
        return 0;
    }
    return ask_yes_or_no("Page for browsers of other machines as well, inside TLS", true,
                         &answers->page);
}

static int ask_onvif(const struct setup_config *config, struct setup_answers *answers)
{
    if (answers->onvif || !answers->address || config_is_loopback(answers->address) ||
        config->old->onvif.enabled) {
        return 0;
    }
    return ask_yes_or_no("ONVIF for recorders, with a user of its own", false, &answers->onvif);
}

static int ask_record(const struct setup_config *config, struct setup_answers *answers)
{
    return ask_checked(config, "Clips to keep: off, events (of motion) or always",
                       setup_config_mode_name(config), check_mode, &answers->record);
}

// The login of edged at the broker.
static int ask_broker_login(struct setup_answers *answers)
{
    struct error error = {0};
    struct setup_answer user;
    int r = ask_yes_or_no("Whether the broker is inside TLS", false, &answers->broker_tls);

    r = r < 0 ? r : setup_ask("User of edged at the broker, or none", "none", &user);
    if (r < 0 || strcmp(user.text, "none") == 0)
        return r;
    answers->broker_user = g_strdup(user.text);
    while ((r = password_ask_once("Password of that user at the broker", &error,
                                  &answers->broker_password)) == -EINVAL) {
        printf("%s\n", error.text);
    }
    return r;
}

// Only where the package is that connects to it.
static int ask_broker(const struct setup_config *config, struct setup_answers *answers)
{
    const char *now = config->old->mqtt.broker;
    int r;

    if (answers->broker || !setup_service_has_broker())
        return 0;
    r = ask_checked(config, "Broker of MQTT, by which Home Assistant finds the cameras",
                    *now ? now : "none", check_broker, &answers->broker);
    if (r == 0 && strcmp(answers->broker, "none") == 0)
        answers->broker[0] = '\0';
    return r < 0 || !*answers->broker || strcmp(answers->broker, now) == 0
               ? r
               : ask_broker_login(answers);
}

int setup_questions_ask(const struct setup_config *config, struct setup_answers *answers,
                        struct error *error)
{
    const struct config_camera *camera = &config->old->cameras[0];
    int r = ask_device(config, answers);

    r = r < 0
            ? r
            : ask_checked(config, "Name of the camera (1 to 32 of the characters A-Z a-z 0-9 _ -)",
                          camera->name, check_camera, &answers->camera);
    r = r < 0
            ? r
            : ask_checked(config,
                          "View: edges, canny, binary, overlay, motion, direction, "
                          "gray, camera, split, custom",
                          config_view_kind_name(camera->views[0].view), check_view, &answers->view);
    r = r < 0 ? r : ask_user(config, answers);
    r = r < 0 ? r : ask_address(config, answers);
    r = r < 0 ? r : ask_tls(config, answers);
    r = r < 0 ? r : ask_page(config, answers);
    r = r < 0 ? r : ask_record(config, answers);
    r = r < 0 ? r : ask_onvif(config, answers);
    r = r < 0 ? r : ask_broker(config, answers);
    return r == -ECANCELED ? error_set(error, r, "nothing is written")
           : r < 0         ? error_set(error, r, "%s", strerror(-r))
                           : 0;
}
