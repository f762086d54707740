// Replies to HTTP requests: whole texts, errors, and streams that go on until somebody ends them.
//
// All but the streams return what a handler of libmicrohttpd returns: MHD_NO, which closes the
// connection, where there is no memory. The headers of every reply forbid caches to store it,
// browsers to guess its type, and pages of other origins to load it.
#pragma once

#include "daemon/front/http/http_server.h"

#include <sys/types.h>

// A header beside those that every reply has.
struct http_header {
    const char *name, *value;
};

// Replies with `text`, which it takes over and g_free()s; by gzip to clients that take it, if it is
// long.
CONTROL_RESULT control_reply(struct MHD_Connection *connection, unsigned status,
                             const char *content_type, char *text);
// The same for `size` bytes, which it takes over and g_free()s, and `count` headers more.
CONTROL_RESULT http_reply_bytes(struct MHD_Connection *connection, unsigned status,
                                const char *content_type, const struct http_header *headers,
                                size_t count, void *bytes, size_t size);

// What is wrong with a request, as application/problem+json (RFC 9457): title, status and
// `sentence` as "detail", and the same as "error". `scale: got "3", allowed: 1, 1/2` also gives
// "key" and "allowed": the word before a first colon is what of the request is meant, and what
// follows "allowed: " is what may stand there.
CONTROL_RESULT control_refuse(struct MHD_Connection *connection, unsigned status,
                              const char *sentence);
// The same of a key of the configuration, with which the sentence begins; NULL: it names none.
CONTROL_RESULT http_refuse_key(struct MHD_Connection *connection, unsigned status, const char *key,
                               const char *sentence);
// 400: the value `got` of `key` is none of those `allowed`.
CONTROL_RESULT http_refuse_value(struct MHD_Connection *connection, const char *key,
                                 const char *got, const char *allowed);
// The same, with a header `name` for each of `count` values; for 401, 405 and 429.
CONTROL_RESULT control_refuse_with(struct MHD_Connection *connection, unsigned status,
                                   const char *name, const char *const *values, size_t count,
                                   const char *sentence);
// Replies 405; `allowed` is a literal: "GET, HEAD".
CONTROL_RESULT control_refuse_method(struct MHD_Connection *connection, const char *allowed);

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

// What comes before the bytes of such a reply.
struct http_head {
    unsigned status; // 0: 200
    const char *content_type;
    const struct http_header *headers; // `count` headers more
    size_t count;
    uint64_t size; // of the body in bytes; 0: it is not known, and its end is the reply's
};

// Begins one, or replies 503 if the server has as many as it may. *ret_stream is borrowed, until
// `release`, which is called after an error and a refusal as well; these leave it as it is.
CONTROL_RESULT http_stream_begin(struct http_server *server, struct MHD_Connection *connection,
                                 const struct http_head *head,
                                 const struct http_stream_source *source,
                                 struct http_stream **ret_stream);
// There may be something to send.
void http_stream_wake(struct http_stream *stream);

// For a reply that is not known yet. The request waits, with its connection suspended, until
// http_stream_wake(); then its route is asked again, and has to reply. Of the source `release` and
// `context` count: a client that goes away while it waits releases it. *ret_stream is borrowed, as
// above, until http_take_waiting().
CONTROL_RESULT http_wait(struct http_server *server, const struct http_request *request,
                         const struct http_stream_source *source, struct http_stream **ret_stream);
// The context of a request that has waited, which is the caller's again: it is not released. NULL:
// the request is new.
void *http_take_waiting(const struct http_request *request);

// Has `end` called with the source's context when edged stops, by http_streams_stop(); the source
// should then soon return HTTP_STREAM_END. A reply without it ends with its server.
void http_stream_set_end(struct http_stream *stream, void (*end)(void *context));
void http_streams_stop(const struct http_server *server);
// Lets every stream of the server send what it has and end: MHD_stop_daemon() takes no suspended
// connections.
void http_streams_end(const struct http_server *server);
