// Requests and replies of RTSP 1.0 (RFC 2326), as bytes, with what a request's URL names and what
// its Transport header offers.
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Bounds of a request; what exceeds them ends the connection.
#define RTSP_HEAD_MAX 8192u
#define RTSP_LINES_MAX 64u
#define RTSP_BODY_MAX 4096u
#define RTSP_URL_MAX 2048u

enum rtsp_status {
    RTSP_OK = 200,
    RTSP_BAD_REQUEST = 400,
    RTSP_UNAUTHORIZED = 401,
    RTSP_FORBIDDEN = 403,
    RTSP_NOT_FOUND = 404,
    RTSP_METHOD_NOT_ALLOWED = 405,
    RTSP_NOT_ACCEPTABLE = 406,
    RTSP_ENTITY_TOO_LARGE = 413,
    RTSP_URL_TOO_LARGE = 414,
    RTSP_TOO_MANY_REQUESTS = 429, // as HTTP has it (RFC 6585)
    RTSP_PARAMETER_NOT_UNDERSTOOD = 451,
    RTSP_NOT_ENOUGH_BANDWIDTH = 453,
    RTSP_SESSION_NOT_FOUND = 454,
    RTSP_METHOD_NOT_VALID = 455,
    RTSP_HEADER_NOT_VALID = 456,
    RTSP_INVALID_RANGE = 457,
    RTSP_AGGREGATE_NOT_ALLOWED = 459,
    RTSP_UNSUPPORTED_TRANSPORT = 461,
    RTSP_NOT_IMPLEMENTED = 501,
    RTSP_UNAVAILABLE = 503,
    RTSP_VERSION_NOT_SUPPORTED = 505,
    RTSP_OPTION_NOT_SUPPORTED = 551,
};

enum rtsp_method {
    RTSP_OPTIONS,
    RTSP_DESCRIBE,
    RTSP_SETUP,
    RTSP_PLAY,
    RTSP_PAUSE,
    RTSP_TEARDOWN,
    RTSP_GET_PARAMETER,
    RTSP_SET_PARAMETER,
    RTSP_METHOD_COUNT,
    RTSP_METHOD_OTHER = RTSP_METHOD_COUNT, // a method that a server of streams does not need
};

// A request. Its texts point into `head`, which is cut up in place.
struct rtsp_request {
    enum rtsp_method method;
    const char *method_name, *url;
    bool is_http;      // not RTSP: a client that tries to pass a firewall
    int64_t sequence;  // CSeq; -1: it has none that can be read
    size_t line_count; // of headers
    struct {
        const char *name, *value;
    } lines[RTSP_LINES_MAX];
    size_t body_size;
    char head[RTSP_HEAD_MAX + 1];
};

// Reads the request at the beginning of `bytes`, with its body. Returns how many bytes it took; 0:
// it is not complete yet. A negative enum rtsp_status: it cannot be read, nor can what follows it;
// `ret_request->sequence` and is_http are set.
ssize_t rtsp_request_read(const char *bytes, size_t size, struct rtsp_request *ret_request);
// The value of the first line of that name, in any case; NULL: there is none.
const char *rtsp_request_header(const struct rtsp_request *request, const char *name);
// How many lines have that name.
unsigned rtsp_request_count(const struct rtsp_request *request, const char *name);

// "DESCRIBE"; of enum rtsp_method but RTSP_METHOD_OTHER.
const char *rtsp_method_name(enum rtsp_method method);

// A reply being written: the status line and CSeq, then lines, then rtsp_reply_end().
// `sequence`: of the request. The caller frees it (g_string_free).
GString *rtsp_reply_new(enum rtsp_status status, int64_t sequence);
// Adds the body, or the empty line alone (NULL).
void rtsp_reply_end(GString *reply, const char *content_type, const char *body);

// The control attribute of a track of a presentation; the number has one digit.
#define RTSP_TRACK_CONTROL "stream=%u"

// The presentation that the URL of a request names, and the track of it.
// "rtsp://host:8554/front/edges/stream=0?what" is track 0 of the presentation "/front/edges". Where
// a client has appended the name of a track twice, it counts once.
struct rtsp_target {
    char base[256]; // the URL of the presentation as the client wrote it, without its query
    char path[128]; // of the presentation, "/front/edges"; "": the URL is "*", for the server
    unsigned track; // 0 as well where the URL names none
};

// Trailing slashes and queries are ignored; so is the host, because the server may have many names.
// -EINVAL: no rtsp or rtsps URL with a path, or "*"; -ENAMETOOLONG: no path of ours is that long.
int rtsp_target_read(const char *url, struct rtsp_target *ret_target);

enum rtsp_lower_transport { RTSP_LOWER_UDP, RTSP_LOWER_INTERLEAVED, RTSP_LOWER_MULTICAST };
// A kind of transport as a bit of a set.
#define RTSP_LOWER_BIT(lower) (1U << (lower))

// One way that the client would take.
struct rtsp_transport_offer {
    enum rtsp_lower_transport lower;
    int channel, rtcp_channel; // interleaved: as asked for; -1: ours to choose
    uint16_t port, rtcp_port;  // UDP by unicast: the client's
};

// Chooses the first of the client's offers that can be accepted: RTP/AVP by a transport of the set
// `allowed`. False: none can. UDP means unicast if the offer does not say otherwise; RFC 2326 has
// it the other way round, but players mean it so. An offer with parameters that cannot be met (a
// mode of record) is not accepted. Destination, port and ttl are ignored, because packets go only
// to the client that asks, or to a group of the configuration.
bool rtsp_transport_choose(const char *header, unsigned allowed,
                           struct rtsp_transport_offer *ret_offer);
