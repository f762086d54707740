#include "daemon/ctl/users/onvif_user.h"

#include "daemon/ctl/users/users_edit.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define LETTERS 16 // some recorders take no longer passwords

char *onvif_user_path(const char *beside)
{
    _cleanup_(cleanup_free) char *path = users_default_path(USERS_ONVIF, beside);

    return g_strdup(path);
}

// Draws a password of 80 bits, without letters that look like others.
static int draw(struct error *error, struct password *ret_password)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    uint8_t bytes[LETTERS];

    _Static_assert(sizeof letters - 1 == 32, "a byte draws each letter as often");
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return error_set(error, -errno, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        ret_password->text[i] = letters[bytes[i] % 32];
    ret_password->text[sizeof bytes] = '\0';
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

// The user of that name in a file. 0, -ENOENT, or as users_read().
static int find(enum users_kind kind, const char *path, const char *name, struct error *error,
                struct user *ret_user)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    int r = access(path, F_OK) < 0 ? -ENOENT : users_read(kind, path, error, &users);

    if (r < 0)
        return r;
    for (size_t i = 0; i < users->count; i++) {
        if (strcmp(users->list[i].name, name) == 0) {
            *ret_user = users->list[i];
            return 0;
        }
    }
    return -ENOENT;
}

int onvif_user_find(const char *users_path, const char *onvif_path, const char *name,
                    struct error *error, struct password *ret_password)
{
    struct user login = {0}, onvif = {0};
    int r = find(USERS_PASSWORDS, users_path, name, error, &login);

    r = r < 0 ? r : find(USERS_ONVIF, onvif_path, name, error, &onvif);
    if (r == 0 && memcmp(login.ha1, onvif.ha1, sizeof login.ha1) != 0)
        r = -ENOENT;
    if (r == 0)
        g_strlcpy(ret_password->text, onvif.plain, sizeof ret_password->text);
    explicit_bzero(&login, sizeof login);
    explicit_bzero(&onvif, sizeof onvif);
    return r;
}

int onvif_user_put(const char *users_path, const char *onvif_path, const char *name,
                   struct error *error, struct password *ret_password)
{
    enum config_role role = CONFIG_ROLE_VIEWER;
    struct user user;
    int r = users_edit_role(USERS_PASSWORDS, users_path, name, error, &role);

    if (r == 0 && role != CONFIG_ROLE_VIEWER) {
        r = error_set(error, -EINVAL, "%s: %s is %s, allowed for ONVIF: a viewer, or a new user",
                      users_path, name, config_role_name(role));
    }
    r = r < 0 ? r : draw(error, ret_password);
    if (r < 0)
        return r;
    user_init_onvif(&user, name, ret_password->text);
    r = users_edit_put(USERS_ONVIF, onvif_path, &user, error);
    user_init(&user, name, role, ret_password->text);
    r = r < 0 ? r : users_edit_put(USERS_PASSWORDS, users_path, &user, error);
    explicit_bzero(&user, sizeof user);
    if (r < 0)
        password_clear(ret_password);
    return r;
}

int onvif_user_forget(const char *onvif_path, const char *name, struct error *error)
{
    int r =
        access(onvif_path, F_OK) < 0 ? 0 : users_edit_remove(USERS_ONVIF, onvif_path, name, error);

    return r == -ENOENT ? 0 : r;
}
