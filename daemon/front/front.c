#include "daemon/front/front.h"

#include "config/diff.h"
#include "daemon/common/log.h"
#include "daemon/front/account/account.h"
#include "daemon/front/events/event_feed.h"
#include "daemon/front/front_camera.h"
#include "daemon/front/front_network.h"
#include "daemon/front/front_status.h"
#include "daemon/front/http/routes.h"
#include "daemon/front/live.h"
#include "daemon/front/record/tracks.h"
#include "daemon/front/reload.h"
#include "daemon/front/supervise/process.h"

#include <errno.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define READY_AT_LATEST_MS 3000
#define STOP_NS (1500 * NS_PER_MS)

struct front {
    struct config *config;         // owned: `live`, with the addresses that are bound
    struct live live;              // what it is made of; owned
    struct reload_verdict verdict; // of the configuration; owned
    char *program;                 // owned
    struct account *account;       // owned
    struct rtsp_server *server;    // owned
    struct front_network network;  // the control API
    struct recorder *recorder;     // owned
    struct tracks *tracks;         // owned
    GPtrArray *cameras;            // owned struct front_camera, in the order of the configuration
    struct tuning tuning;
    GMainLoop *loop;
    int64_t started_ns;
    bool ready; // systemd has been told since the start or the last reload
    struct log_limit change_limit;
    bool announced;                                              // the mounts have been logged
    char *status;                                                // as systemd knows it; owned
    guint on_term, on_int, on_hup, ready_timer, pulse, watchdog; // GLib source ids; 0: none
};

static char *write_status(void *context, enum facts_format format, enum config_role role)
{
    const struct front *front = context;

    return front_status_text(front->cameras, &front->network, &front->verdict, front->recorder,
                             clock_now_ns() - front->started_ns, format, role);
}

static char *list_mounts(void *context, enum config_role role)
{
    const struct front *front = context;

    return front_status_list_mounts(front->cameras, front->server, role);
}

static char *refuse_filter(void *context, enum config_role role, const char *camera,
                           const char *region)
{
    return event_feed_refuse(((struct front *)context)->config, role, camera, region);
}

static struct stream *find_view(void *context, enum config_role role, const char *camera,
                                const char *view, char **ret_refusal)
{
    const struct front *front = context;

    return front_status_find_view(front->cameras, role, camera, view, ret_refusal);
}

static bool is_ready(void *context)
{
    return ((const struct front *)context)->announced;
}

static char *write_view_status(void *context, enum config_role role, const char *const *paths)
{
    const struct front *front = context;

    return front_status_views_text(front->cameras, front->server, role, paths);
}

static void on_motion(void *context, const struct motion_event *event)
{
    const struct front *front = context;
    struct motion_event published = *event;

    tracks_note_motion(front->tracks, event);
    motion_log(event);
    published.role = event_feed_role(front->config, event->camera);
    published.clip = tracks_open_clip(front->tracks, event->camera, event->region);
    control_publish(front->network.control, &published);
}

static uint32_t find_track(void *context, const char *camera)
{
    return tracks_find(((const struct front *)context)->tracks, camera);
}

static void on_recorder_connected(void *context)
{
    tracks_connect(((const struct front *)context)->tracks);
}

static void on_recorder_writable(void *context)
{
    tracks_drain(((const struct front *)context)->tracks);
}

static void on_clip(void *context, const struct record_clip *clip)
{
    tracks_note_clip(((const struct front *)context)->tracks, clip);
}

static gboolean become_ready(gpointer data)
{
    struct front *front = data;

    front->ready = true;
    g_clear_handle_id(&front->ready_timer, g_source_remove);
    if (!front->announced) {
        front->announced = true;
        front_status_log_mounts(front->cameras, front->server);
    }
    sd_notify(0, "READY=1");
    return G_SOURCE_REMOVE;
}

static void on_camera_changed(void *context)
{
    struct front *front = context;

    front_status_note_refusals(front->cameras, &front->verdict);
    for (guint i = 0; i < front->cameras->len; i++) {
        tracks_note_shares(front->tracks,
                           front_camera_regions(g_ptr_array_index(front->cameras, i)));
    }
    for (guint i = 0; i < front->cameras->len && !front->ready; i++) {
        const struct front_camera *camera = g_ptr_array_index(front->cameras, i);

        if (!supervisor_is_settled(front_camera_supervisor(camera))) {
            return;
        }
    }
    if (!front->ready) {
        become_ready(front);
    }
}

// Tells systemd that the front is ready as soon as every camera can be served or has declared its
// fault, and after 3 s anyway.
static void await_readiness(struct front *front)
{
    g_clear_handle_id(&front->ready_timer, g_source_remove);
    front->ready = false;
    front->ready_timer = g_timeout_add(READY_AT_LATEST_MS, become_ready, front);
    on_camera_changed(front);
}

static gboolean on_pulse(gpointer data)
{
    struct front *front = data;
    front_network_watch_clock(&front->network, front->config);
    char *status = front_status_line(front->cameras, front->verdict.refused);

    if (g_strcmp0(status, front->status) != 0) {
        sd_notifyf(0, "STATUS=%s", status);
    }
    g_free(front->status);
    front->status = status;
    return G_SOURCE_CONTINUE;
}

// The watchdog is served as long as this loop runs, because it serves the viewers. A camera process
// that hangs is left to its supervisor.
static gboolean on_watchdog(gpointer data)
{
    (void)data;
    sd_notify(0, "WATCHDOG=1");
    return G_SOURCE_CONTINUE;
}

static void free_camera(gpointer camera)
{
    front_camera_free(camera);
}

static struct front_camera *take_camera(GPtrArray *cameras, const char *name)
{
    for (guint i = 0; i < cameras->len; i++) {
        if (strcmp(front_camera_name(g_ptr_array_index(cameras, i)), name) == 0) {
            return g_ptr_array_steal_index(cameras, i);
        }
    }
    return NULL;
}

static void apply_recording(struct front *front, const struct config *config)
{
    g_autofree struct stream **streams = g_new0(struct stream *, config->camera_count);

    for (size_t i = 0; i < config->camera_count; i++) {
        streams[i] =
            front_camera_find_stream(g_ptr_array_index(front->cameras, i), CONFIG_ROLE_ADMIN,
                                     config_record_view(&config->cameras[i])->name);
    }
    tracks_configure(front->tracks, config, streams);
}

// Makes, updates and removes cameras as `config` says.
static void apply_cameras(struct front *front, const struct config *config)
{
    const struct supervisor_environment environment = {
        .program = front->program,
        .changed = on_camera_changed,
        .motion = on_motion,
        .context = front,
    };
    GPtrArray *before = front->cameras;

    front->cameras = g_ptr_array_new_with_free_func(free_camera);
    for (size_t i = 0; i < config->camera_count; i++) {
        struct front_camera *camera = take_camera(before, config->cameras[i].name);

        if (camera) {
            front_camera_apply(camera, config, i);
        } else {
            camera = front_camera_new(config, i, front->server, &environment);
        }
        g_ptr_array_add(front->cameras, camera);
    }
    apply_recording(front, config);
    g_ptr_array_unref(before);
    if (front->cameras->len > 0) {
        const struct front_camera *first = g_ptr_array_index(front->cameras, 0);

        rtsp_server_add(front->server, FRONT_ALIAS_PATH, front_camera_first_stream(first),
                        config_view_role(&config->cameras[0].views[0]));
    }
}

// Starts the processes of new cameras. Fails when not one of them could be started.
static int start_cameras(struct front *front)
{
    int r = 0;
    bool any = false;

    for (guint i = 0; i < front->cameras->len; i++) {
        struct supervisor *supervisor =
            front_camera_supervisor(g_ptr_array_index(front->cameras, i));

        if (supervisor_is_stopped(supervisor)) {
            r = supervisor_start(supervisor);
            any |= r == 0;
        }
    }
    return any ? 0 : r;
}

static void apply(struct front *front, struct reload *reload)
{
    front_network_take_users(&front->network, reload->config, TAKE(reload->users),
                             TAKE(reload->tokens));
    apply_cameras(front, reload->config);
    rtsp_server_configure(front->server, reload->config);
    start_cameras(front); // what cannot be started is logged and tried again
    config_free(front->config);
    front->config = TAKE(reload->config);
    live_take(&front->live, &reload->live);
    front->verdict.path = front->live.path;
}

static void reload(struct front *front)
{
    _cleanup_(reload_finish) struct reload next = {0};
    struct reload_verdict *verdict = &front->verdict;
    char suffix[LOG_LIMIT_SUFFIX_SIZE] = "";

    live_save(&front->live);
    verdict->is_logged = log_limit_line(&verdict->log_limit, clock_now_ns(), suffix);
    int r = reload_open(&next, front->config, &front->network, verdict);
    if (r == 0) {
        apply(front, &next);
    }
    if (verdict->is_logged && r < 0) {
        log_write(LOG_ERR, LOG_EVENT_RELOADED, NULL, "refused",
                  "the configuration has problems, keeping the one that is in use%s", suffix);
    } else if (verdict->is_logged) {
        log_write(LOG_NOTICE, LOG_EVENT_RELOADED, NULL, "reloaded",
                  "configuration reloaded from %s: %s%s", verdict->path,
                  next.changes ? next.changes : "not enough memory to say what has changed",
                  suffix);
    }
}

static char *reload_and_tell(void *context)
{
    struct front *front = context;

    if (g_main_loop_is_running(front->loop)) { // else it is stopping
        sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_now_ns() / NS_PER_US);
        reload(front);
        await_readiness(front);
    }
    return reload_verdict_json(&front->verdict);
}

static int tune(void *context, const struct tuning_request *request,
                const struct tuning_reader *reader, struct error *error)
{
    struct front *front = context;

    return tuning_begin(&front->tuning, front->cameras, request, reader, error);
}

static void stop_tune(void *context)
{
    tuning_stop(&((struct front *)context)->tuning);
}

static char *describe_config(void *context, enum control_config what, enum config_role role)
{
    const struct front *front = context;
    char *text = NULL;
    size_t size;
    FILE *file;

    if (what == CONTROL_CONFIG_SETTINGS || what == CONTROL_CONFIG_ALL) {
        return live_describe(&front->live, front->config, role, what == CONTROL_CONFIG_ALL);
    }
    file = open_memstream(&text, &size);
    if (file && what == CONTROL_CONFIG_SCHEMA) {
        config_print_schema(file);
    } else if (file) {
        config_print_json(file, front->config, role);
    }
    if (file) {
        fclose(file);
    }
    return text;
}

static void change_config(void *context, struct live_request *request)
{
    struct front *front = context;
    struct config *next = NULL;
    char suffix[LOG_LIMIT_SUFFIX_SIZE] = "";

    live_change(&front->live, front->config, request, &next);
    if (!next) {
        return;
    }
    reload_keep_addresses(front->config, next);
    if (!request->is_kept && log_limit_line(&front->change_limit, clock_now_ns(), suffix)) {
        _cleanup_(cleanup_free) char *changes = config_diff_summarize(front->config, next);

        log_notice("settings changed by %s: %s%s", request->who, changes ? changes : "", suffix);
    } // live_save() tells what is kept
    apply_cameras(front, next);
    config_free(front->config);
    front->config = next;
}

// The blocks that a tune has found are settings as those of PATCH /v1/config.
static int set_blocks(void *context, const struct config_block *blocks, bool is_kept,
                      struct error *error)
{
    g_autofree char *patch = tuning_patch(blocks);
    struct live_request request = {
        .text = patch, .size = strlen(patch), .who = "POST /v1/tune", .is_kept = is_kept};

    change_config(context, &request);
    g_free(request.reply);
    return request.fault.error.text[0] ? error_set(error, -EINVAL, "%s", request.fault.error.text)
                                       : 0;
}

static gboolean on_reload_signal(gpointer data)
{
    g_free(reload_and_tell(data));
    return G_SOURCE_CONTINUE;
}

static gboolean on_stop_signal(gpointer data)
{
    const struct front *front = data;

    g_main_loop_quit(front->loop);
    return G_SOURCE_CONTINUE;
}

static void add_sources(struct front *front)
{
    uint64_t limit_us;

    front->on_term = g_unix_signal_add(SIGTERM, on_stop_signal, front);
    front->on_int = g_unix_signal_add(SIGINT, on_stop_signal, front);
    front->on_hup = g_unix_signal_add(SIGHUP, on_reload_signal, front);
    front->pulse = g_timeout_add_seconds(1, on_pulse, front);
    if (sd_watchdog_enabled(0, &limit_us) > 0) { // half of the limit, as its manual recommends
        front->watchdog = g_timeout_add((guint)(limit_us / 2 / 1000), on_watchdog, front);
    }
}

static void remove_sources(struct front *front)
{
    guint *const ids[] = {&front->on_term,     &front->on_int, &front->on_hup,
                          &front->ready_timer, &front->pulse,  &front->watchdog};

    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        g_clear_handle_id(ids[i], g_source_remove);
    }
}

static int open_addresses(struct front *front, struct error *error)
{
    const struct control_front asked = {.status = write_status,
                                        .list_mounts = list_mounts,
                                        .reload = reload_and_tell,
                                        .refuse = refuse_filter,
                                        .tune = tune,
                                        .stop_tune = stop_tune,
                                        .find_view = find_view,
                                        .is_ready = is_ready,
                                        .describe_config = describe_config,
                                        .change_config = change_config,
                                        .view_status = write_view_status,
                                        .recorder = front->recorder,
                                        .find_track = find_track,
                                        .context = front};
    int r = rtsp_server_new(front->config, front->account, error, &front->server);

    r = r < 0 ? r
              : front_network_open(&front->network, front->config, &asked, front->account,
                                   front->server, error);
    if (r == 0 && account_is_open(front->account) &&
        !config_is_loopback(front->config->rtsp.address)) {
        log_warning("rtsp.auth = \"none\": whoever reaches %s can watch every view, serving all",
                    rtsp_server_url(front->server));
    }
    return r < 0 ? FRONT_EXIT_ADDRESS : 0;
}

static int build(struct front *front, struct error *error)
{
    if (process_find_program("edged-camera", "EDGED_CAMERA_PROGRAM", error, &front->program) < 0) {
        return FRONT_EXIT_CAMERA;
    }
    if (account_new(front->config, error, &front->account) < 0) {
        return FRONT_EXIT_CONFIGURATION;
    }
    int status = open_addresses(front, error);
    if (status) {
        return status;
    }
    apply_cameras(front, front->config);
    if (start_cameras(front) < 0) {
        error_set(error, -ENOENT, "no camera process could be started");
        return FRONT_EXIT_CAMERA;
    }
    return 0;
}

int front_new(struct config *config, struct live *live, struct error *error,
              struct front **ret_front)
{
    struct front *front = g_new0(struct front, 1);
    const struct recorder_events recorder_events = {.clip = on_clip,
                                                    .connected = on_recorder_connected,
                                                    .writable = on_recorder_writable,
                                                    .context = front};

    front->config = config;
    live_take(&front->live, live);
    front->verdict.path = front->live.path;
    reload_verdict_set(&front->verdict, false, NULL);
    front->cameras = g_ptr_array_new_with_free_func(free_camera);
    front->loop = g_main_loop_new(NULL, FALSE);
    front->tuning = (struct tuning){.set_blocks = set_blocks, .context = front};
    front->started_ns = clock_now_ns();
    front->recorder = recorder_new(&recorder_events);
    front->tracks = tracks_new(front->recorder);
    recorder_configure(front->recorder, config);
    add_sources(front);

    int status = build(front, error);
    if (status) {
        front->config = NULL;
        front_free(front);
        return status;
    }
    *ret_front = front;
    return 0;
}

static bool is_stopped(const struct front *front)
{
    for (guint i = 0; i < front->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(front->cameras, i);

        if (!supervisor_is_stopped(front_camera_supervisor(camera)) ||
            front_camera_is_watched(camera)) {
            return false;
        }
    }
    return recorder_is_stopped(front->recorder);
}

static gboolean on_wake_up(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

// Ends sessions and processes at the same time, and waits for both. Whether all have ended.
static bool stop(struct front *front)
{
    int64_t deadline_ns = clock_now_ns() + STOP_NS;
    guint wake_up = g_timeout_add(50, on_wake_up, NULL);

    for (guint i = 0; i < front->cameras->len; i++) {
        supervisor_stop(front_camera_supervisor(g_ptr_array_index(front->cameras, i)));
    }
    rtsp_server_close(front->server);
    control_stop(front->network.control);
    recorder_stop(front->recorder); // first: one that goes on keeps what it has of each track
    tracks_stop(front->tracks);
    bool ended;
    while (!(ended = is_stopped(front)) && clock_now_ns() < deadline_ns) {
        g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(wake_up);
    return ended;
}

bool front_run(struct front *front)
{
    await_readiness(front);
    g_main_loop_run(front->loop);
    log_write(LOG_NOTICE, LOG_EVENT_STOPPING, NULL, NULL, "stopping");
    sd_notify(0, "STOPPING=1");
    return stop(front);
}

void front_free(struct front *front)
{
    if (!front) {
        return;
    }
    remove_sources(front);
    g_ptr_array_unref(front->cameras); // this reports motion that ends with a camera
    front_network_finish(&front->network);
    tracks_free(front->tracks);
    recorder_free(front->recorder);
    rtsp_server_free(front->server);
    account_free(front->account);
    free(front->program);
    config_free(front->config);
    live_finish(&front->live);
    g_main_loop_unref(front->loop);
    g_free(front->status);
    reload_verdict_finish(&front->verdict);
    g_free(front);
}
