// Each client is bounded: it holds the text of one event and a position in the feed (event_feed.h).
#include "daemon/front/http/handlers.h"

#include <string.h>

#define KEEP_ALIVE_S 1 // a page takes a longer silence for a lost connection
#define KEEP_ALIVE ": still there\n\n"

struct follower {
    struct http_stream *stream; // borrowed
    struct event_reader reader;
    GString *text;    // owned; what it is being sent
    size_t sent;      // bytes of it
    guint keep_alive; // GLib source id
};

static gboolean on_keep_alive(gpointer data)
{
    struct follower *follower = data;

    if (follower->sent == follower->text->len) {
        g_string_append(follower->text, KEEP_ALIVE);
        http_stream_wake(follower->stream);
    }
    return G_SOURCE_CONTINUE;
}

static ssize_t send_more(void *context, char *buffer, size_t size)
{
    struct follower *follower = context;
    int result = 1;

    if (follower->sent == follower->text->len) {
        follower->sent = 0;
        g_string_truncate(follower->text, 0);
        result = event_reader_read(&follower->reader, follower->text);
    }
    if (result <= 0)
        return result < 0 ? HTTP_STREAM_BROKEN : 0;
    size = MIN(size, follower->text->len - follower->sent);
    memcpy(buffer, follower->text->str + follower->sent, size);
    follower->sent += size;
    return (ssize_t)size;
}

static void drop_follower(void *context)
{
    struct follower *follower = context;

    g_source_remove(follower->keep_alive);
    event_reader_finish(&follower->reader);
    g_string_free(follower->text, TRUE);
    g_free(follower);
}

static void on_event(void *context)
{
    const struct follower *follower = context;

    http_stream_wake(follower->stream);
}

HTTP_RESULT events_route_follow(struct http_call *call)
{
    const char *camera = http_query(call, "camera"), *region = http_query(call, "region");
    const struct http_head head = {.content_type = "text/event-stream"};
    struct lookup_absent absent;

    if (!lookup_region(call->model->config, call->role, camera, region, &absent))
        return http_refuse_absent(call->connection, &absent);
    struct follower *follower = g_new0(struct follower, 1);
    const struct http_stream_source source = {send_more, drop_follower, follower};

    follower->text = g_string_new(NULL);
    event_feed_open(call->model->feed, call->role, http_header_of(call->request, "Last-Event-ID"),
                    camera, region, &follower->reader);
    event_reader_begin(&follower->reader, follower->text);
    event_reader_watch(&follower->reader, on_event, follower);
    follower->keep_alive = g_timeout_add_seconds(KEEP_ALIVE_S, on_keep_alive, follower);
    return http_stream_begin(call->server, call->connection, &head, &source, &follower->stream);
}
