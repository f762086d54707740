#include "daemon/front/supervise/supervisor.h"

#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/front/supervise/camera_link.h"
#include "daemon/front/supervise/camera_process.h"
#include "daemon/front/supervise/gpu_retry.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define BACKOFF_FIRST_MS 100u
#define BACKOFF_LAST_MS 5000u
#define BACKOFF_HEALTHY_NS (5 * NS_PER_S)
#define FATAL_DELAY_MS 30000
#define STOP_MS 1000
#define UNKILLABLE_MS 5000
// So long after an encoder hung, processes try it last.
#define ENCODER_HANGS_NS (600 * NS_PER_S)

enum supervisor_state {
    SUPERVISOR_STOPPED,  // no process, none wanted
    SUPERVISOR_STARTING, // a process without telemetry yet
    SUPERVISOR_RUNNING,
    SUPERVISOR_ENDING,  // its link is closed, the process is not gone yet
    SUPERVISOR_WAITING, // no process; the next one starts after a delay
    SUPERVISOR_FAILED,  // the same after an incurable fault, with a long delay
};

// The known reason why the process ends; it decides what comes after it.
enum supervisor_end {
    END_UNEXPLAINED, // nothing; the GPU may be to blame
    END_REJECTED,    // it broke the protocol
    END_EXPLAINED,   // it said why
    END_FATAL,       // it said that no retry can help, or it could not be started
    END_GPU_LOST,    // it said so
    END_SETTINGS,    // it was ended for other settings
    END_STOP,        // no further process is wanted
};

// The encoders in which processes of the camera hung.
struct encoder_hangs {
    uint64_t count;
    uint32_t encoders; // a bit for each enum config_encoder that hung
    int64_t last_ns;   // when one did last
};

struct supervisor {
    struct supervisor_environment environment;
    struct camera_process_plan plan;        // its config_path is a copy; owned
    char *name;                             // of the camera; owned
    struct stream *streams[LINK_VIEWS_MAX]; // references
    size_t stream_count;
    uint32_t number; // of the configuration, as telemetry tells it

    enum supervisor_state state;
    enum supervisor_end end;
    struct error error; // why there is no process that runs
    struct process process;
    bool is_traced;                  // where it hangs has been logged
    struct camera_link *link;        // owned
    int64_t running_ns;              // when the process told of itself first; 0: not yet
    guint timer;                     // what comes next, by state: kill, start. 0: none
    unsigned backoff_ms;             // the next delay that advance_backoff() gives
    struct log_limit log_limit;      // of messages that the process ended
    struct link_telemetry telemetry; // the newest
    struct regions regions;
    uint64_t restarts, gpu_faults;
    struct encoder_hangs encoder_hangs;

    struct gpu_retry gpu;
    struct error gpu_error; // why it failed, until it is tried again
    guint gpu_timer;        // the next try; 0: none
};

// The encoders to try last now, a bit for each.
static uint32_t encoders_passed_over(const struct supervisor *supervisor)
{
    const struct encoder_hangs *hangs = &supervisor->encoder_hangs;

    return clock_now_ns() - hangs->last_ns < ENCODER_HANGS_NS ? hangs->encoders : 0;
}

static void set_timer(struct supervisor *supervisor, unsigned delay_ms, GSourceFunc function)
{
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    supervisor->timer = g_timeout_add(delay_ms, function, supervisor);
}

// Settings of a process
// ---------------------------------------------------------------------

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    const struct supervisor *supervisor = context;

    if (supervisor->link)
        camera_link_update(supervisor->link, stream, key_frame);
}

// A stream that stays keeps its demand handler, and so the call that it may be waiting for.
static void take_streams(struct supervisor *supervisor, struct stream *const *streams, size_t count)
{
    struct stream *before[LINK_VIEWS_MAX];
    size_t before_count = supervisor->stream_count;

    memcpy(before, supervisor->streams, sizeof before);
    for (size_t i = 0; i < before_count; i++) {
        bool stays = false;

        for (size_t k = 0; k < count; k++)
            stays |= streams[k] == before[i];
        if (!stays)
            stream_set_demand(before[i], NULL, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        supervisor->streams[i] = stream_ref(streams[i]);
        stream_set_demand(streams[i], on_demand, supervisor);
    }
    supervisor->stream_count = count;
    for (size_t i = 0; i < before_count; i++)
        stream_unref(before[i]);
}

static void take_settings(struct supervisor *supervisor, const struct config *config, size_t camera,
                          struct stream *const *streams)
{
    supervisor->plan.config = config;
    supervisor->plan.camera = camera;
    supervisor->number++;
    take_streams(supervisor, streams, config->cameras[camera].view_count);
}

static bool wants_gpu(const struct supervisor *supervisor)
{
    return supervisor->plan.config->backend != CONFIG_BACKEND_CPU;
}

static int send_settings(struct supervisor *supervisor)
{
    const struct link_configuration head = {.number = supervisor->number,
                                            .passed_over = encoders_passed_over(supervisor),
                                            .without_gpu = supervisor->gpu.use == GPU_WITHHELD};
    _cleanup_(cleanup_free) char *text = NULL;

    if (config_format(supervisor->plan.config, supervisor->plan.camera, &text) < 0) {
        g_error("no memory for a configuration"); // ends edged, as GLib does without memory
    }
    return camera_link_configure(supervisor->link, &head, text, supervisor->streams,
                                 supervisor->stream_count);
}

// Ending a process
// ---------------------------------------------------------------------

static void close_link(struct supervisor *supervisor)
{
    camera_link_free(TAKE(supervisor->link));
    regions_end_all(&supervisor->regions,
                    supervisor->end == END_STOP ? MOTION_STOPPING : MOTION_PROCESS_ENDED);
    for (size_t i = 0; i < supervisor->stream_count; i++)
        stream_interrupt(supervisor->streams[i]);
}

static void handle_end(struct supervisor *supervisor, const char *how, bool by_signal);

// A thread that hangs in a driver outlives SIGKILL, and with it the process and the camera that it
// holds. One such process is left behind, and another takes its place, which may find another
// camera or a driver that works again. While that one is there no second is left behind, so that
// they do not pile up.
static gboolean on_unkillable(gpointer data)
{
    struct supervisor *supervisor = data;
    char how[128];

    if (*supervisor->process.left_behind > 0) {
        return G_SOURCE_CONTINUE; // the slate shows until one of them is gone
    }
    snprintf(how, sizeof how, "cannot be killed, leaving process %d behind",
             supervisor->process.pid);
    supervisor->timer = 0;
    process_abandon(&supervisor->process);
    handle_end(supervisor, how, true);
    return G_SOURCE_REMOVE;
}

static void kill_process(struct supervisor *supervisor)
{
    process_kill(&supervisor->process);
    set_timer(supervisor, UNKILLABLE_MS, on_unkillable);
}

static void trace_process(struct supervisor *supervisor)
{
    supervisor->is_traced = true;
    process_trace(&supervisor->process, supervisor->name);
}

// Before a process that does not end by itself is killed it leaves a trace.
static gboolean on_kill_timer(gpointer data)
{
    struct supervisor *supervisor = data;

    supervisor->timer = 0;
    if (supervisor->is_traced) {
        kill_process(supervisor);
    } else {
        trace_process(supervisor);
        set_timer(supervisor, PROCESS_TRACE_MS, on_kill_timer);
    }
    return G_SOURCE_REMOVE;
}

// Ends the process; on_child_exit() is called when it has ended.
static void end_process(struct supervisor *supervisor, unsigned grace_ms)
{
    supervisor->state = SUPERVISOR_ENDING;
    close_link(supervisor);
    if (grace_ms)
        set_timer(supervisor, grace_ms, on_kill_timer);
    else
        kill_process(supervisor);
}

static void tell_end(struct supervisor *supervisor)
{
    unsigned left_out;

    if (log_limit_end(&supervisor->log_limit, clock_now_ns(), &left_out) && left_out) {
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_PROCESS, supervisor->name, "running",
                  "the camera process is running again; %u exit messages were suppressed",
                  left_out);
    }
}

// The GPU
// ---------------------------------------------------------------------

static gboolean on_try_timer(gpointer data)
{
    struct supervisor *supervisor = data;

    if (supervisor->link) {
        supervisor->gpu_error.text[0] = 0; // from now on the process says what is wrong with it
        camera_link_try_gpu(supervisor->link,
                            config_backend_name(supervisor->plan.config->backend));
    }
    supervisor->gpu_timer =
        g_timeout_add(gpu_retry_try_ms(&supervisor->gpu), on_try_timer, supervisor);
    return G_SOURCE_REMOVE;
}

// The GPU failed: the next process begins at once, on the CPU.
static void start_without_gpu(struct supervisor *supervisor, const char *sentence)
{
    unsigned delay_ms = gpu_retry_fail_ms(&supervisor->gpu, clock_now_ns());

    supervisor->gpu_faults++;
    supervisor->gpu.use = GPU_WITHHELD;
    supervisor->telemetry.backend[0] = 0;
    error_set(&supervisor->gpu_error, 0, "failed: %s", sentence);
    g_clear_handle_id(&supervisor->gpu_timer, g_source_remove);
    supervisor->gpu_timer = g_timeout_add(delay_ms, on_try_timer, supervisor);
    log_write(LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, supervisor->name, "gpu-failed",
              "the GPU failed: %s, going on with the CPU, trying the GPU again in %.1f s", sentence,
              delay_ms / 1e3);
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    supervisor_start(supervisor);
}

static void note_gpu(struct supervisor *supervisor)
{
    int64_t now_ns = clock_now_ns();

    gpu_retry_note_backend(&supervisor->gpu, supervisor->telemetry.backend, now_ns);
    if (supervisor->gpu.use == GPU_COMPUTES) {
        supervisor->gpu_error.text[0] = 0;
        g_clear_handle_id(&supervisor->gpu_timer, g_source_remove);
    } else if (supervisor->telemetry.gpu_may_return && wants_gpu(supervisor) &&
               !supervisor->gpu_timer) {
        supervisor->gpu_timer =
            g_timeout_add(gpu_retry_fail_ms(&supervisor->gpu, now_ns), on_try_timer, supervisor);
    }
}

// Forgets whatever was wrong with the GPU.
static void forget_gpu(struct supervisor *supervisor)
{
    supervisor->gpu = (struct gpu_retry){0};
    supervisor->gpu_error.text[0] = 0;
    g_clear_handle_id(&supervisor->gpu_timer, g_source_remove);
}

// Messages of a process
// ---------------------------------------------------------------------

static gboolean on_outdated(gpointer data)
{
    struct supervisor *supervisor = data;

    supervisor->timer = 0;
    supervisor->end = END_EXPLAINED;
    supervisor->gpu.replaced |= supervisor->telemetry.gpu_is_refused;
    end_process(supervisor, STOP_MS);
    return G_SOURCE_REMOVE;
}

// Replaces a process that was started too early to see or open something.
static void look_at_age(struct supervisor *supervisor)
{
    bool refused = supervisor->telemetry.gpu_is_refused && !supervisor->gpu.replaced;

    if (camera_process_is_outdated(&supervisor->process, &supervisor->plan, refused,
                                   &supervisor->error)) {
        set_timer(supervisor, 0, on_outdated); // the link is in use now
    }
}

static void take_telemetry(void *context, const struct link_telemetry *telemetry)
{
    struct supervisor *supervisor = context;
    int64_t now_ns = clock_now_ns(), last_frame_ns = supervisor->telemetry.last_frame_ns;

    if (!supervisor->running_ns)
        supervisor->running_ns = now_ns;
    supervisor->telemetry = *telemetry;
    // The first telemetry of a process has no frame yet; then the time of the process before stays.
    supervisor->telemetry.last_frame_ns = MAX(last_frame_ns, MIN(telemetry->last_frame_ns, now_ns));
    supervisor->state = SUPERVISOR_RUNNING;
    supervisor->error.text[0] = 0;
    tell_end(supervisor);
    note_gpu(supervisor);
    regions_take_telemetry(&supervisor->regions, telemetry);
    look_at_age(supervisor);
    supervisor->environment.changed(supervisor->environment.context);
}

static void take_motion(void *context, const struct link_event *event)
{
    struct supervisor *supervisor = context;

    regions_take_event(&supervisor->regions, event);
}

static void take_slate(void *context)
{
    const struct supervisor *supervisor = context;

    supervisor->environment.changed(supervisor->environment.context);
}

static void take_ending(void *context, bool fatal, const char *sentence)
{
    struct supervisor *supervisor = context;

    supervisor->end = fatal ? END_FATAL : END_EXPLAINED;
    error_set(&supervisor->error, 0, "%s", sentence);
}

static void take_hung_encoder(void *context, enum config_encoder encoder)
{
    struct supervisor *supervisor = context;

    supervisor->end = END_EXPLAINED;
    supervisor->encoder_hangs.count++;
    supervisor->encoder_hangs.encoders |= 1u << encoder;
    supervisor->encoder_hangs.last_ns = clock_now_ns();
    error_set(&supervisor->error, 0,
              "the encoder %s hung; views whose encoder is \"auto\" try it last for 10 minutes",
              config_encoder_name(encoder));
}

static void handle_link_end(void *context, int reason, const char *sentence)
{
    struct supervisor *supervisor = context;

    if (reason == -ENODEV && supervisor->gpu.use != GPU_UNUSED &&
        supervisor->gpu.use != GPU_WITHHELD) {
        supervisor->end = END_GPU_LOST;
        error_set(&supervisor->error, 0, "%s", sentence);
    } else if (reason == -ENODEV) {
        reason = -EPROTO;
        sentence = "reported a GPU fault although it computes on the CPU";
    }
    if (!supervisor->process.watch) {
        return; // on_child_exit() reads the last words of a process that is gone
    }
    if (supervisor->end == END_GPU_LOST) {
        // It has closed the camera before it sent that.
        close_link(supervisor);
        process_abandon(&supervisor->process);
        start_without_gpu(supervisor, sentence);
        return;
    }
    bool by_itself = reason == -EPIPE || reason == -EDEADLK, hangs = reason == -ETIME;
    if (!by_itself) {
        supervisor->end = hangs ? supervisor->end : END_REJECTED;
        error_set(&supervisor->error, 0, "the camera process %s", sentence);
        log_write(hangs ? LOG_WARNING : LOG_ERR, LOG_EVENT_CAMERA_PROCESS, supervisor->name,
                  hangs ? "hanging" : "failed", "the camera process %s, killing it", sentence);
    }
    if (hangs)
        trace_process(supervisor);
    end_process(supervisor, by_itself ? STOP_MS : hangs ? PROCESS_TRACE_MS : 0);
}

static const struct camera_link_events link_events = {
    .telemetry = take_telemetry,
    .motion = take_motion,
    .slate = take_slate,
    .ending = take_ending,
    .encoder_hung = take_hung_encoder,
    .ended = handle_link_end,
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

// The delay before the next start: 0, then 100 ms, doubling up to 5 s; 0 again after a process that
// has sent telemetry for 5 s.
static unsigned advance_backoff(struct supervisor *supervisor)
{
    bool was_healthy =
        supervisor->running_ns && clock_now_ns() - supervisor->running_ns >= BACKOFF_HEALTHY_NS;
    unsigned delay_ms = was_healthy ? 0 : supervisor->backoff_ms;

    supervisor->backoff_ms = delay_ms ? MIN(2 * delay_ms, BACKOFF_LAST_MS) : BACKOFF_FIRST_MS;
    return delay_ms;
}

// `how` is a clause about the end of the process or why there is none.
static void plan_restart(struct supervisor *supervisor, const char *how)
{
    bool fatal = supervisor->end == END_FATAL, wanted = supervisor->end == END_SETTINGS;
    unsigned delay_ms = wanted ? 0 : fatal ? FATAL_DELAY_MS : advance_backoff(supervisor);

    supervisor->state = fatal ? SUPERVISOR_FAILED : SUPERVISOR_WAITING;
    if (!wanted && log_limit_begin(&supervisor->log_limit, clock_now_ns())) {
        log_write(fatal ? LOG_ERR : LOG_WARNING, LOG_EVENT_CAMERA_PROCESS, supervisor->name,
                  fatal ? "failed" : "restarting",
                  delay_ms ? "%s, starting it again in %.1f s" : "%s, starting it again now", how,
                  delay_ms / 1e3);
    }
    set_timer(supervisor, delay_ms, on_start_timer);
    supervisor->environment.changed(supervisor->environment.context);
}

// The process is gone; `how` is a clause about its end.
static void handle_end(struct supervisor *supervisor, const char *how, bool by_signal)
{
    char sentence[192];

    g_clear_handle_id(&supervisor->timer, g_source_remove);
    if (supervisor->end == END_STOP) {
        supervisor->state = SUPERVISOR_STOPPED;
        return;
    }
    if (supervisor->end == END_GPU_LOST) {
        start_without_gpu(supervisor, supervisor->error.text);
        return;
    }
    snprintf(sentence, sizeof sentence, "the camera process %s", how);
    if (!supervisor->error.text[0] && supervisor->end != END_SETTINGS)
        error_set(&supervisor->error, 0, "%s", sentence);
    supervisor->restarts += supervisor->end != END_SETTINGS;
    if (supervisor->end == END_UNEXPLAINED &&
        gpu_retry_note_death(&supervisor->gpu, by_signal, clock_now_ns())) {
        snprintf(sentence, sizeof sentence, "the camera process %s, for the second time in 30 s",
                 how);
        start_without_gpu(supervisor, sentence);
        return;
    }
    bool explained = supervisor->end == END_EXPLAINED || supervisor->end == END_FATAL;
    plan_restart(supervisor, explained ? supervisor->error.text : sentence);
}

static void on_child_exit(GPid pid, gint status, gpointer data)
{
    struct supervisor *supervisor = data;
    char how[128];

    (void)pid;
    supervisor->process.pid = 0;
    supervisor->process.watch = 0;
    if (supervisor->link) {
        camera_link_receive_last(supervisor->link);
        close_link(supervisor);
    }
    process_describe_end(status, how, sizeof how);
    handle_end(supervisor, how, WIFSIGNALED(status));
}

int supervisor_start(struct supervisor *supervisor)
{
    int fd;
    int r = camera_process_start(&supervisor->process, &supervisor->plan, on_child_exit, supervisor,
                                 &supervisor->error, &fd);

    if (r < 0) {
        // systemd may listen again soon.
        supervisor->end = supervisor->plan.socket ? END_EXPLAINED : END_FATAL;
        plan_restart(supervisor, supervisor->error.text);
        return r;
    }
    supervisor->running_ns = 0;
    supervisor->is_traced = false;
    supervisor->state = SUPERVISOR_STARTING;
    supervisor->end = END_UNEXPLAINED;
    gpu_retry_begin(&supervisor->gpu, wants_gpu(supervisor));
    r = camera_link_new(fd, &link_events, supervisor, &supervisor->link);
    if (r == 0) {
        send_settings(supervisor);
    } else {
        error_set(&supervisor->error, r, "no link to the camera process: %s", strerror(-r));
        end_process(supervisor, 0);
    }
    return 0;
}

struct supervisor *supervisor_new(const struct config *config, size_t camera,
                                  struct stream *const *streams,
                                  const struct supervisor_environment *environment)
{
    struct supervisor *supervisor = g_new0(struct supervisor, 1);

    supervisor->environment = *environment;
    supervisor->plan =
        (struct camera_process_plan){.program = environment->program,
                                     .socket = environment->socket,
                                     .config_path = g_strdup(environment->config_path)};
    supervisor->name = g_strdup(config->cameras[camera].name);
    process_init(&supervisor->process);
    take_settings(supervisor, config, camera, streams);
    regions_init(&supervisor->regions, supervisor->name, environment->motion, environment->context);
    return supervisor;
}

void supervisor_free(struct supervisor *supervisor)
{
    if (!supervisor)
        return;
    g_clear_handle_id(&supervisor->timer, g_source_remove);
    forget_gpu(supervisor);
    regions_reconfigure(&supervisor->regions);
    camera_link_free(supervisor->link);
    process_finish(&supervisor->process);
    own_files_finish(&supervisor->plan.files);
    take_streams(supervisor, NULL, 0);
    g_free(supervisor->name);
    g_free((char *)supervisor->plan.config_path);
    g_free(supervisor);
}

void supervisor_configure(struct supervisor *supervisor, const struct config *config, size_t camera,
                          struct stream *const *streams, enum config_cost cost)
{
    take_settings(supervisor, config, camera, streams);
    if (supervisor->link ? cost < CONFIG_COST_CAMERA &&
                               !camera_process_is_outdated(&supervisor->process, &supervisor->plan,
                                                           false, NULL) &&
                               send_settings(supervisor) == 0
                         : cost == CONFIG_COST_NONE) {
        return;
    }
    regions_reconfigure(&supervisor->regions);
    if (supervisor->link)
        end_process(supervisor, STOP_MS);
    supervisor->end = END_SETTINGS;
    supervisor->backoff_ms = 0;
    supervisor->encoder_hangs.encoders = 0;
    forget_gpu(supervisor);
    if (!supervisor->process.watch)
        set_timer(supervisor, 0, on_start_timer);
}

void supervisor_stop(struct supervisor *supervisor)
{
    supervisor->end = END_STOP;
    forget_gpu(supervisor);
    if (!supervisor->process.watch) {
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

// Status
// ---------------------------------------------------------------------

// Whether it has said what became of the newest settings.
static bool is_current(const struct supervisor *supervisor)
{
    return supervisor->state == SUPERVISOR_RUNNING &&
           supervisor->telemetry.configuration == supervisor->number;
}

bool supervisor_is_settled(const struct supervisor *supervisor)
{
    if (supervisor->state != SUPERVISOR_STARTING && supervisor->state != SUPERVISOR_RUNNING)
        return supervisor->error.text[0] != 0;
    if (supervisor->state == SUPERVISOR_RUNNING && !is_current(supervisor))
        return false;
    for (size_t i = 0; i < supervisor->stream_count; i++) {
        if (!stream_has_slates(supervisor->streams[i]) && !supervisor_lacks_encoder(supervisor, i))
            return false;
    }
    return true;
}

bool supervisor_lacks_encoder(const struct supervisor *supervisor, size_t view)
{
    size_t lacking = 0;

    for (size_t i = 0; i < supervisor->stream_count; i++)
        lacking += strcmp(supervisor->telemetry.views[i].encoder, LINK_WITHOUT_ENCODER) == 0;
    return is_current(supervisor) &&
           strcmp(supervisor->telemetry.views[view].encoder, LINK_WITHOUT_ENCODER) == 0 &&
           lacking < supervisor->stream_count; // else it is about to end, and to say why
}

const char *supervisor_refusal(const struct supervisor *supervisor)
{
    return is_current(supervisor) ? supervisor->telemetry.refusal : "";
}

struct camera_link *supervisor_link(const struct supervisor *supervisor)
{
    return supervisor->link;
}

const struct regions *supervisor_regions(const struct supervisor *supervisor)
{
    return &supervisor->regions;
}

void supervisor_describe(const struct supervisor *supervisor, struct supervisor_report *ret_report)
{
    const char *state = supervisor->state == SUPERVISOR_RUNNING
                            ? camera_link_state_name(supervisor->telemetry.state)
                        : supervisor->state == SUPERVISOR_FAILED ? "failed"
                        : supervisor->state == SUPERVISOR_STARTING && !supervisor->restarts &&
                                !supervisor->gpu_faults
                            ? "starting"
                            : "restarting";

    *ret_report = (struct supervisor_report){
        .state = state,
        .error = supervisor->state == SUPERVISOR_RUNNING ? supervisor->telemetry.error
                                                         : supervisor->error.text,
        .gpu = *supervisor->gpu_error.text ? supervisor->gpu_error.text : supervisor->telemetry.gpu,
        .pid = supervisor->process.pid,
        .restarts = supervisor->restarts,
        .gpu_faults = supervisor->gpu_faults,
        .encoder_hangs = supervisor->encoder_hangs.count,
        .encoders_passed_over = encoders_passed_over(supervisor),
        .frame_age_s =
            supervisor->telemetry.last_frame_ns
                ? (double)(clock_now_ns() - supervisor->telemetry.last_frame_ns) / (double)NS_PER_S
                : NAN,
        .telemetry = &supervisor->telemetry,
        .regions = &supervisor->regions,
    };
}
