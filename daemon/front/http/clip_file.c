// The bytes of a clip over HTTP: its video, of which a client may ask for a part (RFC 9110, Range),
// and its picture.
//
// The recorder is asked for one block after the other, each when the client has taken the one
// before, and the connection is suspended meanwhile. So a slow card or a slow client costs a block
// of memory and nothing else.
#include "daemon/front/http/handlers.h"

#include "daemon/front/http/clip_request.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PATIENCE_NS (5 * NS_PER_S) // for a block
#define AGAIN_MS 20                // after which a recorder that is busy is asked again
#define UNKNOWN_TOTAL G_MAXINT64   // of a picture, until its first block tells it

// A part of a file under way to a client.
struct clip_file {
    struct recorder *recorder;  // borrowed
    struct http_stream *stream; // borrowed; NULL: not begun yet
    struct record_read read;    // the next block, or the one that is asked for
    uint64_t end;               // behind the last byte of the part
    uint32_t question;          // under way; 0: none
    guint again;                // GLib source id; 0: none
    int64_t asked_ns;           // since when it waits for the block
    GByteArray *block;          // owned
    size_t sent;                // of the block
    bool is_broken;
};

// Requests
// ---------------------------------------------------------------------

// Reads digits. False: there are none, or too many.
static bool read_number(const char **text, uint64_t *ret_number)
{
    size_t digits = strspn(*text, "0123456789");

    *ret_number = g_ascii_strtoull(*text, NULL, 10);
    *text += digits;
    return digits > 0 && digits < 20;
}

int clip_file_range(const char *range, uint64_t size, uint64_t *ret_first, uint64_t *ret_last)
{
    uint64_t first = 0, last = size - 1;
    bool has_first, has_last;

    if (g_ascii_strncasecmp(range, "bytes=", strlen("bytes=")) != 0)
        return 0;
    range += strlen("bytes=");
    has_first = read_number(&range, &first);
    if (*range++ != '-')
        return 0;
    has_last = read_number(&range, &last);
    if (*range || (!has_first && !has_last) || (has_first && has_last && last < first))
        return 0;
    if (!has_first) // the last bytes
        first = size - MIN(last, size);
    if (!has_first || !has_last || last >= size)
        last = size - 1;
    if (first >= size)
        return -ERANGE;
    *ret_first = first;
    *ret_last = last;
    return 1;
}

// It changes with the file, because an open clip grows and its end makes it longer.
static char *make_tag(const struct clip_request *asked)
{
    return g_strdup_printf("\"%" PRIu64 "-%" PRIu64 "\"", asked->clip.id, asked->total);
}

// As clip_file_range(), of the file as it is known so far. All of it where the client has a part of
// another file, or where no parts are given.
static int choose_range(const struct http_call *call, const struct clip_request *asked,
                        enum record_part part, uint64_t *ret_first, uint64_t *ret_last)
{
    const char *range = http_header_of(call->request, MHD_HTTP_HEADER_RANGE);
    const char *condition = http_header_of(call->request, MHD_HTTP_HEADER_IF_RANGE);
    g_autofree char *tag = make_tag(asked);

    *ret_first = 0;
    *ret_last = asked->total - 1;
    if (part != RECORD_VIDEO || !range || (condition && strcmp(condition, tag) != 0))
        return 0;
    return clip_file_range(range, asked->total, ret_first, ret_last);
}

// Bytes on their way
// ---------------------------------------------------------------------

static void release(void *context)
{
    struct clip_file *file = context;

    recorder_forget(file->recorder, file->question);
    g_clear_handle_id(&file->again, g_source_remove);
    g_byte_array_unref(file->block);
    g_free(file);
}

static void ask_block(struct clip_file *file);

static gboolean ask_again(gpointer data)
{
    struct clip_file *file = data;

    file->again = 0;
    ask_block(file);
    return G_SOURCE_REMOVE;
}

// The recorder is busy: asks it once more a little later, or gives up.
static void retry(struct clip_file *file)
{
    if (clock_now_ns() - file->asked_ns > PATIENCE_NS) {
        file->is_broken = true;
        http_stream_wake(file->stream);
    } else {
        file->again = g_timeout_add(AGAIN_MS, ask_again, file);
    }
}

static bool take_block(void *context, const struct link_message *message)
{
    struct clip_file *file = context;
    const struct record_bytes *told =
        message && message->header.type == RECORD_BYTES ? (const void *)message->payload : NULL;

    file->question = 0;
    if (told && told->error == -EBUSY) {
        retry(file);
        return false;
    }
    file->is_broken = !told || told->error || told->size != file->read.size;
    if (!file->is_broken) {
        g_byte_array_append(file->block, message->payload + sizeof *told, told->size);
        file->read.offset += told->size;
    }
    http_stream_wake(file->stream);
    return false;
}

static void ask_block(struct clip_file *file)
{
    file->read.size = (uint32_t)MIN(file->end - file->read.offset, RECORD_BYTES_MAX);
    file->question = recorder_ask(file->recorder, RECORD_READ, 0, &file->read, sizeof file->read,
                                  take_block, file);
    if (!file->question)
        retry(file);
}

static ssize_t produce(void *context, char *buffer, size_t size)
{
    struct clip_file *file = context;
    size_t count = MIN(size, file->block->len - file->sent);

    if (count == 0 && file->is_broken)
        return HTTP_STREAM_BROKEN;
    if (count == 0 && !file->question && !file->again) {
        g_byte_array_set_size(file->block, 0);
        file->sent = 0;
        file->asked_ns = clock_now_ns();
        ask_block(file);
    }
    memcpy(buffer, file->block->data + file->sent, count);
    file->sent += count;
    return (ssize_t)count;
}

// The reply
// ---------------------------------------------------------------------

// "front-plain-2026-11-27T081503Z.mp4"
static char *name_file(const struct record_clip *clip, const char *kind)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(clip->start_wall_ns / NS_PER_S);
    g_autofree char *text = time ? g_date_time_format(time, "%Y-%m-%dT%H%M%SZ") : NULL;

    return g_strdup_printf("inline; filename=\"%s-%s-%s.%s\"", clip->camera, clip->view,
                           text ? text : "", kind);
}

// Whether the client has the file that it asks for already. This comes before Range and If-Range
// (RFC 9110, section 13.2.2).
static bool is_unchanged(const struct http_call *call, const struct clip_request *asked)
{
    g_autofree char *tag = make_tag(asked);

    return asked->total != UNKNOWN_TOTAL && http_has_tag(call->connection, tag);
}

static HTTP_RESULT reply_unchanged(const struct http_call *call, struct clip_request *asked,
                                   enum record_part part)
{
    g_autofree char *tag = make_tag(asked);
    const struct http_header header = {MHD_HTTP_HEADER_ETAG, tag};

    clip_request_free(asked);
    return http_reply_bytes(call->connection, MHD_HTTP_NOT_MODIFIED,
                            part == RECORD_VIDEO ? "video/mp4" : "image/jpeg", &header, 1, NULL, 0);
}

static HTTP_RESULT refuse_range(const struct http_call *call, struct clip_request *asked)
{
    g_autofree char *range = g_strdup_printf("bytes */%" PRIu64, asked->total);
    const char *const values[] = {range};

    clip_request_free(asked);
    return http_refuse_with(call->connection, MHD_HTTP_RANGE_NOT_SATISFIABLE,
                            MHD_HTTP_HEADER_CONTENT_RANGE, values, 1, "the clip has no such bytes",
                            NULL);
}

// Replies with the part from `first` to `last`, whose first block has come.
static HTTP_RESULT begin(const struct http_call *call, struct clip_request *asked,
                         enum record_part part, bool is_part, uint64_t last)
{
    bool is_video = part == RECORD_VIDEO;
    uint64_t count = last - asked->first + 1;
    struct clip_file *file = g_new0(struct clip_file, 1);
    const struct http_stream_source source = {produce, release, file};
    g_autofree char *tag = make_tag(asked),
                    *name = name_file(&asked->clip, is_video ? "mp4" : "jpg"),
                    *range = g_strdup_printf("bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, asked->first,
                                             last, asked->total);
    const struct http_header headers[] = {
        {MHD_HTTP_HEADER_CONTENT_DISPOSITION, name},
        {MHD_HTTP_HEADER_ETAG, tag},
        {MHD_HTTP_HEADER_ACCEPT_RANGES, is_video ? "bytes" : "none"},
        {MHD_HTTP_HEADER_CONTENT_RANGE, range},
    };
    const struct http_head head = {
        .status = is_part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK,
        .content_type = is_video ? "video/mp4" : "image/jpeg",
        .headers = headers,
        .count = ARRAY_LENGTH(headers) - !is_part,
        .size = count,
    };

    file->recorder = asked->recorder;
    file->block = g_byte_array_ref(asked->bytes);
    g_byte_array_set_size(file->block, (guint)MIN(file->block->len, count));
    file->end = last + 1;
    file->read = (struct record_read){
        .part = part, .id = asked->clip.id, .offset = asked->first + file->block->len};
    clip_request_free(asked);
    return http_stream_begin(call->server, call->connection, &head, &source, &file->stream);
}

static HTTP_RESULT choose(const struct http_call *call, struct clip_request *asked,
                          enum record_part part, clip_step *next);

// The first block has come, or an error.
static HTTP_RESULT take_first(const struct http_call *call, struct clip_request *asked,
                              enum record_part part, clip_step *next)
{
    if (asked->told.error == -ENOENT || (!asked->told.error && asked->told.total == 0)) {
        return clip_request_refuse(call, asked, MHD_HTTP_NOT_FOUND,
                                   "there is no such clip, or no picture of it yet");
    }
    if (asked->told.error || (asked->told.size == 0 && asked->first < asked->told.total)) {
        return clip_request_refuse(call, asked, MHD_HTTP_SERVICE_UNAVAILABLE,
                                   "the storage is slow or out of order; try again later");
    }
    asked->total = MIN(asked->total, asked->told.total);
    return choose(call, asked, part, next);
}

// Asks for the first block of the part that the client wants, or replies with it. Of a file that
// turns out shorter than it was known to be, the part may begin elsewhere.
static HTTP_RESULT choose(const struct http_call *call, struct clip_request *asked,
                          enum record_part part, clip_step *next)
{
    struct record_read read = {.part = part, .id = asked->clip.id};
    uint64_t first = 0, last = 0;
    int r = choose_range(call, asked, part, &first, &last);

    if (is_unchanged(call, asked))
        return reply_unchanged(call, asked, part);
    if (r < 0)
        return refuse_range(call, asked);
    if (asked->bytes->len > 0 && first == asked->first)
        return begin(call, asked, part, r > 0, last);
    asked->first = read.offset = first;
    read.size = (uint32_t)MIN(last - first + 1, RECORD_BYTES_MAX);
    return clip_request_ask(call, asked, RECORD_READ, 0, &read, sizeof read, next);
}

static HTTP_RESULT go_on_video(const struct http_call *call, struct clip_request *asked)
{
    return take_first(call, asked, RECORD_VIDEO, go_on_video);
}

static HTTP_RESULT begin_video(const struct http_call *call, struct clip_request *asked)
{
    if (asked->clip.bytes == 0) {
        return clip_request_refuse(call, asked, MHD_HTTP_SERVICE_UNAVAILABLE,
                                   "nothing of this clip is stored yet; try again later");
    }
    asked->total = asked->clip.bytes;
    return choose(call, asked, RECORD_VIDEO, go_on_video);
}

static HTTP_RESULT go_on_picture(const struct http_call *call, struct clip_request *asked)
{
    return take_first(call, asked, RECORD_STILL, go_on_picture);
}

static HTTP_RESULT begin_picture(const struct http_call *call, struct clip_request *asked)
{
    asked->total = UNKNOWN_TOTAL;
    return choose(call, asked, RECORD_STILL, go_on_picture);
}

HTTP_RESULT clip_file_video(struct http_call *call)
{
    return clip_request_find(call, begin_video);
}

HTTP_RESULT clip_file_picture(struct http_call *call)
{
    return clip_request_find(call, begin_picture);
}
