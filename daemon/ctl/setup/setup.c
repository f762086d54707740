// `edgectl setup`: from nothing to a stream that another machine can watch.
#include "config/users.h"
#include "daemon/common/host_address.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/client.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/setup/setup_config.h"
#include "daemon/ctl/setup/setup_questions.h"
#include "daemon/ctl/setup/setup_service.h"
#include "daemon/ctl/users/users_edit.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

// Beside /CAMERA/VIEW, the first view of the first camera has this path.
#define ALIAS "edges"

static const char usage[] =
    "Usage: edgectl setup [--camera NAME] [--device PATH|URL] [--view KIND] [--user NAME]\n"
    "                     [--address ADDRESS] [--storage PATH] [--tls]\n"
    "                     [--force] [--config FILE]\n"
    "From nothing to a stream: writes the configuration and a user with a password, has systemd\n"
    "start edged again where it runs, and prints the URL. On a terminal it asks for what is not\n"
    "given; elsewhere that stays as it is, and the password is a line of standard input.\n"
    "\n"
    "  --camera NAME      the name of the first camera\n"
    "  --device PATH      its device, or the rtsp:// URL of an IP camera; auto: the first USB\n"
    "                     camera that works, else a moving pattern\n"
    "  --view KIND        what it shows first: edges, canny, motion, ...; other views stay\n"
    "  --user NAME        who may watch, or gets another password\n"
    "  --address ADDRESS  where to listen; without it on every address once there is a user\n"
    "  --storage PATH     the folder for clips, where the service may write then\n"
    "  --tls              encrypted as well: rtsps://, at port 8322 if the file has no other\n"
    "  --force            without asking; FILE.bak keeps what was there, as always\n"
    "  --config FILE      in the place of " CONFIG_DEFAULT_PATH ", which the service\n"
    "                     has\n";

static void answers_finish(struct setup_answers *answers)
{
    free(answers->camera);
    free(answers->device);
    free(answers->view);
    free(answers->user);
    free(answers->address);
    free(answers->storage);
    password_clear(&answers->password);
    password_clear(&answers->login);
}

// Returns whether to go on; if not, *ret_status is the exit status.
static bool parse_options(int argc, char **argv, struct setup_answers *answers, int *ret_status)
{
    const char *camera = NULL, *device = NULL, *view = NULL, *user = NULL, *address = NULL,
               *storage = NULL;
    const struct command_option options[] = {{"camera", .text = &camera},
                                             {"device", .text = &device},
                                             {"view", .text = &view},
                                             {"user", .text = &user},
                                             {"address", .text = &address},
                                             {"storage", .text = &storage},
                                             {"tls", .flag = &answers->tls},
                                             {"force", .flag = &answers->force},
                                             {"config", .text = &answers->config_path},
                                             {0}};
    const struct command_line line = {.command = "setup", .usage = usage, .options = options};

    if (!command_line_parse(&line, argc, argv, ret_status)) {
        return false;
    }
    answers->camera = g_strdup(camera);
    answers->device = g_strdup(device);
    answers->view = g_strdup(view);
    answers->user = g_strdup(user);
    answers->address = g_strdup(address);
    answers->storage = g_strdup(storage);
    return true;
}

// Whoever makes a user wants to watch over the network: without another address, listens on all of
// them.
static void choose_address(const struct setup_config *config, struct setup_answers *answers)
{
    if (!answers->address && answers->user && config_is_loopback(config->old->rtsp.address)) {
        answers->address = g_strdup("0.0.0.0");
    }
}

static int put_user(const struct setup_config *config, const struct setup_answers *answers,
                    struct error *error)
{
    enum config_role role = CONFIG_ROLE_VIEWER;
    struct user user;
    int r =
        users_edit_role(USERS_PASSWORDS, config->wanted->rtsp.users, answers->user, error, &role);

    if (r < 0) {
        return r;
    }
    user_init(&user, answers->user, role, answers->password.text);
    r = users_edit_put(USERS_PASSWORDS, config->wanted->rtsp.users, &user, error);
    explicit_bzero(&user, sizeof user);
    return r;
}

// Whether what is in the file may be replaced.
static int confirm(const struct setup_config *config, const struct setup_answers *answers,
                   struct error *error)
{
    char question[512];

    if (answers->force || (!answers->on_terminal && !config->is_somebodys)) {
        return 0;
    }
    snprintf(question, sizeof question, "Write that to %s", config->file.path);
    if (answers->on_terminal) {
        return setup_questions_confirm(question)
                   ? 0
                   : error_set(error, -ECANCELED, "nothing is written");
    }
    return error_set(error, -EEXIST,
                     "%s has settings of its own: --force changes it, and keeps %s.bak",
                     config->file.path, config->file.path);
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

    if (r == 0 && answers->login.text[0]) {
        r = write_login(config, answers, error);
    }
    if (r == 0 && answers->storage) {
        r = setup_service_place_storage(answers->storage, error);
    }
    r = r < 0 || !answers->user ? r : put_user(config, answers, error);
    r = r < 0 || !changes ? r : setup_config_write(config, error);
    if (r == 0 && changes && config->file.content) {
        printf("\n%s is written anew. %s.bak has what it had before, with its comments.\n",
               config->file.path, config->file.path);
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
    return error_set(error, -EIO, "%s; %s is %s", why.text, config->file.path,
                     r < 0 ? "not as it was: FILE.bak has what it had" : "as it was");
}

static int start_service(const struct setup_config *config, const struct setup_answers *answers,
                         struct error *error)
{
    bool runs = setup_service_runs();
    int port =
        config->wanted->rtsp.plain ? config->wanted->rtsp.port : config->wanted->rtsp.tls_port;
    int r = setup_service_place_socket(config->wanted->rtsp.address, port, error);

    if (r == 0 && runs) {
        r = setup_service_start(false, error);
    }
    if (r < 0 || runs) {
        return r < 0 ? put_back(config, runs, error) : 0;
    }
    if (answers->on_terminal && setup_questions_confirm("Start edged, now and with the system")) {
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
    if (setup_service_exists()) {
        return start_service(config, answers, error);
    }
    puts("Start it with `edged`.");
    return 0;
}

static bool is_any(const char *address)
{
    return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

// By which address the machine can be reached. The caller frees it.
static char *choose_host(const char *address)
{
    char found[INET6_ADDRSTRLEN];

    if (strcmp(address, "localhost") == 0) {
        return g_strdup("127.0.0.1");
    }
    if (!is_any(address)) {
        return g_strdup(address);
    }
    return g_strdup(host_address_find(strchr(address, ':') ? AF_UNSPEC : AF_INET, found) < 0
                        ? "THIS-MACHINE"
                        : found);
}

// `login` is "" or "user:password@".
static char *make_url(const struct config *config, const char *host, const char *login,
                      bool encrypted)
{
    const struct config_camera *camera = &config->cameras[0];
    const char *view = camera->views[0].name;
    g_autofree char *path =
        strcmp(view, ALIAS) == 0 ? g_strdup(ALIAS) : g_strdup_printf("%s/%s", camera->name, view);

    return g_strdup_printf(strchr(host, ':') ? "%s://%s[%s]:%d/%s" : "%s://%s%s:%d/%s",
                           encrypted ? "rtsps" : "rtsp", login, host,
                           encrypted ? config->rtsp.tls_port : config->rtsp.port, path);
}

static void print_qr_code(const char *url)
{
    g_autofree char *program = g_find_program_in_path("qrencode");
    const char *const arguments[] = {program, "-t", "ANSIUTF8", url, NULL};

    if (program && isatty(STDOUT_FILENO)) {
        standard_output_flush();
        g_spawn_sync(NULL, (char **)(void *)arguments, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL,
                     NULL, NULL, NULL, NULL, NULL);
    }
}

static void print_encrypted(const struct config *config, const char *host)
{
    g_autofree char *url = make_url(config, host, "", true);
    g_autoptr(JsonObject) status = NULL;
    JsonObject *certificate = client_get_status(config->control.socket, NULL, &status) == 0
                                  ? get_object(status, "certificate")
                                  : NULL;

    if (config->rtsp.plain) {
        printf("Encrypted:\n\n  %s\n\n", url);
    }
    if (certificate) {
        printf("The certificate that players may show:\n\n  %s\n\n",
               get_string(certificate, "fingerprint"));
    } else {
        puts("`edgectl status` shows the certificate's fingerprint.\n");
    }
}

// Players that take a URL of RTSP, of which ffplay is named if this machine has none.
static void print_player(const char *url)
{
    g_autofree char *ffplay = g_find_program_in_path("ffplay");
    g_autofree char *mpv = g_find_program_in_path("mpv");

    if (!ffplay && mpv) {
        printf("  mpv --rtsp-transport=tcp %s\n", url);
        return;
    }
    printf("  ffplay -rtsp_transport tcp %s\n", url);
    if (!ffplay) {
        puts("\nffplay is not installed here: `sudo apt install ffmpeg`.");
    }
}

static void print_report(const struct config *config, const char *user)
{
    g_autofree char *host = choose_host(config->rtsp.address);
    g_autofree char *url = make_url(config, host, "", !config->rtsp.plain);

    if (config_is_loopback(config->rtsp.address)) {
        printf("\nOn this machine alone:\n\n  %s\n", url);
        return;
    }
    printf("\nOn any machine that reaches this one:\n\n  %s\n\n", url);
    print_qr_code(url);
    if (config->rtsp.tls_port) {
        print_encrypted(config, host);
    }
    if (user) {
        g_autofree char *login = g_strdup_printf("%s:PASSWORD@", user);
        g_autofree char *whole = make_url(config, host, login, !config->rtsp.plain);

        printf("VLC asks for user %s and the password; other players take both in the URL:\n\n",
               user);
        print_player(whole);
    }
}

static int run(struct setup_answers *answers, struct setup_config *config, struct error *error)
{
    int r = setup_config_load(answers, error, config);

    r = r < 0 ? r : setup_questions_check(config, answers, error);
    if (r == 0 && answers->on_terminal) {
        r = setup_questions_ask(config, answers, error);
    }
    r = r < 0 ? r : apply(config, answers, error);
    if (r == 0 && answers->user) {
        r = password_ask(answers->user, error, &answers->password);
    }
    r = r < 0 ? r : write_all(config, answers, error);
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
            print_report(config.wanted, answers.user);
        } else {
            fprintf(stderr, "edgectl: %s\n", error.text);
            status = 1;
        }
    }
    setup_config_finish(&config);
    answers_finish(&answers);
    return status;
}
