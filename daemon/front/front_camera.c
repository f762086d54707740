#include "daemon/front/front_camera.h"

#include "config/diff.h"
#include "daemon/front/rtsp/multicast.h"

#include <stdio.h>
#include <string.h>

#define MJPEG_KBPS 32000 // 130 kB a picture of 30 a second, as 1280x720 of many edges has

struct front_camera {
    struct rtsp_server *server;             // borrowed
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
    rtsp_server_remove(camera->server, stream_path(stream));
    rtsp_server_disconnect(camera->server, stream_path(stream));
    stream_unref(stream);
}

// What its ring is to have room for.
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

    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        size_t place = find_successor(next, &settings_of(camera)->views[i]);

        if (place < next->view_count) {
            streams[place] = camera->streams[i];
        } else {
            drop_stream(camera, camera->streams[i]);
        }
    }
    for (size_t i = 0; i < next->view_count; i++) {
        const struct config_view *view = &next->views[i];

        streams[i] = streams[i] ? streams[i] : make_stream(next->name, view);
        stream_set_bitrate(streams[i], expected_kbps(view));
        rtsp_server_add(camera->server, stream_path(streams[i]), streams[i],
                        config_view_role(view));
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

struct front_camera *front_camera_new(const struct config *config, size_t index,
                                      struct rtsp_server *server,
                                      const struct supervisor_environment *environment)
{
    struct front_camera *camera = g_new0(struct front_camera, 1);

    camera->server = server;
    take_settings(camera, config, index);
    camera->supervisor = supervisor_new(config, index, camera->streams, environment);
    return camera;
}

void front_camera_free(struct front_camera *camera)
{
    if (!camera) {
        return;
    }
    supervisor_free(camera->supervisor);
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        drop_stream(camera, camera->streams[i]);
    }
    g_free(camera);
}

const char *front_camera_name(const struct front_camera *camera)
{
    return settings_of(camera)->name;
}

struct supervisor *front_camera_supervisor(const struct front_camera *camera)
{
    return camera->supervisor;
}

const struct regions *front_camera_regions(const struct front_camera *camera)
{
    return supervisor_regions(camera->supervisor);
}

struct stream *front_camera_first_stream(const struct front_camera *camera)
{
    return camera->streams[0];
}

size_t front_camera_view_count(const struct front_camera *camera)
{
    return camera->config ? settings_of(camera)->view_count : 0;
}

const char *front_camera_view_path(const struct front_camera *camera, size_t view)
{
    return stream_path(camera->streams[view]);
}

bool front_camera_has_path(const struct front_camera *camera, const char *const *paths)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (g_strv_contains(paths, front_camera_view_path(camera, i))) {
            return true;
        }
    }
    return false;
}

static bool shows(const struct front_camera *camera, size_t view, enum config_role role)
{
    return config_view_role(&settings_of(camera)->views[view]) <= role;
}

struct stream *front_camera_find_stream(const struct front_camera *camera, enum config_role role,
                                        const char *view)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (shows(camera, i, role) &&
            (!view || strcmp(settings_of(camera)->views[i].name, view) == 0)) {
            return camera->streams[i];
        }
    }
    return NULL;
}

void front_camera_list_views(const struct front_camera *camera, enum config_role role,
                             GString *text)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (shows(camera, i, role)) {
            g_string_append_printf(text, "%s\"%s\"", text->len ? ", " : "",
                                   settings_of(camera)->views[i].name);
        }
    }
}

static size_t count_shown(const struct front_camera *camera, enum config_role role)
{
    size_t count = 0;

    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        count += shows(camera, i, role);
    }
    return count;
}

bool front_camera_is_shown(const struct front_camera *camera, enum config_role role)
{
    return role == CONFIG_ROLE_ADMIN || count_shown(camera, role);
}

bool front_camera_shows_all(const struct front_camera *camera, enum config_role role)
{
    return count_shown(camera, role) == front_camera_view_count(camera);
}

unsigned front_camera_count_viewers(const struct front_camera *camera, enum config_role role)
{
    unsigned viewers = 0;

    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (shows(camera, i, role)) {
            viewers +=
                rtsp_server_count_viewers(camera->server, front_camera_view_path(camera, i)) +
                stream_http_viewers(camera->streams[i]);
        }
    }
    return viewers;
}

bool front_camera_is_watched(const struct front_camera *camera)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (stream_is_watched(camera->streams[i])) {
            return true;
        }
    }
    return false;
}

const char *front_camera_view_name(const struct front_camera *camera, const struct stream *stream,
                                   enum config_role role)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (camera->streams[i] == stream && shows(camera, i, role)) {
            return settings_of(camera)->views[i].name;
        }
    }
    return "";
}

void front_camera_describe(const struct front_camera *camera, struct camera_facts *ret_facts)
{
    *ret_facts = (struct camera_facts){.source = config_source_name(settings_of(camera)->source),
                                       .armed = settings_of(camera)->armed};
    supervisor_describe(camera->supervisor, ret_facts);
}

void front_camera_add_facts(const struct front_camera *camera, struct facts *facts,
                            enum config_role role)
{
    struct camera_facts described;

    if (front_camera_is_shown(camera, role)) {
        front_camera_describe(camera, &described);
        described.usage = process_usage_read(described.pid);
        facts_begin(facts, NULL);
        status_add_camera(facts, &described);
        facts_end(facts);
    }
}

static void add_mount(const struct front_camera *camera, size_t index, struct facts *facts,
                      const char *url, const char *alias)
{
    const struct config_view *view = &settings_of(camera)->views[index];
    const struct stream *stream = camera->streams[index];
    const char *path = stream_path(stream);
    const struct multicast_place *place = rtsp_server_multicast(camera->server, path);
    struct mount_facts mount = {
        .rtsp_url = url,
        .path = path,
        .alias = alias,
        .camera = front_camera_name(camera),
        .view = view->name,
        .kind = config_view_kind_name(view->view),
        .codec = config_codec_name(view->codec),
        .recorded = config_record_mode_name(config_record_view(settings_of(camera)) == view
                                                ? settings_of(camera)->record.mode
                                                : CONFIG_RECORD_OFF),
        .width = stream_parameter_sets(stream)->width,
        .height = stream_parameter_sets(stream)->height,
        .viewers = rtsp_server_count_viewers(camera->server, path),
        .http_viewers = stream_http_viewers(stream),
    };

    stream_count(stream, &mount.statistics);
    if (place) {
        snprintf(mount.multicast, sizeof mount.multicast, "%s:%u", place->address, place->port);
    }
    facts_begin(facts, NULL);
    status_add_mount(facts, &mount);
    facts_end(facts);
}

void front_camera_add_mounts(const struct front_camera *camera, struct facts *facts,
                             const char *url, const char *alias, enum config_role role,
                             const char *const *paths)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (shows(camera, i, role) &&
            (!paths || g_strv_contains(paths, front_camera_view_path(camera, i)))) {
            add_mount(camera, i, facts, url, i == 0 ? alias : "");
        }
    }
}

void front_camera_add_urls(const struct front_camera *camera, const char *url,
                           enum config_role role, GPtrArray *urls)
{
    for (size_t i = 0; i < front_camera_view_count(camera); i++) {
        if (shows(camera, i, role)) {
            g_ptr_array_add(urls, g_strconcat(url, front_camera_view_path(camera, i), NULL));
        }
    }
}
