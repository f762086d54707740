#include "daemon/front/supervise/camera_link.h"

#include "config/schema/schema.h"
#include "daemon/link/link.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>

#define CAMERA_LINK_QUEUE_BYTES (1u << 20)
#define TUNE_MAX_US 1e9              // no kernel may take that long
#define AHEAD_MAX_NS (10 * NS_PER_S) // how far from now a frame's time may be
#define PATIENCE_MAX_NS (60 * NS_PER_S)
#define LAST_TURNS 16
#define SNAPSHOT_NS NS_PER_S // after which one that has not come is asked for again

struct linked_view {
    struct stream *stream;         // borrowed
    uint32_t number;               // what messages call it, from 1 on
    bool watched;                  // as told to the process
    int64_t asked_ns[LINK_SCALES]; // when a snapshot was asked for that has not come; 0: none
};

struct camera_link {
    struct link *link; // owned
    struct linked_view views[LINK_VIEWS_MAX];
    size_t view_count;
    uint32_t numbers; // given so far
    bool greeted;     // the process has said hello
    const struct camera_link_events *events;
    void *context;
    struct camera_link_tuner tuner; // `progress` NULL: there is no tune
    uint32_t tune;                  // the number of the newest
    struct error error;             // how the process broke the protocol
    guint read_watch, write_watch;  // GLib source ids; 0: none
};

static int reject(struct camera_link *link, const char *what, uint32_t size)
{
    return error_set(&link->error, -EPROTO, "sent a bad %s message of %u bytes", what, size);
}

// The view with that number. NULL: it has been removed, and the process sent the message before it
// knew.
static struct linked_view *find_number(struct camera_link *link, uint32_t number)
{
    for (size_t i = 0; i < link->view_count; i++) {
        if (link->views[i].number == number)
            return &link->views[i];
    }
    return NULL;
}

static struct linked_view *find_stream(struct camera_link *link, const struct stream *stream)
{
    for (size_t i = 0; i < link->view_count; i++) {
        if (link->views[i].stream == stream)
            return &link->views[i];
    }
    return NULL;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data)
{
    struct camera_link *link = data;

    (void)fd;
    (void)condition;
    // A broken pipe shows up on the reading side too, where it is handled.
    if (link_flush(link->link) == 0 && link_wants_write(link->link))
        return G_SOURCE_CONTINUE;
    link->write_watch = 0;
    return G_SOURCE_REMOVE;
}

static int send_pieces(struct camera_link *link, enum link_type type, uint32_t view,
                       const struct iovec *pieces, int count)
{
    int r = link_send(link->link, type, view, pieces, count);

    if (!link->write_watch && link_wants_write(link->link)) {
        link->write_watch =
            g_unix_fd_add(link_fd(link->link), G_IO_OUT | G_IO_ERR, on_writable, link);
    }
    return r;
}

// A message is lost only when the process does not read, and such a process is noticed by its
// silence.
static int send_bytes(struct camera_link *link, enum link_type type, uint32_t view,
                      const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)bytes, size};

    return send_pieces(link, type, view, &piece, size > 0);
}

static int handle_hello(struct camera_link *link, const struct link_message *message)
{
    const char *version = (const char *)message->payload;

    if (link->greeted)
        return error_set(&link->error, -EPROTO, "sent a second hello");
    link->greeted = true;
    return strcmp(version, EDGED_VERSION) == 0
               ? 0
               : error_set(&link->error, -EPROTO, "is of version %.32s and edged of " EDGED_VERSION,
                           version);
}

// Whether the name and the numbers make sense, because they are shown.
static bool is_region(const struct link_region *region)
{
    return memchr(region->name, 0, sizeof region->name) && schema_name_rule.accepts(region->name) &&
           region->share >= 0 && region->share <= 1;
}

static bool is_event(const struct link_event *event)
{
    return event->kind <= LINK_EVENT_MOTION_ENDED && is_region(&event->region) &&
           event->peak_share >= 0 && event->peak_share <= 1 && event->started_ns >= 0 &&
           event->at_ns >= event->started_ns && event->at_ns <= clock_now_ns() + AHEAD_MAX_NS;
}

static int handle_event(struct camera_link *link, const struct link_message *message)
{
    struct link_event event;

    if (message->header.size != sizeof event)
        return reject(link, "motion", message->header.size);
    memcpy(&event, message->payload, sizeof event);
    if (!is_event(&event))
        return reject(link, "motion", message->header.size);
    link->events->motion(link->context, &event);
    return 0;
}

// Of trials that name an encoder there is.
static void settle_trials(struct link_trial *trials)
{
    for (unsigned i = 0; i < LINK_TRIALS_MAX; i++) {
        trials[i].encoder[sizeof trials[i].encoder - 1] = 0;
        trials[i].reason[sizeof trials[i].reason - 1] = 0;
        if (trials[i].element >= CONFIG_ENCODER_COUNT)
            trials[i].element = CONFIG_ENCODER_AUTO;
    }
}

// Cuts what is too long, as a process that is out of order may send it.
static void settle_heat(struct heat *heat)
{
    heat->zone_count = MIN(heat->zone_count, HEAT_ZONES_MAX);
    for (uint32_t i = 0; i < heat->zone_count; i++)
        heat->zones[i].name[sizeof heat->zones[i].name - 1] = 0;
    heat->throttled_by[sizeof heat->throttled_by - 1] = 0;
    heat->power_mode[sizeof heat->power_mode - 1] = 0;
}

static int handle_telemetry(struct camera_link *link, const struct link_message *message)
{
    struct link_telemetry telemetry;

    if (message->header.size != sizeof telemetry)
        return reject(link, "telemetry", message->header.size);
    memcpy(&telemetry, message->payload, sizeof telemetry);
    if (telemetry.state >= LINK_CAMERA_STATE_COUNT)
        return reject(link, "telemetry", message->header.size);
    telemetry.format[sizeof telemetry.format - 1] = 0;
    telemetry.path[sizeof telemetry.path - 1] = 0;
    telemetry.error[sizeof telemetry.error - 1] = 0;
    telemetry.backend[sizeof telemetry.backend - 1] = 0;
    telemetry.gpu[sizeof telemetry.gpu - 1] = 0;
    telemetry.refusal[sizeof telemetry.refusal - 1] = 0;
    settle_heat(&telemetry.heat);
    settle_trials(telemetry.trials);
    for (size_t i = 0; i < LINK_REGIONS_MAX; i++) {
        if (telemetry.regions[i].name[0] && !is_region(&telemetry.regions[i]))
            return reject(link, "telemetry", message->header.size);
    }
    for (size_t i = 0; i < LINK_VIEWS_MAX; i++) {
        const struct linked_view *view = find_number(link, telemetry.views[i].view);

        telemetry.views[i].encoder[sizeof telemetry.views[i].encoder - 1] = 0;
        telemetry.views[i].governor[sizeof telemetry.views[i].governor - 1] = 0;
        if (view) {
            stream_set_rate(view->stream, telemetry.fps_milli);
            stream_set_patience(view->stream, CLAMP(telemetry.patience_ns, 0, PATIENCE_MAX_NS));
            stream_set_view_counters(view->stream, telemetry.views[i].encoded,
                                     telemetry.views[i].dropped, telemetry.views[i].encoder,
                                     telemetry.views[i].governor);
        }
    }
    link->events->telemetry(link->context, &telemetry);
    return 0;
}

static int handle_video(struct camera_link *link, struct link_message *message)
{
    bool slate = message->header.type == LINK_SLATE;

    const struct linked_view *view = find_number(link, message->header.view);
    size_t size = message->header.size;
    if (!view)
        return 0;
    int r = slate ? stream_take_slate(view->stream, TAKE(message->payload), size)
                  : stream_take_access_unit(view->stream, TAKE(message->payload), size);
    if (r < 0)
        return reject(link, slate ? "slate" : "access unit", message->header.size);
    if (slate)
        link->events->slate(link->context);
    return 0;
}

// One that a configuration can have, or nothing.
static bool is_block(const struct link_block *block)
{
    return block->x >= 0 && block->x <= CONFIG_BLOCK_THREADS_MAX && block->y >= 0 &&
           block->y <= CONFIG_BLOCK_THREADS_MAX && (block->x > 0) == (block->y > 0) &&
           block->x * block->y <= CONFIG_BLOCK_THREADS_MAX && block->rows >= 0 &&
           block->rows <= CONFIG_ROWS_MAX;
}

static bool is_time(double us)
{
    return us >= 0 && us < TUNE_MAX_US;
}

static bool is_progress(const struct link_tune_progress *progress)
{
    return progress->kind <= LINK_TUNE_FAILED && progress->kernel < CONFIG_KERNEL_COUNT &&
           is_block(&progress->block) && is_block(&progress->best) && is_block(&progress->set) &&
           is_time(progress->us) && is_time(progress->best_us) && progress->share >= 0 &&
           progress->share <= 1;
}

// Of a tune that was stopped some may still come.
static int handle_tune(struct camera_link *link, const struct link_message *message)
{
    struct link_tune_progress progress;

    if (message->header.size != sizeof progress)
        return reject(link, "tune", message->header.size);
    memcpy(&progress, message->payload, sizeof progress);
    progress.sentence[sizeof progress.sentence - 1] = 0;
    if (!is_progress(&progress))
        return reject(link, "tune", message->header.size);
    if (!link->tuner.progress || progress.number != link->tune)
        return 0;
    const struct camera_link_tuner tuner = link->tuner;
    const struct linked_view *view = find_number(link, progress.view);
    if (progress.kind >= LINK_TUNE_DONE)
        link->tuner.progress = NULL;
    tuner.progress(tuner.context, &progress, view ? view->stream : NULL);
    return 0;
}

// Asks for the snapshots that somebody waits for.
static void ask_for_snapshots(struct camera_link *link, struct linked_view *view)
{
    unsigned wanted = stills_wanted(stream_stills(view->stream));
    int64_t now_ns = clock_now_ns();

    for (uint32_t scale = 0; scale < LINK_SCALES; scale++) {
        if (wanted >> scale & 1 &&
            (!view->asked_ns[scale] || now_ns - view->asked_ns[scale] >= SNAPSHOT_NS)) {
            view->asked_ns[scale] = now_ns;
            send_bytes(link, LINK_SNAPSHOT, view->number, &scale, sizeof scale);
        }
    }
}

static int handle_snapshot(struct camera_link *link, struct link_message *message)
{
    struct linked_view *view = find_number(link, message->header.view);
    unsigned scale;

    if (!view)
        return 0;
    stream_ref(view->stream); // the last who waits may hold it
    int r = stills_take(stream_stills(view->stream), TAKE(message->payload), message->header.size,
                        &scale);
    if (r == 0) {
        view->asked_ns[scale] = 0;
        ask_for_snapshots(link, view);
    }
    stream_unref(view->stream);
    return r < 0 ? reject(link, "snapshot", message->header.size) : 0;
}

static int handle_encoder_hung(struct camera_link *link, const struct link_message *message)
{
    uint32_t encoder;

    if (message->header.size != sizeof encoder)
        return reject(link, "hung encoder", message->header.size);
    memcpy(&encoder, message->payload, sizeof encoder);
    if (encoder == CONFIG_ENCODER_AUTO || encoder >= CONFIG_ENCODER_COUNT)
        return reject(link, "hung encoder", message->header.size);
    link->events->encoder_hung(link->context, encoder);
    return error_set(&link->error, -EDEADLK, "hangs in an encoder");
}

static int on_message(void *context, struct link_message *message)
{
    struct camera_link *link = context;

    if (!link->greeted && message->header.type != LINK_HELLO)
        return error_set(&link->error, -EPROTO, "sent no hello first");
    switch (message->header.type) {
    case LINK_HELLO:
        return handle_hello(link, message);
    case LINK_TELEMETRY:
        return handle_telemetry(link, message);
    case LINK_SLATE:
    case LINK_ACCESS_UNIT:
        return handle_video(link, message);
    case LINK_JPEG:
        return handle_snapshot(link, message);
    case LINK_EVENT:
        return handle_event(link, message);
    case LINK_TUNE_PROGRESS:
        return handle_tune(link, message);
    case LINK_FATAL:
    case LINK_RESTART:
        link->events->ending(link->context, message->header.type == LINK_FATAL,
                             (const char *)message->payload);
        return 0;
    case LINK_HANGING:
        return error_set(&link->error, -ETIME, "hangs: %s", (const char *)message->payload);
    case LINK_ENCODER_HUNG:
        return handle_encoder_hung(link, message);
    case LINK_GPU_FAULT:
        return error_set(&link->error, -ENODEV, "%s", (const char *)message->payload);
    default:
        return error_set(&link->error, -EPROTO, "sent a message of type %u", message->header.type);
    }
}

bool camera_link_receive(struct camera_link *link)
{
    int r = link_receive(link->link, on_message, link);

    if (r == 0)
        return true;
    if (!link->error.text[0])
        error_set(&link->error, r, r == -EPIPE ? "closed its link" : "sent what is no message");
    struct error error = link->error;
    link->events->ended(link->context, r, error.text);
    return false;
}

void camera_link_receive_last(struct camera_link *link)
{
    for (int turn = 0; turn < LAST_TURNS && camera_link_receive(link); turn++) {
    }
}

const char *camera_link_state_name(uint32_t state)
{
    static const char *const names[LINK_CAMERA_STATE_COUNT] = {
        [LINK_CAMERA_STARTING] = "starting",   [LINK_CAMERA_LIVE] = "live",
        [LINK_CAMERA_NO_SIGNAL] = "no signal", [LINK_CAMERA_SILENT] = "no signal",
        [LINK_CAMERA_HANGING] = "hanging",
    };

    return names[state];
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    (void)fd;
    (void)condition;
    camera_link_receive(data); // frees the link, and with it this source, when it ended
    return G_SOURCE_CONTINUE;
}

int camera_link_configure(struct camera_link *link, const struct link_configuration *configuration,
                          const char *text, struct stream *const *streams, size_t count)
{
    struct link_configuration head = *configuration;
    struct iovec pieces[] = {{&head, sizeof head}, {(void *)text, strlen(text)}};
    struct linked_view views[LINK_VIEWS_MAX] = {0};

    for (size_t i = 0; i < count; i++) {
        struct stream *stream = streams[i];
        const struct linked_view *known = find_stream(link, stream);

        views[i] =
            known ? *known : (struct linked_view){.stream = stream, .number = ++link->numbers};
        head.views[i] = views[i].number;
    }
    link->view_count = count;
    memcpy(link->views, views, link->view_count * sizeof views[0]);
    int r = send_pieces(link, LINK_CONFIGURE, 0, pieces, ARRAY_LENGTH(pieces));
    for (size_t i = 0; i < link->view_count && r == 0; i++)
        camera_link_update(link, link->views[i].stream, false);
    return r;
}

int camera_link_new(int fd, const struct camera_link_events *events, void *context,
                    struct camera_link **ret_link)
{
    struct camera_link *link = calloc(1, sizeof *link);
    int r = link ? link_new(fd, CAMERA_LINK_QUEUE_BYTES, &link->link) : -ENOMEM;

    if (r < 0) {
        close(fd);
        free(link);
        return r;
    }
    link->events = events;
    link->context = context;
    link->read_watch = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, link);
    *ret_link = link;
    return 0;
}

void camera_link_free(struct camera_link *link)
{
    if (!link)
        return;
    if (link->tuner.progress) {
        const struct link_tune_progress ended = {.kind = LINK_TUNE_FAILED,
                                                 .sentence = "the camera process has ended"};

        link->tuner.progress(link->tuner.context, &ended, NULL);
    }
    if (link->write_watch)
        g_source_remove(link->write_watch);
    if (link->read_watch)
        g_source_remove(link->read_watch);
    link_free(link->link);
    free(link);
}

void camera_link_update(struct camera_link *link, const struct stream *stream, bool key_frame)
{
    struct linked_view *view = find_stream(link, stream);

    if (!view)
        return;
    bool watched = stream_is_watched(view->stream);
    if (watched != view->watched) {
        view->watched = watched;
        send_bytes(link, watched ? LINK_VIEW_START : LINK_VIEW_STOP, view->number, NULL, 0);
    } else if (watched && key_frame) {
        send_bytes(link, LINK_KEY_FRAME, view->number, NULL, 0);
    }
    ask_for_snapshots(link, view);
}

void camera_link_try_gpu(struct camera_link *link, const char *backend)
{
    send_bytes(link, LINK_TRY_GPU, 0, backend, strlen(backend));
}

void camera_link_try_camera(struct camera_link *link)
{
    send_bytes(link, LINK_TRY_CAMERA, 0, NULL, 0);
}

int camera_link_tune(struct camera_link *link, const struct stream *stream, uint32_t kernels,
                     const struct camera_link_tuner *tuner)
{
    const struct linked_view *view = stream ? find_stream(link, stream) : NULL;

    if (link->tuner.progress)
        return -EBUSY;
    if (stream && !view)
        return -ENOENT;
    const struct link_tune request = {
        .number = ++link->tune, .view = view ? view->number : 0, .kernels = kernels};
    int r = send_bytes(link, LINK_TUNE, 0, &request, sizeof request);
    if (r == 0)
        link->tuner = *tuner;
    return r;
}

void camera_link_stop_tune(struct camera_link *link)
{
    const struct link_tune request = {.number = link->tune, .stop = 1};

    if (link->tuner.progress) {
        link->tuner.progress = NULL;
        send_bytes(link, LINK_TUNE, 0, &request, sizeof request);
    }
}
