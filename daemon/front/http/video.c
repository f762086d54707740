// Live video over HTTP, for pages and programs: each reply reads one or more views as a viewer of
// RTSP does, and goes on until its client hangs up. A view is encoded only while somebody watches
// it; a client that reads too slowly continues with a key frame and costs the others nothing. A
// client that reads nothing for 10 s is hung up on.
//
//   GET /v1/cameras/{camera}/views/{view}/video?format=records
//   GET /v1/video?view=front/edges&view=front/plain            up to VIDEO_VIEWS_MAX views
//   GET /v1/cameras/{camera}/views/{view}/video?format=mp4
//
// `records`, the default, is for WebCodecs (application/vnd.edged.records). Each record is a header
// of VIDEO_RECORD_HEADER bytes, integers with the highest byte first, and then the payload:
//
//   u32 length     of the payload
//   u8 kind        one of enum video_record; pass over those that you do not know
//   u8 view        the view's number in the request, from 0 on; VIDEO_ALL_VIEWS: not one's alone
//   u8 flags       enum video_flag, of a unit
//   u8             0
//   i64 time       microseconds since 1970 by the clock of day: of a unit, when its picture was
//                  captured, else of now
//
// `mp4` is for Media Source Extensions and players (video/mp4, with the codec as a parameter): an
// init segment, then a fragment with a `prft` for each picture, of one view; another init segment
// where the stream's parameter sets change, and an empty `free` box in a second without a picture.
// It begins with the first key frame; 503 where none comes in 10 s.
//
// A view that is removed, gets another codec, or may not be watched any more ends the reply within
// a second.
//
// A reply holds the reader of each of its views. Whenever libmicrohttpd has room, produce() fills
// it: with the rest of what is under way, which is `head`, then `unit`; and then begin_next()
// chooses what comes next. A unit's bytes go from the ring into libmicrohttpd's buffer, and nowhere
// else.
#include "daemon/front/http/handlers.h"

#include "daemon/common/json.h"
#include "daemon/front/model/status.h"
#include "daemon/front/stream/stream.h"
#include "daemon/video/mp4_writer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define VIDEO_VIEWS_MAX 16u
#define VIDEO_RECORD_HEADER 16u
#define VIDEO_ALL_VIEWS 255

enum video_record {
    // JSON, before a view's first unit and wherever it changes: "view" ("front/edges"), "codec"
    // (RFC 6381), "width", "height".
    VIDEO_CONFIGURATION = 1,
    // An access unit in Annex B. A key frame has its parameter sets in front.
    VIDEO_UNIT = 2,
    // JSON, at first and then each second: of /v1/status "cameras" and "mounts", those of the
    // views alone.
    VIDEO_STATUS = 3,
    // JSON: an event as in /v1/events, of a camera of the views. Regions that move already are in
    // the status.
    VIDEO_EVENT = 4,
};

enum video_flag {
    VIDEO_KEY_FRAME = 1,
    VIDEO_SLATE = 2, // NO SIGNAL, not a picture of the camera
};

// How many unsent bytes the kernel holds for a client, as for one of RTSP: more waits in the ring,
// which can skip.
#define UNSENT_BYTES 131072
#define PATIENCE_S 10 // for the first key frame of MP4
// The shortest and the longest duration that a picture of MP4 gets. A browser drops all up to the
// next key frame when a picture comes more than twice that after the one before (Media Source
// Extensions, 3.5.9).
#define DURATION_LEAST (MP4_CLOCK_HZ / 2)
#define DURATION_MOST (20 * MP4_CLOCK_HZ)

struct video_view {
    struct video_reply *reply;
    char name[2 * HTTP_PARAMETER_SIZE]; // "front/edges"
    const char *camera, *view;          // both in `parts`
    char parts[2 * HTTP_PARAMETER_SIZE];
    enum config_codec codec;
    struct stream *stream; // the reader holds the reference
    struct stream_reader reader;
    struct mp4_video video; // as its client was told; all 0: nothing yet
};

struct video_reply {
    const struct model *model;  // borrowed
    struct http_stream *stream; // borrowed; NULL: nothing is to be woken
    enum config_role role;
    bool is_mp4;
    struct video_view *views;       // owned
    unsigned view_count, next_view; // to be asked for a unit first
    struct event_reader events;
    guint timer;       // GLib source id
    unsigned waited_s; // for the first key frame
    bool begun;        // the head of the reply is sent
    bool events_begun, status_due, over;

    GByteArray *head; // owned; whole records, and what comes before the unit
    size_t head_sent;
    struct video_view *current; // whose unit follows the head; NULL: none does
    size_t unit_sent;
    struct mp4_sample_reader sample;

    // Of MP4.
    struct mp4_writer *writer; // owned; NULL: no key frame yet
    int64_t begin_ns;          // captured_ns of the first unit
    struct mp4_sample last;
    uint64_t longest; // recent distance of two pictures, which it forgets slowly; in ticks
};

// The part under way
// ---------------------------------------------------------------------

static size_t send_head(struct video_reply *reply, char *buffer, size_t size)
{
    size_t part = MIN(size, reply->head->len - reply->head_sent);

    if (part > 0) {
        memcpy(buffer, reply->head->data + reply->head_sent, part);
        reply->head_sent += part;
    }
    return part;
}

static size_t send_unit(struct video_reply *reply, char *buffer, size_t size)
{
    const struct unit *unit = reader_peek(&reply->current->reader);
    size_t part;

    if (reply->is_mp4)
        return mp4_sample_read(&reply->sample, (uint8_t *)buffer, size);
    part = MIN(size, unit->size - reply->unit_sent);
    memcpy(buffer, unit->bytes + reply->unit_sent, part);
    reply->unit_sent += part;
    return part;
}

static void put_header(GByteArray *head, enum video_record kind, unsigned view, unsigned flags,
                       size_t size, int64_t wall_ns)
{
    const uint32_t length = GUINT32_TO_BE((uint32_t)size);
    const uint8_t bytes[] = {kind, (uint8_t)view, (uint8_t)flags, 0};
    const int64_t time_us = GINT64_TO_BE(wall_ns / NS_PER_US);

    g_byte_array_append(head, (const guint8 *)&length, sizeof length);
    g_byte_array_append(head, bytes, sizeof bytes);
    g_byte_array_append(head, (const guint8 *)&time_us, sizeof time_us);
}

static int64_t wall_now_ns(void)
{
    return g_get_real_time() * NS_PER_US;
}

static void put_text(struct video_reply *reply, enum video_record kind, unsigned view,
                     const char *text)
{
    size_t size = strlen(text);

    put_header(reply->head, kind, view, 0, size, wall_now_ns());
    g_byte_array_append(reply->head, (const guint8 *)text, (guint)size);
}

// The next part
// ---------------------------------------------------------------------

static void put_status(struct video_reply *reply)
{
    const char *paths[VIDEO_VIEWS_MAX + 1] = {NULL};

    for (unsigned i = 0; i < reply->view_count; i++)
        paths[i] = stream_path(reply->views[i].stream);
    g_autofree char *text = status_of_views(reply->model, reply->role, paths);
    put_text(reply, VIDEO_STATUS, VIDEO_ALL_VIEWS, text);
    reply->status_due = false;
}

static bool is_of_views(const struct video_reply *reply, const struct event *event)
{
    for (unsigned i = 0; i < reply->view_count; i++) {
        if (strcmp(reply->views[i].camera, event->camera) == 0)
            return true;
    }
    return false;
}

// Motion alone: the state of the views is among the records already.
static void put_event(struct video_reply *reply, const struct event *event)
{
    if (*event->region && is_of_views(reply, event))
        put_text(reply, VIDEO_EVENT, VIDEO_ALL_VIEWS, event->json);
}

// A client that is too far behind has lost events, and goes on with the newest.
static void put_events(struct video_reply *reply)
{
    const struct event *event;
    int r;

    for (unsigned i = 0;
         !reply->events_begun && (event = event_reader_under_way(&reply->events, i)); i++) {
        put_event(reply, event);
    }
    reply->events_begun = true;
    while ((r = event_reader_next(&reply->events, &event)) != 0) {
        if (r < 0)
            event_reader_skip(&reply->events);
        else
            put_event(reply, event);
    }
}

static void put_configuration(struct video_view *view, const struct mp4_video *video)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autofree char *text = NULL;

    json_builder_begin_object(builder);
    json_add_string(builder, "view", view->name);
    json_add_string(builder, "codec", video->codecs);
    json_add_integer(builder, "width", video->picture.width);
    json_add_integer(builder, "height", video->picture.height);
    json_builder_end_object(builder);
    text = json_built_text(builder, false);
    put_text(view->reply, VIDEO_CONFIGURATION, (unsigned)(view - view->reply->views), text);
}

static void begin_mp4(struct video_reply *reply, const struct video_view *view)
{
    const struct mp4_settings settings = {.name = view->name};

    mp4_writer_free(reply->writer);
    reply->writer = mp4_writer_new(&view->video, &settings);
    mp4_writer_start(reply->writer, reply->head);
}

// Tells the client of the parameter sets of a key frame, if they are new to it. False: nobody could
// decode what follows.
static bool take_sets(struct video_view *view, const struct unit *unit)
{
    struct mp4_video video;

    if (!unit->key_frame)
        return view->video.configuration_size > 0;
    if (mp4_video_read(&video, view->codec, unit->bytes, unit->size) < 0)
        return false;
    if (!mp4_video_is_same(&video, &view->video)) {
        view->video = video;
        if (view->reply->is_mp4)
            begin_mp4(view->reply, view);
        else
            put_configuration(view, &video);
    }
    return true;
}

// Between two pictures of the camera, in whole frames a second where its rate is near; 0: unknown.
static uint32_t period(const struct video_view *view)
{
    uint32_t fps_milli = stream_rate(view->stream), whole = (fps_milli + 500) / 1000 * 1000;

    if (whole > 0 && ABS((int64_t)whole - fps_milli) * 50 < whole)
        fps_milli = whole;
    return fps_milli ? (uint32_t)MIN((uint64_t)MP4_CLOCK_HZ * 1000 / fps_milli, DURATION_MOST) : 0;
}

// The distance to the next picture is not known yet. A picture is said to last longer than that, so
// that no reader sees a hole behind it; players go by the next one's time.
static uint32_t duration(const struct video_reply *reply, const struct video_view *view)
{
    return (uint32_t)CLAMP(MAX(reply->longest, period(view)), DURATION_LEAST, DURATION_MOST);
}

// FFmpeg takes the first picture's duration for the stream's rate, so it is the camera's. Where the
// pictures of a camera are not evenly apart, the next one may come later than that: follow().
static uint32_t first_duration(const struct video_reply *reply, const struct video_view *view,
                               const struct unit *unit)
{
    uint32_t first = unit->slate ? 0 : period(view);

    return first ? first : duration(reply, view);
}

// When a picture is shown that was captured `ticks` after the first one. The second one follows the
// first without a hole, even if it came a little late: browsers may drop all from a hole up to the
// next key frame.
static uint64_t follow(const struct mp4_sample *last, int64_t ticks)
{
    bool is_second = last->time == 0 && ticks <= DURATION_LEAST;
    uint64_t time = (uint64_t)MAX(ticks, (int64_t)last->time + 1);

    return is_second ? MIN(time, last->duration) : time;
}

static void put_fragment(struct video_reply *reply, const struct video_view *view,
                         const struct unit *unit, int64_t wall_ns)
{
    struct mp4_sample sample = {
        .size = mp4_sample_size(view->codec, unit->bytes, unit->size),
        .key_frame = unit->key_frame,
    };

    if (reply->last.duration == 0) {
        reply->begin_ns = unit->captured_ns;
        sample.duration = first_duration(reply, view, unit);
    } else {
        int64_t ticks = (unit->captured_ns - reply->begin_ns) * (MP4_CLOCK_HZ / 10000) / 100000;

        sample.time = follow(&reply->last, ticks);
        reply->longest = MAX(sample.time - reply->last.time, reply->longest - reply->longest / 64);
        sample.duration = duration(reply, view);
    }
    mp4_writer_fragment(reply->writer, &sample, 1, wall_ns, reply->head);
    mp4_sample_begin(&reply->sample, view->codec, unit->bytes, unit->size);
    reply->last = sample;
}

static void begin_unit(struct video_reply *reply, struct video_view *view, const struct unit *unit)
{
    int64_t wall_ns = wall_now_ns() - (clock_now_ns() - unit->captured_ns);
    unsigned flags = (unit->key_frame ? VIDEO_KEY_FRAME : 0u) | (unit->slate ? VIDEO_SLATE : 0u);

    stream_note_sent(view->stream, unit);
    if (reply->is_mp4) {
        put_fragment(reply, view, unit, wall_ns);
    } else {
        put_header(reply->head, VIDEO_UNIT, (unsigned)(view - reply->views), flags, unit->size,
                   wall_ns);
    }
    reply->current = view;
    reply->unit_sent = 0;
}

// Begins with the next unit of any view, each in its turn. False: there is none; each reader then
// wakes the reply.
static bool find_unit(struct video_reply *reply)
{
    for (unsigned i = 0; i < reply->view_count; i++) {
        struct video_view *view = &reply->views[(reply->next_view + i) % reply->view_count];
        const struct unit *unit;

        while ((unit = reader_peek(&view->reader))) {
            if (take_sets(view, unit)) {
                reply->next_view = (unsigned)(view - reply->views) + 1;
                begin_unit(reply, view, unit);
                return true;
            }
            reader_next(&view->reader);
        }
    }
    return false;
}

// An empty box (ISO/IEC 14496-12, 8.1.2), as a sign of life while no picture comes.
static void put_sign_of_life(struct video_reply *reply)
{
    static const guint8 box[] = {0, 0, 0, 8, 'f', 'r', 'e', 'e'};

    g_byte_array_append(reply->head, box, sizeof box);
    reply->status_due = false;
}

static bool begin_next(struct video_reply *reply)
{
    if (reply->current) {
        reader_next(&reply->current->reader);
        reply->current = NULL;
    }
    g_byte_array_set_size(reply->head, 0);
    reply->head_sent = 0;
    if (reply->over)
        return false;
    if (!reply->is_mp4) {
        put_events(reply);
        if (reply->status_due)
            put_status(reply);
    }
    if (find_unit(reply))
        return true;
    if (reply->is_mp4 && reply->begun && reply->status_due)
        put_sign_of_life(reply);
    return reply->head->len > 0;
}

static ssize_t produce(void *context, char *buffer, size_t size)
{
    struct video_reply *reply = context;
    size_t written = 0;

    while (written < size) {
        size_t part = send_head(reply, buffer + written, size - written);

        if (part == 0 && reply->current)
            part = send_unit(reply, buffer + written, size - written);
        if (part == 0 && !begin_next(reply))
            break;
        written += part;
    }
    if (reply->current)
        reader_block(&reply->current->reader, written > 0);
    return written == 0 && reply->over ? HTTP_STREAM_END : (ssize_t)written;
}

// The life of a reply
// ---------------------------------------------------------------------

static void wake(void *context)
{
    const struct video_reply *reply = context;

    if (reply->stream)
        http_stream_wake(reply->stream);
}

static void release(void *context)
{
    struct video_reply *reply = context;

    g_clear_handle_id(&reply->timer, g_source_remove);
    for (unsigned i = 0; i < reply->view_count; i++) {
        stream_count_viewer(reply->views[i].stream, VIEWER_HTTP, -1);
        stream_leave(reply->views[i].stream, &reply->views[i].reader);
    }
    event_reader_finish(&reply->events);
    mp4_writer_free(reply->writer);
    g_byte_array_unref(reply->head);
    g_free(reply->views);
    g_free(reply);
}

static void end(void *context)
{
    struct video_reply *reply = context;

    reply->over = true;
    wake(reply);
}

static bool may_go_on(const struct video_reply *reply)
{
    for (unsigned i = 0; i < reply->view_count; i++) {
        const struct video_view *view = &reply->views[i];

        if (lookup_view(reply->model->cameras, reply->role, view->camera, view->view, NULL) !=
            view->stream) {
            return false;
        }
    }
    return true;
}

static gboolean on_second(gpointer data)
{
    struct video_reply *reply = data;

    reply->over |= !may_go_on(reply) || (!reply->begun && ++reply->waited_s >= PATIENCE_S);
    reply->status_due = true;
    wake(reply);
    return G_SOURCE_CONTINUE;
}

static void set_options(struct MHD_Connection *connection)
{
    const int yes = 1, unsent = UNSENT_BYTES;
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

// Replies, now that the type of the reply is known. Takes over `reply`.
static HTTP_RESULT start(const struct http_call *call, struct video_reply *reply)
{
    const struct http_stream_source source = {produce, release, reply};
    g_autofree char *type =
        reply->is_mp4 ? g_strdup_printf("video/mp4; codecs=\"%s\"", reply->views[0].video.codecs)
                      : g_strdup("application/vnd.edged.records");
    const struct http_header policy = http_media_policy(call);
    const struct http_head head = {.content_type = type, .headers = &policy, .count = 1};
    struct http_stream *stream = NULL;
    HTTP_RESULT result;

    reply->begun = true;
    set_options(call->connection);
    result = http_stream_begin(call->server, call->connection, &head, &source, &stream);
    if (stream && result == MHD_YES) { // else the reply is released
        reply->stream = stream;
        http_stream_set_end(stream, end);
    }
    return result;
}

// MP4 names its codec in the head of the reply, so it waits for the first key frame.
static HTTP_RESULT go_on(const struct http_call *call, struct video_reply *reply)
{
    const struct http_stream_source source = {.release = release, .context = reply};
    struct http_stream *stream = NULL;
    HTTP_RESULT result;

    reply->stream = NULL;
    if (!reply->is_mp4 || begin_next(reply))
        return start(call, reply);
    if (reply->over) {
        release(reply);
        return http_refuse_text(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "this view has no picture yet; try again later");
    }
    result = http_wait(call->server, call->request, &source, &stream);
    if (stream) { // else the reply is released
        reply->stream = stream;
        http_stream_set_end(stream, end);
    }
    return result;
}

// Begins to read the views.
static void begin(const struct http_call *call, struct video_reply *reply)
{
    reply->head = g_byte_array_new();
    reply->status_due = true;
    event_feed_open(call->model->feed, call->role, NULL, NULL, NULL, &reply->events);
    event_reader_watch(&reply->events, wake, reply);
    for (unsigned i = 0; i < reply->view_count; i++) {
        struct video_view *view = &reply->views[i];

        view->reply = reply;
        stream_watch(view->stream, &view->reader, wake, reply);
        stream_resume(view->stream, &view->reader, DEMAND_BEGIN);
        stream_count_viewer(view->stream, VIEWER_HTTP, 1);
    }
    reply->timer = g_timeout_add_seconds(1, on_second, reply);
}

// Requests
// ---------------------------------------------------------------------

// Reads "front/edges".
static bool read_name(struct video_view *view, const char *name)
{
    char *slash;

    if (strlen(name) >= sizeof view->name)
        return false;
    strcpy(view->name, name);
    strcpy(view->parts, name);
    slash = strchr(view->parts, '/');
    if (!slash || slash == view->parts || !slash[1])
        return false;
    *slash = 0;
    view->camera = view->parts;
    view->view = slash + 1;
    return true;
}

// Finds the stream of the view of that name and adds it to those of the reply. Whether it has; else
// the request is refused, as *ret_result.
static bool add_view(const struct http_call *call, struct video_reply *reply, const char *name,
                     HTTP_RESULT *ret_result)
{
    struct video_view *view = &reply->views[reply->view_count];
    struct lookup_absent absent;
    const GPtrArray *cameras = call->model->cameras;

    if (!read_name(view, name)) {
        *ret_result = http_refuse_value(call->connection, "view", name,
                                        "a camera and its view, as front/edges");
        return false;
    }
    view->stream = lookup_view(cameras, call->role, view->camera, view->view, &absent);
    if (!view->stream && lookup_view(cameras, CONFIG_ROLE_ADMIN, view->camera, view->view, NULL)) {
        g_free(absent.allowed);
        *ret_result = http_refuse_text(call->connection, MHD_HTTP_FORBIDDEN,
                                       "this user may not watch this view");
        return false;
    }
    if (!view->stream) {
        *ret_result = http_refuse_absent(call->connection, &absent);
        return false;
    }
    if (stream_payloader(view->stream) == &payload_jpeg) {
        *ret_result = http_refuse_text(call->connection, MHD_HTTP_NOT_ACCEPTABLE,
                                       "this view is JPEGs: use /stream.mjpg");
        return false;
    }
    view->codec =
        stream_payloader(view->stream) == &payload_h265 ? CONFIG_CODEC_H265 : CONFIG_CODEC_H264;
    reply->view_count++;
    return true;
}

static bool read_format(const struct http_call *call, struct video_reply *reply,
                        HTTP_RESULT *ret_result)
{
    const char *format = http_query(call, "format");

    reply->is_mp4 = g_strcmp0(format, "mp4") == 0;
    if (format && !reply->is_mp4 && strcmp(format, "records") != 0) {
        *ret_result = http_refuse_value(call->connection, "format", format, "records and mp4");
        return false;
    }
    return true;
}

static HTTP_RESULT reply_with(const struct http_call *call, const char *const *names,
                              unsigned count)
{
    struct video_reply *reply = http_take_waiting(call->request);
    HTTP_RESULT result = MHD_NO;
    bool good;

    if (reply)
        return go_on(call, reply);
    reply = g_new0(struct video_reply, 1);
    reply->model = call->model;
    reply->role = call->role;
    reply->views = g_new0(struct video_view, count);
    good = read_format(call, reply, &result);
    for (unsigned i = 0; i < count && good; i++)
        good = add_view(call, reply, names[i], &result);
    if (!good) {
        g_free(reply->views);
        g_free(reply);
        return result;
    }
    begin(call, reply);
    return go_on(call, reply);
}

HTTP_RESULT video_reply_one(struct http_call *call)
{
    g_autofree char *name = g_strconcat(call->parameters[0], "/", call->parameters[1], NULL);
    const char *const names[] = {name};

    return reply_with(call, names, 1);
}

struct name_list {
    const char *names[VIDEO_VIEWS_MAX];
    unsigned count; // may be more than there is room for
};

static HTTP_RESULT note_name(void *context, enum MHD_ValueKind kind, const char *name,
                             const char *value)
{
    struct name_list *list = context;

    (void)kind;
    if (strcmp(name, "view") == 0 && list->count++ < VIDEO_VIEWS_MAX)
        list->names[list->count - 1] = value ? value : "";
    return MHD_YES;
}

HTTP_RESULT video_reply_many(struct http_call *call)
{
    struct name_list list = {0};
    const char *format = http_query(call, "format");
    unsigned most = g_strcmp0(format, "mp4") == 0 ? 1 : VIDEO_VIEWS_MAX;

    MHD_get_connection_values(call->connection, MHD_GET_ARGUMENT_KIND, note_name, &list);
    if (list.count == 0 || list.count > most) {
        g_autofree char *count = g_strdup_printf("%u of them", list.count);

        return http_refuse_value(call->connection, "view", count,
                                 most == 1 ? "one, as view=front/edges"
                                           : "1 to 16, each as view=front/edges");
    }
    return reply_with(call, list.names, list.count);
}
