#include "daemon/ctl/setup/setup_config.h"

#include "config/diff.h"
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

static void cleanup_view(struct config_view **view)
{
    if (*view) {
        config_view_free(*view);
    }
}

// Whether two configurations say the same; not without memory.
static bool is_equal(const struct config *a, const struct config *b)
{
    _cleanup_(cleanup_free) char *one = NULL, *other = NULL;

    return config_format(a, SIZE_MAX, &one) == 0 && config_format(b, SIZE_MAX, &other) == 0 &&
           strcmp(one, other) == 0;
}

// Checks, before anything is asked, that the configuration's folder can be written to.
static int check_folder(const char *path, struct error *error)
{
    _cleanup_(cleanup_free) char *real = realpath(path, NULL);
    g_autofree char *folder = g_path_get_dirname(real ? real : path);

    if (g_mkdir_with_parents(folder, 0755) == 0 && access(folder, W_OK) == 0) {
        return 0;
    }
    return error_set(error, -errno, "cannot write to %s: %s%s", folder, strerror(errno),
                     errno == EACCES ? "; run it with sudo" : "");
}

// Loads what the file has. Without one, or with `force` where it has mistakes, these are the
// defaults.
static int load(struct setup_config *config, bool force, struct error *error)
{
    _cleanup_(cleanup_config) struct config *defaults = NULL;
    bool there = config->file.content;
    int r = config_parse("", "built-in defaults", stderr, &defaults);

    if (r == 0 && there) {
        r = config_load(config->file.path, stderr, &config->old);
        // The installed file has no mistake, and no setting that is not the default.
        config->is_somebodys = r < 0 || !is_equal(config->old, defaults);
    }
    if (r < 0 && !(there && force)) {
        return error_set(error, r, "%s has mistakes: correct them, or --force to begin anew",
                         config->file.path);
    }
    if (!config->old) {
        config->old = TAKE(defaults);
    }
    return 0;
}

int setup_config_load(const struct setup_answers *answers, struct error *error,
                      struct setup_config *ret_config)
{
    struct setup_config config = {0};
    bool named;
    int r = check_folder(answers->config_path, error);

    r = r < 0 ? r : replaced_file_read(answers->config_path, error, &config.file);
    r = r < 0 ? r : load(&config, answers->force, error);
    if (r < 0) {
        setup_config_finish(&config);
        return r;
    }
    config.users_path = users_edit_default_path(USERS_PASSWORDS, config.file.path, &named);
    *ret_config = config;
    return 0;
}

void setup_config_finish(struct setup_config *config)
{
    config_free(config->old);
    config_free(config->wanted);
    free(config->new_text);
    free(config->users_path);
    replaced_file_finish(&config->file);
}

bool setup_config_has_users(const struct setup_config *config)
{
    _cleanup_(cleanup_free) char *path = users_path(USERS_PASSWORDS, config->old);

    return path != NULL;
}

char *setup_config_login_path(const struct setup_config *config, const struct config *wanted)
{
    g_autofree char *folder = g_path_get_dirname(config->file.path);

    return g_strdup_printf("%s/%s.credentials", folder, wanted->cameras[0].name);
}

// NULL leaves it as it is.
static void set_string(char **string, const char *value)
{
    if (value) {
        free(*string);
        *string = g_strdup(value);
    }
}

// A name that no view of the camera has: that of the kind, else with a number behind it.
static void name_view(const struct config_camera *camera, struct config_view *view)
{
    g_autofree char *name = g_strdup(view->name);
    unsigned number = 2;

    for (size_t i = 0; i < camera->view_count; i++) {
        if (strcmp(camera->views[i].name, name) == 0) {
            g_free(name);
            name = g_strdup_printf("%s-%u", view->name, number++);
            i = SIZE_MAX; // begin anew: adding 1 gives 0
        }
    }
    set_string(&view->name, name);
}

// Moves the view of that kind to the front. If there is none, puts one in front of the others.
static int apply_view(struct config_camera *camera, const char *kind, struct error *error)
{
    _cleanup_(cleanup_view) struct config_view *made = NULL;
    struct config_view first;
    size_t i = 0;
    int r = config_view_new(kind, error, &made);

    if (r < 0) {
        return r;
    }
    while (i < camera->view_count && camera->views[i].view != made->view) {
        i++;
    }
    if (i == camera->view_count) {
        name_view(camera, made);
        camera->views = g_renew(struct config_view, camera->views, camera->view_count + 1);
        camera->views[camera->view_count++] = *made;
        free(made); // what it had is the camera's now
        made = NULL;
    }
    first = camera->views[i];
    memmove(&camera->views[1], &camera->views[0], i * sizeof first);
    camera->views[0] = first;
    return 0;
}

static void apply_device(struct config_camera *camera, const char *device)
{
    if (setup_answers_is_url(device)) {
        if (camera->source != CONFIG_SOURCE_RTSP || strcmp(camera->url, device) != 0) {
            *camera->credentials = *camera->fingerprint = '\0'; // another camera's
        }
        camera->source = CONFIG_SOURCE_RTSP;
        set_string(&camera->url, device);
    } else if (device) {
        camera->source = *device ? CONFIG_SOURCE_V4L2 : CONFIG_SOURCE_AUTO;
        set_string(&camera->device, device);
    }
}

static int apply(const struct setup_config *config, const struct setup_answers *answers,
                 struct config *wanted, struct error *error)
{
    struct config_camera *camera = &wanted->cameras[0];

    set_string(&wanted->rtsp.address, answers->address);
    set_string(&wanted->storage.path, answers->storage);
    set_string(&camera->name, answers->camera);
    apply_device(camera, answers->device);
    if (answers->login.text[0]) {
        free(camera->credentials);
        camera->credentials = setup_config_login_path(config, wanted);
    }
    if (answers->user) {
        set_string(&wanted->rtsp.users, config->users_path);
        wanted->rtsp.auth = CONFIG_AUTH_UNSET;
    }
    if (answers->tls && wanted->rtsp.tls_port == 0) {
        wanted->rtsp.tls_port = TLS_PORT;
    }
    return answers->view ? apply_view(camera, answers->view, error) : 0;
}

// The first error among the lines of `problems`, without its file and line: those are of a text
// that is not written yet.
static void set_first_problem(const char *problems, struct error *error)
{
    const char *mark = strstr(problems, ": error: ");
    const char *text = mark ? mark + strlen(": error: ") : "edged would refuse it";

    error_set(error, -EINVAL, "%.*s", (int)strcspn(text, "\n"), text);
}

// Formats `wanted` and parses that as edged would in the file `path`.
static int check(const char *path, const struct config *wanted, struct error *error,
                 char **ret_keys, struct config **ret_checked)
{
    _cleanup_(cleanup_free) char *problems = NULL, *keys = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&problems, &size);
    int r = file ? config_format(wanted, SIZE_MAX, &keys) : -ENOMEM;

    r = r < 0 ? r : config_parse(keys, path, file, ret_checked);
    if (file) {
        fclose(file);
    }
    if (r == -EINVAL && problems) {
        set_first_problem(problems, error);
        return r;
    }
    if (r == 0) {
        *ret_keys = keys;
        keys = NULL;
    }
    return r < 0 ? error_set(error, r, "%s", strerror(-r)) : 0;
}

// The configuration of the file with the answers put into it, checked. `user_may_come`: the user
// that an address needs may still be asked for.
static int fill_in(const struct setup_config *config, const struct setup_answers *answers,
                   bool user_may_come, struct error *error, char **ret_keys,
                   struct config **ret_filled)
{
    _cleanup_(cleanup_config) struct config *copy = NULL;
    _cleanup_(cleanup_free) char *same = NULL;
    int r = check(config->file.path, config->old, error, &same, &copy);

    r = r < 0 ? r : apply(config, answers, copy, error);
    if (r == 0 && user_may_come && !setup_config_has_users(config) && !answers->user) {
        copy->rtsp.auth = CONFIG_AUTH_NONE;
    }
    return r < 0 ? r : check(config->file.path, copy, error, ret_keys, ret_filled);
}

int setup_config_try(const struct setup_config *config, const struct setup_answers *answers,
                     struct error *error)
{
    _cleanup_(cleanup_config) struct config *filled = NULL;
    _cleanup_(cleanup_free) char *keys = NULL;

    return fill_in(config, answers, true, error, &keys, &filled);
}

int setup_config_apply(struct setup_config *config, const struct setup_answers *answers,
                       struct error *error)
{
    _cleanup_(cleanup_free) char *keys = NULL;
    int r = fill_in(config, answers, false, error, &keys, &config->wanted);

    config->new_text = r < 0 ? NULL : g_strconcat(HEADER, keys, NULL);
    return r;
}

bool setup_config_print_changes(const struct setup_config *config)
{
    bool changes = !is_equal(config->old, config->wanted);

    if (changes) {
        printf("\nChanges of %s:\n", config->file.path);
        config_diff_print(stdout, config->old, config->wanted);
    }
    return changes || !config->file.content;
}

static int keep_old(const struct setup_config *config, struct error *error)
{
    const struct replaced_file *file = &config->file;
    g_autofree char *path = g_strconcat(file->path, ".bak", NULL);

    return file->content ? replace_file(path, file->content, file->length, &file->like, error) : 0;
}

int setup_config_write(const struct setup_config *config, struct error *error)
{
    _cleanup_(cleanup_config) struct config *loaded = NULL;
    const char *text = config->new_text;
    int r = keep_old(config, error);

    r = r < 0 ? r : replaced_file_write(&config->file, text, strlen(text), error);
    if (r < 0) {
        return r;
    }
    r = config_load(config->file.path, stderr, &loaded);
    if (r < 0) {
        replaced_file_put_back(&config->file);
        return error_set(error, r, "edged would refuse that configuration, %s is as it was",
                         config->file.path);
    }
    return 0;
}
