// Event number n (from 1 on) is at kept[n % EVENT_FEED_KEPT] until number n + EVENT_FEED_KEPT takes
// its place. `moving` has a copy of each start whose end has not come.
#include "daemon/front/events/event_feed.h"

#include "config/base.h"

#include <errno.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 1024u
#define KEEP_ALIVE_S 15
#define KEEP_ALIVE ": still there\n\n"
#define RECONNECT_MS 2000 // what a browser waits before it comes back

struct event_feed {
    uint32_t run;
    uint64_t count; // of events so far: the number of the newest
    struct motion_event kept[EVENT_FEED_KEPT];
    GArray *moving;     // owned; of struct open_event
    GPtrArray *streams; // owned; of struct event_stream, borrowed
};

struct open_event {
    uint64_t number;
    struct motion_event event;
};

struct event_feed *event_feed_new(void)
{
    struct event_feed *feed = g_new0(struct event_feed, 1);

    feed->run = g_random_int();
    feed->moving = g_array_new(FALSE, FALSE, sizeof(struct open_event));
    feed->streams = g_ptr_array_new();
    return feed;
}

void event_feed_free(struct event_feed *feed)
{
    if (feed) {
        g_array_unref(feed->moving);
        g_ptr_array_unref(feed->streams);
        g_free(feed);
    }
}

static bool wants(const struct event_reader *reader, const struct motion_event *event)
{
    return event->role <= reader->role &&
           (!reader->camera || strcmp(reader->camera, event->camera) == 0) &&
           (!reader->region || strcmp(reader->region, event->region) == 0);
}

static void append(GString *text, const struct motion_event *event)
{
    g_autofree char *json = motion_json(event);

    g_string_append_printf(text, "event: %s\ndata: %s\n\n", motion_kind_name(event->kind), json);
}

static uint64_t oldest(const struct event_feed *feed)
{
    return feed->count < EVENT_FEED_KEPT ? 1 : feed->count - EVENT_FEED_KEPT + 1;
}

// The number of the event after `last_id`. 0: that event is not kept any more, or the id is of
// another run.
static uint64_t find_next(const struct event_feed *feed, const char *last_id)
{
    uint32_t run;
    uint64_t number;
    int length = 0;

    if (sscanf(last_id, "%8" SCNx32 "-%19" SCNu64 "%n", &run, &number, &length) != 2 ||
        last_id[length] || run != feed->run || number > feed->count || number + 1 < oldest(feed)) {
        return 0;
    }
    return number + 1;
}

// Appends the events under way that began before the one that the reader hears next.
static void append_moving(const struct event_feed *feed, const struct event_reader *reader,
                          GString *text)
{
    for (guint i = 0; i < feed->moving->len; i++) {
        const struct open_event *moving = &g_array_index(feed->moving, struct open_event, i);

        if (moving->number < reader->next && wants(reader, &moving->event)) {
            append(text, &moving->event);
        }
    }
}

void event_feed_open(const struct event_feed *feed, enum config_role role, const char *last_id,
                     const char *camera, const char *region, struct event_reader *ret_reader,
                     GString *text)
{
    uint64_t next = last_id ? find_next(feed, last_id) : 0;

    *ret_reader = (struct event_reader){
        .role = role,
        .camera = g_strdup(camera),
        .region = g_strdup(region),
        .next = next      ? next
                : last_id ? oldest(feed)
                          : feed->count + 1,
    };
    // An id without data: a reader that is cut off before its first event comes back with this id.
    g_string_append_printf(text, "retry: %d\nid: %08" PRIx32 "-%" PRIu64 "\n\n", RECONNECT_MS,
                           feed->run, ret_reader->next - 1);
    if (!next) {
        append_moving(feed, ret_reader, text);
    }
}

void event_reader_finish(struct event_reader *reader)
{
    g_free(reader->camera);
    g_free(reader->region);
    *reader = (struct event_reader){0};
}

int event_feed_read(const struct event_feed *feed, struct event_reader *reader, GString *text)
{
    while (reader->next <= feed->count) {
        const struct motion_event *event = &feed->kept[reader->next % EVENT_FEED_KEPT];

        if (reader->next < oldest(feed)) {
            return -ENOBUFS;
        }
        reader->next++;
        if (wants(reader, event)) {
            g_string_append_printf(text, "id: %08" PRIx32 "-%" PRIu64 "\n", feed->run,
                                   reader->next - 1);
            append(text, event);
            return 1;
        }
    }
    return 0;
}

// The readers on their connections
// ---------------------------------------------------------------------

struct event_stream {
    struct event_feed *feed; // borrowed
    GPtrArray *followers;    // of struct follower, each owned by its response
    guint keep_alive;        // GLib source id; 0: nobody reads
    bool closing;
    const struct http_server *server; // of the connections; borrowed
};

struct follower {
    struct event_stream *stream;       // borrowed
    struct MHD_Connection *connection; // borrowed
    struct event_reader reader;
    GString *text;  // owned; what it is being sent
    size_t sent;    // bytes of it
    bool suspended; // it waits for something to tell
    bool gone;      // it has hung up
    guint hang_up;  // watches for that while suspended; GLib source id
};

struct event_stream *event_stream_new(struct event_feed *feed, const struct http_server *server)
{
    struct event_stream *stream = g_new0(struct event_stream, 1);

    stream->feed = feed;
    stream->server = server;
    stream->followers = g_ptr_array_new();
    g_ptr_array_add(feed->streams, stream);
    return stream;
}

void event_stream_free(struct event_stream *stream)
{
    if (stream) {
        g_ptr_array_remove(stream->feed->streams, stream);
        g_ptr_array_unref(stream->followers);
        g_free(stream);
    }
}

static void resume(struct follower *follower)
{
    if (follower->suspended) {
        follower->suspended = false;
        g_clear_handle_id(&follower->hang_up, g_source_remove);
        MHD_resume_connection(follower->connection);
        http_server_wake(follower->stream->server);
    }
}

static void resume_all(const struct event_stream *stream)
{
    for (guint i = 0; i < stream->followers->len; i++) {
        resume(g_ptr_array_index(stream->followers, i));
    }
}

static gboolean on_hang_up(gint fd, GIOCondition condition, gpointer data)
{
    struct follower *follower = data;

    (void)fd, (void)condition;
    follower->gone = true;
    follower->hang_up = 0;
    resume(follower);
    return G_SOURCE_REMOVE;
}

// libmicrohttpd does not look at a suspended connection's socket, so this does. A TCP client that
// hangs up shows it by not sending any more (POLLRDHUP); one that still reads has no reason to do
// that.
static void suspend(struct follower *follower)
{
    int fd = MHD_get_connection_info(follower->connection, MHD_CONNECTION_INFO_CONNECTION_FD)
                 ->connect_fd;

    follower->suspended = true;
    follower->hang_up =
        g_unix_fd_add(fd, (GIOCondition)(G_IO_HUP | G_IO_ERR | POLLRDHUP), on_hang_up, follower);
    MHD_suspend_connection(follower->connection);
}

static gboolean on_keep_alive(gpointer data)
{
    const struct event_stream *stream = data;

    for (guint i = 0; i < stream->followers->len; i++) {
        struct follower *follower = g_ptr_array_index(stream->followers, i);

        if (follower->suspended) {
            g_string_append(follower->text, KEEP_ALIVE);
            resume(follower);
        }
    }
    return G_SOURCE_CONTINUE;
}

// What libmicrohttpd calls when it can send more.
static ssize_t read_more(void *context, uint64_t position, char *buffer, size_t size)
{
    struct follower *follower = context;
    struct event_stream *stream = follower->stream;
    int result = 1;

    (void)position;
    if (follower->sent == follower->text->len) {
        follower->sent = 0;
        g_string_truncate(follower->text, 0);
        result = event_feed_read(stream->feed, &follower->reader, follower->text);
    }
    if (follower->gone || result < 0) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (result == 0 && stream->closing) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (result == 0) {
        suspend(follower);
        return 0;
    }
    size = MIN(size, follower->text->len - follower->sent);
    memcpy(buffer, follower->text->str + follower->sent, size);
    follower->sent += size;
    return (ssize_t)size;
}

// What libmicrohttpd calls when the response is over, however it ended.
static void drop_follower(void *context)
{
    struct follower *follower = context;
    struct event_stream *stream = follower->stream;

    g_clear_handle_id(&follower->hang_up, g_source_remove);
    g_ptr_array_remove(stream->followers, follower);
    if (!stream->followers->len) {
        g_clear_handle_id(&stream->keep_alive, g_source_remove);
    }
    event_reader_finish(&follower->reader);
    g_string_free(follower->text, TRUE);
    g_free(follower);
}

static struct follower *add_follower(struct event_stream *stream, struct MHD_Connection *with,
                                     enum config_role role)
{
    struct follower *follower = g_new0(struct follower, 1);

    follower->stream = stream;
    follower->connection = with;
    follower->text = g_string_new(NULL);
    event_feed_open(stream->feed, role,
                    MHD_lookup_connection_value(with, MHD_HEADER_KIND, "Last-Event-ID"),
                    MHD_lookup_connection_value(with, MHD_GET_ARGUMENT_KIND, "camera"),
                    MHD_lookup_connection_value(with, MHD_GET_ARGUMENT_KIND, "region"),
                    &follower->reader, follower->text);
    g_ptr_array_add(stream->followers, follower);
    if (!stream->keep_alive) {
        stream->keep_alive = g_timeout_add_seconds(KEEP_ALIVE_S, on_keep_alive, stream);
    }
    return follower;
}

CONTROL_RESULT event_stream_answer(struct event_stream *stream, struct MHD_Connection *connection,
                                   enum config_role role)
{
    CONTROL_RESULT result;

    if (stream->followers->len >= EVENT_STREAM_READERS) {
        return control_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                              "no more clients may follow the events; try again later");
    }
    struct follower *added = add_follower(stream, connection, role);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_more, added, drop_follower);
    if (!response) {
        drop_follower(added);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response); // the connection holds its own reference
    return result;
}

void event_stream_close(struct event_stream *stream)
{
    stream->closing = true;
    resume_all(stream);
}

static void forget_moving(const struct event_feed *feed, const struct motion_event *event)
{
    for (guint i = 0; i < feed->moving->len; i++) {
        const struct motion_event *start = &g_array_index(feed->moving, struct open_event, i).event;

        if (strcmp(start->camera, event->camera) == 0 &&
            strcmp(start->region, event->region) == 0) {
            g_array_remove_index(feed->moving, i);
            return;
        }
    }
}

void event_feed_add(struct event_feed *feed, const struct motion_event *event)
{
    feed->count++;
    feed->kept[feed->count % EVENT_FEED_KEPT] = *event;
    forget_moving(feed, event);
    if (event->kind == MOTION_STARTED) {
        struct open_event moving = {feed->count, *event};

        g_array_append_val(feed->moving, moving);
    }
    for (guint i = 0; i < feed->streams->len; i++) {
        resume_all(g_ptr_array_index(feed->streams, i));
    }
}

// What a reader may ask for
// ---------------------------------------------------------------------

static enum config_role camera_role(const struct config_camera *camera)
{
    enum config_role least = CONFIG_ROLE_ADMIN;

    for (size_t i = 0; i < camera->view_count; i++) {
        least = MIN(least, config_view_role(&camera->views[i]));
    }
    return least;
}

enum config_role event_feed_role(const struct config *config, const char *camera)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        if (strcmp(config->cameras[i].name, camera) == 0) {
            return camera_role(&config->cameras[i]);
        }
    }
    return CONFIG_ROLE_ADMIN;
}

static bool is_asked(const char *asked, const char *name)
{
    return !asked || g_strcmp0(asked, name) == 0;
}

// Names of cameras need no escaping: the configuration allows only letters, digits, _ and -.
static char *list_cameras(const struct config *config, enum config_role role)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        if (camera_role(&config->cameras[i]) <= role) {
            g_string_append_printf(list, "%s\"%s\"", list->len ? ", " : "",
                                   config->cameras[i].name);
        }
    }
    return g_string_free(list, FALSE);
}

static char *list_regions(const struct config *config, enum config_role role, const char *camera)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *each = &config->cameras[i];

        if (camera_role(each) > role || !is_asked(camera, each->name)) {
            continue;
        }
        for (size_t j = 0; j < each->region_count; j++) {
            g_string_append_printf(list, "%s\"%s\" of camera \"%s\"", list->len ? ", " : "",
                                   each->regions[j].name, each->name);
        }
    }
    return g_string_free(list, FALSE);
}

static bool has_region(const struct config_camera *camera, const char *region)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        if (is_asked(region, camera->regions[i].name)) {
            return true;
        }
    }
    return !region;
}

char *event_feed_refuse(const struct config *config, enum config_role role, const char *camera,
                        const char *region)
{
    bool camera_there = !camera;

    for (size_t i = 0; i < config->camera_count; i++) {
        bool asked =
            is_asked(camera, config->cameras[i].name) && camera_role(&config->cameras[i]) <= role;

        if (asked && has_region(&config->cameras[i], region)) {
            return NULL;
        }
        camera_there |= asked;
    }
    g_autofree char *list =
        camera_there ? list_regions(config, role, camera) : list_cameras(config, role);
    return g_strdup_printf("there is no %s \"%s\"; there is %s", camera_there ? "region" : "camera",
                           camera_there ? region : camera, list[0] ? list : "none");
}
