#include "daemon/front/rtsp/description.h"

#include "daemon/common/log.h"
#include "daemon/front/rtsp/sdp.h"

// So that the answer comes within a second, the way through the network included.
#define FIRST_PICTURE_MS 700

struct description_wait {
    struct connection *connection;
    struct stream *stream; // the cursor holds the reference
    struct cursor cursor;
    guint timer; // GLib source id
    int64_t sequence;
    struct rtsp_target target;
};

static void send_now(struct connection *connection, const struct stream *stream,
                     const struct rtsp_target *target, int64_t sequence)
{
    _cleanup_(cleanup_free) char *sdp =
        sdp_write(stream_path(stream), connection->local_name, stream_payloader(stream),
                  stream_parameter_sets(stream), stream_description_version(stream));
    GString *reply = rtsp_reply_new(sdp ? RTSP_OK : RTSP_INTERNAL_ERROR, sequence);

    if (sdp) {
        g_string_append_printf(reply, "Content-Base: %s/\r\n", target->base);
    }
    rtsp_reply_end(reply, "application/sdp", sdp);
    connection_reply(connection, reply);
}

static void drop(struct description_wait *wait)
{
    g_clear_handle_id(&wait->timer, g_source_remove);
    stream_leave(wait->stream, &wait->cursor);
    g_free(wait);
}

// Ends the wait of a connection's request, which has been answered.
static void finish(struct description_wait *wait)
{
    struct connection *connection = wait->connection;

    connection->wait = NULL;
    drop(wait);
    connection_resume(connection);
}

static void on_first_picture(void *context)
{
    struct description_wait *wait = context;

    if (!stream_is_described(wait->stream)) {
        cursor_peek(&wait->cursor);
        cursor_next(&wait->cursor);
        return;
    }
    send_now(wait->connection, wait->stream, &wait->target, wait->sequence);
    finish(wait);
}

static gboolean on_no_picture(gpointer data)
{
    struct description_wait *wait = data;
    GString *reply = rtsp_reply_new(RTSP_UNAVAILABLE, wait->sequence);
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    wait->timer = 0;
    if (rtsp_service_logs(wait->connection->service, wait->connection->address, suffix)) {
        log_info("%s: no picture yet, answering a viewer with 503%s", stream_path(wait->stream),
                 suffix);
    }
    g_string_append(reply, "Retry-After: 1\r\n");
    rtsp_reply_end(reply, NULL, NULL);
    connection_reply(wait->connection, reply);
    finish(wait);
    return G_SOURCE_REMOVE;
}

// Without a picture there is nothing to describe yet. A client that comes just after a start or a
// reload is answered a moment later.
static void wait_for_picture(struct connection *connection, struct stream *stream,
                             const struct rtsp_target *target, int64_t sequence)
{
    struct description_wait *wait = g_new0(struct description_wait, 1);

    wait->connection = connection;
    wait->stream = stream;
    wait->sequence = sequence;
    wait->target = *target;
    wait->timer = g_timeout_add(FIRST_PICTURE_MS, on_no_picture, wait);
    connection->wait = wait;
    connection->drop_wait = drop;
    stream_watch(stream, &wait->cursor, on_first_picture, wait);
    stream_resume(stream, &wait->cursor, DEMAND_BEGIN);
    cursor_peek(&wait->cursor); // from now on it is woken
}

void description_send(struct connection *connection, struct stream *stream,
                      const struct rtsp_target *target, int64_t sequence)
{
    if (stream_is_described(stream)) {
        send_now(connection, stream, target, sequence);
    } else {
        wait_for_picture(connection, stream, target, sequence);
    }
}
