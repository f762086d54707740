#include "daemon/front/front.h"

#include "daemon/common/log.h"
#include "daemon/front/front_network.h"
#include "daemon/front/model/summary.h"
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
    struct model model;
    struct account *account;    // owned
    struct rtsp_server *server; // owned
    struct front_network network;
    GMainLoop *loop;
    bool ready;                // systemd has been told since the start or the last reload
    struct reload_looks looks; // of a reload that looks again
    char *status;              // as systemd knows it; owned
    // GLib source ids; 0: none
    guint on_term, on_int, on_hup, ready_timer, pulse, watchdog, look_timer;
};

static gboolean become_ready(gpointer data)
{
    struct front *front = data;

    front->ready = true;
    g_clear_handle_id(&front->ready_timer, g_source_remove);
    if (!front->model.is_ready)
        summary_log_mounts(&front->model);
    front->model.is_ready = true;
    sd_notify(0, "READY=1");
    return G_SOURCE_REMOVE;
}

static void on_settled(void *context)
{
    struct front *front = context;

    for (guint i = 0; i < front->model.cameras->len && !front->ready; i++) {
        const struct front_camera *camera = g_ptr_array_index(front->model.cameras, i);

        if (!supervisor_is_settled(front_camera_supervisor(camera)))
            return;
    }
    if (!front->ready)
        become_ready(front);
}

// Tells systemd that the front is ready as soon as every camera can be served or has declared its
// fault, and after 3 s anyway.
static void await_readiness(struct front *front)
{
    g_clear_handle_id(&front->ready_timer, g_source_remove);
    front->ready = false;
    front->ready_timer = g_timeout_add(READY_AT_LATEST_MS, become_ready, front);
    on_settled(front);
}

static gboolean on_pulse(gpointer data)
{
    struct front *front = data;
    front_network_watch_clock(&front->network, front->model.config);
    char *status = summary_line(&front->model);

    if (g_strcmp0(status, front->status) != 0)
        sd_notifyf(0, "STATUS=%s", status);
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

// Clients are looked at again, and those that wait are asked.
static void on_changed(void *context)
{
    struct front *front = context;

    if (front->server)
        rtsp_server_configure(front->server, front->model.config);
    if (front->network.control)
        control_wake(front->network.control);
}

static void apply(struct front *front, struct reload *reload)
{
    front_network_take_users(&front->network, reload->config, TAKE(reload->users),
                             TAKE(reload->tokens), TAKE(reload->onvif));
    model_take(&front->model, TAKE(reload->config), &reload->live);
    model_try_cameras(&front->model);
}

static gboolean on_look(gpointer data);

// Looks at the files, and ends the reload unless it has to look again.
static void look(struct front *front)
{
    _cleanup_(reload_finish) struct reload next = {0};
    struct model *model = &front->model;
    struct reload_verdict *verdict = &model->verdict;

    int r = reload_open(&next, model, &front->network, &front->looks);
    model->is_reloading = r == -EAGAIN;
    if (r == -EAGAIN) {
        front->look_timer = g_timeout_add(RELOAD_LOOK_MS, on_look, front);
        return;
    }
    if (r == 0)
        apply(front, &next);
    if (verdict->is_logged && r < 0) {
        log_write(LOG_ERR, LOG_EVENT_RELOADED, NULL, "refused",
                  "the configuration has problems, keeping the one that is in use%s",
                  front->looks.log_suffix);
    } else if (verdict->is_logged) {
        log_write(LOG_NOTICE, LOG_EVENT_RELOADED, NULL, "reloaded",
                  "configuration reloaded from %s: %s%s", verdict->path,
                  next.changes ? next.changes : "not enough memory to say what has changed",
                  front->looks.log_suffix);
    }
    await_readiness(front);
    control_wake(front->network.control);
}

static gboolean on_look(gpointer data)
{
    struct front *front = data;

    front->look_timer = 0;
    look(front);
    return G_SOURCE_REMOVE;
}

// A reload that is asked for while another is about to look again is that one.
static void reload(void *context)
{
    struct front *front = context;
    struct reload_verdict *verdict = &front->model.verdict;

    if (front->look_timer || front->model.is_stopping)
        return;
    // systemd would take the readiness after the reload before for that after this one.
    g_clear_handle_id(&front->ready_timer, g_source_remove);
    front->ready = true;
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_now_ns() / NS_PER_US);
    front->looks = (struct reload_looks){0};
    verdict->is_logged =
        log_limit_line(&verdict->log_limit, clock_now_ns(), front->looks.log_suffix);
    look(front);
}

static gboolean on_reload_signal(gpointer data)
{
    reload(data);
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
    if (sd_watchdog_enabled(0, &limit_us) > 0) // half of the limit, as its manual recommends
        front->watchdog = g_timeout_add((guint)(limit_us / 2 / 1000), on_watchdog, front);
}

static void remove_sources(struct front *front)
{
    guint *const ids[] = {&front->on_term, &front->on_int,   &front->on_hup,    &front->ready_timer,
                          &front->pulse,   &front->watchdog, &front->look_timer};

    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
        g_clear_handle_id(ids[i], g_source_remove);
}

static int open_addresses(struct front *front, struct error *error)
{
    struct model *model = &front->model;
    int r = rtsp_server_new(model->config, model->mounts, model->account, error, &front->server);

    r = r < 0 ? r : front_network_open(&front->network, model, front->server, error);
    if (r == 0 && account_is_open(front->account) &&
        !config_is_loopback(model->config->rtsp.address)) {
        log_warning("rtsp.auth = \"none\": whoever reaches %s can watch every view, serving all",
                    rtsp_server_url(front->server));
    }
    return r < 0 ? FRONT_EXIT_ADDRESS : 0;
}

static int build(struct front *front, struct config *config, struct live *live, struct error *error)
{
    const struct model_events events = {
        .reload_asked = reload, .settled = on_settled, .changed = on_changed, .context = front};
    char *program = NULL;

    if (process_find_program("edged-camera", "EDGED_CAMERA_PROGRAM", error, &program) < 0)
        return FRONT_EXIT_CAMERA;
    if (account_new(config, live->path, error, &front->account) < 0) {
        free(program);
        return FRONT_EXIT_CONFIGURATION;
    }
    model_init(&front->model, config, live, program, front->account, &events);
    int status = open_addresses(front, error);
    if (status)
        return status;
    if (model_start(&front->model) < 0) {
        error_set(error, -ENOENT, "no camera process could be started");
        return FRONT_EXIT_CAMERA;
    }
    return 0;
}

int front_new(struct config *config, struct live *live, struct error *error,
              struct front **ret_front)
{
    struct front *front = g_new0(struct front, 1);

    front->loop = g_main_loop_new(NULL, FALSE);
    add_sources(front);
    int status = build(front, config, live, error);
    if (status) {
        front->model.config = NULL;
        front_free(front);
        return status;
    }
    *ret_front = front;
    return 0;
}

static gboolean on_wake_up(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

// Stops serving, then ends processes, and waits for what was served and for them. From here on RTSP
// has no client and HTTP answers each new request with 503, so that nothing begins any more.
// Whether all have ended.
static bool stop(struct front *front)
{
    int64_t deadline_ns = clock_now_ns() + STOP_NS;
    guint wake_up = g_timeout_add(50, on_wake_up, NULL);

    g_clear_handle_id(&front->look_timer, g_source_remove);
    rtsp_server_close(front->server);
    control_stop(front->network.control);
    model_stop(&front->model);
    bool ended;
    while (!(ended = model_is_stopped(&front->model)) && clock_now_ns() < deadline_ns)
        g_main_context_iteration(NULL, TRUE);
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
    if (!front)
        return;
    // First what serves, because its last replies still ask the model; then the model. The RTSP
    // server has no client since stop(); accounts go last, because both servers ask them.
    remove_sources(front);
    front_network_finish(&front->network);
    model_finish(&front->model);
    rtsp_server_free(front->server);
    account_free(front->account);
    g_main_loop_unref(front->loop);
    g_free(front->status);
    g_free(front);
}
