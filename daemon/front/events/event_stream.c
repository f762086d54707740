#include "daemon/front/events/event_stream.h"

#include "config/base.h"

#include <glib-unix.h>
#include <poll.h>
#include <string.h>

#define BLOCK_BYTES 1024u
#define KEEP_ALIVE_S 15
#define KEEP_ALIVE ": still there\n\n"

struct event_stream {
    const struct event_feed *feed; // borrowed
    GPtrArray *followers;          // of struct follower, each owned by its response
    guint keep_alive;              // GLib source id; 0: nobody reads
    bool closing;
    void (*wake)(void *context);
    void *context;
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

struct event_stream *event_stream_new(const struct event_feed *feed, void (*wake)(void *context),
                                      void *context)
{
    struct event_stream *stream = g_new0(struct event_stream, 1);

    stream->wake = wake;
    stream->context = context;
    stream->feed = feed;
    stream->followers = g_ptr_array_new();
    return stream;
}

void event_stream_free(struct event_stream *stream)
{
    if (stream) {
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
        follower->stream->wake(follower->stream->context);
    }
}

void event_stream_tell(const struct event_stream *stream)
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
    event_stream_tell(stream);
}
