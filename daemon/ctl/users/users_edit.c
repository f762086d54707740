#include "daemon/ctl/users/users_edit.h"

#include "config/parse/config_text.h"
#include "daemon/common/replace_file.h"

#include <errno.h>
#include <libconfig.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SERVICE_USER "edged"
#define HEADER                                                                                     \
    "# The users of edged, written by `edgectl passwd`: NAME:ROLE:HA1-MD5:HA1-SHA-256\n"           \
    "# ROLE is viewer, operator or admin; HA1 is the hash of NAME:" USERS_REALM ":PASSWORD (RFC "  \
    "7616).\n"                                                                                     \
    "# Who can read an HA1 can log in with it: this file is for its owner alone (chmod 600).\n"

// The file while it is changed.
struct users_edit {
    char *path;    // with symbolic links resolved; owned
    char *content; // as it was; owned
    size_t length;
    struct stat like; // owner and mode to be
    struct users *users;
};

static void free_secret(char *text, size_t length)
{
    if (text) {
        explicit_bzero(text, length);
    }
    free(text);
}

static void edit_finish(struct users_edit *edit)
{
    users_free(edit->users);
    free_secret(edit->content, edit->length);
    free(edit->path);
}

void users_edit_choose_owner(struct stat *like)
{
    struct passwd entry, *service = NULL;
    char strings[1024];

    if (geteuid() != 0 ||
        getpwnam_r(SERVICE_USER, &entry, strings, sizeof strings, &service) != 0) {
        service = NULL;
    }
    like->st_uid = service ? service->pw_uid : geteuid();
    like->st_gid = service ? service->pw_gid : getegid();
}

static int start_file(struct users_edit *edit, const char *path, struct error *error)
{
    edit->path = strdup(path);
    edit->content = strdup(HEADER);
    if (!edit->path || !edit->content) {
        return error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    }
    edit->length = strlen(HEADER);
    users_edit_choose_owner(&edit->like);
    return 0;
}

static int open_file(struct users_edit *edit, struct error *error)
{
    struct stat status;

    if (stat(edit->path, &status) < 0) {
        return error_set(error, -EIO, "%s: %s", edit->path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode) || status.st_size > USERS_FILE_BYTES_MAX) {
        return error_set(error, -EINVAL, "%s: got no file of users, allowed: up to %d bytes",
                         edit->path, USERS_FILE_BYTES_MAX);
    }
    edit->like = status;
    return read_whole_file(edit->path, error, &edit->content, &edit->length);
}

static int edit_init(struct users_edit *edit, const char *path, struct error *error)
{
    int r;

    *edit = (struct users_edit){.path = realpath(path, NULL)};
    if (!edit->path && errno != ENOENT) {
        return error_set(error, -EIO, "%s: %s", path, strerror(errno));
    }
    r = edit->path ? open_file(edit, error) : start_file(edit, path, error);
    edit->like.st_mode = S_IFREG | S_IRUSR | S_IWUSR;
    return r != 0 ? r : users_parse(edit->content, edit->length, path, error, &edit->users);
}

// Whether a line that users_parse() took is the user's.
static bool is_line_of(const char *line, size_t length, const char *name)
{
    size_t blanks = strspn(line, " \t"), letters = strlen(name);

    return blanks + letters < length && strncmp(line + blanks, name, letters) == 0 &&
           line[blanks + letters] == ':';
}

// Writes the file with the user's line replaced, left out (`user` is NULL), or added at the end.
static void print_lines(FILE *file, const struct users_edit *edit, const char *name,
                        const struct user *user)
{
    for (const char *line = edit->content; *line;) {
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
    if (user) {
        users_print(file, user);
    }
}

static int write_file(const struct users_edit *edit, const char *name, const struct user *user,
                      struct error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    struct users *users = NULL;
    int r;

    if (!file) {
        return error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    }
    print_lines(file, edit, name, user);
    r = fclose(file) == 0 ? 0 : error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    // Checked again, because there may be one user too many now.
    r = r < 0 ? r : users_parse(text, length, edit->path, error, &users);
    users_free(users);
    if (r == 0 && length > USERS_FILE_BYTES_MAX) {
        r = error_set(error, -EFBIG, "%s: got %zu bytes, allowed: up to %d", edit->path, length,
                      USERS_FILE_BYTES_MAX);
    }
    r = r < 0 ? r : replace_file(edit->path, text, length, &edit->like, error);
    free_secret(text, length);
    return r;
}

static const struct user *find(const struct users_edit *edit, const char *name)
{
    for (size_t i = 0; i < edit->users->count; i++) {
        if (strcmp(edit->users->list[i].name, name) == 0) {
            return &edit->users->list[i];
        }
    }
    return NULL;
}

int users_edit_put(const char *path, const struct user *user, struct error *error)
{
    struct users_edit edit;
    int r = edit_init(&edit, path, error);

    r = r != 0 ? r : write_file(&edit, user->name, user, error);
    edit_finish(&edit);
    return r;
}

int users_edit_remove(const char *path, const char *name, struct error *error)
{
    struct users_edit edit;
    int r = edit_init(&edit, path, error);

    if (r == 0 && !find(&edit, name)) {
        r = error_set(error, -ENOENT, "%s: there is no user \"%s\"", path, name);
    }
    r = r != 0 ? r : write_file(&edit, name, NULL, error);
    edit_finish(&edit);
    return r;
}

int users_edit_find(const char *path, const char *name, struct error *error, struct user *ret_user)
{
    const struct user *found;
    struct users_edit edit;
    int r = edit_init(&edit, path, error);

    if (r == 0) {
        found = find(&edit, name);
        r = found ? 0 : -ENOENT;
        if (found) {
            *ret_user = *found;
        }
    }
    edit_finish(&edit);
    return r;
}

static char *beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    char *path;

    if (*name == '/' || !slash) {
        return strdup(name);
    }
    return asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0 ? NULL : path;
}

char *users_edit_default_path(const char *config_path, bool *ret_named)
{
    _cleanup_(config_text_finish) struct config_text text = {0};
    const config_setting_t *users = NULL;
    const char *name = NULL;
    config_t tree;
    char *path;

    config_init(&tree);
    if (config_text_read(&text, config_path) == 0 && config_read_string(&tree, text.text)) {
        users = config_lookup(&tree, "rtsp.users");
        name = users ? config_setting_get_string(users) : NULL;
    }
    *ret_named = name && *name;
    path = *ret_named
               ? beside(config_text_origin(&text, config_setting_source_line(users)).file, name)
               : beside(config_path, "rtsp.users");
    config_destroy(&tree);
    return path;
}
