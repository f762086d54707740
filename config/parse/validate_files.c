// The pictures that regions and views name, and the clips, devices and credentials of cameras.
#include "config/credentials.h"
#include "config/parse/validate.h"
#include "config/users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Why the file is no mask, or NULL. Only how it begins is looked at.
static const char *find_fault(const char *path)
{
    static const char png[] = "\x89PNG\r\n\x1a\n", pgm[] = "P5";
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char start[sizeof png - 1];
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "no regular file";
    ssize_t length = read(fd, start, sizeof start);
    if (length < 0)
        return strerror(errno);
    if ((size_t)length == sizeof start &&
        (memcmp(start, png, sizeof png - 1) == 0 || memcmp(start, pgm, sizeof pgm - 1) == 0)) {
        return NULL;
    }
    return "neither a PGM (P5) nor a PNG";
}

// Makes the name of a file, if one is set at `path`, lie beside the file that names it.
static int place_beside(struct validation *validation, const char *path, char **name)
{
    const char *file = validation_file(validation, path);
    const char *slash = strrchr(file, '/');

    if (**name && **name != '/' && slash && validation_has(validation, path)) {
        size_t folder = (size_t)(slash - file) + 1, length = strlen(*name);
        char *placed = malloc(folder + length + 1);

        if (!placed)
            return -ENOMEM;
        memcpy(placed, file, folder);
        memcpy(placed + folder, *name, length + 1);
        free(*name);
        *name = placed;
    }
    return 0;
}

// A region without its mask goes without events until there is one; a view would show what it is
// there to hide.
static int check_mask_file(struct validation *validation, const char *element, char **mask,
                           bool region)
{
    struct validation_path path = validation_key(element, "mask");
    int r = **mask ? place_beside(validation, path.text, mask) : 0;
    const char *fault = r == 0 && **mask ? find_fault(*mask) : NULL;

    if (fault && region) {
        validation_warn(
            validation, path.text,
            "cannot read \"%s\": %s; allowed: a .pgm or .png; until then the region has "
            "no events",
            *mask, fault);
    } else if (fault) {
        validation_refuse(validation, path.text, "cannot read \"%s\": %s;", "a .pgm or .png", *mask,
                          fault);
    }
    return r;
}

// A file that is missing now may appear later, as a camera that is plugged in.
static void warn_of_absent(struct validation *validation, const char *path, const char *name,
                           const char *what)
{
    if (*name && access(name, R_OK) < 0) {
        validation_warn(validation, path,
                        "cannot open \"%s\": %s; until then viewers see NO SIGNAL; allowed: %s",
                        name, strerror(errno), what);
    }
}

static int check_credentials(struct validation *validation, const char *camera_path,
                             struct config_camera *camera)
{
    struct validation_path path = validation_key(camera_path, "credentials");
    struct credentials credentials;
    struct error error;
    int r = place_beside(validation, path.text, &camera->credentials);

    if (r < 0 || !*camera->credentials || camera->source != CONFIG_SOURCE_RTSP)
        return r;
    if (strncmp(camera->url, "rtsp://", 7) == 0) {
        validation_warn(validation, path.text,
                        "the camera's user and password may go through the network in plain text "
                        "with rtsp://; use rtsps:// if the camera can");
    }
    if (access(camera->credentials, R_OK) < 0) {
        warn_of_absent(validation, path.text, camera->credentials,
                       "a file with the line user:password");
    } else if (credentials_read(camera->credentials, &error, &credentials) < 0) {
        validation_error(validation, path.text, &error);
    } else {
        credentials_clear(&credentials);
    }
    return 0;
}

static int check_source(struct validation *validation, const char *camera_path,
                        struct config_camera *camera)
{
    struct validation_path clip = validation_key(camera_path, "path");
    struct validation_path device = validation_key(camera_path, "device");
    int r = place_beside(validation, clip.text, &camera->path);

    if (r == 0 && camera->source == CONFIG_SOURCE_FILE)
        warn_of_absent(validation, clip.text, camera->path, "a clip");
    if (r == 0 && camera->source == CONFIG_SOURCE_V4L2) {
        warn_of_absent(
            validation, device.text, camera->device,
            "one of `v4l2-ctl --list-devices` (package v4l-utils), or \"\" for the first camera");
    }
    return r < 0 ? r : check_credentials(validation, camera_path, camera);
}

static int check_camera(struct validation *validation, const char *path,
                        struct config_camera *camera)
{
    struct validation_path views = validation_key(path, "views");
    struct validation_path regions = validation_key(path, "regions");
    int r = check_source(validation, path, camera);

    for (size_t i = 0; i < camera->view_count && r == 0; i++) {
        r = check_mask_file(validation, validation_element(validation, views.text, i).text,
                            &camera->views[i].mask, false);
    }
    for (size_t i = 0; i < camera->region_count && r == 0; i++) {
        r = check_mask_file(validation, validation_element(validation, regions.text, i).text,
                            &camera->regions[i].mask, true);
    }
    return r;
}

// The user who runs --check may not be the one edged runs as: only edged has to read it.
static int check_users(struct validation *validation, const char *path, enum users_kind kind,
                       char **name)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    struct error error;
    int r = place_beside(validation, path, name);

    if (r < 0 || !**name || !validation_has(validation, path))
        return r;
    if (access(*name, R_OK) < 0 && errno == EACCES) {
        validation_warn(validation, path,
                        "cannot read \"%s\": %s; edged starts only if its own user can", *name,
                        strerror(EACCES));
        return 0;
    }
    r = users_read(kind, *name, &error, &users);
    if (r == -ENOENT) {
        validation_tell(validation, true, path, NULL, "%s; `edgectl %s NAME` makes it", error.text,
                        kind == USERS_PASSWORDS ? "passwd" : "token");
    } else if (r < 0) {
        validation_error(validation, path, &error);
    }
    return 0;
}

// A file that no key names; see users_path().
static void check_default(struct validation *validation, enum users_kind kind,
                          const struct config *config)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    _cleanup_(cleanup_free) char *path = users_path(kind, config, validation->text->files[0]);
    struct error error;

    if (path && access(path, R_OK) == 0 && users_read(kind, path, &error, &users) < 0)
        validation_error(validation, users_key(kind), &error);
}

// Without a password of its own nobody logs in by WS-UsernameToken, as most clients do.
static void check_onvif_users(struct validation *validation, const struct config *config)
{
    _cleanup_(cleanup_free) char *path =
        users_path(USERS_ONVIF, config, validation->text->files[0]);

    if (config->onvif.enabled && *config->rtsp.users && !path) {
        validation_warn(validation, "onvif.enabled",
                        "got true without a user for it; `edgectl passwd --onvif NAME` makes one");
    }
}

static int check_rtsp(struct validation *validation, struct config *config)
{
    int r = check_users(validation, "rtsp.users", USERS_PASSWORDS, &config->rtsp.users);

    if (r == 0)
        r = check_users(validation, "rtsp.tokens", USERS_TOKENS, &config->rtsp.tokens);
    if (!*config->rtsp.tokens)
        check_default(validation, USERS_TOKENS, config);
    check_default(validation, USERS_ONVIF, config);
    check_onvif_users(validation, config);
    if (r == 0)
        r = place_beside(validation, "rtsp.certificate", &config->rtsp.certificate);
    if (r == 0)
        r = place_beside(validation, "rtsp.key", &config->rtsp.key);
    return r;
}

int validate_files(struct validation *validation, struct config *config)
{
    int r = validation->text->is_file ? check_rtsp(validation, config) : 0;

    for (size_t i = 0; validation->text->is_file && i < config->camera_count && r == 0; i++) {
        r = check_camera(validation, validation_element(validation, "cameras", i).text,
                         &config->cameras[i]);
    }
    return r;
}
