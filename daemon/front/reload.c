#include "daemon/front/reload.h"

#include "config/diff.h"
#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/account/account.h"

#include <errno.h>
#include <string.h>

bool reload_keep_addresses(struct config *old, struct config *config)
{
    struct config between = *old;
    bool differ = strcmp(old->rtsp.address, config->rtsp.address) != 0 ||
                  old->rtsp.port != config->rtsp.port ||
                  strcmp(old->control.socket, config->control.socket) != 0;

    old->rtsp.address = config->rtsp.address;
    old->control = config->control;
    config->rtsp.address = between.rtsp.address;
    config->rtsp.port = between.rtsp.port;
    config->control = between.control;
    return differ;
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
    _cleanup_(cleanup_free) char *path = users_path(USERS_PASSWORDS, config);
    int r = account_read_users(USERS_PASSWORDS, config, error, ret_users);

    if (r == 0 && *ret_users && (*ret_users)->count == 0) {
        return error_set(error, -EINVAL,
                         "rtsp.users: \"%s\": got a file without a user, allowed: at least one; "
                         "the users before stay, until edged is started again",
                         path ? path : "");
    }
    return r;
}

// Loads, checks and opens all of it. What is listened on comes last, because that takes effect at
// once.
static int load(struct reload *reload, const char *path, const struct config *in_use,
                struct front_network *network, FILE *problems)
{
    struct error error = {0};
    int r;

    if (!path) {
        fputs("edged was started without a configuration file\n", problems);
        return -ENOENT;
    }
    r = live_load(path, false, problems, &reload->live, &reload->config);
    if (r < 0) {
        return r;
    }
    r = descriptors_check(reload->config->camera_count, &error);
    if (reload->config->is_empty) { // it was cut short, or is being written: nobody means "remove
                                    // all cameras"
        r = error_set(&error, -EINVAL, "got a file without a setting, allowed: at least one");
    }
    r = r < 0 ? r : read_users(reload->config, &error, &reload->users);
    r = r < 0 ? r : account_read_users(USERS_TOKENS, reload->config, &error, &reload->tokens);
    r = r < 0 ? r : check_start(in_use, reload->config, reload->users, &error);
    r = r < 0 ? r : front_network_listen(network, reload->config, &error);
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
    char *text = config_diff_summarize(in_use, config), *more = NULL;

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

int reload_open(struct reload *reload, struct config *in_use, struct front_network *network,
                struct reload_verdict *verdict)
{
    char *text = NULL;
    size_t size;
    FILE *problems = open_memstream(&text, &size);
    int r = problems ? load(reload, verdict->path, in_use, network, problems) : -ENOMEM;

    if (r == 0) {
        bool new_users = !account_has(network->account, USERS_PASSWORDS, reload->users) ||
                         !account_has(network->account, USERS_TOKENS, reload->tokens);

        reload->changes = summarize(in_use, reload->config, new_users);
        if (reload_keep_addresses(in_use, reload->config)) {
            fprintf(problems,
                    "%s: warning: rtsp.address, rtsp.port and control.socket take effect when "
                    "edged is started again\n",
                    verdict->path);
        }
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

void reload_finish(struct reload *reload)
{
    config_free(reload->config);
    live_finish(&reload->live);
    users_free(reload->users);
    users_free(reload->tokens);
    free(reload->changes);
}
