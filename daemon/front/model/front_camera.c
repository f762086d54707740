#include "daemon/front/model/front_camera.h"

#include "config/diff.h"

#include <stdio.h>
#include <string.h>

#define MJPEG_KBPS 32000 // 130 kB a picture of 30 a second, as 1280x720 of many edges has

struct front_camera {
    GHashTable *mounts;                     // borrowed
    const struct config *config;            // borrowed until another is applied
    size_t index;                           // of the camera there
    struct stream *streams[LINK_VIEWS_MAX]; // references, in the order of the views
    struct supervisor *supervisor;          // owned
};

static const struct config_camera *settings_of(const struct front_camera *camera)
{
    return &camera->config->cameras[camera->index];
}

static void drop_stream(struct front_camera *camera, struct stream *stream)
{
    mounts_remove(camera->mounts, stream_path(stream));
    stream_unref(stream);
}

// The bitrate that its ring has room for.
static uint32_t expected_kbps(const struct config_view *view)
{
    return view->codec == CONFIG_CODEC_MJPEG ? MJPEG_KBPS : (uint32_t)view->bitrate_kbps;
}

static struct stream *make_stream(const char *camera, const struct config_view *view)
{
    static const struct payloader_ops *const payloaders[] = {[CONFIG_CODEC_H264] = &payload_h264,
                                                             [CONFIG_CODEC_H265] = &payload_h265,
                                                             [CONFIG_CODEC_MJPEG] = &payload_jpeg};
    struct stream *stream = NULL;
    char path[80];

    snprintf(path, sizeof path, "/%s/%s", camera, view->name);
    if (stream_new(path, payloaders[view->codec], expected_kbps(view), &stream) < 0) {
        g_error("no memory for %s", path); // ends edged, as GLib does without memory
    }
    return stream;
}

// The place of the view that `view` goes on as; the count of the views: of none. With another codec
// it does not go on, because its viewers were told the old one.
static size_t find_successor(const struct config_camera *next, const struct config_view *view)
{
    size_t i = 0;

    while (i < next->view_count &&
           (strcmp(next->views[i].name, view->name) != 0 || next->views[i].codec != view->codec)) {
        i++;
    }
    return i;
}

// Takes over all that camera `index` of `config` says but its process. Streams that do not go on
// are dropped before others are made, which may get their paths.
static void take_settings(struct front_camera *camera, const struct config *config, size_t index)
{
    const struct config_camera *next = &config->cameras[index];
    struct stream *streams[LINK_VIEWS_MAX] = {0};

    for (size_t i = 0; camera->config && i < settings_of(camera)->view_count; i++) {
        size_t place = find_successor(next, &settings_of(camera)->views[i]);

        if (place < next->view_count)
            streams[place] = camera->streams[i];
        else
            drop_stream(camera, camera->streams[i]);
    }
    for (size_t i = 0; i < next->view_count; i++) {
        const struct config_view *view = &next->views[i];

        streams[i] = streams[i] ? streams[i] : make_stream(next->name, view);
        stream_set_bitrate(streams[i], expected_kbps(view));
        mounts_add(camera->mounts, stream_path(streams[i]), streams[i], config_view_role(view));
    }
    memcpy(camera->streams, streams, sizeof streams);
    camera->config = config;
    camera->index = index;
}

void front_camera_apply(struct front_camera *camera, const struct config *config, size_t index)
{
    enum config_cost cost = config_diff_camera(camera->config, config, index);

    take_settings(camera, config, index);
    supervisor_configure(camera->supervisor, config, index, camera->streams, cost);
}

struct front_camera *front_camera_new(const struct config *config, size_t index, GHashTable *mounts,
                                      const struct supervisor_environment *environment)
{
    struct front_camera *camera = g_new0(struct front_camera, 1);

    camera->mounts = mounts;
    take_settings(camera, config, index);
    camera->supervisor = supervisor_new(config, index, camera->streams, environment);
    return camera;
}

void front_camera_free(struct front_camera *camera)
{
    if (!camera)
        return;
    supervisor_free(camera->supervisor);
    for (size_t i = 0; i < settings_of(camera)->view_count; i++)
        drop_stream(camera, camera->streams[i]);
    g_free(camera);
}

const struct config_camera *front_camera_settings(const struct front_camera *camera)
{
    return settings_of(camera);
}

const char *front_camera_name(const struct front_camera *camera)
{
    return settings_of(camera)->name;
}

struct supervisor *front_camera_supervisor(const struct front_camera *camera)
{
    return camera->supervisor;
}

bool front_camera_shows(const struct front_camera *camera, size_t view, enum config_role role)
{
    return config_view_role(&settings_of(camera)->views[view]) <= role;
}

struct stream *front_camera_stream(const struct front_camera *camera, size_t view)
{
    return camera->streams[view];
}

struct stream *front_camera_find_stream(const struct front_camera *camera, enum config_role role,
                                        const char *view)
{
    for (size_t i = 0; i < settings_of(camera)->view_count; i++) {
        if (front_camera_shows(camera, i, role) &&
            (!view || strcmp(settings_of(camera)->views[i].name, view) == 0)) {
            return camera->streams[i];
        }
    }
    return NULL;
}

void front_camera_list_views(const struct front_camera *camera, enum config_role role,
                             GString *text)
{
    for (size_t i = 0; i < settings_of(camera)->view_count; i++) {
        if (front_camera_shows(camera, i, role)) {
            g_string_append_printf(text, "%s\"%s\"", text->len ? ", " : "",
                                   settings_of(camera)->views[i].name);
        }
    }
}

static size_t count_shown(const struct front_camera *camera, enum config_role role)
{
    size_t count = 0;

    for (size_t i = 0; i < settings_of(camera)->view_count; i++)
        count += front_camera_shows(camera, i, role);
    return count;
}

bool front_camera_is_shown(const struct front_camera *camera, enum config_role role)
{
    return role == CONFIG_ROLE_ADMIN || count_shown(camera, role);
}

bool front_camera_shows_all(const struct front_camera *camera, enum config_role role)
{
    return count_shown(camera, role) == settings_of(camera)->view_count;
}

unsigned front_camera_count_viewers(const struct front_camera *camera, enum config_role role)
{
    unsigned viewers = 0;

    for (size_t i = 0; i < settings_of(camera)->view_count; i++) {
        if (front_camera_shows(camera, i, role)) {
            viewers += stream_viewers(camera->streams[i], VIEWER_RTSP) +
                       stream_viewers(camera->streams[i], VIEWER_HTTP);
        }
    }
    return viewers;
}

bool front_camera_is_watched(const struct front_camera *camera)
{
    for (size_t i = 0; i < settings_of(camera)->view_count; i++) {
        if (stream_is_watched(camera->streams[i]))
            return true;
    }
    return false;
}

const char *front_camera_view_name(const struct front_camera *camera, const struct stream *stream,
                                   enum config_role role)
{
    for (size_t i = 0; i < settings_of(camera)->view_count; i++) {
        if (camera->streams[i] == stream && front_camera_shows(camera, i, role))
            return settings_of(camera)->views[i].name;
    }
    return "";
}
