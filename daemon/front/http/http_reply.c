#include "daemon/front/http/http_reply.h"

#include "daemon/common/json.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <poll.h>
#include <string.h>

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
        if (strcmp(headers[i].name, name) == 0)
            return true;
    }
    return false;
}

// A header that is given replaces the common one of its name.
static HTTP_RESULT send_response(struct MHD_Connection *connection, unsigned status,
                                 const char *content_type, const struct http_header *headers,
                                 size_t count, struct MHD_Response *response)
{
    HTTP_RESULT result;

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    for (size_t i = 0; i < ARRAY_LENGTH(common); i++) {
        if (!has_header(headers, count, common[i].name))
            MHD_add_response_header(response, common[i].name, common[i].value);
    }
    for (size_t i = 0; i < count; i++)
        MHD_add_response_header(response, headers[i].name, headers[i].value);
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE &&
        !has_header(headers, count, MHD_HTTP_HEADER_RETRY_AFTER)) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
    }
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response); // the connection holds its own reference
    return result;
}

HTTP_RESULT http_reply_bytes(struct MHD_Connection *connection, unsigned status,
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

bool http_has_tag(struct MHD_Connection *connection, const char *tag)
{
    const char *known =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);

    return known && (strcmp(known, "*") == 0 || strstr(known, tag)); // the tag is in quotes
}

bool http_takes_gzip(struct MHD_Connection *connection)
{
    const char *encodings =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    const char *word = encodings ? strstr(encodings, "gzip") : NULL;

    return word && !g_str_has_prefix(word, "gzip;q=0") && !g_str_has_prefix(word, "gzip; q=0");
}

void *http_pack(const char *text, size_t size, size_t *ret_size)
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

HTTP_RESULT http_reply(struct MHD_Connection *connection, unsigned status, const char *content_type,
                       char *text)
{
    static const struct http_header headers[] = {
        {MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip"},
        {MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING},
    };
    size_t size = strlen(text), packed_size;
    void *packed = size >= PACKED_FROM_BYTES && http_takes_gzip(connection)
                       ? http_pack(text, size, &packed_size)
                       : NULL;

    if (!packed)
        return http_reply_bytes(connection, status, content_type, NULL, 0, text, size);
    g_free(text);
    return http_reply_bytes(connection, status, content_type, headers, ARRAY_LENGTH(headers),
                            packed, packed_size);
}

static void add_text(JsonBuilder *builder, const char *name, const char *text)
{
    if (text)
        json_add_string(builder, name, text);
}

static HTTP_RESULT reply_problem(struct MHD_Connection *connection, unsigned status,
                                 const char *key, const char *sentence, const char *allowed,
                                 const struct http_header *headers, size_t count)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    add_text(builder, "error", sentence);
    add_text(builder, "title", MHD_get_reason_phrase_for(status));
    json_add_integer(builder, "status", status);
    add_text(builder, "detail", sentence);
    add_text(builder, "key", key);
    add_text(builder, "allowed", allowed);
    char *line = json_end_line(builder);
    return http_reply_bytes(connection, status, "application/problem+json", headers, count, line,
                            strlen(line));
}

// "key: got … allowed: …"; without the key, or what is allowed, where these are NULL. The caller
// g_free()s it.
static char *make_sentence(const char *key, const char *got, const char *allowed)
{
    return g_strconcat(key ? key : "", key ? ": " : "", got, allowed ? " allowed: " : "",
                       allowed ? allowed : "", NULL);
}

HTTP_RESULT http_refuse_text(struct MHD_Connection *connection, unsigned status,
                             const char *sentence)
{
    return reply_problem(connection, status, NULL, sentence, NULL, NULL, 0);
}

HTTP_RESULT http_refuse(struct MHD_Connection *connection, unsigned status, const char *key,
                        const char *got, const char *allowed)
{
    g_autofree char *sentence = make_sentence(key, got, allowed);

    return reply_problem(connection, status, key, sentence, allowed, NULL, 0);
}

HTTP_RESULT http_refuse_fault(struct MHD_Connection *connection, unsigned status,
                              const struct fault *fault)
{
    const struct error *error = &fault->error;
    const char *key = *fault->key ? fault->key : NULL;
    g_autofree char *sentence = make_sentence(key, error->text, NULL);

    return reply_problem(connection, status, key, sentence,
                         error->allowed ? error->text + error->allowed : NULL, NULL, 0);
}

HTTP_RESULT http_refuse_value(struct MHD_Connection *connection, const char *key, const char *value,
                              const char *allowed)
{
    g_autofree char *got = g_strdup_printf("got \"%s\",", value);

    return http_refuse(connection, MHD_HTTP_BAD_REQUEST, key, got, allowed);
}

HTTP_RESULT http_refuse_absent(struct MHD_Connection *connection, struct lookup_absent *absent)
{
    g_autofree char *got = g_strdup_printf("there is no \"%s\",", absent->name);
    g_autofree char *allowed = absent->allowed;

    absent->allowed = NULL;
    return http_refuse(connection, MHD_HTTP_NOT_FOUND, absent->key, got, allowed);
}

HTTP_RESULT http_refuse_with(struct MHD_Connection *connection, unsigned status, const char *name,
                             const char *const *values, size_t count, const char *got,
                             const char *allowed)
{
    g_autofree char *sentence = make_sentence(NULL, got, allowed);
    struct http_header headers[8];

    count = MIN(count, ARRAY_LENGTH(headers));
    for (size_t i = 0; i < count; i++)
        headers[i] = (struct http_header){name, values[i]};
    return reply_problem(connection, status, NULL, sentence, allowed, headers, count);
}

HTTP_RESULT http_refuse_method(struct MHD_Connection *connection, const char *allowed)
{
    return http_refuse_with(connection, MHD_HTTP_METHOD_NOT_ALLOWED, MHD_HTTP_HEADER_ALLOW,
                            &allowed, 1, "no such method here;", allowed);
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

// Called by libmicrohttpd when it can send more. It would call again at once after a 0, if the
// connection were not suspended.
static ssize_t read_more(void *context, uint64_t position, char *buffer, size_t size)
{
    struct http_stream *stream = context;
    ssize_t made = stream->gone ? HTTP_STREAM_BROKEN
                                : stream->source.produce(stream->source.context, buffer, size);

    (void)position;
    if (made == HTTP_STREAM_BROKEN)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (made == HTTP_STREAM_END || (made == 0 && stream->ending))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (made == 0)
        suspend(stream);
    return made;
}

// Called by libmicrohttpd when the response is over, however it ended.
static void drop_stream(void *context)
{
    struct http_stream *stream = context;

    g_clear_handle_id(&stream->hang_up, g_source_remove);
    http_server_remove_stream(stream->server, stream);
    stream->source.release(stream->source.context);
    g_free(stream);
}

static void end_stream(struct http_stream *stream)
{
    if (stream->end)
        stream->end(stream->source.context);
    else
        stream->ending = true;
    http_stream_wake(stream);
}

// NULL: as many go on as may. Then it has replied 503, with *ret_result, and let the source go.
static struct http_stream *add_stream(struct http_server *server, struct MHD_Connection *connection,
                                      const struct http_stream_source *source, bool is_download,
                                      HTTP_RESULT *ret_result)
{
    struct http_stream *stream = g_new0(struct http_stream, 1), *leaves;
    struct fault fault = {0};

    stream->server = server;
    stream->connection = connection;
    stream->source = *source;
    if (http_server_add_stream(server, connection, stream, is_download, &fault, &leaves) < 0) {
        source->release(source->context);
        g_free(stream);
        *ret_result = http_refuse_fault(connection, MHD_HTTP_SERVICE_UNAVAILABLE, &fault);
        return NULL;
    }
    if (leaves)
        end_stream(leaves);
    return stream;
}

HTTP_RESULT http_stream_begin(struct http_server *server, struct MHD_Connection *connection,
                              const struct http_head *head, const struct http_stream_source *source,
                              struct http_stream **ret_stream)
{
    HTTP_RESULT result = MHD_NO;
    struct http_stream *stream = add_stream(server, connection, source, head->size, &result);
    struct MHD_Response *response;

    if (!stream)
        return result;
    response = MHD_create_response_from_callback(head->size ? head->size : MHD_SIZE_UNKNOWN,
                                                 BLOCK_BYTES, read_more, stream, drop_stream);
    if (!response) {
        drop_stream(stream);
        return MHD_NO;
    }
    *ret_stream = stream;
    if (!head->size) // nginx passes on what comes instead of collecting it
        MHD_add_response_header(response, "X-Accel-Buffering", "no");
    return send_response(connection, head->status ? head->status : MHD_HTTP_OK, head->content_type,
                         head->headers, head->count, response);
}

HTTP_RESULT http_wait(struct http_server *server, const struct http_request *request,
                      const struct http_stream_source *source, struct http_stream **ret_stream)
{
    HTTP_RESULT result = MHD_NO;
    struct http_stream *stream = add_stream(server, request->connection, source, false, &result);

    if (!stream)
        return result;
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

    if (!stream)
        return NULL;
    context = stream->source.context;
    stream->source.release = keep_source;
    drop_stream(stream);
    *request->waiting = (struct http_waiting){0};
    return context;
}

// A request that waits in a list.
struct http_later {
    GPtrArray *list;            // borrowed
    struct http_stream *stream; // borrowed
    guint timer;                // GLib source id; 0: none
    void *context;              // owned
};

static void leave(void *data)
{
    struct http_later *later = data;

    g_clear_handle_id(&later->timer, g_source_remove);
    g_ptr_array_remove_fast(later->list, later);
    g_free(later->context);
    g_free(later);
}

static gboolean on_late(gpointer data)
{
    struct http_later *later = data;

    later->timer = 0;
    http_stream_wake(later->stream);
    return G_SOURCE_REMOVE;
}

HTTP_RESULT http_wait_in(GPtrArray *list, struct http_server *server,
                         const struct http_request *request, unsigned timeout_ms, void *context)
{
    struct http_later *later = g_new0(struct http_later, 1);
    const struct http_stream_source source = {.release = leave, .context = later};

    later->list = list;
    later->context = context;
    later->timer = timeout_ms ? g_timeout_add(timeout_ms, on_late, later) : 0;
    g_ptr_array_add(list, later);
    return http_wait(server, request, &source, &later->stream);
}

void http_wake_all(const GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++)
        http_stream_wake(((struct http_later *)g_ptr_array_index(list, i))->stream);
}

bool http_take_from(const struct http_request *request, void **ret_context)
{
    struct http_later *later = http_take_waiting(request);

    if (!later)
        return false;
    *ret_context = TAKE(later->context);
    leave(later);
    return true;
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

        if (stream->end)
            stream->end(stream->source.context);
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
