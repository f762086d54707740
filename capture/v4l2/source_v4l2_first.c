// The first V4L2 camera that works: one whose own formats are pictures, before one that delivers
// raw samples, as the nodes in front of a sensor's processor do, or what libv4l2 has to convert.
#include "capture/v4l2/source_v4l2_private.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>

struct device_search {
    const struct config_camera *wish;
    const struct source_environment *environment;
    bool plain;
};

// What stands in the way of the first camera, for the sentence when none works: a node that is no
// camera counts for less than a camera that is busy.
struct obstacle {
    int code;
    struct error reason;
};

static int try_path(const struct device_search *search, const char *path, struct obstacle *obstacle,
                    struct source **ret_source)
{
    struct error reason = {0};
    int r = source_v4l2_open_at(path, search->wish, search->environment, search->plain, &reason,
                                ret_source);

    if (r < 0 && r != -ENOENT && r != -ENODEV &&
        (obstacle->code == 0 || (obstacle->code == -EINVAL && r != -EINVAL))) {
        *obstacle = (struct obstacle){r, reason};
    }
    return r;
}

static int try_by_path(const struct device_search *search, struct obstacle *obstacle,
                       struct source **ret_source)
{
    glob_t links;
    int r = -ENODEV;

    if (glob("/dev/v4l/by-path/*", 0, NULL, &links) != 0) {
        return -ENODEV;
    }
    for (size_t i = 0; r < 0 && i < links.gl_pathc; i++) {
        r = try_path(search, links.gl_pathv[i], obstacle, ret_source);
    }
    globfree(&links);
    return r;
}

static int try_all(const struct device_search *search, struct obstacle *obstacle,
                   struct source **ret_source)
{
    int r = try_by_path(search, obstacle, ret_source);

    for (int i = 0; r < 0 && i < V4L2_DEVICES; i++) {
        char path[32];

        snprintf(path, sizeof path, "/dev/video%d", i);
        r = try_path(search, path, obstacle, ret_source);
    }
    return r;
}

int source_v4l2_open_first(const struct config_camera *wish,
                           const struct source_environment *environment, struct error *error,
                           struct source **ret_source)
{
    struct device_search search = {wish, environment, .plain = true};
    struct obstacle obstacle = {0};
    int r = try_all(&search, &obstacle, ret_source);

    if (r < 0) {
        search.plain = false;
        obstacle = (struct obstacle){0};
        r = try_all(&search, &obstacle, ret_source);
    }
    if (r < 0 && obstacle.code == 0) {
        return error_set(error, -ENODEV,
                         "no capture device in /dev/v4l/by-path or /dev/video0..63");
    }
    return r < 0 ? error_set(error, -ENODEV, "no camera can be used: %s", obstacle.reason.text) : 0;
}
