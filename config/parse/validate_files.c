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

    if (fd < 0 || fstat(fd, &status) < 0) {
        return strerror(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return "no regular file";
    }
    ssize_t length = read(fd, start, sizeof start);
    if (length < 0) {
        return strerror(errno);
    }
    if ((size_t)length == sizeof start &&
        (memcmp(start, png, sizeof png - 1) == 0 || memcmp(start, pgm, sizeof pgm - 1) == 0)) {
        return NULL;
    }
    return "neither a PGM (P5) nor a PNG";
}

// Beside the file that names it.
static int place_beside(struct problems *problems, const config_setting_t *setting, char **name)
{
    const char *file = config_text_origin(problems->text, config_setting_source_line(setting)).file;
    const char *slash = strrchr(file, '/');

    if (**name != '/' && slash) {
        size_t folder = (size_t)(slash - file) + 1, length = strlen(*name);
        char *path = malloc(folder + length + 1);

        if (!path) {
            return -ENOMEM;
        }
        memcpy(path, file, folder);
        memcpy(path + folder, *name, length + 1);
        free(*name);
        *name = path;
    }
    return 0;
}

// A region without its mask goes without events until there is one; a view would show what it is
// there to hide.
static int check_file(struct problems *problems, const config_setting_t *setting, char **mask,
                      bool region)
{
    int r = place_beside(problems, setting, mask);
    const char *fault = r == 0 ? find_fault(*mask) : NULL;

    if (fault) {
        FILE *line = region ? problems_begin_warning(problems, setting)
                            : problems_begin(problems, setting, NULL);

        if (line) {
            fprintf(line, "cannot read \"%s\": %s; allowed: a .pgm or .png%s", *mask, fault,
                    region ? "; until then the region has no events" : "");
        }
        problems_end(problems);
    }
    return r;
}

// The mask of element `index` of a camera's list `name`; NULL: it names none.
static const config_setting_t *find_mask(const config_setting_t *camera, const char *name,
                                         size_t index)
{
    const config_setting_t *list = config_setting_get_member(camera, name);
    const config_setting_t *element = list ? config_setting_get_elem(list, (unsigned)index) : NULL;

    return element && config_setting_is_group(element) ? config_setting_get_member(element, "mask")
                                                       : NULL;
}

// What may come yet, as a camera that is plugged in later.
static void warn_of_absent(struct problems *problems, const config_setting_t *setting,
                           const char *path, const char *what)
{
    if (access(path, R_OK) < 0) {
        FILE *line = problems_begin_warning(problems, setting);

        if (line) {
            fprintf(line, "cannot open \"%s\": %s; until then viewers see NO SIGNAL; allowed: %s",
                    path, strerror(errno), what);
        }
        problems_end(problems);
    }
}

static int check_credentials(struct problems *problems, const config_setting_t *setting,
                             struct config_camera *camera)
{
    const config_setting_t *file = config_setting_get_member(setting, "credentials");
    struct credentials credentials;
    struct error error;
    int r = file && *camera->credentials ? place_beside(problems, file, &camera->credentials) : 0;

    if (r < 0 || !file || !*camera->credentials || camera->source != CONFIG_SOURCE_RTSP) {
        return r;
    }
    if (strncmp(camera->url, "rtsp://", 7) == 0) {
        FILE *line = problems_begin_warning(problems, file);

        if (line) {
            fprintf(line, "the camera's user and password may go through the network in plain "
                          "text with rtsp://; use rtsps:// if the camera can");
        }
        problems_end(problems);
    }
    if (access(camera->credentials, R_OK) < 0) {
        warn_of_absent(problems, file, camera->credentials, "a file with the line user:password");
    } else if (credentials_read(camera->credentials, &error, &credentials) < 0) {
        problems_error(problems, file, NULL, "%s", error.text);
    } else {
        credentials_clear(&credentials);
    }
    return 0;
}

static int check_source(struct problems *problems, const config_setting_t *setting,
                        struct config_camera *camera)
{
    const config_setting_t *clip = config_setting_get_member(setting, "path");
    const config_setting_t *device = config_setting_get_member(setting, "device");
    int r = clip && *camera->path ? place_beside(problems, clip, &camera->path) : 0;

    if (r == 0 && clip && *camera->path && camera->source == CONFIG_SOURCE_FILE) {
        warn_of_absent(problems, clip, camera->path, "a clip");
    }
    if (r == 0 && device && *camera->device && camera->source == CONFIG_SOURCE_V4L2) {
        warn_of_absent(
            problems, device, camera->device,
            "one of `v4l2-ctl --list-devices` (package v4l-utils), or \"\" for the first camera");
    }
    return r < 0 ? r : check_credentials(problems, setting, camera);
}

static int check_camera(struct problems *problems, const config_setting_t *setting,
                        struct config_camera *camera)
{
    int r = check_source(problems, setting, camera);

    for (size_t i = 0; i < camera->view_count && r == 0; i++) {
        const config_setting_t *mask = find_mask(setting, "views", i);

        if (mask && *camera->views[i].mask) {
            r = check_file(problems, mask, &camera->views[i].mask, false);
        }
    }
    for (size_t i = 0; i < camera->region_count && r == 0; i++) {
        const config_setting_t *mask = find_mask(setting, "regions", i);

        if (mask && *camera->regions[i].mask) {
            r = check_file(problems, mask, &camera->regions[i].mask, true);
        }
    }
    return r;
}

// The user who runs --check may not be the one edged runs as: only edged has to read it.
static int check_users(struct problems *problems, const config_setting_t *setting,
                       enum users_kind kind, char **path)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    struct error error;
    int r = place_beside(problems, setting, path);

    if (r < 0) {
        return r;
    }
    if (access(*path, R_OK) < 0 && errno == EACCES) {
        FILE *line = problems_begin_warning(problems, setting);

        if (line) {
            fprintf(line, "cannot read \"%s\": %s; edged does not start where it cannot either",
                    *path, strerror(EACCES));
        }
        problems_end(problems);
        return 0;
    }
    r = users_read(kind, *path, &error, &users);
    if (r < 0) {
        problems_error(problems, setting, NULL, "%s%s", error.text,
                       r != -ENOENT              ? ""
                       : kind == USERS_PASSWORDS ? "; `edgectl passwd NAME` makes it"
                                                 : "; `edgectl token NAME` makes it");
    }
    return 0;
}

static int check_rtsp(struct problems *problems, const config_setting_t *rtsp,
                      struct config *config)
{
    const config_setting_t *users = config_setting_get_member(rtsp, "users");
    const config_setting_t *tokens = config_setting_get_member(rtsp, "tokens");
    const config_setting_t *certificate = config_setting_get_member(rtsp, "certificate");
    const config_setting_t *key = config_setting_get_member(rtsp, "key");
    int r = 0;

    if (users && *config->rtsp.users) {
        r = check_users(problems, users, USERS_PASSWORDS, &config->rtsp.users);
    }
    if (r == 0 && tokens && *config->rtsp.tokens) {
        r = check_users(problems, tokens, USERS_TOKENS, &config->rtsp.tokens);
    }
    if (r == 0 && certificate && *config->rtsp.certificate) {
        r = place_beside(problems, certificate, &config->rtsp.certificate);
    }
    if (r == 0 && key && *config->rtsp.key) {
        r = place_beside(problems, key, &config->rtsp.key);
    }
    return r;
}

int validate_files(struct problems *problems, const config_setting_t *root, struct config *config)
{
    const config_setting_t *cameras = config_setting_get_member(root, "cameras");
    const config_setting_t *rtsp = config_setting_get_member(root, "rtsp");
    int r = 0;

    if (rtsp && config_setting_is_group(rtsp) && problems->text->is_file) {
        r = check_rtsp(problems, rtsp, config);
    }

    for (size_t i = 0; cameras && problems->text->is_file && i < config->camera_count; i++) {
        const config_setting_t *setting = config_setting_get_elem(cameras, (unsigned)i);

        if (setting && config_setting_is_group(setting) && r == 0) {
            r = check_camera(problems, setting, &config->cameras[i]);
        }
    }
    return r;
}
