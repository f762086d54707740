#include "daemon/ctl/setup/setup_config.h"

#include "config/diff.h"
#include "daemon/common/replace_file.h"
#include "daemon/ctl/users/users_edit.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define TLS_PORT 8322 // what other servers take: 322, of IANA, is for root alone
#define HEADER                                                                                     \
    "# Written by `edgectl setup`. edged.conf(5) explains every key, and those that are not "      \
    "here.\n\n"

static int fail_memory(struct error *error)
{
    return error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
}

// Whether two configurations say the same; not without memory.
static bool is_equal(const struct config *a, const struct config *b)
{
    _cleanup_(cleanup_free) char *one = NULL, *other = NULL;

    return config_format(a, SIZE_MAX, &one) == 0 && config_format(b, SIZE_MAX, &other) == 0 &&
           strcmp(one, other) == 0;
}

// Whether somebody has edited the file: it has a mistake, or a setting that is not the default. The
// installed file has neither.
static bool is_somebodys(const struct setup_config *config)
{
    _cleanup_(cleanup_config) struct config *defaults = NULL, *there = NULL;

    return config->text &&
           (config_parse("", "built-in defaults", NULL, &defaults) < 0 ||
            config_load(config->path, NULL, &there) < 0 || !is_equal(there, defaults));
}

// Checks, before anything is asked, that the configuration's folder can be written to.
static int check_folder(const char *path, struct error *error)
{
    g_autofree char *folder = g_path_get_dirname(path);

    if (g_mkdir_with_parents(folder, 0755) == 0 && access(folder, W_OK) == 0) {
        return 0;
    }
    return error_set(error, -errno, "cannot write to %s: %s%s", folder, strerror(errno),
                     errno == EACCES ? "; run it with sudo" : "");
}

static int read_file(struct setup_config *config, struct error *error)
{
    return access(config->path, F_OK) == 0
               ? read_whole_file(config->path, error, &config->text, &config->length)
               : 0;
}

static int parse(const struct setup_config *config, bool force, FILE *problems,
                 struct config **ret_config)
{
    int r = config->text ? config_load(config->path, problems, ret_config) : -ENOENT;

    return r == 0 || (config->text && !force)
               ? r
               : config_parse("", "built-in defaults", problems, ret_config);
}

int setup_config_load(const struct setup_answers *answers, struct error *error,
                      struct setup_config *ret_config)
{
    struct setup_config config = {.path = realpath(answers->config_path, NULL)};
    bool named;
    int r = 0;

    if (!config.path) { // there is none
        config.path = strdup(answers->config_path);
        r = config.path ? 0 : fail_memory(error);
    }
    r = r < 0 ? r : check_folder(config.path, error);
    r = r < 0 ? r : read_file(&config, error);

    if (r == 0) {
        r = parse(&config, answers->force, stderr, &config.old);
        if (r < 0) {
            error_set(error, r, "%s has mistakes: correct them, or --force to begin anew",
                      config.path);
        }
    }
    if (r == 0) {
        r = parse(&config, answers->force, NULL, &config.wanted);
    }
    config.is_somebodys = is_somebodys(&config);
    if (r == 0) {
        config.users_path = users_edit_default_path(config.path, &named);
        r = config.users_path ? 0 : fail_memory(error);
    }
    if (r < 0) {
        setup_config_finish(&config);
        return r;
    }
    *ret_config = config;
    return 0;
}

void setup_config_finish(struct setup_config *config)
{
    config_free(config->old);
    config_free(config->wanted);
    free(config->text);
    free(config->new_text);
    free(config->users_path);
    free(config->path);
}

bool setup_config_has_users(const struct setup_config *config)
{
    _cleanup_(cleanup_free) char *path = users_path(config->old);

    return path != NULL;
}

// NULL leaves it as it is.
static int set_string(char **string, const char *value)
{
    char *copy = value ? strdup(value) : NULL;

    if (copy) {
        free(*string);
        *string = copy;
    }
    return value && !copy ? -ENOMEM : 0;
}

// Moves the view of that kind to the front; if there is none, the first view becomes one.
static int apply_view(struct config_camera *camera, const char *kind, struct error *error)
{
    struct config_view *made, first;
    int r = config_view_new(kind, error, &made);

    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < camera->view_count; i++) {
        if (camera->views[i].view == made->view) {
            first = camera->views[i];
            memmove(&camera->views[1], &camera->views[0], i * sizeof first);
            camera->views[0] = first;
            config_view_free(made);
            return 0;
        }
    }
    first = camera->views[0];
    camera->views[0] = *made;
    *made = first;
    config_view_free(made);
    return 0;
}

static int apply_device(struct config_camera *camera, const char *device)
{
    if (device) {
        camera->source = *device ? CONFIG_SOURCE_V4L2 : CONFIG_SOURCE_AUTO;
    }
    return set_string(&camera->device, device);
}

static int apply(struct setup_config *config, const struct setup_answers *answers,
                 struct error *error)
{
    struct config *wanted = config->wanted;
    struct config_camera *camera = &wanted->cameras[0];

    if (set_string(&wanted->rtsp.address, answers->address) < 0 ||
        set_string(&camera->name, answers->camera) < 0 ||
        apply_device(camera, answers->device) < 0 ||
        (answers->user && set_string(&wanted->rtsp.users, config->users_path) < 0)) {
        return fail_memory(error);
    }
    if (answers->user) {
        wanted->rtsp.auth = CONFIG_AUTH_UNSET;
    }
    if (answers->tls && wanted->rtsp.tls_port == 0) {
        wanted->rtsp.tls_port = TLS_PORT;
    }
    return answers->view ? apply_view(camera, answers->view, error) : 0;
}

int setup_config_apply(struct setup_config *config, const struct setup_answers *answers,
                       struct error *error)
{
    _cleanup_(cleanup_free) char *keys = NULL;
    struct config *checked;
    int r = apply(config, answers, error);

    if (r < 0) {
        return r;
    }
    if (config_format(config->wanted, SIZE_MAX, &keys) < 0 ||
        asprintf(&config->new_text, HEADER "%s", keys) < 0) {
        config->new_text = NULL;
        return fail_memory(error);
    }
    r = config_parse(config->new_text, config->path, stderr, &checked);
    if (r < 0) {
        return error_set(error, r, "edged would refuse that configuration, nothing is written");
    }
    config_free(config->wanted);
    config->wanted = checked;
    return 0;
}

bool setup_config_print_changes(const struct setup_config *config)
{
    bool changes = !is_equal(config->old, config->wanted);

    if (changes) {
        printf("\nChanges of %s:\n", config->path);
        config_diff_print(stdout, config->old, config->wanted);
    }
    return changes || !config->text;
}

static int put_back(const struct setup_config *config, const struct stat *like)
{
    return config->text ? replace_file(config->path, config->text, config->length, like, NULL)
                        : unlink(config->path);
}

static int keep_old(const struct setup_config *config, const struct stat *like, struct error *error)
{
    _cleanup_(cleanup_free) char *path = NULL;

    if (!config->is_somebodys) {
        return 0;
    }
    if (asprintf(&path, "%s.bak", config->path) < 0) {
        path = NULL;
        return fail_memory(error);
    }
    return replace_file(path, config->text, config->length, like, error);
}

int setup_config_write(const struct setup_config *config, struct error *error)
{
    _cleanup_(cleanup_config) struct config *loaded = NULL;
    struct stat like = {.st_mode = 0644, .st_uid = geteuid(), .st_gid = getegid()};
    int r;

    stat(config->path, &like); // else there is no file whose owner and mode to keep
    r = keep_old(config, &like, error);
    r = r < 0
            ? r
            : replace_file(config->path, config->new_text, strlen(config->new_text), &like, error);
    if (r < 0) {
        return r;
    }
    r = config_load(config->path, stderr, &loaded);
    if (r < 0) {
        put_back(config, &like);
        return error_set(error, r, "edged would refuse that configuration, %s is as it was",
                         config->path);
    }
    return 0;
}
