#include "daemon/front/supervise/camera_link.h"

#include "config/schema/schema.h"
#include "daemon/link/link_end.h"

#include <errno.h>
#include <string.h>

#define QUEUE_BYTES (1u << 20)
#define SILENCE_MS 5000
#define FIRST_SIGN_MS 60000          // GStreamer looks through its plugins at the first start
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
    struct link_end end;
    struct linked_view views[LINK_VIEWS_MAX];
    size_t view_count;
    uint32_t numbers; // given so far
    const struct camera_link_events *events;
    void *context;
    struct camera_link_tuner tuner; // `progress` NULL: there is no tune
    uint32_t tune;                  // the number of the newest
};

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

// A message is lost only when the process does not read, and such a process is noticed by its
// silence.
static int send_bytes(struct camera_link *link, enum link_type type, uint32_t view,
                      const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)bytes, size};

    return link_end_send(&link->end, type, view, &piece, size > 0);
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

static int take_event(void *context, struct link_message *message)
{
    const struct camera_link *link = context;
    const struct link_event *event = (const void *)message->payload;

    if (!is_event(event))
        return -EPROTO;
    link->events->motion(link->context, event);
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

static void settle_texts(struct link_telemetry *telemetry)
{
    telemetry->format[sizeof telemetry->format - 1] = 0;
    telemetry->path[sizeof telemetry->path - 1] = 0;
    telemetry->error[sizeof telemetry->error - 1] = 0;
    telemetry->backend[sizeof telemetry->backend - 1] = 0;
    telemetry->gpu[sizeof telemetry->gpu - 1] = 0;
    telemetry->refusal[sizeof telemetry->refusal - 1] = 0;
    for (size_t i = 0; i < LINK_VIEWS_MAX; i++) {
        telemetry->views[i].encoder[sizeof telemetry->views[i].encoder - 1] = 0;
        telemetry->views[i].governor[sizeof telemetry->views[i].governor - 1] = 0;
    }
}

static int take_telemetry(void *context, struct link_message *message)
{
    struct camera_link *link = context;
    struct link_telemetry *telemetry = (void *)message->payload;

    if (telemetry->state >= LINK_CAMERA_STATE_COUNT)
        return -EPROTO;
    settle_texts(telemetry);
    settle_heat(&telemetry->heat);
    settle_trials(telemetry->trials);
    for (size_t i = 0; i < LINK_REGIONS_MAX; i++) {
        if (telemetry->regions[i].name[0] && !is_region(&telemetry->regions[i]))
            return -EPROTO;
    }
    for (size_t i = 0; i < LINK_VIEWS_MAX; i++) {
        const struct linked_view *view = find_number(link, telemetry->views[i].view);

        if (view) {
            stream_set_rate(view->stream, telemetry->fps_milli);
            stream_set_patience(view->stream, CLAMP(telemetry->patience_ns, 0, PATIENCE_MAX_NS));
            stream_set_view_counters(view->stream, telemetry->views[i].encoded,
                                     telemetry->views[i].dropped, telemetry->views[i].encoder,
                                     telemetry->views[i].governor);
        }
    }
    link_end_expect(&link->end, SILENCE_MS);
    link->events->telemetry(link->context, telemetry);
    return 0;
}

static int take_slate(void *context, struct link_message *message)
{
    struct camera_link *link = context;
    const struct linked_view *view = find_number(link, message->header.view);

    if (!view)
        return 0;
    if (stream_take_slate(view->stream, TAKE(message->payload), message->header.size) < 0)
        return -EPROTO;
    link->events->slate(link->context);
    return 0;
}

static int take_access_unit(void *context, struct link_message *message)
{
    const struct linked_view *view = find_number(context, message->header.view);
    int r =
        view ? stream_take_access_unit(view->stream, TAKE(message->payload), message->header.size)
             : 0;

    return r < 0 ? -EPROTO : 0;
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
static int take_tune(void *context, struct link_message *message)
{
    struct camera_link *link = context;
    struct link_tune_progress *progress = (void *)message->payload;

    progress->sentence[sizeof progress->sentence - 1] = 0;
    if (!is_progress(progress))
        return -EPROTO;
    if (!link->tuner.progress || progress->number != link->tune)
        return 0;
    const struct camera_link_tuner tuner = link->tuner;
    const struct linked_view *view = find_number(link, progress->view);
    if (progress->kind >= LINK_TUNE_DONE)
        link->tuner.progress = NULL;
    tuner.progress(tuner.context, progress, view ? view->stream : NULL);
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

static int take_snapshot(void *context, struct link_message *message)
{
    struct camera_link *link = context;
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
    return r < 0 ? -EPROTO : 0;
}

static int take_fatal(void *context, struct link_message *message)
{
    const struct camera_link *link = context;

    link->events->ending(link->context, true, (const char *)message->payload);
    return 0;
}

static int take_restart(void *context, struct link_message *message)
{
    const struct camera_link *link = context;

    link->events->ending(link->context, false, (const char *)message->payload);
    return 0;
}

static int take_hanging(void *context, struct link_message *message)
{
    struct camera_link *link = context;

    return error_set(&link->end.error, -ETIME, "hangs: %s", (const char *)message->payload);
}

static int take_encoder_hung(void *context, struct link_message *message)
{
    struct camera_link *link = context;
    uint32_t encoder;

    memcpy(&encoder, message->payload, sizeof encoder);
    if (encoder == CONFIG_ENCODER_AUTO || encoder >= CONFIG_ENCODER_COUNT)
        return -EPROTO;
    link->events->encoder_hung(link->context, encoder);
    return error_set(&link->end.error, -EDEADLK, "hangs in an encoder");
}

static int take_gpu_fault(void *context, struct link_message *message)
{
    struct camera_link *link = context;

    return error_set(&link->end.error, -ENODEV, "%s", (const char *)message->payload);
}

static void on_ended(void *context, int reason, const char *sentence)
{
    const struct camera_link *link = context;

    link->events->ended(link->context, reason, sentence);
}

static const struct link_protocol protocol = {
    .kinds =
        {
            [LINK_HELLO] = {"hello", NULL, 0, true},
            [LINK_SLATE] = {"slate", take_slate, 0, true},
            [LINK_ACCESS_UNIT] = {"access unit", take_access_unit, 0, true},
            [LINK_JPEG] = {"snapshot", take_snapshot, 0, true},
            [LINK_TELEMETRY] = {"telemetry", take_telemetry, sizeof(struct link_telemetry), false},
            [LINK_FATAL] = {"fatal", take_fatal, 0, true},
            [LINK_GPU_FAULT] = {"GPU fault", take_gpu_fault, 0, true},
            [LINK_EVENT] = {"motion", take_event, sizeof(struct link_event), false},
            [LINK_ENCODER_HUNG] = {"hung encoder", take_encoder_hung, sizeof(uint32_t), false},
            [LINK_HANGING] = {"hanging", take_hanging, 0, true},
            [LINK_RESTART] = {"restart", take_restart, 0, true},
            [LINK_TUNE_PROGRESS] = {"tune", take_tune, sizeof(struct link_tune_progress), false},
        },
    .hello = LINK_HELLO,
    .queue_bytes = QUEUE_BYTES,
    .ended = on_ended,
};

void camera_link_receive_last(struct camera_link *link)
{
    for (int turn = 0; turn < LAST_TURNS && link_end_receive(&link->end); turn++) {
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
    int r = link_end_send(&link->end, LINK_CONFIGURE, 0, pieces, ARRAY_LENGTH(pieces));
    for (size_t i = 0; i < link->view_count && r == 0; i++)
        camera_link_update(link, link->views[i].stream, false);
    return r;
}

int camera_link_new(int fd, const struct camera_link_events *events, void *context,
                    struct camera_link **ret_link)
{
    struct camera_link *link = g_new0(struct camera_link, 1);
    int r = link_end_open(&link->end, fd, &protocol, link);

    if (r < 0) {
        g_free(link);
        return r;
    }
    link->events = events;
    link->context = context;
    link_end_expect(&link->end, FIRST_SIGN_MS);
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
    link_end_close(&link->end);
    g_free(link);
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
