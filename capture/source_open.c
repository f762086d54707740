#include "capture/gstreamer/source_argus.h"
#include "capture/source.h"

#include <errno.h>

// By config_source; "auto" has none of its own.
static const struct source_ops *const table[] = {
    [CONFIG_SOURCE_V4L2] = &source_v4l2_ops, [CONFIG_SOURCE_GSTREAMER] = &source_gstreamer_ops,
    [CONFIG_SOURCE_FILE] = &source_file_ops, [CONFIG_SOURCE_PATTERN] = &source_pattern_ops,
    [CONFIG_SOURCE_RTSP] = &source_rtsp_ops, [CONFIG_SOURCE_ARGUS] = &source_argus_ops,
};

// Frames that are still to be turned by a quarter have width and height the other way round. Argus
// turns them itself.
static int open_by(const struct source_ops *ops, const struct config_camera *camera,
                   const struct source_environment *environment, struct error *error,
                   struct source **ret_source)
{
    struct config_camera wish = *camera;

    if (config_flip_is_quarter(camera->flip) && ops != &source_argus_ops) {
        wish.width = camera->height;
        wish.height = camera->width;
    }
    return ops->open(&wish, environment, error, ret_source);
}

// The first camera that works; without one, the pattern in the wished size, with the words NO
// CAMERA so that nobody takes it for a camera's picture.
static int open_auto(const struct config_camera *camera,
                     const struct source_environment *environment, struct error *error,
                     struct source **ret_source)
{
    struct config_camera wish = *camera;
    struct error reason = {0};
    struct source *source = NULL;
    int r;

    // Its sensor is a V4L2 device as well, of raw samples, which are for where Argus is not.
    if (source_argus_has_camera(""))
        return open_by(&source_argus_ops, &wish, environment, error, ret_source);
    wish.device = (char *)"";
    r = open_by(&source_v4l2_ops, &wish, environment, &reason, ret_source);
    if (r != -ENODEV && r != -ENOENT && r != -ENOTSUP)
        return r < 0 ? error_set(error, r, "%s", reason.text) : 0;
    wish.format = (char *)"auto";
    r = open_by(&source_pattern_ops, &wish, environment, error, &source);
    if (r < 0)
        return r;
    source_pattern_set_caption(source, "NO CAMERA");
    source_mode_describe(&source->mode, "pattern (no camera found)");
    *ret_source = source;
    return 0;
}

int source_open(const struct config_camera *camera, const struct source_environment *environment,
                struct error *error, struct source **ret_source)
{
    if (camera->source == CONFIG_SOURCE_AUTO)
        return open_auto(camera, environment, error, ret_source);
    return open_by(table[camera->source], camera, environment, error, ret_source);
}
