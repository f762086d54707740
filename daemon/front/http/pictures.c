// Each request becomes a picture_viewer and waits, suspended, for a first JPEG: only then is known
// whether there is one. A snapshot ends with it. A stream asks for the next one when the last has
// been sent and its time has come, so nothing ever queues.

#include "daemon/front/http/handlers.h"

#include "daemon/front/stream/stream.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRESH_NS (100 * NS_PER_MS) // what is not older is a picture of now
#define PATIENCE_NS NS_PER_S       // for the first one
#define OLDEST_NS (2 * NS_PER_S)   // of a slow camera, whose newest is shown instead
#define SILENCE_NS (10 * NS_PER_S) // after which a stream ends
#define LOOK_NS NS_PER_S           // a stream looks so often whether it may go on
#define FPS_MIN 0.1
#define FPS_MAX 120
#define BOUNDARY "edged"
#define RETRY_AFTER_S "1"

struct picture_viewer {
    const struct model *model; // borrowed
    enum config_role role;
    char *camera, *view;   // as asked for; owned; NULL: any
    struct stream *stream; // a reference
    struct still_waiter waiter;
    struct still *still;       // a reference; to be sent; NULL: none yet
    struct http_stream *reply; // borrowed; NULL: nothing is to be woken
    guint timer;               // GLib source id; 0: none

    // Of a stream.
    bool counts;         // among the viewers of the view
    int64_t interval_ns; // between two pictures; 0: as they come
    int64_t due_ns;      // the next one
    int64_t came_ns;     // when the last one came
    char *head;          // before the bytes of `still`; owned
    size_t sent;         // of head, bytes and the boundary behind them
    bool over;
};

static void free_viewer(void *context)
{
    struct picture_viewer *viewer = context;

    g_clear_handle_id(&viewer->timer, g_source_remove);
    stills_leave(&viewer->waiter);
    still_unref(viewer->still);
    if (viewer->counts)
        stream_count_viewer(viewer->stream, VIEWER_HTTP, -1);
    stream_unref(viewer->stream);
    g_free(viewer->camera);
    g_free(viewer->view);
    g_free(viewer->head);
    g_free(viewer);
}

// Requests
// ---------------------------------------------------------------------

// Finds the scale by its word in ?scale= or in ?width=: one of those from `first` on, before `end`.
static bool read_scale(const char *text, unsigned first, unsigned end, unsigned *ret_scale)
{
    static const char *const words[LINK_SCALES] = {"1", "1/2", "1/4", "1/8", "160", "320", "640"};

    for (unsigned i = first; i < end; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_scale = i;
            return true;
        }
    }
    return false;
}

static bool read_fps(const char *text, int64_t *ret_interval_ns)
{
    char *end;
    double fps = g_ascii_strtod(text, &end);

    if (end == text || *end || !(fps >= FPS_MIN && fps <= FPS_MAX))
        return false;
    *ret_interval_ns = (int64_t)((double)NS_PER_S / fps);
    return true;
}

// NULL: the request is refused, as *ret_result.
static struct picture_viewer *new_viewer(const struct http_call *call, HTTP_RESULT *ret_result)
{
    const char *camera = http_query(call, "camera"), *view = http_query(call, "view"),
               *scale = http_query(call, "scale"), *width = http_query(call, "width"),
               *fps = http_query(call, "fps");
    struct lookup_absent absent;
    struct picture_viewer asked = {.model = call->model, .role = call->role};
    struct picture_viewer *viewer;

    if (scale && !read_scale(scale, 0, LINK_HALVINGS, &asked.waiter.scale)) {
        *ret_result = http_refuse_value(call->connection, "scale", scale, "1, 1/2, 1/4 and 1/8");
        return NULL;
    }
    if (width && (scale || !read_scale(width, LINK_HALVINGS, LINK_SCALES, &asked.waiter.scale))) {
        *ret_result =
            http_refuse_value(call->connection, "width", width, "160, 320 and 640, and no `scale`");
        return NULL;
    }
    if (fps && !read_fps(fps, &asked.interval_ns)) {
        *ret_result = http_refuse_value(call->connection, "fps", fps, "a number from 0.1 to 120");
        return NULL;
    }
    camera = camera && *camera ? camera : NULL;
    view = view && *view ? view : NULL;
    asked.stream = lookup_view(call->model->cameras, call->role, camera, view, &absent);
    if (!asked.stream) {
        *ret_result = http_refuse_absent(call->connection, &absent);
        return NULL;
    }
    viewer = g_new(struct picture_viewer, 1);
    *viewer = asked;
    stream_ref(viewer->stream);
    viewer->camera = g_strdup(camera);
    viewer->view = g_strdup(view);
    return viewer;
}

// Waiting for a picture
// ---------------------------------------------------------------------

static void wake(struct picture_viewer *viewer)
{
    if (viewer->reply)
        http_stream_wake(viewer->reply);
}

static void take_still(void *context, struct still *still)
{
    struct picture_viewer *viewer = context;

    viewer->still = still_ref(still);
    viewer->came_ns = clock_now_ns();
    wake(viewer);
}

static gboolean give_up_first(gpointer data)
{
    struct picture_viewer *viewer = data;

    viewer->timer = 0;
    stills_leave(&viewer->waiter);
    wake(viewer);
    return G_SOURCE_REMOVE;
}

static void begin_wait(struct picture_viewer *viewer, int64_t after_ns)
{
    viewer->waiter.ready = take_still;
    viewer->waiter.context = viewer;
    viewer->waiter.after_ns = after_ns;
    stills_wait(stream_stills(viewer->stream), &viewer->waiter);
}

// Replies to a request that has a picture, or has waited for one in vain. Takes over the viewer.
typedef HTTP_RESULT reply_function(const struct http_call *call, struct picture_viewer *viewer);

// Waits for the first picture. `reply` is called at once, or when the request has waited.
static HTTP_RESULT reply_with_first(const struct http_call *call, reply_function *reply)
{
    struct picture_viewer *viewer = http_take_waiting(call->request);
    HTTP_RESULT result = MHD_NO;

    if (viewer) {
        viewer->reply = NULL;
        g_clear_handle_id(&viewer->timer, g_source_remove);
        stills_leave(&viewer->waiter); // the server may end before a picture came
        return reply(call, viewer);
    }
    viewer = new_viewer(call, &result);
    if (!viewer)
        return result;
    int64_t after_ns = clock_now_ns() - FRESH_NS;
    struct still *newest =
        stills_newest(stream_stills(viewer->stream), viewer->waiter.scale, after_ns);
    if (newest) {
        take_still(viewer, newest);
        return reply(call, viewer);
    }
    begin_wait(viewer, after_ns);
    viewer->timer = g_timeout_add(PATIENCE_NS / NS_PER_MS, give_up_first, viewer);
    return http_wait(call->server, call->request,
                     &(struct http_stream_source){.release = free_viewer, .context = viewer},
                     &viewer->reply);
}

static HTTP_RESULT refuse_no_picture(const struct http_call *call, struct picture_viewer *viewer)
{
    static const char *const retry_after = RETRY_AFTER_S;
    g_autofree char *sentence = g_strdup_printf(
        "there is no picture of %s now: see the camera in /v1/status", stream_path(viewer->stream));

    free_viewer(viewer);
    return http_refuse_with(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            MHD_HTTP_HEADER_RETRY_AFTER, &retry_after, 1, sentence, NULL);
}

// A slow camera may have brought nothing within the time.
static void take_older(struct picture_viewer *viewer)
{
    struct still *newest = stills_newest(stream_stills(viewer->stream), viewer->waiter.scale,
                                         clock_now_ns() - OLDEST_NS);

    if (!viewer->still && newest)
        take_still(viewer, newest);
}

// Times of capture
// ---------------------------------------------------------------------

// Microseconds since 1970.
static int64_t captured_us(const struct still *still)
{
    return g_get_real_time() - (clock_now_ns() - still->captured_ns) / NS_PER_US;
}

static void format_seconds(int64_t us, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%lld.%06lld", (long long)(us / G_USEC_PER_SEC),
             (long long)(us % G_USEC_PER_SEC));
}

// As RFC 9110 has it, in English whatever the locale.
static char *format_date(int64_t us)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t seconds = (time_t)(us / G_USEC_PER_SEC);
    struct tm time;

    gmtime_r(&seconds, &time);
    return g_strdup_printf("%s, %02d %s %d %02d:%02d:%02d GMT", days[time.tm_wday], time.tm_mday,
                           months[time.tm_mon], time.tm_year + 1900, time.tm_hour, time.tm_min,
                           time.tm_sec);
}

// A snapshot
// ---------------------------------------------------------------------

// "/front/edges" as "front-edges".
static char *name_file(const struct stream *stream)
{
    char *name = g_strdelimit(g_strdup(stream_path(stream) + 1), "/", '-');
    char *header = g_strdup_printf("inline; filename=\"%s.jpg\"", name);

    g_free(name);
    return header;
}

static HTTP_RESULT reply_snapshot(const struct http_call *call, struct picture_viewer *viewer)
{
    take_older(viewer);
    if (!viewer->still)
        return refuse_no_picture(call, viewer);
    const struct still *still = viewer->still;
    int64_t us = captured_us(still);
    g_autofree char *date = format_date(us), *file = name_file(viewer->stream);
    char seconds[32], tag[64];

    format_seconds(us, seconds, sizeof seconds);
    snprintf(tag, sizeof tag, "\"%" PRIx64 "-%zx\"", (uint64_t)still->captured_ns, still->size);
    const struct http_header headers[] = {{MHD_HTTP_HEADER_LAST_MODIFIED, date},
                                          {MHD_HTTP_HEADER_ETAG, tag},
                                          {"X-Timestamp", seconds},
                                          {MHD_HTTP_HEADER_CONTENT_DISPOSITION, file},
                                          http_media_policy(call)};
    bool is_known = http_has_tag(call->connection, tag);
    size_t size = is_known ? 0 : still->size;
    void *bytes = g_memdup(still->bytes, (guint)size);

    free_viewer(viewer);
    return http_reply_bytes(call->connection, is_known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                            "image/jpeg", headers, ARRAY_LENGTH(headers), bytes, size);
}

HTTP_RESULT pictures_reply_snapshot(struct http_call *call)
{
    return reply_with_first(call, reply_snapshot);
}

// A stream
// ---------------------------------------------------------------------

// The boundary comes right behind each picture: browsers show it only then.
static const char boundary[] = "\r\n--" BOUNDARY "\r\n";

static char *write_head(const struct still *still, bool first)
{
    char seconds[32];

    format_seconds(captured_us(still), seconds, sizeof seconds);
    return g_strdup_printf("%sContent-Type: image/jpeg\r\nContent-Length: %zu\r\n"
                           "X-Timestamp: %s\r\n\r\n",
                           first ? boundary + 2 : "", still->size, seconds);
}

// Whether the view is still there, and may be watched.
static bool may_go_on(const struct picture_viewer *viewer)
{
    return lookup_view(viewer->model->cameras, viewer->role, viewer->camera, viewer->view, NULL) ==
           viewer->stream;
}

// A newer picture than the last: one that others have had made just now, or one that is to come.
static void ask_for_next(struct picture_viewer *viewer)
{
    struct stills *stills = stream_stills(viewer->stream);
    int64_t last_ns = viewer->waiter.after_ns, now_ns = clock_now_ns();
    struct still *newest =
        stills_newest(stills, viewer->waiter.scale, MAX(last_ns, now_ns - FRESH_NS));

    if (newest)
        take_still(viewer, newest);
    else
        begin_wait(viewer, last_ns);
}

// Asks for the picture that is due; or, while one is waited for or sent, has a look.
static gboolean on_stream_timer(gpointer data)
{
    struct picture_viewer *viewer = data;
    int64_t now_ns = clock_now_ns();

    if (!may_go_on(viewer) || now_ns - viewer->came_ns > SILENCE_NS + viewer->interval_ns) {
        viewer->over = true;
        wake(viewer);
    } else if (!viewer->still && !viewer->over) {
        stills_leave(&viewer->waiter); // where the link lost what it asked for, it is asked again
        ask_for_next(viewer);
    }
    viewer->timer = g_timeout_add(LOOK_NS / NS_PER_MS, on_stream_timer, viewer);
    return G_SOURCE_REMOVE;
}

// The picture has been sent: asks for the next one when that is due.
static void end_picture(struct picture_viewer *viewer)
{
    int64_t now_ns = clock_now_ns();

    viewer->waiter.after_ns = viewer->still->captured_ns;
    still_unref(TAKE(viewer->still));
    g_clear_pointer(&viewer->head, g_free);
    viewer->sent = 0;
    viewer->due_ns = MAX(viewer->due_ns + viewer->interval_ns, now_ns);
    if (viewer->due_ns > now_ns) {
        g_clear_handle_id(&viewer->timer, g_source_remove);
        viewer->timer =
            g_timeout_add((guint)((viewer->due_ns - now_ns) / NS_PER_MS), on_stream_timer, viewer);
    } else {
        ask_for_next(viewer);
    }
}

// Copies what fits of one part, of which `*offset` bytes have been sent or belong to parts before.
static size_t copy_part(const void *part, size_t part_size, size_t *offset, char *buffer,
                        size_t room)
{
    size_t skip = MIN(*offset, part_size), size = MIN(part_size - skip, room);

    *offset -= skip;
    memcpy(buffer, (const char *)part + skip, size);
    return size;
}

static ssize_t produce(void *context, char *buffer, size_t size)
{
    struct picture_viewer *viewer = context;
    size_t offset = viewer->sent, made = 0;

    if (viewer->over || !viewer->still)
        return viewer->over ? HTTP_STREAM_END : 0;
    if (!viewer->head)
        viewer->head = write_head(viewer->still, !viewer->due_ns);
    const struct still *still = viewer->still;
    made += copy_part(viewer->head, strlen(viewer->head), &offset, buffer, size);
    made += copy_part(still->bytes, still->size, &offset, buffer + made, size - made);
    made += copy_part(boundary, strlen(boundary), &offset, buffer + made, size - made);
    viewer->sent += made;
    if (viewer->sent == strlen(viewer->head) + still->size + strlen(boundary))
        end_picture(viewer);
    return (ssize_t)made;
}

static HTTP_RESULT reply_stream(const struct http_call *call, struct picture_viewer *viewer)
{
    const struct http_stream_source source = {produce, free_viewer, viewer};
    const struct http_header policy = http_media_policy(call);
    const struct http_head head = {.content_type = "multipart/x-mixed-replace; boundary=" BOUNDARY,
                                   .headers = &policy,
                                   .count = 1};

    take_older(viewer);
    if (!viewer->still)
        return refuse_no_picture(call, viewer);
    viewer->timer = g_timeout_add(LOOK_NS / NS_PER_MS, on_stream_timer, viewer);
    viewer->counts = true;
    stream_count_viewer(viewer->stream, VIEWER_HTTP, 1);
    return http_stream_begin(call->server, call->connection, &head, &source, &viewer->reply);
}

HTTP_RESULT pictures_reply_stream(struct http_call *call)
{
    return reply_with_first(call, reply_stream);
}
