#include "daemon/ctl/users/users_edit.h"

#include "config/parse/config_text.h"
#include "daemon/common/replace_file.h"
#include "daemon/common/service_files.h"

#include <errno.h>
#include <glib.h>
#include <libconfig.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TOKENS_HEADER                                                                              \
    "# Programs that ask edged over HTTP, written by `edgectl token`: NAME:ROLE:SHA-256\n"         \
    "# ROLE is viewer, operator or admin; SHA-256 is the hash of the token. This file is for its " \
    "owner\n# alone (chmod 600).\n"
#define HEADER                                                                                     \
    "# The users of edged, written by `edgectl passwd`: NAME:ROLE:HA1-MD5:HA1-SHA-256\n"           \
    "# ROLE is viewer, operator or admin; HA1 is the hash of NAME:" USERS_REALM ":PASSWORD (RFC "  \
    "7616).\n"                                                                                     \
    "# Who can read an HA1 can log in with it: this file is for its owner alone (chmod 600).\n"

#define ONVIF_HEADER                                                                               \
    "# The passwords of those users who log in by ONVIF, written by `edgectl passwd --onvif`: "    \
    "NAME:PASSWORD\n"                                                                              \
    "# ONVIF's login needs the password itself: this file is for its owner alone (chmod 600).\n"

static const char *const headers[] = {
    [USERS_PASSWORDS] = HEADER, [USERS_TOKENS] = TOKENS_HEADER, [USERS_ONVIF] = ONVIF_HEADER};

void users_edit_choose_owner(struct stat *like)
{
    if (geteuid() != 0 || !service_user_find(&like->st_uid, &like->st_gid)) {
        like->st_uid = geteuid();
        like->st_gid = getegid();
    }
}

// Reads the file and its users.
static int read_users(enum users_kind kind, const char *path, struct error *error,
                      struct replaced_file *file, struct users **ret_users)
{
    int r = replaced_file_read(path, error, file);

    if (r < 0)
        return r;
    if (!file->content)
        users_edit_choose_owner(&file->like);
    file->like.st_mode = S_IFREG | S_IRUSR | S_IWUSR;
    return users_parse(kind, file->content ? file->content : "", file->length, path, error,
                       ret_users);
}

static const struct user *find(const struct users *users, const char *name)
{
    for (size_t i = 0; i < users->count; i++) {
        if (strcmp(users->list[i].name, name) == 0)
            return &users->list[i];
    }
    return NULL;
}

// Whether a line that users_parse() took is the user's.
static bool is_line_of(const char *line, size_t length, const char *name)
{
    size_t blanks = strspn(line, " \t"), letters = strlen(name);

    return blanks + letters < length && strncmp(line + blanks, name, letters) == 0 &&
           line[blanks + letters] == ':';
}

// Prints `content` with the user's line replaced, left out (`user` is NULL), or added at the end.
static void print_lines(FILE *file, const char *content, const char *name, const struct user *user)
{
    for (const char *line = content; *line;) {
        size_t length = strcspn(line, "\n");
        bool own = is_line_of(line, length, name);

        if (own && user) {
            users_print(file, user);
            user = NULL;
        } else if (!own) {
            fprintf(file, "%.*s\n", (int)length, line);
        }
        line += length + (line[length] == '\n');
    }
    if (user)
        users_print(file, user);
}

// Checks the new text, as there may be one user too many, and puts it in the file's place.
static int write_text(enum users_kind kind, const struct replaced_file *file, const char *text,
                      size_t length, struct error *error)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    int r = users_parse(kind, text, length, file->path, error, &users);

    if (r == 0 && length > USERS_FILE_BYTES_MAX) {
        return error_set(error, -EFBIG, "%s: got %zu bytes, allowed: up to %d", file->path, length,
                         USERS_FILE_BYTES_MAX);
    }
    return r < 0 ? r : replaced_file_write(file, text, length, error);
}

static int rewrite(enum users_kind kind, const struct replaced_file *file, const char *name,
                   const struct user *user, struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    int r = 0;

    if (stream)
        print_lines(stream, file->content ? file->content : headers[kind], name, user);
    if (!stream || fclose(stream) != 0)
        r = error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    r = r < 0 ? r : write_text(kind, file, text, length, error);
    if (text)
        explicit_bzero(text, length);
    free(text);
    return r;
}

int users_edit_put(enum users_kind kind, const char *path, const struct user *user,
                   struct error *error)
{
    _cleanup_(replaced_file_finish) struct replaced_file file = {0};
    _cleanup_(cleanup_users) struct users *users = NULL;
    int r = read_users(kind, path, error, &file, &users);

    return r < 0 ? r : rewrite(kind, &file, user->name, user, error);
}

int users_edit_remove(enum users_kind kind, const char *path, const char *name, struct error *error)
{
    _cleanup_(replaced_file_finish) struct replaced_file file = {0};
    _cleanup_(cleanup_users) struct users *users = NULL;
    int r = read_users(kind, path, error, &file, &users);

    if (r == 0 && !find(users, name)) {
        return error_set(error, -ENOENT, "%s: there is no %s \"%s\"", path,
                         kind == USERS_TOKENS ? "token" : "user", name);
    }
    if (r == 0 && users->count == 1 && kind == USERS_PASSWORDS) {
        return error_set(error, -EINVAL,
                         "%s: \"%s\" is the last user, and edged refuses a file without users: "
                         "make another user first, or take rtsp.users out of edged.conf",
                         path, name);
    }
    return r < 0 ? r : rewrite(kind, &file, name, NULL, error);
}

int users_edit_role(enum users_kind kind, const char *path, const char *name, struct error *error,
                    enum config_role *role)
{
    _cleanup_(replaced_file_finish) struct replaced_file file = {0};
    _cleanup_(cleanup_users) struct users *users = NULL;
    int r = read_users(kind, path, error, &file, &users);
    const struct user *user = r == 0 ? find(users, name) : NULL;

    if (user)
        *role = user->role;
    return r;
}

int users_edit_read(enum users_kind kind, const char *path, struct error *error,
                    struct users **ret_users)
{
    _cleanup_(replaced_file_finish) struct replaced_file file = {0};

    return read_users(kind, path, error, &file, ret_users);
}

static char *beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');

    return *name == '/' || !slash ? g_strdup(name)
                                  : g_strdup_printf("%.*s/%s", (int)(slash - file), file, name);
}

char *users_edit_default_path(enum users_kind kind, const char *config_path, bool *ret_named)
{
    _cleanup_(config_problems_finish) struct config_problems ignored = {0};
    _cleanup_(config_text_finish) struct config_text text = {.problems = &ignored};
    const config_setting_t *users = NULL;
    const char *name = NULL;
    config_t tree;
    char *path;

    config_init(&tree);
    if (config_text_read(&text, config_path) == 0 && config_read_string(&tree, text.text)) {
        users = config_lookup(&tree, users_key(kind));
        name = users ? config_setting_get_string(users) : NULL;
    }
    *ret_named = name && *name;
    path = *ret_named
               ? beside(config_text_origin(&text, config_setting_source_line(users)).file, name)
               : users_default_path(kind, config_path);
    config_destroy(&tree);
    return path;
}
