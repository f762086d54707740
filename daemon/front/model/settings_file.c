#include "daemon/front/model/settings_file.h"

#include "config/schema/schema_value.h"
#include "daemon/common/replace_file.h"

#include <errno.h>
#include <glib.h>
#include <libconfig.h>
#include <string.h>
#include <sys/stat.h>

#define BYTES_MAX (1 << 20)
#define BY_ADMIN "admin"

// The real path of the configuration file, "" for the built-in defaults. The caller frees it.
static char *real_path(const char *config_path)
{
    char *real = config_path ? realpath(config_path, NULL) : NULL;

    return real ? real : strdup(config_path ? config_path : "");
}

static int take_setting(const config_setting_t *setting, struct config_overrides *kept)
{
    const char *key = NULL, *value = NULL, *file = NULL, *by = NULL;

    if (!config_setting_is_group(setting) || !config_setting_lookup_string(setting, "key", &key))
        return -EINVAL;
    config_setting_lookup_string(setting, "value", &value);
    config_setting_lookup_string(setting, "file", &file);
    config_setting_lookup_string(setting, "by", &by);
    int r = config_overrides_set(kept, key, value, file);
    if (r == 0)
        kept->list[kept->count - 1].by_admin = by && strcmp(by, BY_ADMIN) == 0;
    return r;
}

// Whether a line has libconfig read another file. Within a value the word means nothing.
static bool includes(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        if (g_str_has_prefix(line, "@include"))
            return true;
    }
    return false;
}

int settings_file_parse(const char *text, char **ret_config_path, struct config_overrides *ret_kept)
{
    struct config_overrides kept = {0};
    const config_setting_t *list;
    const char *config_path;
    config_t tree;
    int r = -EINVAL;

    if (includes(text))
        return -EINVAL;
    config_init(&tree);
    if (config_read_string(&tree, text) && config_lookup_string(&tree, "config", &config_path)) {
        list = config_lookup(&tree, "settings");
        r = list && config_setting_is_list(list) && config_setting_length(list) <= SETTINGS_FILE_MAX
                ? 0
                : -EINVAL;
        for (int i = 0; r == 0 && i < config_setting_length(list); i++)
            r = take_setting(config_setting_get_elem(list, (unsigned)i), &kept);
        if (r == 0) {
            *ret_config_path = strdup(config_path);
            r = *ret_config_path ? 0 : -ENOMEM;
        }
    }
    config_destroy(&tree);
    if (r < 0) {
        config_overrides_finish(&kept);
        return r;
    }
    *ret_kept = kept;
    return 0;
}

static void set_aside(const char *path, bool is_look, const char *why,
                      struct config_problems *problems)
{
    g_autofree char *aside = g_strconcat(path, ".broken", NULL);
    bool moved = !is_look && rename(path, aside) == 0;

    config_problems_tell(problems, false, path, "%s, %s%s, going on without what was kept", why,
                         moved ? "set aside as " : "left where it is", moved ? aside : "");
}

static const char *describe_foreign(const struct stat *status)
{
    return S_ISLNK(status->st_mode)   ? "it is a link, allowed: a regular file"
           : S_ISDIR(status->st_mode) ? "it is a folder, allowed: a regular file"
           : S_ISREG(status->st_mode) ? "it is longer than 1 MiB"
                                      : "it is a device, pipe or socket, allowed: a regular file";
}

void settings_file_read(const char *path, const char *config_path, bool is_look,
                        struct config_problems *problems, struct config_overrides *ret_kept)
{
    _cleanup_(cleanup_free) char *text = NULL, *belongs = NULL, *real = real_path(config_path);
    g_autoptr(GError) failure = NULL;
    struct config_overrides kept = {0};
    struct stat status;
    gsize length;

    if (!path || !real)
        return;
    if (lstat(path, &status) < 0) {
        if (errno != ENOENT) {
            config_problems_tell(problems, false, path,
                                 "cannot read: %s, going on without what was kept",
                                 strerror(errno));
        }
        return;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > BYTES_MAX) {
        set_aside(path, is_look, describe_foreign(&status), problems);
        return;
    }
    if (!g_file_get_contents(path, &text, &length, &failure)) {
        config_problems_tell(problems, false, path, "%s, going on without what was kept",
                             failure->message);
        return;
    }
    if (strlen(text) != length || settings_file_parse(text, &belongs, &kept) < 0) {
        set_aside(path, is_look, "it is broken", problems);
        return;
    }
    if (strcmp(belongs, real) != 0) {
        config_problems_tell(problems, false, path,
                             "its settings are for %s, going on without them; the next one that is "
                             "kept takes their place",
                             belongs);
        config_overrides_finish(&kept);
        return;
    }
    *ret_kept = kept;
}

static void print_setting(FILE *file, const struct config_override *one, const char *separator)
{
    fprintf(file, "%s\n  { key = ", separator);
    schema_print_quoted(file, one->path);
    if (one->value) {
        fputs("; value = ", file);
        schema_print_quoted(file, one->value);
    }
    if (one->in_file) {
        fputs("; file = ", file);
        schema_print_quoted(file, one->in_file);
    }
    if (one->by_admin)
        fputs("; by = \"" BY_ADMIN "\"", file);
    fputs("; }", file);
}

int settings_file_write(const char *path, const char *config_path,
                        const struct config_overrides *kept, struct error *error)
{
    _cleanup_(cleanup_free) char *text = NULL, *real = real_path(config_path);
    struct stat like = {.st_uid = geteuid(), .st_gid = getegid()};
    g_autofree char *folder = g_path_get_dirname(path);
    FILE *file;
    size_t size;

    if (kept->count == 0) {
        return unlink(path) < 0 && errno != ENOENT
                   ? error_set(error, -errno, "%s: %s", path, strerror(errno))
                   : 0;
    }
    file = real ? open_memstream(&text, &size) : NULL;
    if (!file)
        return error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    fputs("# Settings over edged.conf, as `edgectl set --keep` makes them and `edgectl unset`\n"
          "# forgets them. Written by edged.\nconfig = ",
          file);
    schema_print_quoted(file, real);
    fputs(";\nsettings = (", file);
    for (size_t i = 0; i < kept->count; i++)
        print_setting(file, &kept->list[i], i ? "," : "");
    fputs("\n);\n", file);
    fclose(file);
    g_mkdir_with_parents(folder, 0700);
    if (geteuid() == 0) // for the service, where root runs edged in its stead
        stat(folder, &like);
    like.st_mode = 0600;
    return replace_file(path, text, size, &like, error);
}
