// RFC 2326, section 10. The tracks of a session are controlled together, so the URL of a
// presentation and those of its tracks mean the same but in SETUP.

#include "daemon/front/rtsp/methods.h"

#include "daemon/common/log.h"
#include "daemon/front/rtsp/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// So that the answer to DESCRIBE comes within a second, the way through the network included.
#define FIRST_PICTURE_MS 700

// A DESCRIBE that came before the first picture.
struct description_wait {
    struct connection *connection;
    struct stream *stream; // that has to be described next; the reader holds the reference
    struct stream_reader reader;
    guint timer; // GLib source id
    int64_t sequence;
    struct rtsp_target target;
};

// The request being answered.
struct call {
    struct connection *connection;
    const struct rtsp_request *request;
    struct rtsp_target target;
    const struct mount *mount; // of the target; NULL: there is none, or it has no such track
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

// Seconds since 1970, at the first call: a number that no other start of the server has, and that
// is the same for one session however often it is described (RFC 4566, section 5.2).
static long long session_number(void)
{
    static time_t number;

    number = number ? number : time(NULL);
    return number;
}

static void append_track(GString *text, const struct stream *stream, unsigned number)
{
    const struct payloader_ops *payloader = stream_payloader(stream);
    unsigned type = payloader->payload_type;

    g_string_append_printf(text, "m=video 0 RTP/AVP %u\r\na=rtpmap:%u %s/%d\r\n", type, type,
                           payloader->encoding, RTP_CLOCK_HZ);
    if (payloader->write_fmtp) {
        g_string_append_printf(text, "a=fmtp:%u ", type);
        payloader->write_fmtp(stream_parameter_sets(stream), text);
        g_string_append(text, "\r\n");
    }
    g_string_append_printf(text, "a=control:" RTSP_TRACK_CONTROL "\r\n", number);
}

// Lines in the order of RFC 4566, section 5.
char *methods_write_sdp(const struct mount *mount, const char *address)
{
    const char *family = strchr(address, ':') ? "IP6" : "IP4";
    const char *any = strchr(address, ':') ? "::" : "0.0.0.0";
    GString *text = g_string_new(NULL);
    const struct stream *stream;
    unsigned version = 0;

    for (unsigned i = 0; (stream = mount_track(mount, i)); i++)
        version += stream_description_version(stream);
    g_string_append_printf(text, "v=0\r\no=- %lld %u IN %s %s\r\ns=%s\r\n", session_number(),
                           version, family, address, stream_path(mount->stream));
    g_string_append_printf(text, "c=IN %s %s\r\nt=0 0\r\na=tool:edged " EDGED_VERSION "\r\n",
                           family, any);
    g_string_append(text, "a=type:broadcast\r\na=control:*\r\na=range:npt=now-\r\n");
    for (unsigned i = 0; (stream = mount_track(mount, i)); i++)
        append_track(text, stream, i);
    return g_string_free(text, FALSE);
}

static void send_description(struct connection *connection, const struct mount *mount,
                             const struct rtsp_target *target, int64_t sequence)
{
    g_autofree char *sdp = methods_write_sdp(mount, connection->local_name);
    GString *reply = rtsp_reply_new(RTSP_OK, sequence);

    g_string_append_printf(reply, "Content-Base: %s/\r\n", target->base);
    rtsp_reply_end(reply, "application/sdp", sdp);
    rtsp_service_reply(connection, reply);
}

void methods_forget(struct connection *connection)
{
    struct description_wait *wait = connection->wait;

    if (wait) {
        connection->wait = NULL;
        g_clear_handle_id(&wait->timer, g_source_remove);
        stream_leave(wait->stream, &wait->reader);
        g_free(wait);
    }
}

static gboolean on_no_picture(gpointer data)
{
    struct description_wait *wait = data;
    struct connection *connection = wait->connection;
    GString *reply = rtsp_reply_new(RTSP_UNAVAILABLE, wait->sequence);
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    wait->timer = 0;
    if (rtsp_service_logs(connection->service, connection->address, suffix)) {
        log_info("%s: no picture yet, answering a viewer with 503%s", stream_path(wait->stream),
                 suffix);
    }
    g_string_append(reply, "Retry-After: 1\r\n");
    rtsp_reply_end(reply, NULL, NULL);
    rtsp_service_reply(connection, reply);
    methods_forget(connection);
    rtsp_service_resume(connection);
    return G_SOURCE_REMOVE;
}

// The first track whose parameters are not known yet. NULL: the mount can be described.
static struct stream *find_undescribed(const struct mount *mount)
{
    struct stream *stream;

    for (unsigned i = 0; (stream = mount_track(mount, i)); i++) {
        if (!stream_is_described(stream))
            return stream;
    }
    return NULL;
}

static void on_first_picture(void *context);

static void watch_undescribed(struct description_wait *wait, struct stream *stream)
{
    wait->stream = stream;
    stream_watch(stream, &wait->reader, on_first_picture, wait);
    stream_resume(stream, &wait->reader, DEMAND_BEGIN);
    reader_peek(&wait->reader); // from now on it is woken
}

static void on_first_picture(void *context)
{
    struct description_wait *wait = context;
    struct connection *connection = wait->connection;
    // A mount that a reload has taken away meanwhile gets no answer but the timer's.
    const struct mount *mount = mounts_find(connection->service->mounts, wait->target.path);
    struct stream *next = mount ? find_undescribed(mount) : wait->stream;

    if (next == wait->stream) {
        reader_peek(&wait->reader);
        reader_next(&wait->reader);
    } else if (next) {
        stream_leave(wait->stream, &wait->reader);
        watch_undescribed(wait, next);
    } else {
        send_description(connection, mount, &wait->target, wait->sequence);
        methods_forget(connection);
        rtsp_service_resume(connection);
    }
}

// Without a picture there is nothing to describe yet. A client that comes just after a start or a
// reload is answered a moment later.
static void wait_for_picture(const struct call *call, struct stream *stream)
{
    struct description_wait *wait = g_new0(struct description_wait, 1);

    wait->connection = call->connection;
    wait->sequence = call->request->sequence;
    wait->target = call->target;
    wait->timer = g_timeout_add(FIRST_PICTURE_MS, on_no_picture, wait);
    call->connection->wait = wait;
    watch_undescribed(wait, stream);
}

static void handle_describe(struct call *call)
{
    struct stream *undescribed = call->mount ? find_undescribed(call->mount) : NULL;

    if (!call->mount)
        answer_not_found(call);
    else if (!is_acceptable(call->request))
        answer(call, RTSP_NOT_ACCEPTABLE);
    else if (undescribed)
        wait_for_picture(call, undescribed);
    else
        send_description(call->connection, call->mount, &call->target, call->request->sequence);
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

            taken |= session_find_channel(session, channel) >= 0 ||
                     session_find_channel(session, rtcp_channel) >= 0;
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

// Sets the track up by the first of the client's offers that can be had. Else the -errno of the
// last that was tried; -EPROTONOSUPPORT: no offer is of a kind that is served.
static int take_offer(const struct call *call, struct session *session)
{
    const char *header = rtsp_request_header(call->request, "Transport");
    struct stream *stream = mount_track(call->mount, call->target.track);
    unsigned allowed = header ? allowed_transports(call) : 0;
    struct rtsp_transport_offer offer;
    int r = -EPROTONOSUPPORT;

    while (r < 0 && r != -ENOMEM && allowed && rtsp_transport_choose(header, allowed, &offer)) {
        bool good =
            offer.lower != RTSP_LOWER_INTERLEAVED || choose_channels(call->connection, &offer);

        r = good ? session_add_track(session, call->target.track, stream, &offer)
                 : -EPROTONOSUPPORT;
        allowed &= ~RTSP_LOWER_BIT(offer.lower);
    }
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

// Begins a session with the track as its first one.
static int begin_session(struct call *call)
{
    struct session *session = session_new(call->connection);
    int r = session ? take_offer(call, session) : -ENOMEM;

    if (r < 0) {
        session_free(session);
        return r;
    }
    g_ptr_array_add(call->connection->sessions, session);
    call->session = session;
    return 0;
}

static enum rtsp_status set_up(struct call *call)
{
    if (!call->mount)
        return RTSP_NOT_FOUND;
    if (call->session && !session_is_of(call->session, call->mount))
        return RTSP_AGGREGATE_NOT_ALLOWED;
    if (call->session && session_has_track(call->session, call->target.track)) {
        return RTSP_METHOD_NOT_VALID; // a track's transport cannot change
    }
    if (!call->session && !make_session_room(call->connection))
        return RTSP_NOT_ENOUGH_BANDWIDTH;
    int r = call->session ? take_offer(call, call->session) : begin_session(call);
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
    g_autofree char *transport = session_transport(call->session, call->target.track);
    GString *reply = begin_ok(call);
    g_string_append_printf(reply, "Transport: %s\r\n", transport);
    send_reply(call, reply);
}

// Whether the URL is that of the session's mount or of a track; answers if it is not.
static bool is_about_session(const struct call *call)
{
    if (call->mount && session_is_of(call->session, call->mount))
        return true;
    answer(call, *call->target.path ? RTSP_NOT_FOUND : RTSP_METHOD_NOT_VALID);
    return false;
}

static void handle_play(struct call *call)
{
    const char *range = rtsp_request_header(call->request, "Range");

    if (!is_about_session(call))
        return;
    if (range && !g_str_has_prefix(range, "npt")) {
        answer(call, RTSP_INVALID_RANGE);
        return;
    }
    g_autofree char *rtp_info = session_rtp_info(call->session, call->target.base);
    GString *reply = begin_ok(call);
    g_string_append_printf(reply, "Range: npt=now-\r\nRTP-Info: %s\r\n", rtp_info);
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
    const struct mount *mount = mounts_find(connection->service->mounts, call.target.path);
    call.mount = mount && mount_track(mount, call.target.track) ? mount : NULL;
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
