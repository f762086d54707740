// Replies to HTTP requests: whole texts, errors, and streams that go on until somebody ends them.
//
// All but the streams return what a handler of libmicrohttpd returns: MHD_NO, which closes the
// connection, where there is no memory. The headers of every reply forbid caches to store it,
// browsers to guess its type, and pages of other origins to load it.
#pragma once

#include "daemon/front/http/http_server.h"
#include "daemon/front/model/lookup.h"

#include <sys/types.h>

// A header beside those that every reply has.
struct http_header {
    const char *name, *value;
};

// Replies with `text`, which it takes over and g_free()s; by gzip to clients that take it, if it is
// long.
HTTP_RESULT http_reply(struct MHD_Connection *connection, unsigned status, const char *content_type,
                       char *text);
// The same for `size` bytes, which it takes over and g_free()s, and `count` headers more.
HTTP_RESULT http_reply_bytes(struct MHD_Connection *connection, unsigned status,
                             const char *content_type, const struct http_header *headers,
                             size_t count, void *bytes, size_t size);

// Whether a client says that it unpacks gzip. Weights are not looked at but for a refusal.
bool http_takes_gzip(struct MHD_Connection *connection);
// `size` bytes as gzip (RFC 1952), *ret_size long; the caller g_free()s them. NULL: they do not get
// smaller.
void *http_pack(const char *text, size_t size, size_t *ret_size);

// Whether the client has what the entity tag names already, by If-None-Match (RFC 9110, 13.1.2):
// then 304 without a body will do.
bool http_has_tag(struct MHD_Connection *connection, const char *tag);

// Reports the fault in a request, as application/problem+json (RFC 9457): title, status and
// `sentence` as "detail", and the same as "error".
HTTP_RESULT http_refuse_text(struct MHD_Connection *connection, unsigned status,
                             const char *sentence);
// The same, whose sentence is "KEY: GOT allowed: ALLOWED", with "key", the part of the request that
// is meant, and "allowed", what may stand there; either may be NULL. GOT ends in a comma or a
// semicolon.
HTTP_RESULT http_refuse(struct MHD_Connection *connection, unsigned status, const char *key,
                        const char *got, const char *allowed);
HTTP_RESULT http_refuse_fault(struct MHD_Connection *connection, unsigned status,
                              const struct fault *fault);
// 400: the value of `key` is none of those `allowed`.
HTTP_RESULT http_refuse_value(struct MHD_Connection *connection, const char *key, const char *value,
                              const char *allowed);
// 404: what a request names is not there. Frees `absent->allowed`.
HTTP_RESULT http_refuse_absent(struct MHD_Connection *connection, struct lookup_absent *absent);
// As http_refuse() without a key, with a header `name` for each of `count` values; for 401, 405 and
// 429.
HTTP_RESULT http_refuse_with(struct MHD_Connection *connection, unsigned status, const char *name,
                             const char *const *values, size_t count, const char *got,
                             const char *allowed);
// Replies 405; `allowed` is a literal: "GET, HEAD".
HTTP_RESULT http_refuse_method(struct MHD_Connection *connection, const char *allowed);

// A reply that goes on. While there is nothing to send, its connection is suspended: it costs
// nothing, and only the client's hanging up is noticed. A client that does not read is disconnected
// by the server's time limit.
struct http_stream;

#define HTTP_STREAM_END (-1)    // the reply is complete
#define HTTP_STREAM_BROKEN (-2) // it cannot be completed: the connection is closed, to show it

struct http_stream_source {
    // Writes up to `size` bytes and returns how many; 0: there is nothing now, and
    // http_stream_wake() follows; or one of the two above.
    ssize_t (*produce)(void *context, char *buffer, size_t size);
    // The reply is over, however it ended: the stream is gone when this returns.
    void (*release)(void *context);
    void *context;
};

// The head of such a reply.
struct http_head {
    unsigned status; // 0: 200
    const char *content_type;
    const struct http_header *headers; // `count` headers more
    size_t count;
    uint64_t size; // of the body in bytes; 0: it is not known, and its end is the reply's
};

// Begins one, or replies 503 if the server has as many as it may. *ret_stream is borrowed, until
// `release`, which is called after an error and a refusal as well; these leave it as it is.
HTTP_RESULT http_stream_begin(struct http_server *server, struct MHD_Connection *connection,
                              const struct http_head *head, const struct http_stream_source *source,
                              struct http_stream **ret_stream);
// There may be something to send.
void http_stream_wake(struct http_stream *stream);

// For a reply that is not known yet. The request waits, with its connection suspended, until
// http_stream_wake(); then its route is asked again, and has to reply. Of the source `release` and
// `context` count: a client that goes away while it waits releases it. *ret_stream is borrowed, as
// above, until http_take_waiting().
HTTP_RESULT http_wait(struct http_server *server, const struct http_request *request,
                      const struct http_stream_source *source, struct http_stream **ret_stream);
// The context of a request that has waited, which is the caller's again: it is not released. NULL:
// the request is new.
void *http_take_waiting(const struct http_request *request);

// The same for a reply that depends on what the front is still doing: the request waits in `list`
// until http_wake_all(), or for `timeout_ms` (0: without end). `context` is g_free()d where the
// client goes away.
HTTP_RESULT http_wait_in(GPtrArray *list, struct http_server *server,
                         const struct http_request *request, unsigned timeout_ms, void *context);
// Has the route of each request in `list` asked again, which may wait once more.
void http_wake_all(const GPtrArray *list);
// Whether the request has waited so. *ret_context is the caller's again.
bool http_take_from(const struct http_request *request, void **ret_context);

// Has `end` called with the source's context when edged stops, by http_streams_stop(); the source
// should then soon return HTTP_STREAM_END. A reply without it ends with its server.
void http_stream_set_end(struct http_stream *stream, void (*end)(void *context));
void http_streams_stop(const struct http_server *server);
// Lets every stream of the server send what it has and end: MHD_stop_daemon() takes no suspended
// connections.
void http_streams_end(const struct http_server *server);
