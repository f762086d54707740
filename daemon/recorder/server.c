#include "daemon/recorder/server.h"

#include "config/config.h"
#include "config/schema/schema.h"
#include "daemon/common/log.h"
#include "daemon/link/link_end.h"
#include "daemon/recorder/footage.h"
#include "daemon/recorder/timeline.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

// All bytes that were asked for, and a list.
#define QUEUE_BYTES (RECORD_READS_MAX * (RECORD_BYTES_MAX + 4096u) + (4u << 20))

// A question that waits for the disk. The archive knows it by its ticket, because another front
// begins again with the numbers of its requests.
struct waiting {
    uint32_t ticket, request;
    uint64_t id;
    bool is_read;
    int64_t until_ns; // 0: it was answered for the disk, or its front has left
};

struct recorder_server {
    int listener;        // -1: there is one front alone
    struct link_end end; // closed while no front is connected
    struct archive *archive;
    struct footage_pool pool;
    GArray *waiting;  // of struct waiting
    uint32_t tickets; // given so far
    guint accept_watch, tick_timer;
    void (*ended)(void *context);
    void *context;
};

// Sending
// ---------------------------------------------------------------------

// A front that does not read loses messages; it hears of states again, and gives up questions.
static void send_pieces(struct recorder_server *server, enum link_type type,
                        const struct iovec *pieces, int count)
{
    link_end_send(&server->end, type, 0, pieces, count);
}

static void send_message(struct recorder_server *server, enum link_type type, const void *bytes,
                         size_t size)
{
    send_pieces(server, type, &(struct iovec){(void *)bytes, size}, 1);
}

static void send_state(void *context)
{
    struct recorder_server *server = context;
    struct record_state_report report;

    archive_report(server->archive, &report);
    report.lost_units += server->pool.lost_units;
    send_message(server, RECORD_STATE, &report, sizeof report);
}

static void send_clip(void *context, const struct recording *recording)
{
    struct record_clip clip;

    recording_fill(recording, &clip);
    send_message(context, RECORD_CLIP, &clip, sizeof clip);
}

static void send_done(struct recorder_server *server, uint32_t request, int result, uint64_t id)
{
    struct record_done done = {.request = request, .error = result, .id = id};

    if (result < 0) {
        g_strlcpy(done.sentence,
                  result == -EEXIST ? "another file has the name that the clip would get"
                                    : strerror(-result),
                  sizeof done.sentence);
    }
    send_message(server, RECORD_DONE, &done, sizeof done);
}

static void send_bytes(struct recorder_server *server, uint32_t request, int result,
                       const uint8_t *bytes, size_t size, uint64_t total)
{
    const struct record_bytes head = {
        .request = request,
        .error = result,
        .total = total,
        .size = (uint32_t)size,
    };
    const struct iovec pieces[] = {{(void *)&head, sizeof head}, {(void *)bytes, size}};

    send_pieces(server, RECORD_BYTES, pieces, size ? 2 : 1);
}

// Questions that wait for the disk
// ---------------------------------------------------------------------

// Returns the ticket.
static uint32_t wait_for(struct recorder_server *server, uint32_t request, uint64_t id,
                         bool is_read)
{
    const struct waiting waiting = {
        .ticket = ++server->tickets,
        .request = request,
        .id = id,
        .is_read = is_read,
        .until_ns = clock_now_ns() + FOOTAGE_ANSWER_NS,
    };

    g_array_append_val(server->waiting, waiting);
    return waiting.ticket;
}

// Takes a question off the list. False: nobody waits for its answer any more.
static bool stop_waiting(struct recorder_server *server, uint32_t ticket,
                         struct waiting *ret_waiting)
{
    guint at = 0;

    while (g_array_index(server->waiting, struct waiting, at).ticket != ticket) {
        at++; // each ticket comes back once
    }
    *ret_waiting = g_array_index(server->waiting, struct waiting, at);
    g_array_remove_index(server->waiting, at);
    return ret_waiting->until_ns != 0;
}

static void on_changed(void *context, uint32_t ticket, int result)
{
    struct recorder_server *server = context;
    struct waiting waiting;

    if (stop_waiting(server, ticket, &waiting))
        send_done(server, waiting.request, result, waiting.id);
}

static void on_read(void *context, uint32_t ticket, int result, const uint8_t *bytes, size_t size,
                    uint64_t total)
{
    struct recorder_server *server = context;
    struct waiting waiting;

    if (stop_waiting(server, ticket, &waiting))
        send_bytes(server, waiting.request, result, bytes, size, total);
}

static void answer_late(struct recorder_server *server)
{
    int64_t now_ns = clock_now_ns();

    for (guint i = 0; i < server->waiting->len; i++) {
        struct waiting *waiting = &g_array_index(server->waiting, struct waiting, i);

        if (!waiting->until_ns || now_ns < waiting->until_ns)
            continue;
        waiting->until_ns = 0;
        if (waiting->is_read)
            send_bytes(server, waiting->request, -ETIMEDOUT, NULL, 0, 0);
        else
            send_done(server, waiting->request, -ETIMEDOUT, waiting->id);
    }
}

// Messages
// ---------------------------------------------------------------------

static bool ends_in_nul(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL;
}

static int take_storage(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_storage *storage = (const void *)message->payload;

    if (!ends_in_nul(storage->path, sizeof storage->path) || storage->path[0] != '/')
        return -EPROTO;
    if (!archive_configure(server->archive, storage)) {
        log_notice("storage.path is now %s, restarting", storage->path);
        server->ended(server->context);
    }
    send_state(server);
    return 0;
}

static int take_track(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_track *track = (const void *)message->payload;

    if (!ends_in_nul(track->camera, sizeof track->camera) ||
        !ends_in_nul(track->view, sizeof track->view) || track->mode > RECORD_ALWAYS ||
        (track->codec != CONFIG_CODEC_H264 && track->codec != CONFIG_CODEC_H265) ||
        track->before_ns < 0 || track->after_ns < 0 || track->max_clip_ns < NS_PER_S) {
        return -EPROTO;
    }
    return footage_set(&server->pool, message->header.view, track) ? 0 : -EPROTO;
}

static int take_track_end(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    struct footage *footage = footage_find(&server->pool, message->header.view);

    if (footage)
        footage_remove(&server->pool, footage);
    return 0;
}

static int take_unit(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    struct footage *footage = footage_find(&server->pool, message->header.view);

    if (footage)
        footage_take(footage, TAKE(message->payload), message->header.size);
    return 0;
}

static int take_wanted(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    struct footage *footage = footage_find(&server->pool, message->header.view);
    const struct record_wanted *wanted = (const void *)message->payload;

    if (wanted->region_count > RECORD_REGIONS_MAX)
        return -EPROTO;
    for (uint32_t i = 0; i < wanted->region_count; i++) {
        const struct record_motion *motion = &wanted->regions[i];

        if (!ends_in_nul(motion->region, sizeof motion->region) ||
            !schema_name_rule.accepts(motion->region) ||
            !(motion->peak >= 0 && motion->peak <= 1)) {
            return -EPROTO;
        }
    }
    if (footage)
        footage_want(footage, wanted);
    return 0;
}

static int take_picture(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    struct footage *footage = footage_find(&server->pool, message->header.view);
    const struct record_picture *picture = (const void *)message->payload;
    uint64_t id = footage ? footage_clip_at(footage, picture->captured_ns) : 0;

    if (id) {
        archive_put_picture(server->archive, id, TAKE(message->payload), sizeof *picture,
                            message->header.size - sizeof *picture);
    }
    return 0;
}

static int take_trigger(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    struct footage *footage = footage_find(&server->pool, message->header.view);
    const struct record_trigger *trigger = (const void *)message->payload;
    uint64_t id = 0;
    int r = footage ? footage_trigger(footage, trigger, &id) : -ENOENT;

    send_done(server, trigger->request, r, id);
    return 0;
}

static void send_clips(struct recorder_server *server, uint32_t request, const GPtrArray *found)
{
    g_autofree struct record_clip *clips = g_new(struct record_clip, RECORD_CLIPS_MAX);
    guint at = 0;

    do {
        struct record_clips head = {.request = request};

        for (; head.count < RECORD_CLIPS_MAX && at < found->len; head.count++, at++)
            recording_fill(found->pdata[at], &clips[head.count]);
        head.more = at < found->len;
        const struct iovec pieces[] = {{&head, sizeof head}, {clips, head.count * sizeof *clips}};
        send_pieces(server, RECORD_CLIPS, pieces, head.count ? 2 : 1);
    } while (at < found->len);
}

static int take_list(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_list *question = (const void *)message->payload;

    if (!ends_in_nul(question->camera, sizeof question->camera) ||
        !ends_in_nul(question->view, sizeof question->view) ||
        !ends_in_nul(question->region, sizeof question->region)) {
        return -EPROTO;
    }
    g_autoptr(GPtrArray) found = library_list(archive_library(server->archive), question);
    send_clips(server, question->request, found);
    return 0;
}

static void send_lane(struct recorder_server *server, uint32_t request, bool more,
                      const struct timeline_lane *lane, size_t size)
{
    struct record_lane head = {.request = request, .more = more};
    const struct iovec pieces[] = {{&head, sizeof head},
                                   {(void *)(lane ? lane->steps : NULL), size}};

    if (lane) {
        g_strlcpy(head.camera, lane->camera, sizeof head.camera);
        g_strlcpy(head.view, lane->view, sizeof head.view);
    }
    send_pieces(server, RECORD_LANE, pieces, lane ? 2 : 1);
}

static int take_timeline(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_timeline *question = (const void *)message->payload;

    if (!timeline_can_answer(question))
        return -EPROTO;
    g_autoptr(GPtrArray) lanes = timeline_make(archive_library(server->archive), question);
    size_t size = question->steps + question->days;
    for (guint i = 0; i < lanes->len; i++)
        send_lane(server, question->request, i + 1 < lanes->len, lanes->pdata[i], size);
    if (lanes->len == 0)
        send_lane(server, question->request, false, NULL, 0);
    return 0;
}

static int take_find(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_find *question = (const void *)message->payload;
    const struct recording *recording =
        library_find(archive_library(server->archive), question->id);
    g_autoptr(GPtrArray) found = g_ptr_array_new();

    if (recording)
        g_ptr_array_add(found, (gpointer)recording);
    send_clips(server, question->request, found);
    return 0;
}

static unsigned reads_waiting(const struct recorder_server *server)
{
    unsigned count = 0;

    for (guint i = 0; i < server->waiting->len; i++)
        count += g_array_index(server->waiting, struct waiting, i).is_read;
    return count;
}

static int take_read(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_read *question = (const void *)message->payload;

    if (question->size == 0 || question->size > RECORD_BYTES_MAX || question->part > RECORD_STILL)
        return -EPROTO;
    if (reads_waiting(server) >= RECORD_READS_MAX) {
        send_bytes(server, question->request, -EBUSY, NULL, 0, 0);
    } else {
        uint32_t ticket = wait_for(server, question->request, question->id, true);

        archive_read(server->archive, question, ticket, on_read, server);
    }
    return 0;
}

static int take_change(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_change *question = (const void *)message->payload;

    if (question->action < RECORD_KEEP || question->action > RECORD_DELETE)
        return -EPROTO;
    uint32_t ticket = wait_for(server, question->request, question->id, false);
    archive_change(server->archive, question->id, question->action, ticket, on_changed, server);
    return 0;
}

static int take_trial(void *context, struct link_message *message)
{
    struct recorder_server *server = context;
    const struct record_trial *question = (const void *)message->payload;

    struct record_done done = {.request = question->request};

    archive_try(server->archive, &question->storage, &done.clips, &done.bytes);
    send_message(server, RECORD_DONE, &done, sizeof done);
    return 0;
}

// Questions are answered once the folder is open; each begins with the request's number.
static int take_question(void *context, struct link_message *message)
{
    static int (*const answers[LINK_TYPE_COUNT])(void *context, struct link_message *message) = {
        [RECORD_TRIGGER] = take_trigger,   [RECORD_LIST] = take_list,
        [RECORD_TIMELINE] = take_timeline, [RECORD_FIND] = take_find,
        [RECORD_READ] = take_read,         [RECORD_CHANGE] = take_change,
        [RECORD_TRIAL] = take_trial,
    };
    struct recorder_server *server = context;
    uint32_t request;

    if (archive_is_open(server->archive))
        return answers[message->header.type](context, message);
    memcpy(&request, message->payload, sizeof request);
    send_done(server, request, -EAGAIN, 0);
    return 0;
}

// Connections
// ---------------------------------------------------------------------

static void clear_source(guint *source)
{
    if (*source) {
        g_source_remove(*source);
        *source = 0;
    }
}

static void disconnect(struct recorder_server *server)
{
    link_end_close(&server->end);
    for (guint i = 0; i < server->waiting->len; i++)
        g_array_index(server->waiting, struct waiting, i).until_ns = 0;
    footage_pool_disconnect(&server->pool);
}

static void on_ended(void *context, int reason, const char *sentence)
{
    struct recorder_server *server = context;

    if (reason != -EPIPE)
        log_error("the front %s, hanging up", sentence);
    disconnect(server);
    if (server->listener < 0)
        server->ended(server->context);
}

static const struct link_protocol protocol = {
    .kinds =
        {
            [RECORD_HELLO] = {"hello", NULL, 0, true},
            [RECORD_STORAGE] = {"storage", take_storage, sizeof(struct record_storage), false},
            [RECORD_TRACK] = {"track", take_track, sizeof(struct record_track), false},
            [RECORD_TRACK_END] = {"track end", take_track_end, 0, false},
            [RECORD_UNIT] = {"unit", take_unit, sizeof(struct record_unit), true},
            [RECORD_WANTED] = {"wanted", take_wanted, sizeof(struct record_wanted), false},
            [RECORD_PICTURE] = {"picture", take_picture, sizeof(struct record_picture), true},
            [RECORD_TRIGGER] = {"trigger", take_question, sizeof(struct record_trigger), false},
            [RECORD_LIST] = {"list", take_question, sizeof(struct record_list), false},
            [RECORD_TIMELINE] = {"timeline", take_question, sizeof(struct record_timeline), false},
            [RECORD_FIND] = {"find", take_question, sizeof(struct record_find), false},
            [RECORD_READ] = {"read", take_question, sizeof(struct record_read), false},
            [RECORD_CHANGE] = {"change", take_question, sizeof(struct record_change), false},
            [RECORD_TRIAL] = {"trial", take_question, sizeof(struct record_trial), false},
        },
    .hello = RECORD_HELLO,
    .queue_bytes = QUEUE_BYTES,
    .ended = on_ended,
};

// Takes over `fd`.
static int connect_front(struct recorder_server *server, int fd)
{
    int r = link_end_open(&server->end, fd, &protocol, server);

    if (r == 0)
        link_end_send_hello(&server->end);
    return r;
}

static gboolean on_connection(gint listener, GIOCondition condition, gpointer data)
{
    struct recorder_server *server = data;
    // cppcheck-suppress nullPointer // nobody asks for the address
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    (void)condition;
    if (fd < 0)
        return G_SOURCE_CONTINUE;
    if (server->end.link)
        disconnect(server);
    int r = connect_front(server, fd);
    if (r < 0)
        log_error("a front that connected: %s", strerror(-r));
    return G_SOURCE_CONTINUE;
}

static gboolean on_tick(gpointer data)
{
    struct recorder_server *server = data;

    footage_pool_tick(&server->pool);
    archive_tick(server->archive);
    answer_late(server);
    send_state(server);
    sd_notify(0, "WATCHDOG=1");
    return G_SOURCE_CONTINUE;
}

static void give_up_clips(void *context)
{
    struct recorder_server *server = context;

    footage_pool_give_up_clips(&server->pool);
}

static void give_up_clip(void *context, uint64_t id)
{
    struct recorder_server *server = context;

    footage_pool_give_up_clip(&server->pool, id);
}

static const struct archive_events archive_events = {
    .lost = give_up_clip,
    .stopped = give_up_clips,
    .state = send_state,
    .clip = send_clip,
};

static bool is_listening(int fd)
{
    int value = 0;
    socklen_t size = sizeof value;

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value;
}

int recorder_server_new(int fd, void (*ended)(void *context), void *context, struct error *error,
                        struct recorder_server **ret_server)
{
    struct recorder_server *server = g_new0(struct recorder_server, 1);
    int r = 0;

    server->ended = ended;
    server->context = context;
    server->waiting = g_array_new(FALSE, FALSE, sizeof(struct waiting));
    server->archive = archive_new(&archive_events, server);
    footage_pool_init(&server->pool, server->archive);
    server->listener = is_listening(fd) ? fd : -1;
    if (server->listener >= 0)
        server->accept_watch = g_unix_fd_add(fd, G_IO_IN, on_connection, server);
    else
        r = connect_front(server, fd);
    if (r < 0) {
        recorder_server_free(server);
        return error_set(error, r, "the socket %d: %s", fd, strerror(-r));
    }
    server->tick_timer = g_timeout_add(1000, on_tick, server);
    *ret_server = server;
    return 0;
}

// Stops serving first; then ends the clips, which gives the archive its last jobs; then waits for
// those. A disk that fails meanwhile finds no view that it could be told to.
void recorder_server_free(struct recorder_server *server)
{
    if (!server)
        return;
    clear_source(&server->accept_watch);
    clear_source(&server->tick_timer);
    disconnect(server);
    footage_pool_finish(&server->pool);
    archive_free(server->archive);
    cleanup_close(&server->listener);
    g_array_unref(server->waiting);
    g_free(server);
}
