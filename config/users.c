#include "config/users.h"

#include "config/credentials.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const GChecksumType types[] = {
    [DIGEST_SHA256] = G_CHECKSUM_SHA256,
    [DIGEST_MD5] = G_CHECKSUM_MD5,
};

size_t digest_hex_length(enum digest_algorithm algorithm)
{
    return 2 * (size_t)g_checksum_type_get_length(types[algorithm]);
}

// GLib wipes nothing of its own: neither the digits nor the last block, which may be a password. A
// whole block would not go through where that lies, a begun one that is filled up does.
static void finish(GChecksum *checksum)
{
    static const guchar block[64];

    char *digits = (char *)g_checksum_get_string(checksum);
    explicit_bzero(digits, strlen(digits));
    g_checksum_reset(checksum);
    g_checksum_update(checksum, block, 1);
    g_checksum_update(checksum, block, sizeof block - 1);
    g_checksum_free(checksum);
}

void digest_hash(enum digest_algorithm algorithm, const char *const *fields, size_t count,
                 char ret_hex[DIGEST_HEX_SIZE])
{
    GChecksum *checksum = g_checksum_new(types[algorithm]);

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            g_checksum_update(checksum, (const guchar *)":", 1);
        g_checksum_update(checksum, (const guchar *)fields[i], (gssize)strlen(fields[i]));
    }
    snprintf(ret_hex, DIGEST_HEX_SIZE, "%s", g_checksum_get_string(checksum));
    finish(checksum);
}

#define PASSWORD_LINES "lines NAME:ROLE:HA1-MD5:HA1-SHA-256, as `edgectl passwd` writes them"
#define TOKEN_LINES "lines NAME:ROLE:SHA-256, as `edgectl token` writes them"
#define ONVIF_LINES "lines NAME:PASSWORD, as `edgectl passwd --onvif` writes them"
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-"

static const struct users_file {
    const char *key; // of the configuration, and the name of the systemd credential
    const char *lines, *wrong_count, *too_many, *twice;
} files[] = {
    [USERS_PASSWORDS] = {"rtsp.users", PASSWORD_LINES,
                         "expected four fields, allowed: " PASSWORD_LINES,
                         "got more users than are allowed: " G_STRINGIFY(USERS_MAX),
                         "got a name for the second time, allowed: a line a user"},
    [USERS_TOKENS] = {"rtsp.tokens", TOKEN_LINES, "expected three fields, allowed: " TOKEN_LINES,
                      "got more tokens than are allowed: " G_STRINGIFY(USERS_MAX),
                      "got a name for the second time, allowed: a line a token"},
    [USERS_ONVIF] = {"onvif.passwords", ONVIF_LINES, "expected two fields, allowed: " ONVIF_LINES,
                     "got more users than are allowed: " G_STRINGIFY(USERS_MAX),
                     "got a name for the second time, allowed: a line a user"},
};

bool users_name_is_valid(const char *name)
{
    size_t length = strspn(name, NAME_CHARACTERS);

    return length >= 1 && length <= USERS_NAME_MAX && name[length] == '\0';
}

void user_init(struct user *user, const char *name, enum config_role role, const char *password)
{
    const char *const fields[] = {name, USERS_REALM, password};

    *user = (struct user){.role = role};
    snprintf(user->name, sizeof user->name, "%s", name);
    for (unsigned i = 0; i < DIGEST_ALGORITHM_COUNT; i++)
        digest_hash((enum digest_algorithm)i, fields, ARRAY_LENGTH(fields), user->ha1[i]);
}

void user_init_onvif(struct user *user, const char *name, const char *password)
{
    user_init(user, name, CONFIG_ROLE_VIEWER, password);
    snprintf(user->plain, sizeof user->plain, "%s", password);
}

void user_init_token(struct user *user, const char *name, enum config_role role, const char *token)
{
    *user = (struct user){.role = role};
    snprintf(user->name, sizeof user->name, "%s", name);
    digest_hash(DIGEST_SHA256, &token, 1, user->ha1[DIGEST_SHA256]);
}

const char *users_key(enum users_kind kind)
{
    return files[kind].key;
}

static bool take_hash(const char *text, enum digest_algorithm algorithm, struct user *user)
{
    size_t length = digest_hex_length(algorithm);

    if (strlen(text) != length || strspn(text, "0123456789abcdef") != length)
        return false;
    memcpy(user->ha1[algorithm], text, length + 1);
    return true;
}

// The same for a line of onvif.passwords. The password may have colons.
static const char *take_onvif(char *line, struct user *user)
{
    const char *name = strsep(&line, ":");
    size_t length = line ? strlen(line) : 0;

    if (!line)
        return files[USERS_ONVIF].wrong_count;
    if (!users_name_is_valid(name))
        return "got another name than is allowed: " USERS_NAMES;
    if (length < USERS_PLAIN_MIN || length > USERS_PLAIN_MAX) {
        return "got a password of another length than is allowed: " G_STRINGIFY(
            USERS_PLAIN_MIN) " to " G_STRINGIFY(USERS_PLAIN_MAX) " characters";
    }
    for (size_t i = 0; i < length; i++) {
        if (!g_ascii_isgraph(line[i]))
            return "got another character than is allowed in a password: visible ones of ASCII";
    }
    user_init_onvif(user, name, line);
    return NULL;
}

// Takes the fields of a line apart, changing it. Returns the error in words; NULL: none.
static const char *take_fields(enum users_kind kind, char *line, struct user *user)
{
    const char *name = strsep(&line, ":");
    const char *role = strsep(&line, ":");
    const char *md5 = kind == USERS_PASSWORDS ? strsep(&line, ":") : NULL;

    if (!role || !line || strchr(line, ':'))
        return files[kind].wrong_count;
    if (!users_name_is_valid(name))
        return "got another name than is allowed: " USERS_NAMES;
    if (config_role_parse(role, &user->role) < 0)
        return "got another role than is allowed: viewer, operator, admin";
    if (md5 && !take_hash(md5, DIGEST_MD5, user))
        return "got another HA1-MD5 than is allowed: 32 of the digits 0-9 a-f";
    if (!take_hash(line, DIGEST_SHA256, user)) {
        return kind == USERS_PASSWORDS
                   ? "got another HA1-SHA-256 than is allowed: 64 of the digits 0-9 a-f"
                   : "got another SHA-256 than is allowed: 64 of the digits 0-9 a-f";
    }
    memcpy(user->name, name, strlen(name) + 1);
    return NULL;
}

static const char *take_line(enum users_kind kind, char *line, struct users *users)
{
    struct user *user = &users->list[users->count];
    const char *fault;

    g_strstrip(line);
    if (*line == '\0' || *line == '#')
        return NULL;
    if (users->count == USERS_MAX)
        return files[kind].too_many;
    fault = kind == USERS_ONVIF ? take_onvif(line, user) : take_fields(kind, line, user);
    for (size_t i = 0; !fault && i < users->count; i++) {
        if (strcmp(users->list[i].name, user->name) == 0)
            fault = files[kind].twice;
    }
    users->count += !fault;
    return fault;
}

static size_t count_lines(const char *text)
{
    size_t count = 1;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

static struct users *allocate(size_t room)
{
    size_t size = sizeof(struct users) + room * sizeof(struct user);
    struct users *users =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (users == MAP_FAILED)
        return NULL;
    madvise(users, size, MADV_DONTDUMP); // known since Linux 3.4
    users->size_bytes = size;
    return users;
}

int users_parse(enum users_kind kind, const char *text, size_t length, const char *path,
                struct error *error, struct users **ret_users)
{
    _cleanup_(private_file_finish) struct private_file copy = {.text = strndup(text, length)};
    size_t room = copy.text ? count_lines(copy.text) : 0;
    _cleanup_(cleanup_users) struct users *users = NULL;
    unsigned number = 1;

    copy.length = copy.text ? strlen(copy.text) : 0; // less than `length` with a byte 0
    room = room < USERS_MAX ? room : USERS_MAX;
    users = allocate(room);
    if (!copy.text || !users)
        return error_set(error, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
    if (copy.length < length)
        return error_set(error, -EINVAL, "%s: got a byte 0, allowed: %s", path, files[kind].lines);
    for (char *rest = copy.text, *line; (line = strsep(&rest, "\n")); number++) {
        const char *fault = take_line(kind, line, users);

        if (fault)
            return error_set(error, -EINVAL, "%s:%u: %s", path, number, fault);
    }
    *ret_users = TAKE(users);
    return 0;
}

static char *find_credential(enum users_kind kind)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    _cleanup_(cleanup_free) char *path = NULL;

    if (!folder || asprintf(&path, "%s/%s", folder, files[kind].key) < 0) {
        path = NULL;
        return NULL;
    }
    return access(path, F_OK) == 0 ? TAKE(path) : NULL;
}

char *users_default_path(enum users_kind kind, const char *config_path)
{
    const char *slash = config_path ? strrchr(config_path, '/') : NULL;
    char *path;

    if (!config_path || asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - config_path) : 0,
                                 config_path, files[kind].key) < 0) {
        return NULL;
    }
    return path;
}

char *users_path(enum users_kind kind, const struct config *config, const char *config_path)
{
    const char *named = kind == USERS_PASSWORDS ? config->rtsp.users
                        : kind == USERS_TOKENS  ? config->rtsp.tokens
                                                : NULL;
    _cleanup_(cleanup_free) char *path = NULL;

    if (named && *named)
        return strdup(named);
    path = find_credential(kind);
    if (path || kind == USERS_PASSWORDS)
        return TAKE(path);
    path = users_default_path(kind, config_path);
    return path && access(path, F_OK) == 0 ? TAKE(path) : NULL;
}

// systemd lets the service's user read a credential by an access list, which shows as the group's
// right to read.
int users_read(enum users_kind kind, const char *path, struct error *error,
               struct users **ret_users)
{
    _cleanup_(cleanup_free) char *credential = find_credential(kind);
    bool granted = credential && strcmp(path, credential) == 0;
    const struct private_file_rules rules = {granted ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO, 0600,
                                             "it", USERS_FILE_BYTES_MAX};
    _cleanup_(private_file_finish) struct private_file file = {0};
    int r = private_file_read(path, &rules, error, &file);

    return r < 0 ? r : users_parse(kind, file.text, file.length, path, error, ret_users);
}

void users_print(FILE *file, const struct user *user)
{
    if (*user->plain) {
        fprintf(file, "%s:%s\n", user->name, user->plain);
        return;
    }
    fprintf(file, "%s:%s:%s%s%s\n", user->name, config_role_name(user->role), user->ha1[DIGEST_MD5],
            *user->ha1[DIGEST_MD5] ? ":" : "", user->ha1[DIGEST_SHA256]);
}

void users_free(struct users *users)
{
    if (users) {
        size_t size = users->size_bytes;

        explicit_bzero(users, size);
        munmap(users, size);
    }
}
