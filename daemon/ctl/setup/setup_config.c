#include "daemon/ctl/setup/setup_config.h"

#include "config/diff.h"
#include "config/problems.h"
#include "config/schema/schema_value.h"
#include "daemon/ctl/setup/setup_edit.h"
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
    if (*view)
        config_view_free(*view);
}

// Checks, before anything is asked, that the configuration's folder can be written to.
static int check_folder(const char *path, struct error *error)
{
    _cleanup_(cleanup_free) char *real = realpath(path, NULL);
    g_autofree char *folder = g_path_get_dirname(real ? real : path);

    if (g_mkdir_with_parents(folder, 0755) == 0 && access(folder, W_OK) == 0)
        return 0;
    return error_set(error, -errno, "cannot write to %s: %s%s", folder, strerror(errno),
                     errno == EACCES ? "; run it with sudo" : "");
}

// Without a file, or with `force` where it has mistakes, these are the defaults.
int setup_config_load(struct setup_config *config, const struct setup_answers *answers,
                      struct error *error)
{
    _cleanup_(cleanup_config) struct config *defaults = NULL;
    bool there = config->file.content, force = answers->force;
    int r = config_parse("", "built-in defaults", stderr, &defaults);

    if (r == 0 && there) {
        r = config->mended
                ? config_check_content(config->mended, config->file.path, NULL, &config->old)
                : config_load(config->file.path, stderr, &config->old);
        // The installed file has no mistake, and no setting that is not the default.
        config->is_somebodys = r < 0 || !config_is_equal(config->old, defaults);
    }
    if (r < 0 && !(there && force)) {
        return error_set(
            error, r,
            "%s has mistakes: correct them, or run this on a terminal, where it offers "
            "to mend them; --force begins anew",
            config->file.path);
    }
    if (!config->old)
        config->old = TAKE(defaults);
    return 0;
}

// The first of PATH.bak, PATH.bak.1 and so on that is not there: a copy is never overwritten.
static char *choose_kept_path(const char *path)
{
    char *kept = g_strconcat(path, ".bak", NULL);

    for (unsigned i = 1; g_file_test(kept, G_FILE_TEST_EXISTS | G_FILE_TEST_IS_SYMLINK); i++) {
        g_free(kept);
        kept = g_strdup_printf("%s.bak.%u", path, i);
    }
    return kept;
}

int setup_config_read(const struct setup_answers *answers, struct error *error,
                      struct setup_config *ret_config)
{
    struct setup_config config = {0};
    bool named;
    int r = check_folder(answers->config_path, error);

    r = r < 0 ? r : replaced_file_read(answers->config_path, error, &config.file);
    if (r < 0)
        return r;
    config.kept_path = choose_kept_path(config.file.path);
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
    g_free(config->kept_path);
    g_free(config->mended);
    g_free(config->mends);
    replaced_file_finish(&config->file);
}

bool setup_config_has_users(const struct setup_config *config)
{
    _cleanup_(cleanup_free) char *path = users_path(USERS_PASSWORDS, config->old, NULL);

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

    if (r < 0)
        return r;
    while (i < camera->view_count && camera->views[i].view != made->view)
        i++;
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

static const char *const modes[] = {"off", "events", "always"};

int setup_config_read_mode(const char *word, struct error *error, enum config_record_mode *ret_mode)
{
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
        if (strcmp(word, modes[i]) == 0) {
            *ret_mode = (enum config_record_mode)i;
            return 0;
        }
    }
    return error_set(error, -EINVAL, "record: got \"%s\", allowed: off, events or always", word);
}

const char *setup_config_mode_name(const struct setup_config *config)
{
    return modes[config->old->cameras[0].record.mode];
}

// A camera that records events without a region of its own gets one, the whole picture.
static int apply_record(struct config_camera *camera, const char *mode, struct error *error)
{
    struct config_region *region;
    int r = setup_config_read_mode(mode, error, &camera->record.mode);

    if (r < 0 || camera->record.mode != CONFIG_RECORD_EVENTS || camera->region_count > 0)
        return r;
    region = calloc(1, sizeof *region);
    r = region ? schema_set_defaults(&schema_region, region) : -ENOMEM;
    if (r < 0) {
        free(region);
        return error_set(error, r, "%s", strerror(-r));
    }
    set_string(&region->name, "picture");
    free(camera->regions);
    camera->regions = region;
    camera->region_count = 1;
    return 0;
}

// For other machines only inside TLS: browsers give pages without it neither their decoders nor a
// safe login.
static void apply_page(struct config *wanted)
{
    set_string(&wanted->http.address, wanted->rtsp.address);
    wanted->http.tls = true;
}

char *setup_config_broker_path(const struct setup_config *config)
{
    g_autofree char *folder = g_path_get_dirname(config->file.path);
    g_autofree char *whole = g_canonicalize_filename(folder, NULL);

    return g_build_filename(whole, "mqtt.password", NULL);
}

static void apply_broker(const struct setup_config *config, const struct setup_answers *answers,
                         struct config *wanted)
{
    g_autofree char *path = setup_config_broker_path(config);

    set_string(&wanted->mqtt.broker, answers->broker);
    set_string(&wanted->mqtt.user, answers->broker_user ? answers->broker_user : "");
    set_string(&wanted->mqtt.password_file, answers->broker_password.text[0] ? path : "");
    wanted->mqtt.tls = answers->broker_tls;
    set_string(&wanted->mqtt.ca, answers->broker_tls ? answers->broker_ca : "");
}

bool setup_config_makes_onvif_user(const struct setup_config *config,
                                   const struct setup_answers *answers)
{
    return answers->onvif && (answers->user || config->old->rtsp.auth != CONFIG_AUTH_NONE);
}

static int apply(const struct setup_config *config, const struct setup_answers *answers,
                 struct config *wanted, struct error *error)
{
    struct config_camera *camera = &wanted->cameras[0];
    int r;

    set_string(&wanted->rtsp.address, answers->address);
    set_string(&wanted->storage.path, answers->storage);
    set_string(&camera->name, answers->camera);
    apply_device(camera, answers->device);
    if (answers->login.text[0]) {
        free(camera->credentials);
        camera->credentials = setup_config_login_path(config, wanted);
    }
    if (answers->user || setup_config_makes_onvif_user(config, answers)) {
        set_string(&wanted->rtsp.users, config->users_path);
        wanted->rtsp.auth = CONFIG_AUTH_UNSET;
    }
    if (answers->tls && wanted->rtsp.tls_port == 0)
        wanted->rtsp.tls_port = TLS_PORT;
    if (answers->page || (answers->onvif && config_is_loopback(wanted->http.address)))
        apply_page(wanted);
    wanted->onvif.enabled |= answers->onvif;
    if (answers->broker && strcmp(answers->broker, config->old->mqtt.broker) != 0)
        apply_broker(config, answers, wanted);
    r = answers->record ? apply_record(camera, answers->record, error) : 0;
    return r < 0 || !answers->view ? r : apply_view(camera, answers->view, error);
}

// Formats `wanted` and parses that as edged would in the file `path`. An error names the key, but
// no line: those are of a text that is not written yet.
static int check(const char *path, const struct config *wanted, struct error *error,
                 char **ret_keys, struct config **ret_checked)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_free) char *keys = NULL;
    int r = config_format(wanted, SIZE_MAX, &keys);

    r = r < 0 ? r : config_check_text(keys, path, &problems, ret_checked);
    if (r < 0)
        return config_problems_refuse(&problems, r, error);
    *ret_keys = TAKE(keys);
    return 0;
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
    if (r == 0 && user_may_come && !setup_config_has_users(config) && !answers->user &&
        !setup_config_makes_onvif_user(config, answers)) {
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

// Whether the text gives what is wanted: as it stands, because the file of a new user is not there
// yet; or with the files that it names relative to it.
static bool gives(const char *text, const struct setup_config *config)
{
    _cleanup_(cleanup_config) struct config *plain = NULL, *loaded = NULL;
    const char *path = config->file.path;

    return (config_parse(text, path, NULL, &plain) == 0 &&
            config_is_equal(plain, config->wanted)) ||
           (config_check_content(text, path, NULL, &loaded) == 0 &&
            config_is_equal(loaded, config->wanted));
}

// The file with the settings that differ changed in it. Where that would not give what is wanted,
// as with settings that another file has which it includes, every key is written.
static char *make_text(const struct setup_config *config, const char *keys)
{
    _cleanup_(cleanup_config) struct config *kinds = NULL;
    _cleanup_(cleanup_free) char *before = NULL, *usual = NULL;
    g_autofree char *edited = NULL, *kinds_text = setup_edit_kinds(keys);
    const char *text = config->mended ? config->mended : config->file.content;

    if (config_format(config->old, SIZE_MAX, &before) == 0) {
        if (config_parse(kinds_text, config->file.path, NULL, &kinds) == 0)
            config_format(kinds, SIZE_MAX, &usual);
        edited = setup_edit(text ? text : HEADER, before, usual ? usual : "", keys);
        if (gives(edited, config))
            return g_steal_pointer(&edited);
    }
    return g_strconcat(HEADER, keys, NULL);
}

int setup_config_apply(struct setup_config *config, const struct setup_answers *answers,
                       struct error *error)
{
    _cleanup_(cleanup_free) char *keys = NULL;
    int r = fill_in(config, answers, false, error, &keys, &config->wanted);

    config->new_text = r < 0 ? NULL : make_text(config, keys);
    return r;
}

bool setup_config_print_changes(const struct setup_config *config)
{
    bool differs = !config_is_equal(config->old, config->wanted),
         changes = differs || config->mended;

    if (changes)
        printf("\nChanges of %s:\n%s", config->file.path, config->mended ? config->mends : "");
    if (differs)
        config_diff_print(stdout, config->old, config->wanted);
    return changes || !config->file.content;
}

static int keep_old(const struct setup_config *config, struct error *error)
{
    const struct replaced_file *file = &config->file;

    return file->content
               ? replace_file(config->kept_path, file->content, file->length, &file->like, error)
               : 0;
}

static int write_text(const struct setup_config *config, const char *text, struct error *error)
{
    int r = keep_old(config, error);

    return r < 0 ? r : replaced_file_write(&config->file, text, strlen(text), error);
}

int setup_config_write_mended(const struct setup_config *config, struct error *error)
{
    return write_text(config, config->mended, error);
}

int setup_config_write(const struct setup_config *config, struct error *error)
{
    _cleanup_(cleanup_config) struct config *loaded = NULL;
    int r = write_text(config, config->new_text, error);

    if (r < 0)
        return r;
    r = config_load(config->file.path, stderr, &loaded);
    if (r < 0) {
        replaced_file_put_back(&config->file);
        return error_set(error, r, "edged would refuse that configuration, %s is as it was",
                         config->file.path);
    }
    return 0;
}
