#include "daemon/front/rtsp/message.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const method_names[RTSP_METHOD_COUNT] = {
    [RTSP_OPTIONS] = "OPTIONS",
    [RTSP_DESCRIBE] = "DESCRIBE",
    [RTSP_SETUP] = "SETUP",
    [RTSP_PLAY] = "PLAY",
    [RTSP_PAUSE] = "PAUSE",
    [RTSP_TEARDOWN] = "TEARDOWN",
    [RTSP_GET_PARAMETER] = "GET_PARAMETER",
    [RTSP_SET_PARAMETER] = "SET_PARAMETER",
};

const char *rtsp_method_name(enum rtsp_method method)
{
    return method_names[method];
}

static enum rtsp_method find_method(const char *name)
{
    unsigned method = 0;

    while (method < RTSP_METHOD_COUNT && strcmp(method_names[method], name) != 0)
        method++;
    return (enum rtsp_method)method;
}

// Where the head ends, behind its empty line; 0: it does not yet.
static size_t find_head_end(const char *bytes, size_t size)
{
    size_t searched = size < RTSP_HEAD_MAX ? size : RTSP_HEAD_MAX;

    for (size_t at = 0; at < searched; at++) {
        const char *line_feed = memchr(bytes + at, '\n', searched - at);

        if (!line_feed)
            return 0;
        at = (size_t)(line_feed - bytes);
        // An empty line, by CR LF as it should be or by LF.
        if (at + 1 < searched && bytes[at + 1] == '\n')
            return at + 2;
        if (at + 2 < searched && bytes[at + 1] == '\r' && bytes[at + 2] == '\n')
            return at + 3;
    }
    return 0;
}

static bool is_number(const char *text, unsigned long most, unsigned long *ret_number)
{
    char *end;

    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || number > most)
        return false;
    *ret_number = number;
    return true;
}

// Whether a head is text: lines end in CR LF or LF, and there is no other control character.
static bool is_text(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool ends_line = bytes[i] == '\n' || (bytes[i] == '\r' && bytes[i + 1] == '\n');

        if (!ends_line && bytes[i] != '\t' && g_ascii_iscntrl(bytes[i]))
            return false;
    }
    return true;
}

// Cuts the next line off `*text`, without what ends it. NULL: none is left.
static char *cut_line(char **text)
{
    char *line = *text, *end = line ? strchr(line, '\n') : NULL;

    if (!end)
        return NULL;
    *text = end + 1;
    end -= end > line && end[-1] == '\r';
    *end = '\0';
    return line;
}

static int read_request_line(struct rtsp_request *request, char *line)
{
    char *url = line ? strchr(line, ' ') : NULL;
    char *version = url ? strchr(url + 1, ' ') : NULL;

    if (!version || url == line || version == url + 1)
        return -RTSP_BAD_REQUEST;
    *url++ = '\0';
    *version++ = '\0';
    request->method_name = line;
    request->method = find_method(line);
    request->url = url;
    if (version - url - 1 > (ptrdiff_t)RTSP_URL_MAX)
        return -RTSP_URL_TOO_LARGE;
    request->is_http = strncmp(version, "HTTP/", 5) == 0;
    if (request->is_http)
        return -RTSP_METHOD_NOT_ALLOWED;
    if (strncmp(version, "RTSP/", 5) != 0)
        return -RTSP_BAD_REQUEST;
    return strncmp(version + 5, "1.", 2) == 0 ? 0 : -RTSP_VERSION_NOT_SUPPORTED;
}

static int read_header(struct rtsp_request *request, char *line)
{
    char *colon = strchr(line, ':');

    // RFC 2326 lets a header continue in the next line. No client does that, and attacks on parsers
    // have used it, so it is refused.
    if (request->line_count == RTSP_LINES_MAX || !colon || colon == line ||
        strcspn(line, " \t") < (size_t)(colon - line)) {
        return -RTSP_BAD_REQUEST;
    }
    *colon = '\0';
    request->lines[request->line_count].name = line;
    request->lines[request->line_count].value = g_strstrip(colon + 1);
    request->line_count++;
    return 0;
}

static int read_sequence(struct rtsp_request *request)
{
    const char *text = rtsp_request_header(request, "CSeq");
    unsigned long number;

    if (!text || !is_number(text, UINT32_MAX, &number))
        return -RTSP_BAD_REQUEST;
    request->sequence = (int64_t)number;
    return 0;
}

static int read_length(struct rtsp_request *request)
{
    const char *text = rtsp_request_header(request, "Content-Length");
    unsigned long number;

    if (!text)
        return 0;
    // Two lengths would leave open where the next request begins.
    if (!is_number(text, ULONG_MAX, &number) || rtsp_request_count(request, "Content-Length") > 1)
        return -RTSP_BAD_REQUEST;
    request->body_size = number;
    return number > RTSP_BODY_MAX ? -RTSP_ENTITY_TOO_LARGE : 0;
}

// The request line and the headers of `request->head`.
static int read_head(struct rtsp_request *request)
{
    char *text = request->head, *line;
    int r = read_request_line(request, cut_line(&text)), status = 0;

    while (status == 0 && (line = cut_line(&text)) && *line)
        status = read_header(request, line);
    // Read even if something else is wrong, so that the reply can name it.
    int sequence = read_sequence(request);
    r = r < 0 ? r : status < 0 ? status : sequence;
    return r < 0 ? r : read_length(request);
}

ssize_t rtsp_request_read(const char *bytes, size_t size, struct rtsp_request *ret_request)
{
    struct rtsp_request *request = ret_request;
    size_t head_size = find_head_end(bytes, size);

    request->sequence = -1;
    request->is_http = false;
    request->line_count = request->body_size = 0;
    if (head_size == 0)
        return size >= RTSP_HEAD_MAX ? -RTSP_BAD_REQUEST : 0;
    memcpy(request->head, bytes, head_size);
    request->head[head_size] = '\0';
    if (!is_text(request->head, head_size))
        return -RTSP_BAD_REQUEST;
    int r = read_head(request);
    if (r < 0)
        return r;
    return size - head_size >= request->body_size ? (ssize_t)(head_size + request->body_size) : 0;
}

const char *rtsp_request_header(const struct rtsp_request *request, const char *name)
{
    for (size_t i = 0; i < request->line_count; i++) {
        if (g_ascii_strcasecmp(request->lines[i].name, name) == 0)
            return request->lines[i].value;
    }
    return NULL;
}

unsigned rtsp_request_count(const struct rtsp_request *request, const char *name)
{
    unsigned count = 0;

    for (size_t i = 0; i < request->line_count; i++)
        count += g_ascii_strcasecmp(request->lines[i].name, name) == 0;
    return count;
}

static const struct {
    enum rtsp_status status;
    const char *reason;
} reasons[] = {
    {RTSP_OK, "OK"},
    {RTSP_BAD_REQUEST, "Bad Request"},
    {RTSP_UNAUTHORIZED, "Unauthorized"},
    {RTSP_FORBIDDEN, "Forbidden"},
    {RTSP_NOT_FOUND, "Not Found"},
    {RTSP_METHOD_NOT_ALLOWED, "Method Not Allowed"},
    {RTSP_NOT_ACCEPTABLE, "Not Acceptable"},
    {RTSP_ENTITY_TOO_LARGE, "Request Entity Too Large"},
    {RTSP_URL_TOO_LARGE, "Request-URI Too Large"},
    {RTSP_TOO_MANY_REQUESTS, "Too Many Requests"},
    {RTSP_PARAMETER_NOT_UNDERSTOOD, "Parameter Not Understood"},
    {RTSP_NOT_ENOUGH_BANDWIDTH, "Not Enough Bandwidth"},
    {RTSP_SESSION_NOT_FOUND, "Session Not Found"},
    {RTSP_METHOD_NOT_VALID, "Method Not Valid in This State"},
    {RTSP_HEADER_NOT_VALID, "Header Field Not Valid for Resource"},
    {RTSP_INVALID_RANGE, "Invalid Range"},
    {RTSP_AGGREGATE_NOT_ALLOWED, "Aggregate Operation Not Allowed"},
    {RTSP_UNSUPPORTED_TRANSPORT, "Unsupported Transport"},
    {RTSP_NOT_IMPLEMENTED, "Not Implemented"},
    {RTSP_UNAVAILABLE, "Service Unavailable"},
    {RTSP_VERSION_NOT_SUPPORTED, "RTSP Version Not Supported"},
    {RTSP_OPTION_NOT_SUPPORTED, "Option Not Supported"},
};

static const char *phrase(enum rtsp_status status)
{
    for (size_t i = 0; i < G_N_ELEMENTS(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "";
}

GString *rtsp_reply_new(enum rtsp_status status, int64_t sequence)
{
    GString *reply = g_string_new(NULL);

    g_string_printf(reply, "RTSP/1.0 %d %s\r\n", status, phrase(status));
    if (sequence >= 0)
        g_string_append_printf(reply, "CSeq: %" G_GINT64_FORMAT "\r\n", sequence);
    g_string_append(reply, "Server: edged/" EDGED_VERSION "\r\n");
    return reply;
}

void rtsp_reply_end(GString *reply, const char *content_type, const char *body)
{
    if (body) {
        g_string_append_printf(reply, "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                               content_type, strlen(body), body);
    } else {
        g_string_append(reply, "\r\n");
    }
}

// Where the path begins; NULL: it is no URL of RTSP.
static const char *find_path(const char *url)
{
    static const char *const schemes[] = {"rtsp://", "rtsps://"};

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        size_t length = strlen(schemes[i]);

        if (g_ascii_strncasecmp(url, schemes[i], length) == 0) {
            const char *host = url + length;
            size_t host_length = strcspn(host, "/?");

            return host_length > 0 ? host + host_length : NULL;
        }
    }
    return NULL;
}

static size_t cut_slashes(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == '/')
        length--;
    return length;
}

int rtsp_target_read(const char *url, struct rtsp_target *ret_target)
{
    const size_t control_length = strlen("/stream=0");
    struct rtsp_target target = {.path = ""};

    if (strcmp(url, "*") == 0) {
        *ret_target = target;
        return 0;
    }
    const char *path = find_path(url);
    if (!path || strchr(url, '#')) // no request has a fragment
        return -EINVAL;
    size_t length = cut_slashes(path, strcspn(path, "?"));
    while (length >= control_length && g_ascii_isdigit(path[length - 1]) &&
           strncmp(path + length - control_length, "/stream=", control_length - 1) == 0) {
        target.track = (unsigned)(path[length - 1] - '0');
        length = cut_slashes(path, length - control_length);
    }
    if (length >= sizeof target.path || (size_t)(path - url) + length >= sizeof target.base)
        return -ENAMETOOLONG;
    snprintf(target.path, sizeof target.path, length ? "%.*s" : "/", (int)length, path);
    snprintf(target.base, sizeof target.base, "%.*s", (int)((size_t)(path - url) + length), url);
    *ret_target = target;
    return 0;
}

// Reads a number of at most `most` at `*text`, and moves `*text` behind it. -1: there is none.
static int read_number(const char **text, int most)
{
    int number = 0;

    if (!g_ascii_isdigit(**text))
        return -1;
    for (; g_ascii_isdigit(**text); (*text)++) {
        number = number * 10 + **text - '0';
        if (number > most)
            return -1;
    }
    return number;
}

// Reads "4588-4589", or "4588", which means the same.
static bool read_pair(const char *text, int least, int most, int *ret_first, int *ret_second)
{
    int first = read_number(&text, most), second = first + 1;

    if (first >= 0 && *text == '-') {
        text++;
        second = read_number(&text, most);
    }
    if (*text || first < least || second < least || second > most || first == second)
        return false;
    *ret_first = first;
    *ret_second = second;
    return true;
}

static bool read_profile(const char *profile, struct rtsp_transport_offer *offer)
{
    if (g_ascii_strcasecmp(profile, "RTP/AVP/TCP") == 0) {
        offer->lower = RTSP_LOWER_INTERLEAVED;
        return true;
    }
    offer->lower = RTSP_LOWER_UDP;
    return g_ascii_strcasecmp(profile, "RTP/AVP") == 0 ||
           g_ascii_strcasecmp(profile, "RTP/AVP/UDP") == 0;
}

static bool has_name(const char *parameter, const char *name)
{
    return g_ascii_strncasecmp(parameter, name, strlen(name)) == 0;
}

// Reads one parameter. False: the offer cannot be accepted.
static bool read_parameter(const char *parameter, struct rtsp_transport_offer *offer)
{
    int first, second;

    if (has_name(parameter, "interleaved=")) {
        return read_pair(parameter + strlen("interleaved="), 0, 255, &offer->channel,
                         &offer->rtcp_channel);
    }
    if (has_name(parameter, "client_port=")) {
        if (!read_pair(parameter + strlen("client_port="), 1, 65535, &first, &second))
            return false;
        offer->port = (uint16_t)first;
        offer->rtcp_port = (uint16_t)second;
        return true;
    }
    if (has_name(parameter, "mode=")) {
        g_autofree char *mode = g_ascii_strdown(parameter, -1);

        return strstr(mode, "play") != NULL;
    }
    if (g_ascii_strcasecmp(parameter, "multicast") == 0) {
        bool has_groups = offer->lower != RTSP_LOWER_INTERLEAVED;

        offer->lower = has_groups ? RTSP_LOWER_MULTICAST : offer->lower;
        return has_groups;
    }
    return true;
}

static bool read_offer(const char *text, struct rtsp_transport_offer *ret_offer)
{
    struct rtsp_transport_offer offer = {.channel = -1, .rtcp_channel = -1};
    g_auto(GStrv) words = g_strsplit(text, ";", 0);
    bool good = words[0] && read_profile(g_strstrip(words[0]), &offer);

    for (char **word = words + 1; good && words[0] && *word; word++)
        good = read_parameter(g_strstrip(*word), &offer);
    *ret_offer = offer;
    return good && (offer.lower != RTSP_LOWER_UDP || offer.port != 0);
}

bool rtsp_transport_choose(const char *header, unsigned allowed,
                           struct rtsp_transport_offer *ret_offer)
{
    g_auto(GStrv) offers = g_strsplit(header, ",", 0);

    for (char **offer = offers; *offer; offer++) {
        struct rtsp_transport_offer chosen;

        if (read_offer(*offer, &chosen) && allowed & RTSP_LOWER_BIT(chosen.lower)) {
            *ret_offer = chosen;
            return true;
        }
    }
    return false;
}
