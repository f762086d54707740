// `edgectl setup`: from nothing to a stream that another machine can watch.
#include "config/users.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/setup/setup_answers.h"
#include "daemon/ctl/setup/setup_avahi.h"
#include "daemon/ctl/setup/setup_config.h"
#include "daemon/ctl/setup/setup_mend.h"
#include "daemon/ctl/setup/setup_questions.h"
#include "daemon/ctl/setup/setup_report.h"
#include "daemon/ctl/setup/setup_service.h"
#include "daemon/ctl/users/onvif_user.h"
#include "daemon/ctl/users/users_edit.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: edgectl setup [--camera NAME] [--device PATH|URL] [--view KIND] [--user NAME]\n"
    "                     [--address ADDRESS] [--tls] [--page] [--record MODE]\n"
    "                     [--storage PATH] [--broker HOST] [--onvif] [--answers FILE]\n"
    "                     [--force] [--config FILE]\n"
    "From nothing to a stream: writes the configuration and a user with a password, has systemd\n"
    "start edged again where it runs, and prints the URL. On a terminal it asks for what is not\n"
    "given; elsewhere that stays as it is, and the password is a line of standard input.\n"
    "\n"
    "  --camera NAME      the name of the first camera\n"
    "  --device PATH      its device, or the rtsp:// URL of an IP camera; auto: a Jetson's\n"
    "                     CSI camera, else the first V4L2 camera that works, else a moving "
    "pattern\n"
    "  --view KIND        what it shows first: edges, canny, motion, ...; other views stay\n"
    "  --user NAME        who may watch, or gets another password\n"
    "  --address ADDRESS  where to listen; without it on every address once there is a user\n"
    "  --page             edged's page for browsers of other machines, too: https://, at port "
    "9854\n"
    "  --record MODE      clips to keep: off, events (of motion) or always\n"
    "  --storage PATH     the folder for clips, where the service may write then\n"
    "  --broker HOST      the broker of MQTT that edged-mqtt connects to; none: none\n"
    "  --onvif            ONVIF for recorders and Home Assistant, with a user of its own, "
    "\"onvif\",\n"
    "                     whose password is drawn and shown\n"
    "  --answers FILE     the answers to all questions, as JSON; -: of standard input\n"
    "  --tls              encrypted as well: rtsps://, at port 8322 if the file has no other\n"
    "  --force            without asking; FILE.bak is the file as it was, as always\n"
    "  --config FILE      in the place of " CONFIG_DEFAULT_PATH ", which the service\n"
    "                     has\n";

// Returns whether to go on; if not, *ret_status is the exit status.
static bool parse_options(int argc, char **argv, struct setup_answers *answers, int *ret_status)
{
    const char *camera = NULL, *device = NULL, *view = NULL, *user = NULL, *address = NULL,
               *storage = NULL, *record = NULL, *broker = NULL;
    const struct command_option options[] = {{"camera", .text = &camera},
                                             {"device", .text = &device},
                                             {"view", .text = &view},
                                             {"user", .text = &user},
                                             {"address", .text = &address},
                                             {"storage", .text = &storage},
                                             {"record", .text = &record},
                                             {"broker", .text = &broker},
                                             {"answers", .text = &answers->path},
                                             {"page", .flag = &answers->page},
                                             {"onvif", .flag = &answers->onvif},
                                             {"tls", .flag = &answers->tls},
                                             {"force", .flag = &answers->force},
                                             {"config", .text = &answers->config_path},
                                             {0}};
    const struct command_line line = {.command = "setup", .usage = usage, .options = options};

    if (!command_line_parse(&line, argc, argv, ret_status))
        return false;
    answers->on_terminal &= !answers->path;
    answers->camera = g_strdup(camera);
    answers->device = g_strdup(device);
    answers->view = g_strdup(view);
    answers->user = g_strdup(user);
    answers->address = g_strdup(address);
    answers->storage = g_strdup(storage);
    answers->record = g_strdup(record);
    answers->broker = g_strdup(broker);
    return true;
}

// A new user wants to watch over the network: without another address, edged listens on all of
// them.
static void choose_address(const struct setup_config *config, struct setup_answers *answers)
{
    bool makes_user = answers->user || setup_config_makes_onvif_user(config, answers);

    if (!answers->address && makes_user && config_is_loopback(config->old->rtsp.address))
        answers->address = g_strdup("0.0.0.0");
}

static int put_user(const struct setup_config *config, const struct setup_answers *answers,
                    struct error *error)
{
    g_autofree char *onvif = onvif_user_path(config->file.path);
    enum config_role role = CONFIG_ROLE_VIEWER;
    struct user user;
    int r =
        users_edit_role(USERS_PASSWORDS, config->wanted->rtsp.users, answers->user, error, &role);

    if (r < 0)
        return r;
    user_init(&user, answers->user, role, answers->password.text);
    r = users_edit_put(USERS_PASSWORDS, config->wanted->rtsp.users, &user, error);
    explicit_bzero(&user, sizeof user);
    return r < 0 ? r : onvif_user_forget(onvif, answers->user, error);
}

// A password that recorders have already stays as it is.
static int put_onvif_user(const struct setup_config *config, struct setup_answers *answers,
                          struct error *error)
{
    g_autofree char *onvif = onvif_user_path(config->file.path);
    const char *users = config->wanted->rtsp.users;
    int r = onvif_user_find(users, onvif, ONVIF_USER, error, &answers->onvif_password);

    if (r != -ENOENT)
        return r;
    return onvif_user_put(users, onvif, ONVIF_USER, error, &answers->onvif_password);
}

// Whether what is in the file may be replaced.
static int confirm(const struct setup_config *config, const struct setup_answers *answers,
                   struct error *error)
{
    char question[512];

    if (answers->force || (!answers->on_terminal && !config->is_somebodys))
        return 0;
    snprintf(question, sizeof question, "Write that to %s", config->file.path);
    if (answers->on_terminal) {
        return setup_questions_confirm(question)
                   ? 0
                   : error_set(error, -ECANCELED, "nothing is written");
    }
    return error_set(error, -EEXIST,
                     "%s has settings of its own: --force changes it, and keeps it as %s",
                     config->file.path, config->kept_path);
}

// Before the password is asked for: what edged would refuse is told without it.
static int apply(struct setup_config *config, struct setup_answers *answers, struct error *error)
{
    choose_address(config, answers);
    return setup_config_apply(config, answers, error);
}

// Writes the user and password of an IP camera into the file that the configuration names.
static int write_login(const struct setup_config *config, const struct setup_answers *answers,
                       struct error *error)
{
    g_autofree char *path = setup_config_login_path(config, config->wanted);
    struct stat like = {.st_mode = 0600};

    users_edit_choose_owner(&like);
    return replace_file(path, answers->login.text, strlen(answers->login.text), &like, error);
}

static int write_all(struct setup_config *config, struct setup_answers *answers,
                     struct error *error)
{
    bool changes = setup_config_print_changes(config);
    int r = changes ? confirm(config, answers, error) : 0;

    if (r == 0 && answers->login.text[0])
        r = write_login(config, answers, error);
    if (r == 0 && answers->storage)
        r = setup_service_place_storage(answers->storage, error);
    if (r == 0 && answers->broker_password.text[0]) {
        r = setup_service_place_password(config->wanted->mqtt.password_file,
                                         answers->broker_password.text, error);
    }
    r = r < 0 || !answers->user ? r : put_user(config, answers, error);
    if (r == 0 && setup_config_makes_onvif_user(config, answers))
        r = put_onvif_user(config, answers, error);
    r = r < 0 || !changes ? r : setup_config_write(config, error);
    if (r == 0 && changes && config->file.content) {
        printf("\n%s is changed. %s is the file as it was before.\n", config->file.path,
               config->kept_path);
    }
    return r;
}

// Whatever was there before runs again.
static int put_back(const struct setup_config *config, bool ran, struct error *error)
{
    struct error ignored = {0};
    struct error why = *error;
    int r = replaced_file_put_back(&config->file);

    setup_service_put_socket_back();
    if (ran && setup_service_start(false, &ignored) == 0) {
        return error_set(error, -EIO, "%s; %s is as it was, and edged runs with it again", why.text,
                         config->file.path);
    }
    if (r < 0) {
        return error_set(error, -EIO, "%s; %s is changed, %s is the file as it was", why.text,
                         config->file.path, config->kept_path);
    }
    return error_set(error, -EIO, "%s; %s is as it was", why.text, config->file.path);
}

static int start_service(const struct setup_config *config, const struct setup_answers *answers,
                         struct error *error)
{
    bool runs = setup_service_runs();
    int port =
        config->wanted->rtsp.plain ? config->wanted->rtsp.port : config->wanted->rtsp.tls_port;
    int r = setup_service_place_socket(config->wanted->rtsp.address, port, error);

    if (r == 0 && runs)
        r = setup_service_start(false, error);
    if (r < 0 || runs)
        return r < 0 ? put_back(config, runs, error) : 0;
    if (answers->start ||
        (answers->on_terminal && setup_questions_confirm("Start edged, now and with the system"))) {
        return setup_service_start(true, error);
    }
    puts("Start it with `systemctl enable --now edged`.");
    return 0;
}

// The service is started only if this is its configuration.
static int start(const struct setup_config *config, const struct setup_answers *answers,
                 struct error *error)
{
    if (strcmp(answers->config_path, CONFIG_DEFAULT_PATH) != 0) {
        printf("Start it with `edged --config %s`.\n", answers->config_path);
        return 0;
    }
    if (!setup_service_exists()) {
        puts("Start it with `edged`.");
        return 0;
    }
    int r = start_service(config, answers, error);

    return r == 0 && answers->broker && *answers->broker ? setup_service_start_broker(error) : r;
}

// Writes what is mended of a file in which the user keeps other mistakes. Always an error, which
// says how to go on.
static int write_mended(const struct setup_config *config, struct error *error)
{
    const struct replaced_file *file = &config->file;
    g_autofree char *question = g_strdup_printf("Write that to %s", file->path);
    int r;

    if (*config->mends) {
        printf("\nChanges of %s:\n%s", file->path, config->mends);
        if (!setup_questions_confirm(question))
            return error_set(error, -ECANCELED, "nothing is written");
        r = setup_config_write_mended(config, error);
        if (r < 0)
            return r;
        printf("\n%s is changed. %s is the file as it was before.\n", file->path,
               config->kept_path);
    }
    return error_set(error, -EINVAL,
                     "edged does not start with %s before you correct what you have kept; then run "
                     "`edgectl setup` again",
                     file->path);
}

// Loads the configuration; on a terminal, offers to mend its mistakes first.
static int load(struct setup_answers *answers, struct setup_config *config, struct error *error)
{
    const struct replaced_file *file = &config->file;
    bool is_whole = true;
    int r = setup_config_read(answers, error, config);

    if (r == 0 && answers->on_terminal && !answers->force && file->content) {
        r = setup_mend(file->content, file->path, error, &config->mended, &config->mends,
                       &is_whole);
    }
    if (r == 0 && !is_whole)
        return write_mended(config, error);
    return r < 0 ? r : setup_config_load(config, answers, error);
}

static int run(struct setup_answers *answers, struct setup_config *config, struct error *error)
{
    int r = load(answers, config, error);

    if (r == 0 && answers->path)
        r = setup_answers_read(answers->path, config, answers, error);
    r = r < 0 ? r : setup_questions_check(config, answers, error);
    if (r == 0 && answers->on_terminal)
        r = setup_questions_ask(config, answers, error);
    r = r < 0 ? r : apply(config, answers, error);
    if (r == 0 && answers->user && !answers->password.text[0])
        r = password_ask(answers->user, error, &answers->password);
    r = r < 0 ? r : write_all(config, answers, error);
    if (r == 0 && strcmp(answers->config_path, CONFIG_DEFAULT_PATH) == 0)
        setup_avahi_place(config->wanted);
    return r < 0 ? r : start(config, answers, error);
}

int ctl_setup(int argc, char **argv)
{
    struct setup_answers answers = {.config_path = CONFIG_DEFAULT_PATH,
                                    .on_terminal = isatty(STDIN_FILENO)};
    struct setup_config config = {0};
    struct error error = {0};
    int status = 0, r = 0;

    if (parse_options(argc, argv, &answers, &status)) {
        r = run(&answers, &config, &error);
        if (r == 0) {
            if (strcmp(answers.config_path, CONFIG_DEFAULT_PATH) == 0 && setup_service_runs())
                setup_report_running(config.wanted);
            setup_report_addresses(&config, &answers);
        } else {
            fprintf(stderr, "edgectl: %s\n", error.text);
            status = 1;
        }
    }
    setup_config_finish(&config);
    setup_answers_finish(&answers);
    return status;
}
