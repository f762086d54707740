#include "daemon/ctl/bench/bench_target.h"

#include "capture/source.h"
#include "daemon/client/client.h"
#include "daemon/front/model/live.h"

#include <errno.h>
#include <gst/gst.h>
#include <string.h>

int bench_target_format_parse(const char *text, void *result)
{
    *(const char **)result = text;
    return pixel_format_picture_by_name(text) ? 0 : -EINVAL;
}

static int load(struct bench_target *target, const struct bench_target_request *request)
{
    static const char all_kinds[] = "cameras = ( { views = ( { view = \"edges\"; }, "
                                    "{ view = \"gray\"; }, { view = \"camera\"; }, "
                                    "{ view = \"binary\"; }, { view = \"canny\"; }, "
                                    "{ view = \"motion\"; }, { view = \"overlay\"; }, "
                                    "{ view = \"direction\"; }, { view = \"split\"; } ); } );";

    _cleanup_(live_finish) struct live live = {0};

    return request->all_kinds && !request->config_path
               ? config_parse(all_kinds, "built-in defaults", stderr, &target->config)
               : live_load(request->config_path, true, stderr, &live, &target->config);
}

static int find_camera(struct bench_target *target, const char *name, struct error *error)
{
    const struct config *config = target->config;

    for (size_t i = 0; i < config->camera_count; i++) {
        if (!name || strcmp(config->cameras[i].name, name) == 0) {
            target->camera = &config->cameras[i];
            return 0;
        }
    }
    return error_set(error, -EINVAL, "--camera %s: there is none of that name, the first is %s",
                     name, config->cameras[0].name);
}

static int find_views(struct bench_target *target, const char *name, struct error *error)
{
    const struct config_camera *camera = target->camera;

    for (size_t i = 0; i < camera->view_count && i < ARRAY_LENGTH(target->views); i++) {
        if (!name || strcmp(camera->views[i].name, name) == 0)
            target->views[target->view_count++] = &camera->views[i];
    }
    return target->view_count > 0
               ? 0
               : error_set(error, -EINVAL,
                           "--view %s: camera %s has none of that name, the first "
                           "is %s",
                           name, camera->name, camera->views[0].name);
}

// Takes over what the running edged says that the camera delivers; false if it does not say so, for
// the reason in `why`.
static bool ask_daemon(const struct bench_target *target, struct error *why, const char **format,
                       struct picture_size *size)
{
    g_autoptr(JsonObject) status = NULL;
    int r = client_get_status(target->config->control.socket, why, &status);
    g_autoptr(GList) cameras = r == 0 ? get_list(status, "cameras") : NULL;

    for (GList *item = cameras; item; item = item->next) {
        JsonObject *camera = json_node_get_object(item->data);
        const struct pixel_format *found = pixel_format_by_name(get_string(camera, "format"));
        int width = (int)get_number(camera, "width"), height = (int)get_number(camera, "height");

        if (strcmp(get_string(camera, "name"), target->camera->name) == 0 && found && width > 0 &&
            height > 0) {
            *format = found->name;
            *size = (struct picture_size){width, height};
            return true;
        }
    }
    if (r == -ENOENT || r == -ECONNREFUSED)
        error_set(why, r, "no edged runs");
    else if (r == 0)
        error_set(why, 0, "the running edged has no picture of camera %s", target->camera->name);
    return false;
}

// The format that a camera with format "auto" most likely delivers.
static const char *guess_format(const struct config_camera *camera)
{
    if (strcmp(camera->format, "MJPG") == 0)
        return "422P";
    if (strcmp(camera->format, "auto") != 0)
        return camera->format;
    return camera->source == CONFIG_SOURCE_V4L2 || camera->source == CONFIG_SOURCE_AUTO ? "YUYV"
                                                                                        : "NV12";
}

// Takes format and size from a clip, whatever the configuration asks for.
static int open_clip(const struct config_camera *camera, struct error *error, const char **format,
                     struct picture_size *size)
{
    _cleanup_(cleanup_source) struct source *clip = NULL;
    struct copies copies = {0};
    const struct source_environment environment = {frame_allocator_host(), &copies, NULL};
    int r;

    gst_init(NULL, NULL);
    r = source_open(camera, &environment, error, &clip);
    if (r == 0) {
        *format = clip->mode.layout.format->name;
        *size = (struct picture_size){(int)clip->mode.layout.width, (int)clip->mode.layout.height};
    }
    return r;
}

static int find_layout(struct bench_target *target, const struct bench_target_request *request,
                       struct error *error)
{
    const struct config_camera *camera = target->camera;
    const char *origin = request->config_path ? "the configuration" : "built in";
    const char *name = guess_format(camera);
    struct picture_size size = {camera->width, camera->height};
    const struct pixel_format *format;
    struct error why = {0};

    if (request->format && request->size.width > 0) {
        origin = "the command line";
    } else if (request->ask_daemon && ask_daemon(target, &why, &name, &size)) {
        origin = "the running edged";
    } else if (camera->source == CONFIG_SOURCE_FILE) {
        int r = open_clip(camera, error, &name, &size);

        if (r < 0)
            return r;
        origin = "the clip";
        why.text[0] = '\0';
    }
    name = request->format ? request->format : name;
    size = request->size.width > 0 ? request->size : size;
    format = pixel_format_picture_by_name(name);
    if (!format) {
        return error_set(error, -EINVAL,
                         "camera %s has the format %s, which only a running edged can tell the "
                         "pictures of: name it with --format, allowed are " BENCH_TARGET_FORMATS,
                         camera->name, name);
    }
    frame_layout_init(&target->input, format, (uint32_t)size.width, (uint32_t)size.height,
                      FRAME_STRIDE_ALIGN);
    snprintf(target->origin, sizeof target->origin, "%s%s%s", origin, why.text[0] ? "; " : "",
             why.text);
    return 0;
}

int bench_target_init(struct bench_target *target, const struct bench_target_request *request,
                      struct error *error)
{
    int r;

    *target = (struct bench_target){0};
    r = load(target, request);
    if (r == 0)
        r = find_camera(target, request->camera, error);
    if (r == 0)
        r = find_views(target, request->view, error);
    if (r == 0)
        r = find_layout(target, request, error);
    return r;
}

void bench_target_finish(struct bench_target *target)
{
    config_free(target->config);
    *target = (struct bench_target){0};
}
