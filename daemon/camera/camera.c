#include "daemon/camera/camera.h"

#include "daemon/camera/encoder_watch.h"
#include "daemon/camera/lane.h"
#include "daemon/camera/snapshots.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <sys/timerfd.h>

#define LINK_QUEUE_BYTES (8u << 20) // some seconds of video
#define CONFIGURE_TIMEOUT_MS 10000
#define TELEMETRY_INTERVAL_S 1
#define DRIVER_NS (500 * NS_PER_MS) // how long to wait for a thread in the GPU's driver
// So many looks of the control thread, one a second, find the lane where it was: that is told, and
// then the lane hangs.
#define LANE_LOOKS_TOLD 2
#define LANE_LOOKS 5
#define LANE_OPENING_LOOKS 7 // longer than any source may take to open
#define SNAPSHOT_LOOKS 20    // longer than the largest JPEG takes behind everything else
#define LAST_WORDS_NS (500 * NS_PER_MS)
// Memory that a process may use of its own, beside so many frames of the camera in the widest
// format, of 4K at most: far more than any camera needs, and little enough for a machine to live
// with.
#define MEMORY_BYTES ((uint64_t)1 << 30)
#define MEMORY_FRAMES 64
#define MEMORY_FRAME_BYTES_MAX ((uint64_t)4096 * 2304 * 4)
#if defined(__SANITIZE_THREAD__)
#define MEMORY_FACTOR 8u // its shadow is four times what is used
#elif defined(__SANITIZE_ADDRESS__)
#define MEMORY_FACTOR 2u // it keeps 256 MB of what was freed, and walls around each piece
#else
#define MEMORY_FACTOR 1u
#endif
#define LANE_ENCODER_LOOKS ENCODER_WATCH_FIRST_LOOKS

// The lane as the control thread sees it. It counts looks rather than time, so that a process that
// was stopped for a while is not taken for one that hangs.
struct lane_watch {
    int64_t alive_ns, began_ns; // the lane, and an encoder, at the last look
    unsigned looks;             // since one of both changed
};

struct camera {
    struct link *link;
    int wake_fd; // eventfd: the link has to be flushed, or the lane has news
    int timer_fd;
    atomic_bool news;                  // the lane's report is to be sent now
    struct link_message first_message; // its payload is owned, until it is parsed
    struct settings *first;            // a reference: what the source and the GPU are opened with
    struct settings *newest;           // a reference; the lane goes over to it
    struct graph *graph;
    struct encoder_watches encoders;
    struct snapshots *snapshots;
    struct copies copies;
    struct report report;
    struct channel_environment channel_environment;
    struct compute *compute;
    struct pool *pool;
    struct motion_watch *watch;
    struct tuner *tuner;
    struct lane *lane;
    struct lane_watch lane_watch;
};

static void wake(void *context)
{
    struct camera *camera = context;
    uint64_t one = 1;

    if (write(camera->wake_fd, &one, sizeof one) < 0) {
        log_debug("camera: is awake already"); // the eventfd's counter is full
    }
}

static void tell_news(void *context)
{
    struct camera *camera = context;

    camera->news = true;
    wake(camera);
}

// Any thread. Whether the CPU or the GPU computes is known now, or has changed.
static void tell_decision(void *context)
{
    struct camera *camera = context;

    lane_wake(camera->lane);
    tell_news(camera);
}

static int handle_first(void *context, struct link_message *message)
{
    struct camera *camera = context;

    if (message->header.type != LINK_CONFIGURE || camera->first_message.payload)
        return -EPROTO;
    camera->first_message = *message;
    message->payload = NULL;
    return -ECANCELED; // camera_run() reads the messages that follow
}

static int wait_for_settings(struct camera *camera, struct error *error)
{
    struct pollfd link = {.fd = link_fd(camera->link), .events = POLLIN};
    int64_t deadline = clock_now_ns() + CONFIGURE_TIMEOUT_MS * NS_PER_MS;

    while (!camera->first_message.payload) {
        int64_t left_ms = (deadline - clock_now_ns()) / NS_PER_MS;

        if (left_ms <= 0 || poll(&link, 1, (int)left_ms) == 0)
            return error_set(error, -ETIMEDOUT, "no configuration came over the link");
        int r = link_receive(camera->link, handle_first, camera);
        if (r && r != -ECANCELED) {
            return error_set(error, r, "the link broke before a configuration came: %s",
                             strerror(-r));
        }
    }
    return 0;
}

// Lane thread. The front pairs ends with beginnings, so it is told of all or of the process's end.
static void tell_event(void *context, const struct link_event *event)
{
    struct camera *camera = context;
    int r = link_send_bytes(camera->link, LINK_EVENT, 0, event, sizeof *event);

    if (r == -ENOBUFS || r == -ENOMEM) {
        report_set_end(&camera->report, LINK_RESTART,
                       "edged has not read for long, and no room is left for motion events");
    }
}

// Lane thread. The results of kernels, and the end, are not to be lost.
static void tell_tune(void *context, const struct link_tune_progress *progress)
{
    struct camera *camera = context;
    int r = link_send_bytes(camera->link, LINK_TUNE_PROGRESS, 0, progress, sizeof *progress);

    if (r && progress->kind != LINK_TUNE_TRIED) {
        report_set_end(
            &camera->report, LINK_RESTART,
            "edged has not read for long, and no room is left for what a tune has found");
    }
}

static int make_pool(struct camera *camera)
{
    struct error error = {0};
    int r = pool_new((unsigned)camera->first->config->cpu_threads, &error, &camera->pool);

    if (!r && error.text[0]) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, settings_camera(camera->first)->name, NULL,
                  "%s, using these", error.text);
    }
    return r;
}

static int take_first(struct camera *camera, struct error *error)
{
    const struct link_message *message = &camera->first_message;
    int r = settings_new(message->payload, message->header.size, NULL, &camera->channel_environment,
                         error, &camera->first);

    if (!r) {
        camera->newest = settings_ref(camera->first);
        camera->channel_environment.camera = settings_camera(camera->first)->name;
        report_set_configuration(&camera->report, camera->first->number, "");
    }
    return r;
}

static int build(struct camera *camera, struct error *error)
{
    struct board board;
    int r = graph_new(&camera->graph);

    board_read("", &board);
    camera->channel_environment = (struct channel_environment){.link = camera->link,
                                                               .copies = &camera->copies,
                                                               .encoders = &camera->encoders,
                                                               .graph = camera->graph,
                                                               .board = board.profile};
    r = r ? error_set(error, r, "out of memory") : take_first(camera, error);
    if (r)
        return r;
    const struct config_camera *settings = settings_camera(camera->first);
    r = compute_new(camera->first->config, board_is_jetson(board.profile), tell_decision, camera,
                    &camera->compute);
    r = r ? r : motion_watch_new(settings, tell_event, camera, &camera->watch);
    r = r ? r : tuner_new(tell_tune, camera, &camera->tuner);
    r = r ? r : make_pool(camera);
    r = r ? r : snapshots_new(camera->link, settings->name, &camera->snapshots);
    camera->channel_environment.snapshots = camera->snapshots;
    struct lane_environment environment = {
        .compute = camera->compute,
        .pool = camera->pool,
        .copies = &camera->copies,
        .report = &camera->report,
        .graph = camera->graph,
        .settings = camera->first,
        .motion_watch = camera->watch,
        .tuner = camera->tuner,
        .changed = tell_news,
        .context = camera,
    };
    r = r ? r : lane_new(&environment, &camera->lane);
    if (!r)
        report_set_regions(&camera->report, camera->watch);
    return r ? error_set(error, r, "out of memory") : 0;
}

int camera_new(int fd, struct error *error, struct camera **ret_camera)
{
    struct camera *camera = calloc(1, sizeof *camera);
    struct itimerspec interval = {.it_interval.tv_sec = TELEMETRY_INTERVAL_S,
                                  .it_value.tv_sec = TELEMETRY_INTERVAL_S};

    if (!camera)
        return error_set(error, -ENOMEM, "out of memory");
    report_init(&camera->report, &camera->copies);
    encoder_watches_init(&camera->encoders);
    camera->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    camera->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int r = link_new(fd, LINK_QUEUE_BYTES, &camera->link);
    if (r || camera->wake_fd < 0 || timerfd_settime(camera->timer_fd, 0, &interval, NULL))
        r = error_set(error, r ? r : -errno, "no link on fd %d: %s", fd, strerror(errno));
    if (!r) {
        link_set_wake(camera->link, wake, camera);
        link_send_bytes(camera->link, LINK_HELLO, 0, EDGED_VERSION, strlen(EDGED_VERSION));
        r = wait_for_settings(camera, error);
    }
    r = r ? r : build(camera, error);
    if (r) {
        camera_free(camera);
        return r;
    }
    *ret_camera = camera;
    return 0;
}

const struct config_camera *camera_settings(const struct camera *camera)
{
    return settings_camera(camera->first);
}

// Tells the front something before the process ends, if the front still reads: sends the message
// and waits, 500 ms at most, until the socket has taken it.
static void send_last_words(struct link *link, enum link_type type, const void *payload,
                            size_t size)
{
    struct pollfd room = {.fd = link_fd(link), .events = POLLOUT};
    int64_t deadline = clock_now_ns() + LAST_WORDS_NS;

    link_send_bytes(link, type, 0, payload, size);
    while (!link_flush(link) && link_wants_write(link)) {
        int64_t left_ms = (deadline - clock_now_ns()) / NS_PER_MS;

        if (left_ms <= 0 || poll(&room, 1, (int)left_ms) == 0)
            return;
    }
}

// Once a second. -EDEADLK when an encoder hangs, after the front has been told: a thread will not
// return from it, and the lane waits for that thread or is going to. Else 0.
static int look_at_encoders(struct link *link, struct encoder_watches *encoders)
{
    uint32_t hung = encoder_watches_look(encoders);

    if (hung == CONFIG_ENCODER_AUTO)
        return 0;
    send_last_words(link, LINK_ENCODER_HUNG, &hung, sizeof hung);
    return -EDEADLK;
}

// The lane waits for an encoder that began since it last came around. Each has a limited time, and
// several may begin one after the other.
static bool waits_for_encoder(const struct camera *camera)
{
    return camera->encoders.began_ns > lane_alive_ns(camera->lane);
}

// A lane that was live and does not return says so by the control thread.
static void tell_waiting(const struct camera *camera, struct link_telemetry *telemetry)
{
    unsigned looks = camera->lane_watch.looks;

    if (looks < LANE_LOOKS_TOLD || telemetry->error[0])
        return;
    if (telemetry->state == LINK_CAMERA_LIVE)
        telemetry->state = LINK_CAMERA_HANGING;
    snprintf(telemetry->error, sizeof telemetry->error, "%s for %u s",
             waits_for_encoder(camera) ? "an encoder has not begun"
                                       : "a driver or plugin has not returned",
             looks);
}

// Once a second. Tells the front when the lane hangs, upon which the front kills this process: none
// of its threads can end one that hangs in a driver.
static void look_at_lane(struct camera *camera)
{
    struct lane_watch *watch = &camera->lane_watch;
    int64_t alive_ns = lane_alive_ns(camera->lane), began_ns = camera->encoders.began_ns;
    struct link_telemetry telemetry;
    char sentence[128];

    bool moves = alive_ns != watch->alive_ns || began_ns != watch->began_ns;
    *watch = (struct lane_watch){alive_ns, began_ns, moves ? 0 : watch->looks + 1};
    report_get(&camera->report, &telemetry);
    bool encoder = waits_for_encoder(camera),
         live = telemetry.state == LINK_CAMERA_LIVE || telemetry.state == LINK_CAMERA_SILENT;
    if (watch->looks == LANE_LOOKS_TOLD && live) {
        log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, settings_camera(camera->first)->name,
                  "hanging", "hanging: %s for %u s, replacing the process after %u s",
                  encoder ? "an encoder has not begun" : "a driver or plugin has not returned",
                  watch->looks, encoder ? LANE_ENCODER_LOOKS : LANE_LOOKS);
    }
    if (watch->looks == (encoder ? LANE_ENCODER_LOOKS : live ? LANE_LOOKS : LANE_OPENING_LOOKS)) {
        snprintf(sentence, sizeof sentence, "%s for %u s",
                 encoder ? "an encoder has not begun"
                 : live  ? "a driver or plugin has not returned"
                         : "the camera has not opened",
                 watch->looks);
        send_last_words(camera->link, LINK_HANGING, sentence, strlen(sentence));
    }
}

// Once a second. A thread that makes JPEGs and does not return from that hangs, too.
static void look_at_snapshots(struct camera *camera)
{
    static const char sentence[] = "no snapshot was made for 20 s";

    if (snapshots_look(camera->snapshots) == SNAPSHOT_LOOKS)
        send_last_words(camera->link, LINK_HANGING, sentence, strlen(sentence));
}

// The memory that is this process's own alone, in bytes; 0: the kernel does not say.
static uint64_t own_memory(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];
    uint64_t kib = 0;

    while (file && !kib && fgets(line, sizeof line, file)) {
        if (strncmp(line, "RssAnon:", strlen("RssAnon:")) == 0)
            kib = strtoull(line + strlen("RssAnon:"), NULL, 10);
    }
    if (file)
        fclose(file);
    return kib << 10;
}

// Once a second. A camera that has a decoder or demuxer collect without end costs this process, and
// not the machine.
static void look_at_memory(struct camera *camera)
{
    const struct config_camera *settings = settings_camera(camera->newest);
    struct link_telemetry telemetry;
    char sentence[160];

    report_get(&camera->report, &telemetry);
    uint64_t wished = (uint64_t)settings->width * (uint64_t)settings->height * 4;
    uint64_t shown = (uint64_t)telemetry.width * telemetry.height * 4;
    uint64_t frame = MIN(MAX(wished, shown), MEMORY_FRAME_BYTES_MAX);
    uint64_t most = (MEMORY_BYTES + MEMORY_FRAMES * frame) * MEMORY_FACTOR, used = own_memory();

    if (used > most) {
        snprintf(sentence, sizeof sentence,
                 "the camera process used %" PRIu64 " MiB of memory, allowed: %" PRIu64
                 "; the stream of its camera makes it collect memory without end",
                 used >> 20, most >> 20);
        report_set_end(&camera->report, LINK_RESTART, sentence);
    }
}

static void send_telemetry(struct camera *camera)
{
    struct graph_count counts[STAGE_KIND_COUNT];
    struct link_telemetry telemetry;

    // Before the frames, so that they are never fewer than those that stages were computed for.
    for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++)
        counts[kind] = graph_count(camera->graph, kind);
    report_get(&camera->report, &telemetry);
    tell_waiting(camera, &telemetry);
    for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++) {
        telemetry.stages[kind].runs = counts[kind].runs;
        telemetry.stages[kind].shared = counts[kind].shared;
    }
    compute_describe(camera->compute, &telemetry);
    settings_describe(camera->newest, &telemetry);
    encoder_watches_trials(&camera->encoders, telemetry.trials);
    heat_read("", &telemetry.heat);
    link_send_bytes(camera->link, LINK_TELEMETRY, 0, &telemetry, sizeof telemetry);
}

static int reconfigure(struct camera *camera, const struct link_message *message)
{
    struct settings *next = NULL;
    struct error error = {0};
    int r = settings_new(message->payload, message->header.size, camera->newest,
                         &camera->channel_environment, &error, &next);

    if (r) {
        log_error("%s, ending", error.text);
        return r;
    }
    const char *shut = settings_find_shut(next);
    if (shut) {
        error_set(&error, 0, "%s is new, which only a new process can read", shut);
        report_set_end(&camera->report, LINK_RESTART, error.text);
        settings_unref(next);
        return 0;
    }
    settings_unref(camera->newest);
    camera->newest = next;
    lane_set_settings(camera->lane, settings_ref(next));
    return 0;
}

static int try_gpu(struct camera *camera, const struct link_message *message)
{
    const char *wished = (const char *)message->payload;

    for (enum config_backend backend = CONFIG_BACKEND_AUTO; backend < CONFIG_BACKEND_CPU;
         backend++) {
        if (strcmp(wished, config_backend_name(backend)) == 0) {
            compute_try(camera->compute, backend);
            return 0;
        }
    }
    return -EPROTO;
}

static int tune(struct camera *camera, const struct link_message *message)
{
    struct link_tune request;

    if (message->header.size != sizeof request)
        return -EPROTO;
    memcpy(&request, message->payload, sizeof request);
    tuner_ask(camera->tuner, &request);
    return 0;
}

static int want_snapshot(struct channel *channel, const struct link_message *message)
{
    uint32_t scale;

    if (message->header.size != sizeof scale)
        return -EPROTO;
    memcpy(&scale, message->payload, sizeof scale);
    if (scale >= LINK_SCALES)
        return -EPROTO;
    channel_want_snapshot(channel, scale);
    return 0;
}

static int command_view(struct camera *camera, struct channel *channel,
                        const struct link_message *message)
{
    switch (message->header.type) {
    case LINK_VIEW_START:
        channel_set_watched(channel, true);
        lane_wake(camera->lane);
        return 0;
    case LINK_VIEW_STOP:
        channel_set_watched(channel, false);
        return 0;
    case LINK_KEY_FRAME:
        channel_want_key_frame(channel);
        return 0;
    case LINK_SNAPSHOT:
        return want_snapshot(channel, message);
    default:
        return -EPROTO;
    }
}

static int handle_command(void *context, struct link_message *message)
{
    struct camera *camera = context;
    struct channel *channel = settings_find(camera->newest, message->header.view);

    switch (message->header.type) {
    case LINK_CONFIGURE:
        return reconfigure(camera, message);
    case LINK_TRY_GPU:
        return try_gpu(camera, message);
    case LINK_TRY_CAMERA:
        lane_ask_anew(camera->lane);
        return 0;
    case LINK_TUNE:
        return tune(camera, message);
    default:
        return channel ? command_view(camera, channel, message) : -EPROTO;
    }
}

// When the lane has ended: tells the front why, if the front still reads.
static int end_with_reason(struct camera *camera)
{
    char reason[512];
    enum link_type type = report_get_end(&camera->report, reason, sizeof reason);

    if (!type)
        return 0;
    send_telemetry(camera);
    send_last_words(camera->link, type, reason, strlen(reason));
    return type == LINK_GPU_FAULT ? -ENOTRECOVERABLE : -ENOSYS;
}

static int turn(struct camera *camera)
{
    struct pollfd fds[] = {
        {.fd = link_fd(camera->link),
         .events = (short)(POLLIN | (link_wants_write(camera->link) ? POLLOUT : 0))},
        {.fd = camera->wake_fd, .events = POLLIN},
        {.fd = camera->timer_fd, .events = POLLIN},
    };
    uint64_t count;
    int r = 0;

    if (poll(fds, ARRAY_LENGTH(fds), -1) < 0)
        return errno == EINTR ? 0 : -errno;
    bool woken = read(camera->wake_fd, &count, sizeof count) > 0;
    bool due = read(camera->timer_fd, &count, sizeof count) > 0;
    if (due)
        r = look_at_encoders(camera->link, &camera->encoders);
    if (!r && due) {
        look_at_lane(camera);
        look_at_snapshots(camera);
        look_at_memory(camera);
    }
    if (!r && (due || (woken && atomic_exchange(&camera->news, false)))) {
        send_telemetry(camera);
        r = end_with_reason(camera);
    }
    if (!r && fds[0].revents & POLLOUT)
        r = link_flush(camera->link);
    if (!r && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        r = link_receive(camera->link, handle_command, camera);
    return r;
}

int camera_run(struct camera *camera)
{
    char reason[512];

    compute_start(camera->compute);
    int r = lane_start(camera->lane);

    while (!r)
        r = turn(camera);
    if (r == -EDEADLK || compute_wait(camera->compute, clock_now_ns() + DRIVER_NS))
        return -ENOTRECOVERABLE;
    // The last frame may lose the GPU when the front has already gone, so this is asked after the
    // lane has ended.
    lane_stop(camera->lane);
    if (report_get_end(&camera->report, reason, sizeof reason) == LINK_GPU_FAULT ||
        compute_has_lost(camera->compute)) {
        return -ENOTRECOVERABLE;
    }
    return r == -EPIPE ? 0 : r;
}

void camera_free(struct camera *camera)
{
    if (!camera)
        return;
    // The thread that opens the driver wakes the lane, so it has to end first.
    if (camera->compute)
        compute_wait(camera->compute, INT64_MAX);
    if (camera->lane)
        lane_stop(camera->lane);
    snapshots_free(camera->snapshots); // which hold pictures of the views
    lane_free(camera->lane);
    motion_watch_free(camera->watch);
    tuner_free(camera->tuner);
    settings_unref(camera->newest);
    settings_unref(camera->first);
    graph_free(camera->graph);
    pool_free(camera->pool);
    compute_free(camera->compute);
    link_free(camera->link);
    free(camera->first_message.payload);
    encoder_watches_finish(&camera->encoders);
    report_finish(&camera->report);
    cleanup_close(&camera->wake_fd);
    cleanup_close(&camera->timer_fd);
    free(camera);
}
