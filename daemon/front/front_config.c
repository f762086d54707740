#include "daemon/front/front_config.h"

#include "config/diff.h"
#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/account/account.h"
#include "daemon/front/supervise/process.h"

#include <errno.h>
#include <gio/gio.h>
#include <string.h>

// How many descriptors the front needs, for one viewer and the readers of the control socket as
// well, and how many more for each camera. A camera process needs fewer.
#define DESCRIPTORS 60
#define DESCRIPTORS_CAMERA 4

int front_config_check_descriptors(const struct config *config, struct error *error)
{
    size_t limit = descriptors_limit();
    size_t needed = DESCRIPTORS + DESCRIPTORS_CAMERA * config->camera_count;

    return limit >= needed
               ? 0
               : error_set(error, -EMFILE,
                           "at most %zu files may be open, needed for %zu camera%s: %zu; raise "
                           "`ulimit -n`, or LimitNOFILE= of the service",
                           limit, config->camera_count, config->camera_count == 1 ? "" : "s",
                           needed);
}

// Addresses are bound once: `config` keeps those in use.
static void keep_addresses(struct config *old, struct config *config, const char *path,
                           FILE *problems)
{
    struct config between = *old;

    if (strcmp(old->rtsp.address, config->rtsp.address) != 0 ||
        old->rtsp.port != config->rtsp.port ||
        strcmp(old->control.socket, config->control.socket) != 0) {
        fprintf(problems,
                "%s: warning: rtsp.address, rtsp.port and control.socket take effect when edged is "
                "started again\n",
                path);
    }
    old->rtsp.address = config->rtsp.address;
    old->control = config->control;
    config->rtsp.address = between.rtsp.address;
    config->rtsp.port = between.rtsp.port;
    config->control = between.control;
}

// What can change only when edged is started again: no port may be left by a change of `plain`, and
// groups that were to stay on this machine would leave it from the address that is in use.
static int check_start(const struct config *in_use, const struct config *config, bool has_users,
                       struct error *error)
{
    const struct config_multicast *multicast = &config->rtsp.multicast;

    if (in_use->rtsp.plain != config->rtsp.plain) {
        return error_set(error, -EINVAL, "rtsp.plain can change only when edged is started again");
    }
    if (*multicast->addresses && !*multicast->interface && !has_users &&
        config->rtsp.auth == CONFIG_AUTH_UNSET && !config_is_loopback(in_use->rtsp.address)) {
        return error_set(error, -EINVAL,
                         "rtsp.multicast without users is for this machine alone, and rtsp.address "
                         "stays \"%s\" until edged is started again; allowed until then: "
                         "interface = \"lo\", addresses = \"\"",
                         in_use->rtsp.address);
    }
    return 0;
}

// A file without a user was cut short, or is being written: nobody means "hang up on everybody".
static int read_users(const struct config *config, struct error *error, struct users **ret_users)
{
    _cleanup_(cleanup_free) char *path = users_path(config);
    int r = account_read_users(config, error, ret_users);

    if (r == 0 && *ret_users && (*ret_users)->count == 0) {
        return error_set(error, -EINVAL,
                         "rtsp.users: \"%s\": got a file without a user, allowed: at least one; "
                         "the users before stay, until edged is started again",
                         path ? path : "");
    }
    return r;
}

static int load(const char *path, const struct config *in_use, FILE *problems,
                struct front_network *network, struct config **config, struct users **users)
{
    struct error error = {0};
    int r;

    if (!path) {
        fputs("edged was started without a configuration file\n", problems);
        return -ENOENT;
    }
    r = config_load(path, problems, config);
    if (r < 0) {
        return r;
    }
    r = front_config_check_descriptors(*config, &error);
    if ((*config)->is_empty) { // it was cut short, or is being written: nobody means "remove all
                               // cameras"
        r = error_set(&error, -EINVAL, "got a file without a setting, allowed: at least one");
    }
    r = r < 0 ? r : read_users(*config, &error, users);
    r = r < 0 ? r : check_start(in_use, *config, *users, &error);
    r = r < 0 ? r : front_network_listen(network, *config, &error);
    if (r < 0) {
        fprintf(problems, "%s: error: %s\n", path, error.text);
    } else if (*network->fault.text) {
        fprintf(problems, "%s: warning: %s; nothing is served inside TLS until a reload can\n",
                path, network->fault.text);
    }
    return r;
}

static char *summarize(const struct config *in_use, const struct config *config, bool new_users)
{
    static const char nothing[] = "nothing has changed", users[] = "the users have changed";
    char *text = NULL, *more = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (file) {
        config_diff_summarize(file, in_use, config);
        fclose(file);
    }
    if (!text || !new_users) {
        return text;
    }
    if (asprintf(&more, "%s%s%s", strcmp(text, nothing) ? text : "",
                 strcmp(text, nothing) ? "; " : "", users) < 0) {
        return text;
    }
    free(text);
    return more;
}

static void log_problems(const char *text, int priority)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        if (**line) {
            log_write(priority, LOG_EVENT_NONE, NULL, NULL, "%s", *line);
        }
    }
}

int front_config_reload(struct config *in_use, struct reload_verdict *verdict,
                        struct front_network *network, struct config **ret_config,
                        struct users **ret_users, char **ret_changes)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_users) struct users *users = NULL;
    char *text = NULL;
    size_t size;
    FILE *problems = open_memstream(&text, &size);
    int r = problems ? load(verdict->path, in_use, problems, network, &config, &users) : -ENOMEM;

    if (r == 0) {
        *ret_changes = summarize(in_use, config, !account_has(network->account, users));
        keep_addresses(in_use, config, verdict->path, problems);
        *ret_config = TAKE(config);
        *ret_users = TAKE(users);
    }
    if (problems) {
        fclose(problems);
    }
    if (verdict->is_logged) {
        log_problems(text ? text : strerror(ENOMEM), r < 0 ? LOG_ERR : LOG_WARNING);
    }
    reload_verdict_set(verdict, r < 0, text);
    return r;
}

// Asks the camera program what is wrong with a pipeline. Returns "" if nothing is, or if there is
// no such program. The caller g_free()s the text.
static char *check_pipeline(const char *pipeline)
{
    _cleanup_(cleanup_free) char *program = NULL;
    char *told = NULL;

    if (process_find_camera_program(NULL, &program) == 0) {
        g_autoptr(GSubprocess) process =
            g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL,
                             program, "--check-pipeline", NULL);

        if (process) {
            g_subprocess_communicate_utf8(process, pipeline, NULL, &told, NULL, NULL);
        }
    }
    return told ? told : g_strdup("");
}

// Of views that name an encoder which is not there: they would show nothing.
static void warn_of_encoder(const struct config *config, enum config_encoder encoder,
                            const char *path, FILE *problems)
{
    g_autofree char *fault = NULL; // asked for once, where a view names the encoder

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        for (size_t k = 0; k < camera->view_count; k++) {
            if (camera->views[k].encoder != encoder) {
                continue;
            }
            fault = fault ? fault : check_pipeline(config_encoder_name(encoder));
            if (*fault) {
                fprintf(problems,
                        "%s: warning: cameras[%zu].views[%zu].encoder: %s; install what is "
                        "missing, or take \"auto\"\n",
                        path, i, k, fault);
            }
        }
    }
}

void front_config_warn(const struct config *config, const char *path, FILE *problems)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        bool has = camera->source == CONFIG_SOURCE_GSTREAMER;
        g_autofree char *fault = has ? check_pipeline(camera->pipeline) : NULL;

        if (has && *fault) {
            fprintf(problems,
                    "%s: warning: cameras[%zu].pipeline: %s; install what is missing, or correct "
                    "it\n",
                    path, i, fault);
        }
    }
    for (enum config_encoder encoder = 0; encoder < CONFIG_ENCODER_COUNT; encoder++) {
        if (encoder != CONFIG_ENCODER_AUTO) {
            warn_of_encoder(config, encoder, path, problems);
        }
    }
}
