#include "daemon/front/reload.h"

#include "config/diff.h"
#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/front/account/account.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define LOOKS_MAX 5

// A users file without users is treated as incomplete; the previous users stay.
static int read_users(const struct config *config, struct error *error, struct users **ret_users)
{
    _cleanup_(cleanup_free) char *path = users_path(USERS_PASSWORDS, config, NULL);
    int r = account_read_users(USERS_PASSWORDS, config, NULL, error, ret_users);

    if (r == 0 && *ret_users && (*ret_users)->count == 0) {
        return error_set(error, -EINVAL,
                         "rtsp.users: \"%s\": got a file without a user, allowed: at least one; "
                         "the users before stay, until edged is started again",
                         path ? path : "");
    }
    return r;
}

// When a file was changed last, since 1970; 0: it is not there.
static int64_t changed_ns(const char *path)
{
    struct stat status;

    return path && stat(path, &status) == 0
               ? status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec
               : 0;
}

static bool is_settled(const struct reload_looks *looks, int64_t newest_ns)
{
    int64_t now_ns = g_get_real_time() * NS_PER_US;

    if (looks->count == 0)
        return now_ns - newest_ns >= RELOAD_LOOK_MS * NS_PER_MS;
    return looks->count >= LOOKS_MAX - 1 || newest_ns <= looks->changed_ns;
}

static bool keeps_a_camera(const struct config *in_use, const struct config *config)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        for (size_t k = 0; k < in_use->camera_count; k++) {
            if (strcmp(config->cameras[i].name, in_use->cameras[k].name) == 0)
                return true;
        }
    }
    return false;
}

// Reads the file, and whether it and those that it names are whole.
static int look(struct reload *reload, const struct model *model, struct reload_looks *looks,
                struct config_problems *problems)
{
    const struct live *before = &model->live;
    int64_t newest_ns = changed_ns(before->path);
    bool settled = is_settled(looks, newest_ns);

    if (settled) {
        int r = live_reload(before, model->config, problems, &reload->live, &reload->config);

        if (r < 0)
            return r;
        _cleanup_(cleanup_free) char *users = users_path(USERS_PASSWORDS, reload->config, NULL);
        _cleanup_(cleanup_free) char *tokens =
            users_path(USERS_TOKENS, reload->config, before->path);
        _cleanup_(cleanup_free) char *onvif = users_path(USERS_ONVIF, reload->config, before->path);

        newest_ns = MAX(newest_ns, config_file_changed_ns(reload->live.file));
        newest_ns = MAX(newest_ns, MAX(changed_ns(users), changed_ns(tokens)));
        newest_ns = MAX(newest_ns, changed_ns(onvif));
        settled = is_settled(looks, newest_ns) &&
                  (looks->count > 0 || keeps_a_camera(model->config, reload->config));
    }
    if (!settled) {
        looks->count++;
        looks->changed_ns = newest_ns;
    }
    return settled ? 0 : -EAGAIN;
}

// Loads, checks and opens all of it. Addresses to listen on come last, because they take effect at
// once.
static int load(struct reload *reload, const struct model *model, struct front_network *network,
                struct reload_looks *looks, struct config_problems *problems)
{
    const char *path = model->live.path;
    struct error error = {0};
    int r;

    if (!path) {
        config_problems_tell(problems, true, NULL,
                             "edged was started without a configuration file");
        return -ENOENT;
    }
    r = look(reload, model, looks, problems);
    if (r < 0)
        return r;
    r = descriptors_check(reload->config->camera_count, &error);
    if (reload->config->is_empty) { // it was cut short, or is being written: nobody means "remove
                                    // all cameras"
        r = error_set(&error, -EINVAL, "got a file without a setting, allowed: at least one");
    }
    r = r < 0 ? r : read_users(reload->config, &error, &reload->users);
    r = r < 0 ? r : account_read_users(USERS_TOKENS, reload->config, path, &error, &reload->tokens);
    r = r < 0 ? r : account_read_users(USERS_ONVIF, reload->config, path, &error, &reload->onvif);
    // No port may be left by it.
    if (r == 0 && model->config->rtsp.plain != reload->config->rtsp.plain)
        r = error_set(&error, -EINVAL, "rtsp.plain can change only when edged is started again");
    r = r < 0 ? r : front_network_listen(network, reload->config, &error);
    if (r == -EAGAIN && ++looks->waits < LOOKS_MAX)
        return r;
    r = r == -EAGAIN ? -ETIMEDOUT : r;
    if (r < 0) {
        config_problems_tell(problems, true, path, "%s", error.text);
    } else if (*network->fault.text) {
        config_problems_tell(problems, false, path,
                             "%s; nothing is served inside TLS until a reload can",
                             network->fault.text);
    }
    return r;
}

static char *summarize(const struct config *in_use, const struct config *config, bool new_users)
{
    static const char nothing[] = "nothing has changed", users[] = "the users have changed";
    char *text = config_diff_summarize(in_use, config), *more = NULL;

    if (!text || !new_users)
        return text;
    if (asprintf(&more, "%s%s%s", strcmp(text, nothing) ? text : "",
                 strcmp(text, nothing) ? "; " : "", users) < 0) {
        return text;
    }
    free(text);
    return more;
}

static void log_problems(const struct config_problems *problems, int priority)
{
    for (size_t i = 0; i < problems->count; i++) {
        g_autofree char *line = config_problem_line(&problems->list[i]);

        log_write(priority, LOG_EVENT_NONE, NULL, NULL, "%s", line ? line : strerror(ENOMEM));
    }
}

int reload_open(struct reload *reload, struct model *model, struct front_network *network,
                struct reload_looks *looks)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    int r = load(reload, model, network, looks, &problems);

    if (r == 0) {
        bool new_users = !account_has(model->account, USERS_PASSWORDS, reload->users) ||
                         !account_has(model->account, USERS_TOKENS, reload->tokens) ||
                         !account_has(model->account, USERS_ONVIF, reload->onvif);

        reload->changes = summarize(model->config, reload->config, new_users);
        live_tell_bound(&reload->live, false, &problems);
    }
    if (r == -EAGAIN)
        return r;
    if (model->verdict.is_logged)
        log_problems(&problems, r < 0 ? LOG_ERR : LOG_WARNING);
    model_set_verdict(model, r < 0, &problems);
    return r;
}

void reload_finish(struct reload *reload)
{
    config_free(reload->config);
    live_finish(&reload->live);
    users_free(reload->users);
    users_free(reload->tokens);
    users_free(reload->onvif);
    free(reload->changes);
}
