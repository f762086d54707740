#include "daemon/common/log.h"
#include "daemon/front/supervise/process.h"
#include "daemon/front/supervise/supervisor_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define FATAL_DELAY_MS 30000
#define STOP_MS 1000
#define SILENCE_MS 5000
#define LAST_TURNS 16
#define FIRST_SIGN_MS 60000 // GStreamer looks through its plugins at the first start

static void set_timer(struct supervisor *supervisor, unsigned delay_ms, GSourceFunc function)
{
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    supervisor->timer = g_timeout_add(delay_ms, function, supervisor);
}

static void close_link(struct supervisor *supervisor)
{
    camera_link_free(supervisor->link);
    supervisor->link = NULL;
    regions_process_ended(&supervisor->regions,
                          supervisor->stopping ? MOTION_STOPPING : MOTION_PROCESS_ENDED);
    for (size_t i = 0; i < supervisor->stream_count; i++) {
        stream_interrupt(supervisor->streams[i]);
    }
}

static gboolean on_kill_timer(gpointer data)
{
    struct supervisor *supervisor = data;

    supervisor->timer = 0;
    supervisor_kill(supervisor);
    return G_SOURCE_REMOVE;
}

// Ends the process; on_child_exit() is called when it has ended.
static void end_process(struct supervisor *supervisor, unsigned grace_ms)
{
    supervisor->state = SUPERVISOR_ENDING;
    close_link(supervisor);
    if (grace_ms) {
        set_timer(supervisor, grace_ms, on_kill_timer);
    } else {
        supervisor_kill(supervisor);
    }
}

static gboolean on_silence(gpointer data)
{
    struct supervisor *supervisor = data;
    bool first = supervisor->state == SUPERVISOR_STARTING;

    supervisor->timer = 0;
    error_set(&supervisor->error, 0, "the camera process said nothing for %d s",
              (first ? FIRST_SIGN_MS : SILENCE_MS) / 1000);
    log_write(LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, supervisor->name, "hanging",
              "the camera process said nothing for %d s, killing it",
              (first ? FIRST_SIGN_MS : SILENCE_MS) / 1000);
    end_process(supervisor, 0);
    return G_SOURCE_REMOVE;
}

static void tell_end(struct supervisor *supervisor)
{
    unsigned left_out;

    if (log_limit_end(&supervisor->log_limit, clock_now_ns(), &left_out) && left_out) {
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_PROCESS, supervisor->name, "running",
                  "the camera process runs, %u more messages of its ends were left out", left_out);
    }
}

static void on_telemetry(void *context, const struct link_telemetry *telemetry)
{
    struct supervisor *supervisor = context;
    int64_t now_ns = clock_now_ns(), last_frame_ns = supervisor->telemetry.last_frame_ns;

    if (!supervisor->running_ns) {
        supervisor->running_ns = now_ns;
    }
    supervisor->telemetry = *telemetry;
    // The first telemetry of a process has no frame yet; then the time of the process before stays.
    supervisor->telemetry.last_frame_ns = MAX(last_frame_ns, MIN(telemetry->last_frame_ns, now_ns));
    supervisor->state = SUPERVISOR_RUNNING;
    supervisor->error.text[0] = 0;
    set_timer(supervisor, SILENCE_MS, on_silence);
    tell_end(supervisor);
    supervisor_gpu_note(supervisor);
    regions_take_telemetry(&supervisor->regions, telemetry);
    supervisor->changed(supervisor->changed_context);
}

static void on_motion(void *context, const struct link_event *event)
{
    struct supervisor *supervisor = context;

    regions_take_event(&supervisor->regions, event);
}

static void on_slate(void *context)
{
    const struct supervisor *supervisor = context;

    supervisor->changed(supervisor->changed_context);
}

static void on_ending(void *context, bool fatal, const char *sentence)
{
    struct supervisor *supervisor = context;

    supervisor->fatal = fatal;
    supervisor->explained = true;
    error_set(&supervisor->error, 0, "%s", sentence);
}

static void on_encoder_hung(void *context, enum config_encoder encoder)
{
    supervisor_encoder_hung(context, encoder);
}

// The GPU failed: the next process is wanted at once, on the CPU.
static void start_without_gpu(struct supervisor *supervisor, const char *sentence)
{
    supervisor_gpu_fail(supervisor, sentence);
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    supervisor_start(supervisor);
}

static void on_link_ended(void *context, int reason, const char *sentence)
{
    struct supervisor *supervisor = context;

    if (reason == -ENODEV && supervisor->gpu_offered) {
        supervisor->gpu_lost = true;
        error_set(&supervisor->error, 0, "%s", sentence);
    } else if (reason == -ENODEV) {
        reason = -EPROTO;
        sentence = "says that it lost a GPU, which it was told not to use";
    }
    if (!supervisor->pid) {
        return; // on_child_exit() reads the last words of a process that is gone
    }
    if (supervisor->gpu_lost) {
        // It has closed the camera before it sent that.
        close_link(supervisor);
        supervisor_abandon(supervisor);
        start_without_gpu(supervisor, sentence);
        return;
    }
    bool by_itself = reason == -EPIPE || reason == -EDEADLK, hangs = reason == -ETIME;
    if (!by_itself) {
        error_set(&supervisor->error, 0, "the camera process %s", sentence);
        log_write(hangs ? LOG_WARNING : LOG_ERR, LOG_EVENT_CAMERA_PROCESS, supervisor->name,
                  hangs ? "hanging" : "failed", "the camera process %s, killing it", sentence);
    }
    if (!by_itself && !hangs) {
        gpu_retry_begin(&supervisor->gpu, false); // so its end is not blamed on the GPU
    }
    end_process(supervisor, by_itself ? STOP_MS : 0);
}

static const struct camera_link_events link_events = {
    .telemetry = on_telemetry,
    .motion = on_motion,
    .slate = on_slate,
    .ending = on_ending,
    .encoder_hung = on_encoder_hung,
    .ended = on_link_ended,
};

// Start and end of the process
// ---------------------------------------------------------------------

static gboolean on_start_timer(gpointer data)
{
    struct supervisor *supervisor = data;

    supervisor->timer = 0;
    supervisor_start(supervisor);
    return G_SOURCE_REMOVE;
}

static int64_t healthy_ns(const struct supervisor *supervisor)
{
    return supervisor->running_ns ? clock_now_ns() - supervisor->running_ns : 0;
}

// `how` is a clause about the end of the process or why there is none.
static void plan_restart(struct supervisor *supervisor, const char *how)
{
    bool fatal = supervisor->fatal;
    unsigned delay_ms = supervisor->reconfigured ? 0
                        : fatal                  ? FATAL_DELAY_MS
                                : backoff_advance_ms(&supervisor->backoff, healthy_ns(supervisor));

    supervisor->state = fatal ? SUPERVISOR_FAILED : SUPERVISOR_WAITING;
    if (!supervisor->reconfigured && log_limit_begin(&supervisor->log_limit, clock_now_ns())) {
        log_write(fatal ? LOG_ERR : LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, supervisor->name,
                  fatal ? "failed" : "restarting",
                  delay_ms ? "%s, starting it again in %.1f s" : "%s, starting it again now", how,
                  delay_ms / 1e3);
    }
    supervisor->reconfigured = false;
    set_timer(supervisor, delay_ms, on_start_timer);
    supervisor->changed(supervisor->changed_context);
}

// Reads what the socket still holds, which takes a few calls. Not more, because a helper of the
// process that outlived it may go on sending.
static void hear_last_words(struct supervisor *supervisor)
{
    for (int turn = 0; turn < LAST_TURNS && camera_link_receive(supervisor->link); turn++) {
    }
}

void supervisor_process_gone(struct supervisor *supervisor, const char *how, bool by_signal)
{
    char sentence[192];

    g_clear_handle_id(&supervisor->timer, g_source_remove);
    if (supervisor->stopping) {
        supervisor->state = SUPERVISOR_STOPPED;
        return;
    }
    if (supervisor->gpu_lost) {
        start_without_gpu(supervisor, supervisor->error.text);
        return;
    }
    snprintf(sentence, sizeof sentence, "the camera process %s", how);
    if (!supervisor->error.text[0]) {
        error_set(&supervisor->error, 0, "%s", sentence);
    }
    supervisor->restarts += !supervisor->reconfigured;
    if (!supervisor->reconfigured && !supervisor->explained &&
        gpu_retry_note_death(&supervisor->gpu, by_signal, clock_now_ns())) {
        snprintf(sentence, sizeof sentence, "the camera process %s, for the second time in 30 s",
                 how);
        start_without_gpu(supervisor, sentence);
        return;
    }
    plan_restart(supervisor, supervisor->explained ? supervisor->error.text : sentence);
}

static void on_child_exit(GPid pid, gint status, gpointer data)
{
    struct supervisor *supervisor = data;
    char how[128];

    (void)pid;
    supervisor->pid = 0;
    supervisor->child_watch = 0;
    if (supervisor->link) {
        hear_last_words(supervisor);
        close_link(supervisor);
    }
    process_describe_end(status, how, sizeof how);
    supervisor_process_gone(supervisor, how, WIFSIGNALED(status));
}

static int try_start(struct supervisor *supervisor)
{
    int fd;
    int r = process_spawn_camera(supervisor->program, supervisor->name, &supervisor->error, &fd,
                                 &supervisor->pid);

    if (r < 0) {
        return r;
    }
    supervisor->running_ns = 0;
    supervisor->state = SUPERVISOR_STARTING;
    supervisor->fatal = false;
    supervisor->gpu_lost = false;
    supervisor->explained = false;
    supervisor->child_watch = g_child_watch_add(supervisor->pid, on_child_exit, supervisor);
    set_timer(supervisor, FIRST_SIGN_MS, on_silence);
    const struct camera_link_configuration configuration =
        supervisor_configuration(supervisor, supervisor_gpu_begin(supervisor));
    r = camera_link_new(fd, &configuration, &link_events, supervisor, &supervisor->link);
    if (r < 0) {
        error_set(&supervisor->error, r, "no link to the camera process: %s", strerror(-r));
        end_process(supervisor, 0);
    }
    return 0;
}

int supervisor_start(struct supervisor *supervisor)
{
    int r = try_start(supervisor);

    if (r < 0) {
        supervisor->fatal = true;
        plan_restart(supervisor, supervisor->error.text);
    }
    return r;
}

int supervisor_new(const struct supervisor_settings *settings, struct supervisor **ret_supervisor)
{
    if (settings->stream_count > LINK_VIEWS_MAX) {
        return -EINVAL;
    }
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (!supervisor) {
        return -ENOMEM;
    }
    supervisor->left_behind = g_rc_box_new0(unsigned);
    int r = supervisor_take_settings(supervisor, settings);
    if (r < 0) {
        supervisor_free(supervisor);
        return r;
    }
    regions_init(&supervisor->regions, settings->name, settings->motion, settings->context);
    *ret_supervisor = supervisor;
    return 0;
}

void supervisor_free(struct supervisor *supervisor)
{
    if (!supervisor) {
        return;
    }
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    supervisor_gpu_forget(supervisor);
    regions_reconfigure(&supervisor->regions);
    camera_link_free(supervisor->link);
    if (supervisor->pid) {
        supervisor_abandon(supervisor);
    }
    supervisor_drop_settings(supervisor);
    g_rc_box_release(supervisor->left_behind);
    free(supervisor);
}

int supervisor_reconfigure(struct supervisor *supervisor,
                           const struct supervisor_settings *settings)
{
    if (settings->stream_count > LINK_VIEWS_MAX) {
        return -EINVAL;
    }
    regions_reconfigure(&supervisor->regions);
    if (supervisor->link) {
        end_process(supervisor, STOP_MS);
    }
    int r = supervisor_take_settings(supervisor, settings);
    supervisor->reconfigured = supervisor->pid != 0;
    supervisor->fatal = false;
    supervisor->backoff = (struct backoff){0};
    supervisor->passed_over = 0;
    supervisor_gpu_forget(supervisor);
    if (!supervisor->pid) {
        set_timer(supervisor, 0, on_start_timer);
    }
    return r;
}

void supervisor_stop(struct supervisor *supervisor)
{
    supervisor->stopping = true;
    supervisor_gpu_forget(supervisor);
    if (!supervisor->pid) {
        g_clear_handle_id(&supervisor->timer, g_source_remove);
        supervisor->state = SUPERVISOR_STOPPED;
    } else if (supervisor->link) {
        end_process(supervisor, STOP_MS);
    }
}

bool supervisor_is_stopped(const struct supervisor *supervisor)
{
    return supervisor->state == SUPERVISOR_STOPPED;
}
