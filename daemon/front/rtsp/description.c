#include "daemon/front/rtsp/description.h"

#include "daemon/common/log.h"
#include "daemon/front/rtsp/message.h"

#include <string.h>

// So that the answer comes within a second, the way through the network included.
#define FIRST_PICTURE_MS 700

struct description_wait {
    struct connection *connection;
    struct stream *stream; // the reader holds the reference
    struct stream_reader reader;
    guint timer; // GLib source id
    int64_t sequence;
    struct rtsp_target target;
};

// Seconds since 1970, at the first call: a number that no other start of the server has, and that
// is the same for one session however often it is described (section 5.2).
static long long session_number(void)
{
    static time_t number;

    number = number ? number : time(NULL);
    return number;
}

// Lines in the order of section 5.
char *sdp_write(const char *name, const char *address, const struct payloader_ops *payloader,
                const struct parameter_sets *sets, unsigned version)
{
    const char *family = strchr(address, ':') ? "IP6" : "IP4";
    const char *any = strchr(address, ':') ? "::" : "0.0.0.0";
    unsigned type = payloader->payload_type;
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "v=0\r\no=- %lld %u IN %s %s\r\ns=%s\r\n", session_number(),
                           version, family, address, name);
    g_string_append_printf(text, "c=IN %s %s\r\nt=0 0\r\na=tool:edged " EDGED_VERSION "\r\n",
                           family, any);
    g_string_append(text, "a=type:broadcast\r\na=control:*\r\na=range:npt=now-\r\n");
    g_string_append_printf(text, "m=video 0 RTP/AVP %u\r\na=rtpmap:%u %s/%d\r\n", type, type,
                           payloader->encoding, RTP_CLOCK_HZ);
    if (payloader->write_fmtp) {
        g_string_append_printf(text, "a=fmtp:%u ", type);
        payloader->write_fmtp(sets, text);
        g_string_append(text, "\r\n");
    }
    g_string_append(text, "a=control:" RTSP_MEDIA_CONTROL "\r\n");
    return g_string_free(text, FALSE);
}

static void send_now(struct connection *connection, const struct stream *stream,
                     const struct rtsp_target *target, int64_t sequence)
{
    g_autofree char *sdp =
        sdp_write(stream_path(stream), connection->local_name, stream_payloader(stream),
                  stream_parameter_sets(stream), stream_description_version(stream));
    GString *reply = rtsp_reply_new(RTSP_OK, sequence);

    g_string_append_printf(reply, "Content-Base: %s/\r\n", target->base);
    rtsp_reply_end(reply, "application/sdp", sdp);
    rtsp_service_reply(connection, reply);
}

void description_drop(struct connection *connection)
{
    struct description_wait *wait = connection->wait;

    if (wait) {
        connection->wait = NULL;
        g_clear_handle_id(&wait->timer, g_source_remove);
        stream_leave(wait->stream, &wait->reader);
        g_free(wait);
    }
}

// Ends the wait of a connection's request, which has been answered.
static void finish(struct connection *connection)
{
    description_drop(connection);
    rtsp_service_resume(connection);
}

static void on_first_picture(void *context)
{
    struct description_wait *wait = context;

    if (!stream_is_described(wait->stream)) {
        reader_peek(&wait->reader);
        reader_next(&wait->reader);
        return;
    }
    send_now(wait->connection, wait->stream, &wait->target, wait->sequence);
    finish(wait->connection);
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
    rtsp_service_reply(wait->connection, reply);
    finish(wait->connection);
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
    stream_watch(stream, &wait->reader, on_first_picture, wait);
    stream_resume(stream, &wait->reader, DEMAND_BEGIN);
    reader_peek(&wait->reader); // from now on it is woken
}

void description_send(struct connection *connection, struct stream *stream,
                      const struct rtsp_target *target, int64_t sequence)
{
    if (stream_is_described(stream))
        send_now(connection, stream, target, sequence);
    else
        wait_for_picture(connection, stream, target, sequence);
}
