#include "daemon/front/front_camera.h"

#include "config/diff.h"
#include "daemon/front/rtsp/multicast.h"

#include <stdio.h>
#include <string.h>

#define MJPEG_KBPS 32000 // 130 kB a picture of 30 a second, as 1280x720 of many edges has

struct front_view {
    char name[40], kind[16];
    enum config_role role; // the least that may watch
    struct stream *stream; // a reference
};

struct front_camera {
    struct rtsp_server *server; // borrowed
    char name[40], source[16];
    bool armed;
    struct front_view views[LINK_VIEWS_MAX];
    size_t view_count;
    struct supervisor *supervisor; // owned
};

static void drop_view(struct front_camera *camera, struct front_view *view)
{
    const char *path = stream_path(view->stream);

    rtsp_server_remove(camera->server, path);
    rtsp_server_disconnect(camera->server, path);
    stream_unref(view->stream);
}

static const struct payloader_ops *find_payloader(enum config_codec codec)
{
    static const struct payloader_ops *const payloaders[] = {[CONFIG_CODEC_H264] = &payload_h264,
                                                             [CONFIG_CODEC_H265] = &payload_h265,
                                                             [CONFIG_CODEC_MJPEG] = &payload_jpeg};

    return payloaders[codec];
}

// What its ring is to have room for.
static uint32_t expected_kbps(const struct config_view *settings)
{
    return settings->codec == CONFIG_CODEC_MJPEG ? MJPEG_KBPS : (uint32_t)settings->bitrate_kbps;
}

static struct front_view make_view(const struct front_camera *camera,
                                   const struct config_view *settings)
{
    struct front_view view = {0};
    char path[80];

    snprintf(path, sizeof path, "/%s/%s", camera->name, settings->name);
    if (stream_new(path, find_payloader(settings->codec), expected_kbps(settings), &view.stream) <
        0) {
        g_error("no memory for %s", path); // ends edged, as GLib does without memory
    }
    snprintf(view.name, sizeof view.name, "%s", settings->name);
    return view;
}

// The view that goes on with `settings`; NULL: none. With another codec it does not go on, because
// its viewers were told the old one.
static struct front_view *find_view(struct front_view *views, size_t count,
                                    const struct config_view *settings)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(views[i].name, settings->name) == 0 &&
            stream_payloader(views[i].stream) == find_payloader(settings->codec)) {
            return &views[i];
        }
    }
    return NULL;
}

// Drops the views that do not go on: before others are made, which may get their paths.
static void drop_views(struct front_camera *camera, const struct config_camera *settings)
{
    size_t kept = 0;

    for (size_t i = 0; i < camera->view_count; i++) {
        bool stays = false;

        for (size_t k = 0; k < settings->view_count && !stays; k++) {
            stays = find_view(&camera->views[i], 1, &settings->views[k]);
        }
        if (stays) {
            camera->views[kept++] = camera->views[i];
        } else {
            drop_view(camera, &camera->views[i]);
        }
    }
    camera->view_count = kept;
}

// Builds the views of `settings`, with the streams of those that were there already.
static void replace_views(struct front_camera *camera, const struct config_camera *settings)
{
    struct front_view before[LINK_VIEWS_MAX];

    drop_views(camera, settings);
    size_t before_count = camera->view_count;
    memcpy(before, camera->views, sizeof before);
    camera->view_count = settings->view_count;
    for (size_t i = 0; i < settings->view_count; i++) {
        const struct config_view *wanted = &settings->views[i];
        const struct front_view *stays = find_view(before, before_count, wanted);
        struct front_view *view = &camera->views[i];

        *view = stays ? *stays : make_view(camera, wanted);
        stream_set_bitrate(view->stream, expected_kbps(wanted));
        view->role = config_view_role(wanted);
        snprintf(view->kind, sizeof view->kind, "%s", config_view_kind_name(wanted->view));
        rtsp_server_add(camera->server, stream_path(view->stream), view->stream, view->role);
    }
}

// Takes over all that camera `index` of `config` says but its process. The streams of the settings
// for that are written to `streams`.
static struct supervisor_settings take_settings(struct front_camera *camera,
                                                const struct config *config, size_t index,
                                                struct stream *streams[LINK_VIEWS_MAX])
{
    const struct config_camera *settings = &config->cameras[index];

    snprintf(camera->name, sizeof camera->name, "%s", settings->name);
    snprintf(camera->source, sizeof camera->source, "%s", config_source_name(settings->source));
    camera->armed = settings->armed;
    replace_views(camera, settings);
    for (size_t i = 0; i < camera->view_count; i++) {
        streams[i] = camera->views[i].stream;
    }
    return (struct supervisor_settings){
        .config = config, .camera = index, .streams = streams, .stream_count = camera->view_count};
}

void front_camera_apply(struct front_camera *camera, const struct config *before,
                        const struct config *config, size_t index)
{
    struct stream *streams[LINK_VIEWS_MAX];
    const struct supervisor_settings settings = take_settings(camera, config, index, streams);

    // Also when no key has changed: a mask may be another picture under the same name.
    if (config_diff_camera(before, config, index) < CONFIG_COST_CAMERA) {
        supervisor_update(camera->supervisor, &settings);
    } else {
        supervisor_reconfigure(camera->supervisor, &settings);
    }
}

struct front_camera *front_camera_new(const struct config *config, size_t index,
                                      struct rtsp_server *server,
                                      const struct supervisor_environment *environment)
{
    struct front_camera *camera = g_new0(struct front_camera, 1);
    struct stream *streams[LINK_VIEWS_MAX];

    camera->server = server;
    const struct supervisor_settings settings = take_settings(camera, config, index, streams);
    camera->supervisor = supervisor_new(&settings, environment);
    return camera;
}

void front_camera_free(struct front_camera *camera)
{
    if (!camera) {
        return;
    }
    supervisor_free(camera->supervisor);
    for (size_t i = 0; i < camera->view_count; i++) {
        drop_view(camera, &camera->views[i]);
    }
    g_free(camera);
}

const char *front_camera_name(const struct front_camera *camera)
{
    return camera->name;
}

struct supervisor *front_camera_supervisor(const struct front_camera *camera)
{
    return camera->supervisor;
}

struct stream *front_camera_first_stream(const struct front_camera *camera)
{
    return camera->views[0].stream;
}

size_t front_camera_view_count(const struct front_camera *camera)
{
    return camera->view_count;
}

const char *front_camera_view_path(const struct front_camera *camera, size_t view)
{
    return stream_path(camera->views[view].stream);
}

bool front_camera_has_path(const struct front_camera *camera, const char *const *paths)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (g_strv_contains(paths, front_camera_view_path(camera, i))) {
            return true;
        }
    }
    return false;
}

static bool shows(const struct front_camera *camera, size_t view, enum config_role role)
{
    return camera->views[view].role <= role;
}

struct stream *front_camera_find_stream(const struct front_camera *camera, enum config_role role,
                                        const char *view)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (shows(camera, i, role) && (!view || strcmp(camera->views[i].name, view) == 0)) {
            return camera->views[i].stream;
        }
    }
    return NULL;
}

void front_camera_list_views(const struct front_camera *camera, enum config_role role,
                             GString *text)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (shows(camera, i, role)) {
            g_string_append_printf(text, "%s\"%s\"", text->len ? ", " : "", camera->views[i].name);
        }
    }
}

static size_t count_shown(const struct front_camera *camera, enum config_role role)
{
    size_t count = 0;

    for (size_t i = 0; i < camera->view_count; i++) {
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
    return count_shown(camera, role) == camera->view_count;
}

unsigned front_camera_count_viewers(const struct front_camera *camera, enum config_role role)
{
    unsigned viewers = 0;

    for (size_t i = 0; i < camera->view_count; i++) {
        if (shows(camera, i, role)) {
            viewers +=
                rtsp_server_count_viewers(camera->server, front_camera_view_path(camera, i)) +
                stream_http_viewers(camera->views[i].stream);
        }
    }
    return viewers;
}

bool front_camera_is_watched(const struct front_camera *camera)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (stream_is_watched(camera->views[i].stream)) {
            return true;
        }
    }
    return false;
}

const struct stream *front_camera_find_view(const struct front_camera *camera, const char *name,
                                            enum config_role role)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (shows(camera, i, role) && strcmp(camera->views[i].name, name) == 0) {
            return camera->views[i].stream;
        }
    }
    return NULL;
}

const char *front_camera_view_name(const struct front_camera *camera, const struct stream *stream,
                                   enum config_role role)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (camera->views[i].stream == stream && shows(camera, i, role)) {
            return camera->views[i].name;
        }
    }
    return "";
}

void front_camera_describe(const struct front_camera *camera, struct camera_facts *ret_facts)
{
    *ret_facts = (struct camera_facts){.source = camera->source, .armed = camera->armed};
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

static void add_mount(const struct front_camera *camera, const struct front_view *view,
                      struct facts *facts, const char *url, const char *alias)
{
    const char *path = stream_path(view->stream);
    const struct multicast_place *place = rtsp_server_multicast(camera->server, path);
    struct mount_facts mount = {
        .rtsp_url = url,
        .path = path,
        .alias = alias,
        .camera = camera->name,
        .view = view->name,
        .kind = view->kind,
        .viewers = rtsp_server_count_viewers(camera->server, path),
        .http_viewers = stream_http_viewers(view->stream),
    };

    stream_count(view->stream, &mount.statistics);
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
    for (size_t i = 0; i < camera->view_count; i++) {
        if (shows(camera, i, role) &&
            (!paths || g_strv_contains(paths, front_camera_view_path(camera, i)))) {
            add_mount(camera, &camera->views[i], facts, url, i == 0 ? alias : "");
        }
    }
}

void front_camera_add_urls(const struct front_camera *camera, const char *url,
                           enum config_role role, GPtrArray *urls)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (shows(camera, i, role)) {
            g_ptr_array_add(urls, g_strconcat(url, front_camera_view_path(camera, i), NULL));
        }
    }
}
