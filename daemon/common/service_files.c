#include "daemon/common/service_files.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define USER "edged"
#define DEVICE_GROUP "video" // SupplementaryGroups= of edged-camera@.service
#define GROUPS_MAX 32

struct teller {
    bool has_user;
    uid_t uid;
    gid_t gids[GROUPS_MAX];
    int gid_count;
    void (*tell)(void *context, const char *key, const char *path, const char *reason);
    void *context;
};

bool service_user_find(uid_t *ret_uid, gid_t *ret_gid)
{
    struct passwd entry, *user = NULL;
    char strings[1024];

    if (getpwnam_r(USER, &entry, strings, sizeof strings, &user) != 0 || !user)
        return false;
    *ret_uid = user->pw_uid;
    *ret_gid = user->pw_gid;
    return true;
}

static void find_groups(struct teller *teller, gid_t gid)
{
    struct group entry, *devices = NULL;
    char strings[4096];

    teller->gid_count = GROUPS_MAX - 1;
    if (getgrouplist(USER, gid, teller->gids, &teller->gid_count) < 0) {
        teller->gid_count = GROUPS_MAX - 1; // there are more
    }
    if (getgrnam_r(DEVICE_GROUP, &entry, strings, sizeof strings, &devices) == 0 && devices)
        teller->gids[teller->gid_count++] = devices->gr_gid;
}

bool service_files_hides(const char *path)
{
    static const char *const hidden[] = {"/home/", "/root/", "/run/user/"};

    for (size_t i = 0; i < ARRAY_LENGTH(hidden); i++) {
        if (strncmp(path, hidden[i], strlen(hidden[i])) == 0)
            return true;
    }
    return false;
}

// Whether the user has the permission, S_IROTH or S_IXOTH, by owner and mode. True for what cannot
// be looked at.
static bool is_allowed(const struct teller *teller, const char *path, mode_t permission)
{
    struct stat status;
    int shift = 0;

    if (stat(path, &status) < 0 || getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
        return true;
    for (int i = 0; i < teller->gid_count; i++)
        shift = teller->gids[i] == status.st_gid ? 3 : shift;
    shift = teller->uid == status.st_uid ? 6 : shift;
    return status.st_mode & permission << shift;
}

// Whether the user may enter each folder on the way to the file, and read that.
static bool is_readable(const struct teller *teller, char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool enters = is_allowed(teller, path, S_IXOTH);
        *slash = '/';
        if (!enters)
            return false;
    }
    return is_allowed(teller, path, S_IROTH);
}

static void look(const struct teller *teller, const char *key, const char *path)
{
    _cleanup_(cleanup_free) char *real = path && *path ? realpath(path, NULL) : NULL;
    char reason[PATH_MAX + 128];

    if (path && (service_files_hides(path) || (real && service_files_hides(real)))) {
        teller->tell(teller->context, key, path,
                     "edged.service does not see it, because it sees nothing in /home, /root and "
                     "/run/user; move it to /etc/edged or /var/lib/edged");
    } else if (real && teller->has_user && !is_readable(teller, real)) {
        snprintf(reason, sizeof reason,
                 "user " USER " of edged.service may not read it: `namei -l %s` shows owners and "
                 "modes",
                 real);
        teller->tell(teller->context, key, path, reason);
    }
}

static void look_at_camera(const struct teller *teller, size_t index,
                           const struct config_camera *camera)
{
    char key[80];

    snprintf(key, sizeof key, "cameras[%zu].path", index);
    look(teller, key, camera->source == CONFIG_SOURCE_FILE ? camera->path : NULL);
    snprintf(key, sizeof key, "cameras[%zu].credentials", index);
    look(teller, key, camera->source == CONFIG_SOURCE_RTSP ? camera->credentials : NULL);
    for (size_t i = 0; i < camera->view_count; i++) {
        snprintf(key, sizeof key, "cameras[%zu].views[%zu].mask", index, i);
        look(teller, key, camera->views[i].mask);
    }
    for (size_t i = 0; i < camera->region_count; i++) {
        snprintf(key, sizeof key, "cameras[%zu].regions[%zu].mask", index, i);
        look(teller, key, camera->regions[i].mask);
    }
}

void service_files_tell(const struct config *config,
                        void (*tell)(void *context, const char *key, const char *path,
                                     const char *reason),
                        void *context)
{
    struct teller teller = {.tell = tell, .context = context};
    gid_t gid;

    teller.has_user = service_user_find(&teller.uid, &gid);
    if (teller.has_user)
        find_groups(&teller, gid);
    look(&teller, "rtsp.users", config->rtsp.users);
    look(&teller, "rtsp.certificate", config->rtsp.certificate);
    look(&teller, "rtsp.key", config->rtsp.key);
    for (size_t i = 0; i < config->camera_count; i++)
        look_at_camera(&teller, i, &config->cameras[i]);
}

struct path_list {
    const char **paths;
    size_t count;
};

static void add_path(struct path_list *list, const char *path)
{
    if (path && *path && list->count < CAMERA_FILES_MAX)
        list->paths[list->count++] = path;
}

size_t camera_files_list(const struct config_camera *camera,
                         const char *ret_paths[CAMERA_FILES_MAX])
{
    struct path_list list = {ret_paths, 0};

    add_path(&list, camera->credentials);
    add_path(&list, camera->path);
    for (size_t i = 0; i < camera->view_count; i++)
        add_path(&list, camera->views[i].mask);
    for (size_t i = 0; i < camera->region_count; i++)
        add_path(&list, camera->regions[i].mask);
    return list.count;
}

int state_path(const char *name, char **ret_path)
{
    const char *service = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path;
    int length;

    if (service && *service) // the first of a list separated by colons
        length = asprintf(&path, "%.*s/%s", (int)strcspn(service, ":"), service, name);
    else if (state && *state == '/') // the specification says to ignore relative paths
        length = asprintf(&path, "%s/edged/%s", state, name);
    else if (home && *home == '/')
        length = asprintf(&path, "%s/.local/state/edged/%s", home, name);
    else
        return -ENOENT;
    if (length < 0)
        return -ENOMEM;
    *ret_path = path;
    return 0;
}

int control_path_check(const char *path, struct error *error)
{
    size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;

    if (strlen(path) > most) {
        return error_set(error, -EINVAL,
                         "control.socket: %s is %zu bytes long, a unix socket takes at most %zu",
                         path, strlen(path), most);
    }
    return 0;
}

int control_path_find(const char *configured, struct error *error, char **ret_path)
{
    const char *service = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    _cleanup_(cleanup_free) char *path = NULL;
    int result, length;

    if (configured[0])
        length = asprintf(&path, "%s", configured);
    else if (service && service[0]) // the first of a list separated by colons
        length = asprintf(&path, "%.*s/control.sock", (int)strcspn(service, ":"), service);
    else if (getuid() != 0 && user && user[0])
        length = asprintf(&path, "%s/edged/control.sock", user);
    else
        length = asprintf(&path, "/run/edged/control.sock");
    if (length < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, "out of memory");
    }
    result = control_path_check(path, error);
    if (result < 0)
        return result;
    *ret_path = TAKE(path);
    return 0;
}
