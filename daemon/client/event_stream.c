#include "daemon/client/event_stream.h"

#include "daemon/common/json.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>

#define SILENCE_S 45
#define LINE_MAX_BYTES ((size_t)1 << 20)

void event_stream_disconnect(struct event_stream *stream)
{
    g_clear_handle_id(&stream->readable, g_source_remove);
    g_clear_handle_id(&stream->first, g_source_remove);
    g_clear_handle_id(&stream->silence, g_source_remove);
    client_wire_free(TAKE(stream->wire));
}

static void lose(struct event_stream *stream, int result, const char *how)
{
    event_stream_disconnect(stream);
    stream->handler.lost(stream->handler.context, result, how);
}

static gboolean on_silence(gpointer data)
{
    struct event_stream *stream = data;

    stream->silence = 0;
    lose(stream, 0, "edged has been silent for 45 s");
    return G_SOURCE_REMOVE;
}

static void heard(struct event_stream *stream)
{
    g_clear_handle_id(&stream->silence, g_source_remove);
    stream->silence = g_timeout_add_seconds(SILENCE_S, on_silence, stream);
}

static int take_line(struct event_stream *stream, const char *line)
{
    if (g_str_has_prefix(line, "id: ")) {
        g_free(stream->last_id);
        stream->last_id = g_strdup(line + strlen("id: "));
    }
    return g_str_has_prefix(line, "data: ")
               ? stream->handler.event(stream->handler.context, line + strlen("data: "))
               : 0; // its name, or a sign of life
}

static int take_lines(struct event_stream *stream)
{
    const char *line_end;

    while ((line_end = memchr(stream->text->str, '\n', stream->text->len))) {
        gssize length = line_end - stream->text->str;
        g_autofree char *line = g_strndup(stream->text->str, (gsize)length);

        json_replace_controls(line);
        int r = take_line(stream, line);
        g_string_erase(stream->text, 0, length + 1);
        if (r < 0)
            return r;
    }
    return stream->text->len <= LINE_MAX_BYTES ? 0 : -EPROTO;
}

// Takes all that is there.
static void read_events(struct event_stream *stream)
{
    char bytes[4096];
    ssize_t count;

    while ((count = client_wire_receive(stream->wire, bytes, sizeof bytes)) > 0) {
        heard(stream);
        g_string_append_len(stream->text, bytes, count);
        int r = take_lines(stream);

        if (r < 0) {
            lose(stream, r, "edged's event is a line of more than 1 MiB: is it edged?");
            return;
        }
    }
    if (count != -EAGAIN)
        lose(stream, 0, "edged ended the stream");
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer stream)
{
    (void)fd, (void)condition;
    read_events(stream);
    return G_SOURCE_CONTINUE;
}

// Reads the bytes that came with the head of the reply: they do not make the socket readable any
// more.
static gboolean on_first(gpointer data)
{
    struct event_stream *stream = data;

    stream->first = 0;
    read_events(stream);
    return G_SOURCE_REMOVE;
}

void event_stream_init(struct event_stream *stream, const struct client *client, const char *page,
                       const struct event_stream_handler *handler)
{
    *stream = (struct event_stream){.client = client, .page = page, .handler = *handler};
    stream->text = g_string_new(NULL);
}

int event_stream_connect(struct event_stream *stream, struct error *error)
{
    int r = client_open_stream(stream->client, stream->page, stream->last_id, error, &stream->wire);

    if (r < 0)
        return r;
    g_string_truncate(stream->text, 0);
    stream->readable =
        g_unix_fd_add(client_wire_stop_waiting(stream->wire), G_IO_IN, on_readable, stream);
    stream->first = g_idle_add(on_first, stream);
    heard(stream);
    return 0;
}

void event_stream_finish(struct event_stream *stream)
{
    if (!stream->text)
        return;
    event_stream_disconnect(stream);
    g_string_free(stream->text, TRUE);
    g_free(stream->last_id);
    *stream = (struct event_stream){0};
}
