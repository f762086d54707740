#include "daemon/front/http/http_reply.h"

#include "daemon/common/json_members.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <poll.h>
#include <string.h>

#define ALLOWED "allowed: "
#define RETRY_AFTER_S "5"
#define PACKED_FROM_BYTES 4096 // smaller texts are sent as they are
#define BLOCK_BYTES 16384      // that a stream is asked for at once, if there is room for them

static const struct http_header common[] = {
    {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

static bool has_header(const struct http_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(headers[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

// A header that is given replaces the common one of its name.
static CONTROL_RESULT send_response(struct MHD_Connection *connection, unsigned status,
                                    const char *content_type, const struct http_header *headers,
                                    size_t count, struct MHD_Response *response)
{
    CONTROL_RESULT result;

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    for (size_t i = 0; i < ARRAY_LENGTH(common); i++) {
        if (!has_header(headers, count, common[i].name)) {
            MHD_add_response_header(response, common[i].name, common[i].value);
        }
    }
    for (size_t i = 0; i < count; i++) {
        MHD_add_response_header(response, headers[i].name, headers[i].value);
    }
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE &&
        !has_header(headers, count, MHD_HTTP_HEADER_RETRY_AFTER)) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
    }
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response); // the connection holds its own reference
    return result;
}

CONTROL_RESULT http_reply_bytes(struct MHD_Connection *connection, unsigned status,
                                const char *content_type, const struct http_header *headers,
                                size_t count, void *bytes, size_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(size, bytes, g_free);

    if (!response) {
        g_free(bytes);
        return MHD_NO;
    }
    return send_response(connection, status, content_type, headers, count, response);
}

// Whether it says that it unpacks gzip. Weights are not looked at but for a refusal.
static bool takes_gzip(struct MHD_Connection *connection)
{
    const char *encodings =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    const char *word = encodings ? strstr(encodings, "gzip") : NULL;

    return word && !g_str_has_prefix(word, "gzip;q=0") && !g_str_has_prefix(word, "gzip; q=0");
}

// RFC 1952. NULL: it does not get smaller.
static void *pack(const char *text, size_t size, size_t *ret_size)
{
    g_autoptr(GZlibCompressor) gzip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1);
    g_autofree char *packed = g_malloc(size);
    gsize read = 0, written = 0;

    if (g_converter_convert(G_CONVERTER(gzip), text, size, packed, size, G_CONVERTER_INPUT_AT_END,
                            &read, &written, NULL) != G_CONVERTER_FINISHED) {
        return NULL;
    }
    *ret_size = written;
    return g_steal_pointer(&packed);
}

CONTROL_RESULT control_reply(struct MHD_Connection *connection, unsigned status,
                             const char *content_type, char *text)
{
    static const struct http_header headers[] = {
        {MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip"},
        {MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING},
    };
    size_t size = strlen(text), packed_size;
    void *packed =
        size >= PACKED_FROM_BYTES && takes_gzip(connection) ? pack(text, size, &packed_size) : NULL;

    if (!packed) {
        return http_reply_bytes(connection, status, content_type, NULL, 0, text, size);
    }
    g_free(text);
    return http_reply_bytes(connection, status, content_type, headers, ARRAY_LENGTH(headers),
                            packed, packed_size);
}

static void add_text(JsonBuilder *builder, const char *name, const char *text)
{
    if (text) {
        json_add_string(builder, name, text);
    }
}

static CONTROL_RESULT reply_problem(struct MHD_Connection *connection, unsigned status,
                                    const char *key, const char *sentence,
                                    const struct http_header *headers, size_t count)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonNode) node = NULL;
    g_autofree char *text = NULL;
    const char *allowed = strstr(sentence, ALLOWED);

    json_builder_begin_object(builder);
    add_text(builder, "error", sentence);
    add_text(builder, "title", MHD_get_reason_phrase_for(status));
    json_builder_set_member_name(builder, "status");
    json_builder_add_int_value(builder, status);
    add_text(builder, "detail", sentence);
    add_text(builder, "key", key);
    add_text(builder, "allowed", allowed ? allowed + strlen(ALLOWED) : NULL);
    json_builder_end_object(builder);
    node = json_builder_get_root(builder);
    text = json_to_string(node, FALSE);
    char *line = g_strconcat(text, "\n", NULL);
    return http_reply_bytes(connection, status, "application/problem+json", headers, count, line,
                            strlen(line));
}

CONTROL_RESULT http_refuse_key(struct MHD_Connection *connection, unsigned status, const char *key,
                               const char *sentence)
{
    return reply_problem(connection, status, key, sentence, NULL, 0);
}

CONTROL_RESULT control_refuse(struct MHD_Connection *connection, unsigned status,
                              const char *sentence)
{
    size_t length = strspn(sentence, "abcdefghijklmnopqrstuvwxyz_");
    g_autofree char *key = length > 0 && g_str_has_prefix(sentence + length, ": ")
                               ? g_strndup(sentence, length)
                               : NULL;

    return http_refuse_key(connection, status, key, sentence);
}

CONTROL_RESULT http_refuse_value(struct MHD_Connection *connection, const char *key,
                                 const char *got, const char *allowed)
{
    g_autofree char *sentence = g_strdup_printf("%s: got \"%s\", allowed: %s", key, got, allowed);

    return control_refuse(connection, MHD_HTTP_BAD_REQUEST, sentence);
}

CONTROL_RESULT control_refuse_with(struct MHD_Connection *connection, unsigned status,
                                   const char *name, const char *const *values, size_t count,
                                   const char *sentence)
{
    struct http_header headers[8];

    count = MIN(count, ARRAY_LENGTH(headers));
    for (size_t i = 0; i < count; i++) {
        headers[i] = (struct http_header){name, values[i]};
    }
    return reply_problem(connection, status, NULL, sentence, headers, count);
}

CONTROL_RESULT control_refuse_method(struct MHD_Connection *connection, const char *allowed)
{
    g_autofree char *sentence = g_strdup_printf("no such method here; allowed: %s", allowed);

    return control_refuse_with(connection, MHD_HTTP_METHOD_NOT_ALLOWED, MHD_HTTP_HEADER_ALLOW,
                               &allowed, 1, sentence);
}

// Replies that go on
// ---------------------------------------------------------------------

struct http_stream {
    struct http_server *server;        // borrowed
    struct MHD_Connection *connection; // borrowed
    struct http_stream_source source;
    void (*end)(void *context); // NULL: it ends with the server
    bool suspended;             // it waits for something to send
    bool gone;                  // the client has hung up
    bool ending;
    guint hang_up; // watches for that while suspended; GLib source id
};

void http_stream_wake(struct http_stream *stream)
{
    if (stream->suspended) {
        stream->suspended = false;
        g_clear_handle_id(&stream->hang_up, g_source_remove);
        MHD_resume_connection(stream->connection);
        http_server_wake(stream->server);
    }
}

static gboolean on_hang_up(gint fd, GIOCondition condition, gpointer data)
{
    struct http_stream *stream = data;

    (void)fd, (void)condition;
    stream->gone = true;
    stream->hang_up = 0;
    http_stream_wake(stream);
    return G_SOURCE_REMOVE;
}

// libmicrohttpd does not look at a suspended connection's socket, so this does. A TCP client that
// hangs up shows it by not sending any more (POLLRDHUP); one that still reads has no reason to do
// that.
static void suspend(struct http_stream *stream)
{
    int fd =
        MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

    stream->suspended = true;
    stream->hang_up =
        g_unix_fd_add(fd, (GIOCondition)(G_IO_HUP | G_IO_ERR | POLLRDHUP), on_hang_up, stream);
    MHD_suspend_connection(stream->connection);
}

// What libmicrohttpd calls when it can send more. It would call again at once after a 0, if the
// connection were not suspended.
static ssize_t read_more(void *context, uint64_t position, char *buffer, size_t size)
{
    struct http_stream *stream = context;
    ssize_t made = stream->gone ? HTTP_STREAM_BROKEN
                                : stream->source.produce(stream->source.context, buffer, size);

    (void)position;
    if (made == HTTP_STREAM_BROKEN) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (made == HTTP_STREAM_END || (made == 0 && stream->ending)) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (made == 0) {
        suspend(stream);
    }
    return made;
}

// What libmicrohttpd calls when the response is over, however it ended.
static void drop_stream(void *context)
{
    struct http_stream *stream = context;

    g_clear_handle_id(&stream->hang_up, g_source_remove);
    g_ptr_array_remove_fast(http_server_streams(stream->server), stream);
    stream->source.release(stream->source.context);
    g_free(stream);
}

// As many go on as may: replies 503 and lets the source go.
static CONTROL_RESULT refuse_stream(struct MHD_Connection *connection,
                                    const struct http_stream_source *source)
{
    source->release(source->context);
    return control_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                          "as many clients follow events and videos as may (http.limits); try "
                          "again later");
}

CONTROL_RESULT http_stream_begin(struct http_server *server, struct MHD_Connection *connection,
                                 const struct http_head *head,
                                 const struct http_stream_source *source,
                                 struct http_stream **ret_stream)
{
    struct http_stream *stream;
    struct MHD_Response *response;

    if (!http_server_takes_stream(server)) {
        return refuse_stream(connection, source);
    }
    stream = g_new0(struct http_stream, 1);
    stream->server = server;
    stream->connection = connection;
    stream->source = *source;
    g_ptr_array_add(http_server_streams(server), stream);
    response = MHD_create_response_from_callback(head->size ? head->size : MHD_SIZE_UNKNOWN,
                                                 BLOCK_BYTES, read_more, stream, drop_stream);
    if (!response) {
        drop_stream(stream);
        return MHD_NO;
    }
    *ret_stream = stream;
    return send_response(connection, head->status ? head->status : MHD_HTTP_OK, head->content_type,
                         head->headers, head->count, response);
}

CONTROL_RESULT http_wait(struct http_server *server, const struct http_request *request,
                         const struct http_stream_source *source, struct http_stream **ret_stream)
{
    struct http_stream *stream;

    if (!http_server_takes_stream(server)) {
        return refuse_stream(request->connection, source);
    }
    stream = g_new0(struct http_stream, 1);
    stream->server = server;
    stream->connection = request->connection;
    stream->source = *source;
    g_ptr_array_add(http_server_streams(server), stream);
    *request->waiting = (struct http_waiting){drop_stream, stream};
    suspend(stream);
    *ret_stream = stream;
    return MHD_YES;
}

static void keep_source(void *context)
{
    (void)context;
}

void *http_take_waiting(const struct http_request *request)
{
    struct http_stream *stream = request->waiting->context;
    void *context;

    if (!stream) {
        return NULL;
    }
    context = stream->source.context;
    stream->source.release = keep_source;
    drop_stream(stream);
    *request->waiting = (struct http_waiting){0};
    return context;
}

void http_stream_set_end(struct http_stream *stream, void (*end)(void *context))
{
    stream->end = end;
}

void http_streams_stop(const struct http_server *server)
{
    GPtrArray *streams = http_server_streams(server);

    for (guint i = 0; i < streams->len; i++) {
        const struct http_stream *stream = g_ptr_array_index(streams, i);

        if (stream->end) {
            stream->end(stream->source.context);
        }
    }
}

void http_streams_end(const struct http_server *server)
{
    GPtrArray *streams = http_server_streams(server);

    for (guint i = 0; i < streams->len; i++) {
        struct http_stream *stream = g_ptr_array_index(streams, i);

        stream->ending = true;
        http_stream_wake(stream);
    }
}
