#include "daemon/front/camera_link.h"

#include "config/schema.h"
#include "daemon/link/link.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>

#define CAMERA_LINK_QUEUE_BYTES (1u << 20)
#define EVENTS_MAX (UINT64_C(1) << 53) // what JSON carries exactly
#define AHEAD_MAX_NS (10 * NS_PER_S)   // of now, for a frame's time

struct camera_link {
    struct link *link; // owned
    struct stream *const *streams;
    size_t stream_count;
    bool watched[LINK_VIEWS_MAX]; // as told to the process
    bool greeted;                 // its hello came
    const struct camera_link_events *events;
    void *context;
    struct error error;            // how the process broke the protocol
    guint read_watch, write_watch; // GLib source ids; 0: none
};

static int reject(struct camera_link *link, const char *what, uint32_t size)
{
    return error_set(&link->error, -EPROTO, "sent a bad %s message of %u bytes", what, size);
}

static int handle_hello(struct camera_link *link, const struct link_message *message)
{
    const char *version = (const char *)message->payload;

    if (link->greeted) {
        return error_set(&link->error, -EPROTO, "sent a second hello");
    }
    link->greeted = true;
    return strcmp(version, EDGED_VERSION) == 0
               ? 0
               : error_set(&link->error, -EPROTO, "is of version %.32s and edged of " EDGED_VERSION,
                           version);
}

// What is shown as a name, counted and measured may be no nonsense.
static bool is_region(const struct link_region *region)
{
    return memchr(region->name, 0, sizeof region->name) && schema_name_rule.accepts(region->name) &&
           region->share >= 0 && region->share <= 1 && region->moving <= 1 &&
           region->events <= EVENTS_MAX;
}

static bool is_event(const struct link_event *event)
{
    return event->kind <= LINK_EVENT_MOTION_ENDED && is_region(&event->region) &&
           event->number > 0 && event->number <= EVENTS_MAX && event->peak_share >= 0 &&
           event->peak_share <= 1 && event->started_ns >= 0 && event->at_ns >= event->started_ns &&
           event->at_ns <= clock_now_ns() + AHEAD_MAX_NS;
}

static int handle_event(struct camera_link *link, const struct link_message *message)
{
    struct link_event event;

    if (message->header.size != sizeof event) {
        return reject(link, "motion", message->header.size);
    }
    memcpy(&event, message->payload, sizeof event);
    if (!is_event(&event)) {
        return reject(link, "motion", message->header.size);
    }
    return link->events->motion(link->context, &event) == 0
               ? 0
               : error_set(&link->error, -EPROTO, "has more than %d regions", LINK_REGIONS_MAX);
}

static int handle_telemetry(struct camera_link *link, const struct link_message *message)
{
    struct link_telemetry telemetry;

    if (message->header.size != sizeof telemetry) {
        return reject(link, "telemetry", message->header.size);
    }
    memcpy(&telemetry, message->payload, sizeof telemetry);
    if (telemetry.state >= LINK_CAMERA_STATE_COUNT) {
        return reject(link, "telemetry", message->header.size);
    }
    telemetry.format[sizeof telemetry.format - 1] = 0;
    telemetry.path[sizeof telemetry.path - 1] = 0;
    telemetry.error[sizeof telemetry.error - 1] = 0;
    telemetry.backend[sizeof telemetry.backend - 1] = 0;
    telemetry.gpu[sizeof telemetry.gpu - 1] = 0;
    for (size_t i = 0; i < LINK_REGIONS_MAX; i++) {
        if (telemetry.regions[i].name[0] && !is_region(&telemetry.regions[i])) {
            return reject(link, "telemetry", message->header.size);
        }
    }
    for (size_t i = 0; i < link->stream_count; i++) {
        telemetry.views[i].encoder[sizeof telemetry.views[i].encoder - 1] = 0;
        stream_set_view_counters(link->streams[i], telemetry.views[i].encoded,
                                 telemetry.views[i].dropped, telemetry.views[i].encoder);
    }
    link->events->telemetry(link->context, &telemetry);
    return 0;
}

static int handle_video(struct camera_link *link, struct link_message *message)
{
    bool slate = message->header.type == LINK_SLATE;

    if (message->header.view >= link->stream_count) {
        return reject(link, "video", message->header.size);
    }
    struct stream *stream = link->streams[message->header.view];
    size_t size = message->header.size;
    int r = slate ? stream_take_slate(stream, TAKE(message->payload), size)
                  : stream_take_access_unit(stream, TAKE(message->payload), size);
    if (r < 0) {
        return reject(link, slate ? "slate" : "access unit", message->header.size);
    }
    if (slate) {
        link->events->slate(link->context);
    }
    return 0;
}

static int on_message(void *context, struct link_message *message)
{
    struct camera_link *link = context;

    if (!link->greeted && message->header.type != LINK_HELLO) {
        return error_set(&link->error, -EPROTO, "sent no hello first");
    }
    switch (message->header.type) {
    case LINK_HELLO:
        return handle_hello(link, message);
    case LINK_TELEMETRY:
        return handle_telemetry(link, message);
    case LINK_SLATE:
    case LINK_ACCESS_UNIT:
        return handle_video(link, message);
    case LINK_EVENT:
        return handle_event(link, message);
    case LINK_FATAL:
        link->events->fatal(link->context, (const char *)message->payload);
        return 0;
    case LINK_GPU_FAULT:
        return error_set(&link->error, -ENODEV, "%s", (const char *)message->payload);
    default:
        return error_set(&link->error, -EPROTO, "sent a message of type %u", message->header.type);
    }
}

bool camera_link_receive(struct camera_link *link)
{
    int r = link_receive(link->link, on_message, link);

    if (r == 0) {
        return true;
    }
    if (!link->error.text[0]) {
        error_set(&link->error, r, r == -EPIPE ? "closed its link" : "sent what is no message");
    }
    struct error error = link->error;
    link->events->ended(link->context, r, error.text);
    return false;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    (void)fd;
    (void)condition;
    camera_link_receive(data); // frees the link, and with it this source, when it ended
    return G_SOURCE_CONTINUE;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer data)
{
    struct camera_link *link = data;

    (void)fd;
    (void)condition;
    // A broken pipe shows up on the reading side too, where it is handled.
    if (link_flush(link->link) == 0 && link_wants_write(link->link)) {
        return G_SOURCE_CONTINUE;
    }
    link->write_watch = 0;
    return G_SOURCE_REMOVE;
}

static void send_bytes(struct camera_link *link, enum link_type type, uint32_t view,
                       const void *bytes, size_t size)
{
    // Lost messages matter only to a process that does not read; silence gives that one away.
    link_send_bytes(link->link, type, view, bytes, size);
    if (!link->write_watch && link_wants_write(link->link)) {
        link->write_watch =
            g_unix_fd_add(link_fd(link->link), G_IO_OUT | G_IO_ERR, on_writable, link);
    }
}

int camera_link_new(int fd, const char *configuration, struct stream *const *streams,
                    size_t stream_count, const struct camera_link_events *events, void *context,
                    struct camera_link **ret_link)
{
    struct camera_link *link = calloc(1, sizeof *link);
    int r = link ? link_new(fd, CAMERA_LINK_QUEUE_BYTES, &link->link) : -ENOMEM;

    if (r < 0) {
        close(fd);
        free(link);
        return r;
    }
    link->streams = streams;
    link->stream_count = stream_count;
    link->events = events;
    link->context = context;
    link->read_watch = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, link);
    send_bytes(link, LINK_CONFIGURE, 0, configuration, strlen(configuration));
    for (size_t i = 0; i < stream_count; i++) {
        camera_link_update(link, streams[i], false);
    }
    *ret_link = link;
    return 0;
}

void camera_link_free(struct camera_link *link)
{
    if (!link) {
        return;
    }
    if (link->write_watch) {
        g_source_remove(link->write_watch);
    }
    if (link->read_watch) {
        g_source_remove(link->read_watch);
    }
    link_free(link->link);
    free(link);
}

void camera_link_update(struct camera_link *link, const struct stream *stream, bool key_frame)
{
    uint32_t view = 0;

    while (view < link->stream_count && link->streams[view] != stream) {
        view++;
    }
    if (view == link->stream_count) {
        return;
    }
    bool watched = stream_is_watched(link->streams[view]);
    if (watched != link->watched[view]) {
        link->watched[view] = watched;
        send_bytes(link, watched ? LINK_VIEW_START : LINK_VIEW_STOP, view, NULL, 0);
    } else if (watched && key_frame) {
        send_bytes(link, LINK_KEY_FRAME, view, NULL, 0);
    }
}

void camera_link_set_blocks(struct camera_link *link, const struct config_block *blocks)
{
    send_bytes(link, LINK_BLOCKS, 0, blocks, CONFIG_KERNEL_COUNT * sizeof *blocks);
}

void camera_link_try_gpu(struct camera_link *link, const char *backend)
{
    send_bytes(link, LINK_TRY_GPU, 0, backend, strlen(backend));
}
