// RFC 2326, section 10. A presentation has one media, so the URL of the presentation and that of
// the media mean the same.

#include "daemon/front/rtsp/methods.h"

#include "daemon/front/rtsp/description.h"
#include "daemon/front/rtsp/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The request being answered.
struct call {
    struct connection *connection;
    const struct rtsp_request *request;
    struct rtsp_target target;
    const struct mount *mount; // of the target; NULL: there is none
    struct session *session;   // the one that the request names; NULL: none
};

static void send_reply(const struct call *call, GString *reply)
{
    rtsp_reply_end(reply, NULL, NULL);
    rtsp_service_reply(call->connection, reply);
}

static void answer(const struct call *call, enum rtsp_status status)
{
    send_reply(call, rtsp_reply_new(status, call->request->sequence));
}

// Answers 404 and lists the streams that the user, who has logged in, may watch.
static void answer_not_found(const struct call *call)
{
    const struct connection *connection = call->connection;
    enum config_role role = account_role(connection->service->account, &connection->login);
    g_autofree char *list = mounts_list(connection->service->mounts, role);
    g_autofree char *text = g_strconcat("there is no such stream; there are:\n", list, NULL);
    GString *reply = rtsp_reply_new(RTSP_NOT_FOUND, call->request->sequence);

    rtsp_reply_end(reply, "text/plain", text);
    rtsp_service_reply(call->connection, reply);
}

// Begins to say OK to a request of a session.
static GString *begin_ok(const struct call *call)
{
    GString *reply = rtsp_reply_new(RTSP_OK, call->request->sequence);

    if (call->session) {
        g_string_append_printf(reply, "Session: %s;timeout=%d\r\n", session_id(call->session),
                               RTSP_SESSION_TIMEOUT_S);
    }
    return reply;
}

static void append_methods(GString *reply, const char *header)
{
    g_string_append_printf(reply, "%s: ", header);
    for (unsigned i = 0; i < RTSP_METHOD_COUNT; i++)
        g_string_append_printf(reply, "%s%s", i ? ", " : "", rtsp_method_name(i));
    g_string_append(reply, "\r\n");
}

static void handle_options(struct call *call)
{
    GString *reply = begin_ok(call);

    append_methods(reply, "Public");
    send_reply(call, reply);
}

// Whether one of the media ranges of an Accept line has application/sdp (RFC 9110, section 12.5.1).
static bool accepts_sdp(const char *line)
{
    static const char *const good[] = {"application/sdp", "application/*", "*/*"};
    g_auto(GStrv) ranges = g_strsplit(line, ",", 0);
    bool found = false;

    for (char **range = ranges; *range && !found; range++) {
        (*range)[strcspn(*range, ";")] = '\0'; // its parameters
        for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
            found |= g_ascii_strcasecmp(g_strstrip(*range), good[i]) == 0;
    }
    return found;
}

// A client that says nothing takes it.
static bool is_acceptable(const struct rtsp_request *request)
{
    bool found = rtsp_request_count(request, "Accept") == 0;

    for (size_t i = 0; i < request->line_count && !found; i++) {
        found = g_ascii_strcasecmp(request->lines[i].name, "Accept") == 0 &&
                accepts_sdp(request->lines[i].value);
    }
    return found;
}

static void handle_describe(struct call *call)
{
    if (!call->mount) {
        answer_not_found(call);
    } else if (!is_acceptable(call->request)) {
        answer(call, RTSP_NOT_ACCEPTABLE);
    } else {
        description_send(call->connection, call->mount->stream, &call->target,
                         call->request->sequence);
    }
}

// The channels asked for where they are free, else others.
static bool choose_channels(const struct connection *connection, struct rtsp_transport_offer *offer)
{
    int channel = offer->channel < 0 ? 0 : offer->channel;
    int rtcp_channel = offer->channel < 0 ? 1 : offer->rtcp_channel;

    for (int next = 0; next <= 256; next += 2) {
        bool taken = false;

        for (guint i = 0; i < connection->sessions->len; i++) {
            const struct session *session = g_ptr_array_index(connection->sessions, i);

            taken |= session_uses_channel(session, channel) ||
                     session_uses_channel(session, rtcp_channel);
        }
        if (!taken) {
            offer->channel = channel;
            offer->rtcp_channel = rtcp_channel;
            return true;
        }
        channel = next;
        rtcp_channel = next + 1;
    }
    return false;
}

// The transports that the client may choose from: its connection; without TLS also UDP, and
// multicast where the mount has it.
static unsigned allowed_transports(const struct call *call)
{
    const struct connection *connection = call->connection;
    unsigned allowed = RTSP_LOWER_BIT(RTSP_LOWER_INTERLEAVED);

    if (!wire_kind(connection->wire)->encrypted) {
        allowed |= RTSP_LOWER_BIT(RTSP_LOWER_UDP);
        if (rtsp_service_has_multicast(connection->service, call->mount))
            allowed |= RTSP_LOWER_BIT(RTSP_LOWER_MULTICAST);
    }
    return allowed;
}

// Of what the client offers, takes the first that can be had. Else the -errno of the last that was
// tried; -EPROTONOSUPPORT: no offer is of a kind that is served.
static int take_offer(struct call *call, struct stream *stream)
{
    const char *header = rtsp_request_header(call->request, "Transport");
    unsigned allowed = header ? allowed_transports(call) : 0;
    struct rtsp_transport_offer offer;
    int r = -EPROTONOSUPPORT;

    while (r < 0 && r != -ENOMEM && allowed && rtsp_transport_choose(header, allowed, &offer)) {
        bool good =
            offer.lower != RTSP_LOWER_INTERLEAVED || choose_channels(call->connection, &offer);

        r = good ? session_new(call->connection, stream, &offer, &call->session) : -EPROTONOSUPPORT;
        allowed &= ~RTSP_LOWER_BIT(offer.lower);
    }
    if (r == 0)
        g_ptr_array_add(call->connection->sessions, call->session);
    return r;
}

// The session to end when all are taken: of the address with the most sessions, the one that has
// been idle for longest. NULL: all play.
static struct session *find_idle_session(const struct rtsp_service *service)
{
    struct session *found = NULL;
    guint most = 0;
    GHashTableIter iterator;
    gpointer key;

    g_hash_table_iter_init(&iterator, service->addresses);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) {
        const struct rtsp_address *address = key;

        for (GList *link = address->sessions.head; link; link = link->next) {
            bool more = address->sessions.length > most;

            if (!session_is_playing(link->data) && address->sessions.length >= most &&
                (more || session_idle_ns(link->data) < session_idle_ns(found))) {
                found = link->data;
                most = address->sessions.length;
            }
        }
    }
    return found;
}

// Whether the connection may have one more session, for which an idle one may be ended.
static bool make_session_room(const struct connection *connection)
{
    const struct config_limits *limits = &connection->service->limits;
    struct session *idle;

    if (connection->sessions->len >= (unsigned)limits->sessions_a_connection ||
        connection->address->sessions.length >= (unsigned)limits->sessions_an_address) {
        return false;
    }
    if (connection->service->session_count < (unsigned)limits->sessions)
        return true;
    idle = find_idle_session(connection->service);
    if (idle)
        g_ptr_array_remove(session_connection(idle)->sessions, idle);
    return idle;
}

static enum rtsp_status set_up(struct call *call)
{
    const struct connection *connection = call->connection;
    struct stream *stream = call->mount ? call->mount->stream : NULL;

    if (!stream)
        return RTSP_NOT_FOUND;
    if (call->session) { // a session's transport cannot change, and it has one media only
        return session_stream(call->session) == stream ? RTSP_METHOD_NOT_VALID
                                                       : RTSP_AGGREGATE_NOT_ALLOWED;
    }
    if (!make_session_room(connection))
        return RTSP_NOT_ENOUGH_BANDWIDTH;
    int r = take_offer(call, stream);
    return r == 0         ? RTSP_OK
           : r == -ENOMEM ? RTSP_UNAVAILABLE
           : r == -ENOSPC ? RTSP_NOT_ENOUGH_BANDWIDTH
                          : RTSP_UNSUPPORTED_TRANSPORT;
}

static void handle_setup(struct call *call)
{
    enum rtsp_status status = set_up(call);

    if (status == RTSP_NOT_FOUND) {
        answer_not_found(call);
        return;
    }
    if (status != RTSP_OK) {
        answer(call, status);
        return;
    }
    g_autofree char *transport = session_transport(call->session);
    GString *reply = begin_ok(call);
    g_string_append_printf(reply, "Transport: %s\r\n", transport);
    send_reply(call, reply);
}

// Whether the URL is that of the session's stream; answers if it is not.
static bool is_about_session(const struct call *call)
{
    if (call->mount && call->mount->stream == session_stream(call->session))
        return true;
    answer(call, *call->target.path ? RTSP_NOT_FOUND : RTSP_METHOD_NOT_VALID);
    return false;
}

static void handle_play(struct call *call)
{
    const char *range = rtsp_request_header(call->request, "Range");
    uint16_t sequence;
    uint32_t timestamp;

    if (!is_about_session(call))
        return;
    if (range && !g_str_has_prefix(range, "npt")) {
        answer(call, RTSP_INVALID_RANGE);
        return;
    }
    rtp_sender_position(session_sender(call->session), &sequence, &timestamp);
    GString *reply = begin_ok(call);
    g_string_append_printf(
        reply, "Range: npt=now-\r\nRTP-Info: url=%s/" RTSP_MEDIA_CONTROL ";seq=%u;rtptime=%u\r\n",
        call->target.base, sequence, timestamp);
    send_reply(call, reply); // the reply goes out before the first packet
    if (!call->connection->ended)
        session_play(call->session);
}

static void handle_pause(struct call *call)
{
    if (is_about_session(call)) {
        session_pause(call->session);
        send_reply(call, begin_ok(call));
    }
}

static void handle_teardown(struct call *call)
{
    if (!is_about_session(call))
        return;
    GString *reply = begin_ok(call);
    // The session's BYE is sent before the reply.
    g_ptr_array_remove(call->connection->sessions, call->session);
    call->session = NULL;
    send_reply(call, reply);
}

// There are no parameters; a request without any keeps the session alive.
static void handle_parameter(struct call *call)
{
    if (call->request->body_size > 0)
        answer(call, RTSP_PARAMETER_NOT_UNDERSTOOD);
    else
        send_reply(call, begin_ok(call));
}

static const struct {
    void (*handle)(struct call *call);
    bool needs_session;
} methods[RTSP_METHOD_COUNT] = {
    [RTSP_OPTIONS] = {handle_options, false},
    [RTSP_DESCRIBE] = {handle_describe, false},
    [RTSP_SETUP] = {handle_setup, false},
    [RTSP_PLAY] = {handle_play, true},
    [RTSP_PAUSE] = {handle_pause, true},
    [RTSP_TEARDOWN] = {handle_teardown, true},
    [RTSP_GET_PARAMETER] = {handle_parameter, false},
    [RTSP_SET_PARAMETER] = {handle_parameter, false},
};

// The session of this connection that the request names. False: it names another.
static bool find_session(struct call *call)
{
    const char *header = rtsp_request_header(call->request, "Session");
    size_t length = header ? strcspn(header, "; \t") : 0;

    for (guint i = 0; header && i < call->connection->sessions->len; i++) {
        struct session *session = g_ptr_array_index(call->connection->sessions, i);

        if (strlen(session_id(session)) == length &&
            strncmp(session_id(session), header, length) == 0) {
            call->session = session;
            session_refresh(session);
            return true;
        }
    }
    return !header;
}

static void refuse_method(const struct call *call)
{
    static const char *const others[] = {"ANNOUNCE", "RECORD", "REDIRECT"};
    bool known = false;

    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        known |= strcmp(call->request->method_name, others[i]) == 0;
    GString *reply = rtsp_reply_new(known ? RTSP_METHOD_NOT_ALLOWED : RTSP_NOT_IMPLEMENTED,
                                    call->request->sequence);
    append_methods(reply, known ? "Allow" : "Public");
    send_reply(call, reply);
}

static void refuse_option(const struct call *call, const char *option)
{
    GString *reply = rtsp_reply_new(RTSP_OPTION_NOT_SUPPORTED, call->request->sequence);

    g_string_append_printf(reply, "Unsupported: %s\r\n", option);
    send_reply(call, reply);
}

static void answer_denied(const struct call *call, const struct account_answer *asked)
{
    enum rtsp_status status = asked->verdict == ACCOUNT_CHALLENGE   ? RTSP_UNAUTHORIZED
                              : asked->verdict == ACCOUNT_FORBIDDEN ? RTSP_FORBIDDEN
                                                                    : RTSP_UNAVAILABLE;
    GString *reply = rtsp_reply_new(status, call->request->sequence);

    for (size_t i = 0; status == RTSP_UNAUTHORIZED && i < asked->challenge_count; i++)
        g_string_append_printf(reply, "WWW-Authenticate: %s\r\n", asked->challenges[i]);
    if (status == RTSP_UNAVAILABLE)
        g_string_append_printf(reply, "Retry-After: %d\r\n", asked->retry_after_s);
    send_reply(call, reply);
}

// Whether the user may send the request; answers if not. Anybody may ask what the server can do.
static bool is_allowed(const struct call *call)
{
    struct connection *connection = call->connection;
    const struct account_request asked = {
        .method = call->request->method_name,
        .uri = call->request->url,
        .authorization = rtsp_request_header(call->request, "Authorization"),
        .peer = (const struct sockaddr *)&connection->peer,
        .encrypted = wire_kind(connection->wire)->encrypted,
        .role = call->mount ? call->mount->role : CONFIG_ROLE_VIEWER,
    };
    struct account_answer ret;

    if (call->request->method == RTSP_OPTIONS && !rtsp_request_header(call->request, "Session"))
        return true;
    account_check(connection->service->account, &asked, clock_now_ns(), &connection->login, &ret);
    if (ret.verdict != ACCOUNT_ALLOWED)
        answer_denied(call, &ret);
    return ret.verdict == ACCOUNT_ALLOWED;
}

void methods_handle(struct connection *connection, const struct rtsp_request *request)
{
    struct call call = {.connection = connection, .request = request};
    const char *require = rtsp_request_header(request, "Require");
    // Clients of HTTP's making ask for "/" what the server can do.
    bool is_root = request->method == RTSP_OPTIONS && strcmp(request->url, "/") == 0;
    int r = rtsp_target_read(is_root ? "*" : request->url, &call.target);

    if (r < 0 || rtsp_request_count(request, "Authorization") > 1) {
        answer(&call, r == -ENAMETOOLONG ? RTSP_NOT_FOUND : RTSP_BAD_REQUEST);
        return;
    }
    call.mount = mounts_find(connection->service->mounts, call.target.path);
    if (!is_allowed(&call))
        return;
    if (request->method == RTSP_METHOD_OTHER)
        refuse_method(&call);
    else if (require)
        refuse_option(&call, require);
    else if (!find_session(&call) || (methods[request->method].needs_session && !call.session))
        answer(&call, RTSP_SESSION_NOT_FOUND);
    else
        methods[request->method].handle(&call);
}

void methods_refuse(struct connection *connection, const struct rtsp_request *request,
                    enum rtsp_status status)
{
    const struct call call = {.connection = connection, .request = request};

    if (request->is_http) { // what LIVE555's server says that has no tunnel (RFC 9110, 15.5.6)
        rtsp_service_reply(connection, g_string_new("HTTP/1.1 405 Method Not Allowed\r\nAllow:\r\n"
                                                    "Connection: close\r\n"
                                                    "Content-Length: 0\r\n\r\n"));
    } else {
        answer(&call, status);
    }
}
