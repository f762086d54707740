// rtspsrc tells of requests by a signal, and of answers to extensions alone: elements that it makes
// for itself. Ours has no other purpose. It finds its client by the thread that makes both.
#include "capture/gstreamer/rtsp_client.h"

#include "capture/gstreamer/rhythm.h"
#include "capture/gstreamer/rtp_clock.h"
#include "capture/gstreamer/rtsp_host.h"
#include "capture/gstreamer/rtsp_logins.h"
#include "config/credentials.h"

#include <errno.h>
#include <gio/gio.h>
#include <gst/rtsp/gstrtspextension.h>
#include <gst/rtsp/rtsp.h>
#include <gst/sdp/sdp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

// Shorter than the wait for the first picture, so that there is time for TCP.
#define UDP_TIMEOUT_US 2000000
// Without TCP to turn to, UDP may be as slow as rare pictures are.
#define UDP_ONLY_TIMEOUT_US 12000000
#define TCP_TIMEOUT_US 5000000
// Until two pictures have told their period.
#define FIRST_PATIENCE_NS (12 * NS_PER_S)
// A network that stands still for less brings all pictures afterwards; a new connection, none.
#define PATIENCE_NS (4 * NS_PER_S)
#define PERIODS 3
#define REDIRECTS_MAX 4
// Of an answer of a camera, and of a picture as it comes. An IDR picture of 4K at its best has 2
// MB.
#define BODY_BYTES_MAX 65536u
#define HEADERS_MAX 128u
#define UNIT_BYTES_MAX (8u << 20)
#define RTP_MARKER 0x80
// RFC 2326, 12.37, has 60 s where the camera says nothing.
#define SESSION_TIMEOUT_S 60
#define KEEP_ALIVE_SHARE 3
#define RTP_TIMESTAMP_OFFSET 4

struct rtsp_client {
    const struct config_camera *camera; // not owned
    GstElement *rtspsrc;                // owned reference
    _Atomic int64_t heard_ns; // when RTP, or the description of the stream, came; 0: not yet
    _Atomic int64_t period_ns;
    atomic_uint session_timeout_s;
    atomic_bool answered, described, seen, keeps_by_options; // seen: a picture has begun to come
    atomic_bool refused;    // the camera does not let this user in, however often it is asked
    int64_t kept_ns;        // lane only
    struct rtp_clock clock; // of the thread that RTP comes by, as the next three
    struct rhythm rhythm;
    uint32_t stamp;            // of the last packet's picture
    size_t unit_bytes;         // of that picture so far
    struct rtsp_logins logins; // of the thread that talks to the camera, as the next
    bool elsewhere;            // it redirects to another host, which gets no password
    int video;                 // the stream that is asked for; -1: none yet
    unsigned redirects;
    pthread_mutex_t lock;
    struct error reason; // guarded by `lock`; no text: GStreamer's words will do
};

static _Thread_local struct rtsp_client *next_client;

// Of the extension.

typedef struct {
    GstElement element;
    struct rtsp_client *client; // not owned
} EdgedRtspAnswers;
typedef GstElementClass EdgedRtspAnswersClass;

static void implement_extension(gpointer interface, gpointer data);
GType edged_rtsp_answers_get_type(void);
G_DEFINE_TYPE_WITH_CODE(EdgedRtspAnswers, edged_rtsp_answers, GST_TYPE_ELEMENT,
                        G_IMPLEMENT_INTERFACE(GST_TYPE_RTSP_EXTENSION, implement_extension))

static void edged_rtsp_answers_class_init(EdgedRtspAnswersClass *class)
{
    gst_element_class_set_static_metadata(class, "edged's RTSP client",
                                          "Network/Extension/Protocol", "Mends cameras' answers",
                                          "edged");
}

static void edged_rtsp_answers_init(EdgedRtspAnswers *answers)
{
    answers->client = next_client;
}

__attribute__((format(printf, 2, 3))) static void set_reason(struct rtsp_client *client,
                                                             const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&client->lock);
    va_start(arguments, format);
    vsnprintf(client->reason.text, sizeof client->reason.text, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&client->lock);
}

static const char *find_header(const GstRTSPMessage *message, GstRTSPHeaderField field, int index)
{
    char *value = NULL;

    gst_rtsp_message_get_header(message, field, &value, index);
    return value;
}

// A camera that does not list GET_PARAMETER gets OPTIONS instead; rtspsrc has an action for the
// former alone, and only if it is listed.
static void mend_methods(struct rtsp_client *client, GstRTSPMessage *answer)
{
    static const GstRTSPHeaderField fields[] = {GST_RTSP_HDR_PUBLIC, GST_RTSP_HDR_ALLOW};
    bool listed = false, any = false;
    const char *value;

    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        for (int j = 0; (value = find_header(answer, fields[i], j)); j++) {
            any = true;
            listed |= strstr(value, "GET_PARAMETER") != NULL;
        }
    }
    client->keeps_by_options = !listed;
    if (!listed) {
        gst_rtsp_message_add_header(answer, GST_RTSP_HDR_PUBLIC,
                                    any ? "GET_PARAMETER" : "DESCRIBE, SETUP, GET_PARAMETER");
    }
}

static void read_session(struct rtsp_client *client, const GstRTSPMessage *answer)
{
    const char *session = find_header(answer, GST_RTSP_HDR_SESSION, 0);
    const char *timeout = session ? strcasestr(session, "timeout=") : NULL;
    unsigned long seconds = timeout ? strtoul(timeout + strlen("timeout="), NULL, 10) : 0;

    client->session_timeout_s =
        seconds > 0 && seconds < SESSION_TIMEOUT_S ? (unsigned)seconds : SESSION_TIMEOUT_S;
}

// rtspsrc would try an unauthorized request eight times; a camera may lock the account.
static void check_login(struct rtsp_client *client, const GstRTSPMessage *request,
                        GstRTSPMessage *answer)
{
    switch (rtsp_logins_take(&client->logins, request, answer)) {
    case RTSP_LOGIN_TRY:
        return;
    case RTSP_LOGIN_UNKNOWN:
        set_reason(client, "the camera takes no login but Digest with SHA-256, which edged cannot "
                           "do; allow Digest with MD5 in the camera's settings");
        break;
    case RTSP_LOGIN_REFUSED:
        set_reason(client,
                   "wrong user or password: the camera refuses the user and password in \"%s\"",
                   client->camera->credentials);
        break;
    }
    client->refused = true;
    gst_rtsp_message_remove_header(answer, GST_RTSP_HDR_WWW_AUTHENTICATE, -1);
    answer->type_data.response.code = GST_RTSP_STS_FORBIDDEN;
}

// The password is the camera's, not another host's.
static void follow_redirection(struct rtsp_client *client, const char *asked, const char *location)
{
    if (!rtsp_host_is_same(asked, location)) {
        client->elsewhere = true;
        g_object_set(client->rtspsrc, "user-id", NULL, "user-pw", NULL, NULL);
    }
}

// A redirection that rtspsrc must not follow becomes "not found".
static void check_redirection(struct rtsp_client *client, const GstRTSPMessage *request,
                              GstRTSPMessage *answer)
{
    const char *location = find_header(answer, GST_RTSP_HDR_LOCATION, 0), *host;
    const char *asked = request->type_data.request.uri;
    int length;

    if (!location) {
        set_reason(client, "the camera redirects, and does not say where to");
    } else if (strcmp(location, asked) == 0) {
        set_reason(client, "the camera redirects to itself; ask it for another path");
    } else if (++client->redirects > REDIRECTS_MAX) {
        set_reason(client,
                   "the camera redirects in a circle, %d times and more; ask it for "
                   "another path",
                   REDIRECTS_MAX);
    } else if (g_str_has_prefix(asked, "rtsps://") && !g_str_has_prefix(location, "rtsps://")) {
        length = rtsp_host_find(location, &host);
        set_reason(client,
                   "the camera redirects from rtsps:// to %.*s, which is not encrypted; "
                   "edged does not follow",
                   length, host);
    } else {
        follow_redirection(client, asked, location);
        return;
    }
    answer->type_data.response.code = GST_RTSP_STS_NOT_FOUND;
}

// Drops what no camera needs so much of, before rtspsrc makes many times as much of it.
static void check_size(struct rtsp_client *client, GstRTSPMessage *answer)
{
    if (answer->body_size <= BODY_BYTES_MAX && answer->hdr_fields->len <= HEADERS_MAX)
        return;
    set_reason(client, "the camera answers with %u headers and %u bytes, allowed: %u and %u",
               answer->hdr_fields->len, answer->body_size, HEADERS_MAX, BODY_BYTES_MAX);
    gst_rtsp_message_take_body(answer, NULL, 0);
    answer->type_data.response.code = GST_RTSP_STS_REQUEST_ENTITY_TOO_LARGE;
}

// Why a camera gives no stream, where its answer tells.
static void note_refusal(struct rtsp_client *client, GstRTSPMethod method, GstRTSPStatusCode code)
{
    if (method != GST_RTSP_DESCRIBE && method != GST_RTSP_SETUP && method != GST_RTSP_PLAY)
        return;
    if (code == GST_RTSP_STS_NOT_FOUND) {
        set_reason(client,
                   "the camera has no stream at this path: Not Found (404); its manual says "
                   "which it has");
    } else if (code == GST_RTSP_STS_SERVICE_UNAVAILABLE) {
        set_reason(client, "the camera is busy: Service Unavailable (503); it may have as many "
                           "viewers as it serves, or be starting");
    } else if (code == GST_RTSP_STS_FORBIDDEN) {
        client->refused = true;
        set_reason(client, "the camera keeps this stream from this user, or from this address: "
                           "Forbidden (403)");
    }
}

static GstRTSPResult on_answer(GstRTSPExtension *extension, GstRTSPMessage *request,
                               GstRTSPMessage *answer)
{
    struct rtsp_client *client = ((EdgedRtspAnswers *)(void *)extension)->client;
    GstRTSPMethod method;

    if (!client || answer->type != GST_RTSP_MESSAGE_RESPONSE ||
        request->type != GST_RTSP_MESSAGE_REQUEST) {
        return GST_RTSP_OK;
    }
    client->answered = true;
    check_size(client, answer);
    method = request->type_data.request.method;
    rtsp_logins_note(&client->logins, request, answer);
    switch (answer->type_data.response.code) {
    case GST_RTSP_STS_OK:
        if (method == GST_RTSP_OPTIONS) {
            mend_methods(client, answer);
        } else if (method == GST_RTSP_DESCRIBE) {
            set_reason(client, "%s", "");
        } else if (method == GST_RTSP_SETUP) {
            read_session(client, answer);
        } else if (method == GST_RTSP_PLAY) {
            // From now on a control connection that the camera closes ends the stream, by UDP as
            // well. Before, a camera may close it after each answer.
            g_object_set(client->rtspsrc, "udp-reconnect", FALSE, NULL);
            gst_rtsp_message_remove_header(answer, GST_RTSP_HDR_RTP_INFO, -1);
            gst_rtsp_message_remove_header(answer, GST_RTSP_HDR_RANGE, -1);
        }
        break;
    case GST_RTSP_STS_UNAUTHORIZED:
        check_login(client, request, answer);
        break;
    case GST_RTSP_STS_MOVED_PERMANENTLY:
    case GST_RTSP_STS_MOVE_TEMPORARILY:
        check_redirection(client, request, answer);
        break;
    default:
        note_refusal(client, method, answer->type_data.response.code);
        break;
    }
    return GST_RTSP_OK;
}

static void implement_extension(gpointer interface, gpointer data)
{
    (void)data;
    ((GstRTSPExtensionInterface *)interface)->after_send = on_answer;
}

// Of rtspsrc's signals.

static gboolean on_request(GstElement *rtspsrc, GstRTSPMessage *request, gpointer data)
{
    const struct rtsp_client *client = data;

    if (request->type != GST_RTSP_MESSAGE_REQUEST)
        return TRUE;
    switch (request->type_data.request.method) {
    case GST_RTSP_DESCRIBE:
        g_object_set(rtspsrc, "udp-reconnect", TRUE, NULL);
        break;
    case GST_RTSP_GET_PARAMETER: // without any it keeps the session
        gst_rtsp_message_take_body(request, NULL, 0);
        gst_rtsp_message_remove_header(request, GST_RTSP_HDR_CONTENT_TYPE, -1);
        gst_rtsp_message_remove_header(request, GST_RTSP_HDR_CONTENT_LENGTH, -1);
        if (client->keeps_by_options)
            request->type_data.request.method = GST_RTSP_OPTIONS;
        break;
    default:
        break;
    }
    return TRUE;
}

// Whether the camera is talked to by IPv6. A name may be either: then the SDP is believed.
static bool is_ipv6(const char *url, GstSDPMessage *sdp)
{
    const GstSDPConnection *said = gst_sdp_message_get_connection(sdp);
    g_autofree char *name = NULL;
    const char *host;
    int length = rtsp_host_find(url, &host);

    if (length > 0 && *host == '[')
        return true;
    name = g_strndup(host, strcspn(host, ":/?#"));
    return !g_hostname_is_ip_address(name) && g_strcmp0(said->addrtype, "IP6") == 0;
}

// rtspsrc takes the SDP's address for the family that UDP goes by, and asks for nothing but
// multicast where it is a group's. Cameras write anything there.
static void on_sdp(GstElement *rtspsrc, GstSDPMessage *sdp, gpointer data)
{
    struct rtsp_client *client = data;
    g_autofree char *url = NULL;
    bool ipv6;

    client->video = -1;
    client->described = true;
    client->heard_ns = clock_now_ns();
    g_object_get(rtspsrc, "location", &url, NULL);
    ipv6 = is_ipv6(url, sdp);
    gst_sdp_message_set_connection(sdp, "IN", ipv6 ? "IP6" : "IP4", ipv6 ? "::" : "0.0.0.0", 0, 0);
    for (guint i = 0; i < gst_sdp_message_medias_len(sdp); i++) {
        GstSDPMedia *media = (GstSDPMedia *)(void *)gst_sdp_message_get_media(sdp, i);

        while (gst_sdp_media_connections_len(media) > 0)
            gst_sdp_media_remove_connection(media, 0);
    }
}

// rtspsrc adds a pad for each source of RTP (SSRC) of the one video that is asked for. A second pad
// is linked to nothing, and the stream ends with an error. rtspsrc reports one itself before 1.24
// only.
static void on_source(GstElement *rtspsrc, GstPad *pad, gpointer data)
{
    struct rtsp_client *client = data;

    (void)pad;
    if (!client->seen)
        return;
    set_reason(client, "the camera goes on with another SSRC, as after a change of its settings or "
                       "clock");
    GST_ELEMENT_ERROR(rtspsrc, STREAM, FAILED, (NULL), ("another SSRC"));
}

// Neither sound nor what ONVIF calls metadata is asked for, nor a second video.
static gboolean on_select_stream(GstElement *rtspsrc, guint number, GstCaps *caps, gpointer data)
{
    const char *media = gst_structure_get_string(gst_caps_get_structure(caps, 0), "media");
    struct rtsp_client *client = data;

    (void)rtspsrc;
    if (g_strcmp0(media, "video") != 0 || (client->video >= 0 && client->video != (int)number))
        return FALSE;
    client->video = (int)number;
    return TRUE;
}

// Whether hexadecimal digits, with or without colons, are the same.
static bool is_same_fingerprint(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, ":");
        b += strspn(b, ":");
        if (g_ascii_tolower(*a) != g_ascii_tolower(*b))
            return false;
        if (!*a)
            return true;
    }
}

static gboolean on_certificate(GstElement *rtspsrc, GTlsConnection *connection,
                               GTlsCertificate *certificate, GTlsCertificateFlags faults,
                               gpointer data)
{
    struct rtsp_client *client = data;
    const char *pinned = client->camera->fingerprint;
    g_autoptr(GByteArray) der = NULL;
    g_autofree char *seen = NULL;

    (void)rtspsrc;
    (void)connection;
    g_object_get(certificate, "certificate", &der, NULL);
    seen = der ? g_compute_checksum_for_data(G_CHECKSUM_SHA256, der->data, der->len) : g_strdup("");
    if (*pinned && is_same_fingerprint(pinned, seen))
        return TRUE;
    if (*pinned) {
        set_reason(client,
                   "the camera shows another certificate than fingerprint allows; write "
                   "fingerprint = \"%s\" if this is the camera's new one",
                   seen);
    } else {
        set_reason(client,
                   "the camera's certificate is %s; write fingerprint = \"%s\" if this is "
                   "the camera's own",
                   faults & G_TLS_CERTIFICATE_EXPIRED        ? "out of date"
                   : faults & G_TLS_CERTIFICATE_UNKNOWN_CA   ? "signed by nobody this system trusts"
                   : faults & G_TLS_CERTIFICATE_BAD_IDENTITY ? "made for another name"
                                                             : "not valid",
                   seen);
    }
    return FALSE;
}

// A pinned certificate is to be asked about whoever has signed it: no authority is known.
typedef GTlsDatabase EdgedNoAuthorities;
typedef GTlsDatabaseClass EdgedNoAuthoritiesClass;
GType edged_no_authorities_get_type(void);
G_DEFINE_TYPE(EdgedNoAuthorities, edged_no_authorities, G_TYPE_TLS_DATABASE)

static GTlsCertificateFlags verify_chain(GTlsDatabase *database, GTlsCertificate *chain,
                                         const gchar *purpose, GSocketConnectable *identity,
                                         GTlsInteraction *interaction,
                                         GTlsDatabaseVerifyFlags flags, GCancellable *cancellable,
                                         GError **error)
{
    (void)database;
    (void)chain;
    (void)purpose;
    (void)identity;
    (void)interaction;
    (void)flags;
    (void)cancellable;
    (void)error;
    return G_TLS_CERTIFICATE_UNKNOWN_CA;
}

static void edged_no_authorities_class_init(EdgedNoAuthoritiesClass *class)
{
    class->verify_chain = verify_chain;
}

static void edged_no_authorities_init(EdgedNoAuthorities *database)
{
    (void)database;
}

// Counts a packet of a picture, which ends with a marker or another timestamp. Whether the picture
// is no larger than one can be: what follows is not for a decoder to collect.
static bool fits(struct rtsp_client *client, GstBuffer *packet, bool begins)
{
    uint8_t marker = 0;

    client->unit_bytes = (begins ? 0 : client->unit_bytes) + gst_buffer_get_size(packet);
    bool may = client->unit_bytes <= UNIT_BYTES_MAX;
    if (!may) {
        set_reason(client, "the camera sends a picture of more than %u MiB, which none has",
                   UNIT_BYTES_MAX >> 20);
    }
    if (gst_buffer_extract(packet, 1, &marker, 1) == 1 && marker & RTP_MARKER)
        client->unit_bytes = 0;
    return may;
}

// Dates a packet's picture. rtspsrc, whose latency is 0, would take the arrival of a late picture
// for its capture. Whether the packet may go on.
static bool date_packet(struct rtsp_client *client, GstBuffer *packet, int64_t now_ns)
{
    int64_t base_ns = (int64_t)gst_element_get_base_time(client->rtspsrc);
    uint32_t stamp;

    client->heard_ns = now_ns;
    if (gst_buffer_extract(packet, RTP_TIMESTAMP_OFFSET, &stamp, sizeof stamp) != sizeof stamp)
        return true;
    bool begins = !client->seen || stamp != client->stamp;
    client->stamp = stamp;
    if (rtp_clock_note(&client->clock, GUINT32_FROM_BE(stamp), now_ns))
        rhythm_note(&client->rhythm, now_ns);
    client->period_ns = rhythm_period_ns(&client->rhythm);
    client->seen = true;
    GST_BUFFER_PTS(packet) = (GstClockTime)MAX(client->clock.captured_ns - base_ns, 0);
    GST_BUFFER_DTS(packet) = GST_CLOCK_TIME_NONE;
    return fits(client, packet, begins);
}

static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    int64_t now_ns = clock_now_ns();
    bool may = true;

    (void)pad;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));

        GST_PAD_PROBE_INFO_DATA(info) = list;
        for (guint i = 0; i < gst_buffer_list_length(list); i++)
            may &= date_packet(data, gst_buffer_list_get_writable(list, i), now_ns);
    } else {
        GstBuffer *packet = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));

        GST_PAD_PROBE_INFO_DATA(info) = packet;
        may = date_packet(data, packet, now_ns);
    }
    return may ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
}

// Of the lane.

static void register_extension(void)
{
    gst_element_register(NULL, "edged-rtsp-answers", GST_RANK_MARGINAL,
                         edged_rtsp_answers_get_type());
}

struct rtsp_client *rtsp_client_new(const struct config_camera *camera)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rtsp_client *client = calloc(1, sizeof *client);

    if (client) {
        pthread_once(&once, register_extension);
        client->camera = camera;
        client->video = -1;
        client->session_timeout_s = SESSION_TIMEOUT_S;
        client->kept_ns = clock_now_ns();
        pthread_mutex_init(&client->lock, NULL);
        next_client = client;
    }
    return client;
}

void rtsp_client_free(struct rtsp_client *client)
{
    if (!client)
        return;
    if (next_client == client)
        next_client = NULL;
    gst_clear_object(&client->rtspsrc);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

static int set_credentials(GstElement *rtspsrc, const char *path, struct error *error)
{
    struct credentials credentials;
    int r = credentials_read(path, error, &credentials);

    if (r == 0) {
        g_object_set(rtspsrc, "user-id", credentials.user, "user-pw", credentials.password, NULL);
        credentials_clear(&credentials);
    }
    return r;
}

int rtsp_client_attach(struct rtsp_client *client, GstElement *rtspsrc, GstElement *parser,
                       const char *protocols, struct error *error)
{
    const struct config_camera *camera = client->camera;
    g_autoptr(GstPad) pad = gst_element_get_static_pad(parser, "sink");
    guint64 udp_timeout_us = strstr(protocols, "tcp") ? UDP_TIMEOUT_US : UDP_ONLY_TIMEOUT_US;

    next_client = NULL;
    client->rtspsrc = gst_object_ref(rtspsrc);
    g_object_set(rtspsrc, "location", camera->url, "latency", 0, "timeout", udp_timeout_us,
                 "tcp-timeout", (guint64)TCP_TIMEOUT_US, NULL);
    gst_util_set_object_arg(G_OBJECT(rtspsrc), "protocols", protocols);
    g_signal_connect(rtspsrc, "before-send", G_CALLBACK(on_request), client);
    g_signal_connect(rtspsrc, "pad-added", G_CALLBACK(on_source), client);
    g_signal_connect(rtspsrc, "on-sdp", G_CALLBACK(on_sdp), client);
    g_signal_connect(rtspsrc, "select-stream", G_CALLBACK(on_select_stream), client);
    if (g_str_has_prefix(camera->url, "rtsps://"))
        g_signal_connect(rtspsrc, "accept-certificate", G_CALLBACK(on_certificate), client);
    if (*camera->fingerprint) {
        g_autoptr(GTlsDatabase) database = g_object_new(edged_no_authorities_get_type(), NULL);

        g_object_set(rtspsrc, "tls-database", database, NULL);
    }
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packet,
                      client, NULL);
    return *camera->credentials ? set_credentials(rtspsrc, camera->credentials, error) : 0;
}

bool rtsp_client_is_heard(const struct rtsp_client *client)
{
    return client->heard_ns != 0;
}

bool rtsp_client_needs_transport(const struct rtsp_client *client)
{
    return client->described && !client->seen;
}

int64_t rtsp_client_period_ns(const struct rtsp_client *client)
{
    int64_t period_ns = client->period_ns;

    return period_ns ? period_ns : FIRST_PATIENCE_NS / PERIODS;
}

int64_t rtsp_client_patient_until_ns(const struct rtsp_client *client)
{
    int64_t period_ns = rtsp_client_period_ns(client);

    return client->heard_ns + MAX(PATIENCE_NS, PERIODS * period_ns);
}

void rtsp_client_keep_alive(struct rtsp_client *client)
{
    int64_t now_ns = clock_now_ns();
    int64_t every_ns = client->session_timeout_s * NS_PER_S / KEEP_ALIVE_SHARE;
    GstPromise *promise;
    gboolean sent;

    if (!client->seen || now_ns - client->kept_ns < every_ns)
        return;
    client->kept_ns = now_ns;
    promise = gst_promise_new();
    g_signal_emit_by_name(client->rtspsrc, "get-parameter", "keep-alive", NULL, promise, &sent);
    gst_promise_unref(promise);
}

int rtsp_client_explain(struct rtsp_client *client, int code, struct error *error)
{
    g_autofree char *url = NULL, *sentence = NULL;
    struct error reason;

    pthread_mutex_lock(&client->lock);
    reason = client->reason;
    pthread_mutex_unlock(&client->lock);
    code = client->refused ? -EKEYREJECTED : code;
    if (*reason.text)
        return error_set(error, code, "%s", reason.text);
    if (code == -EACCES && client->elsewhere) {
        return error_set(error, -EKEYREJECTED,
                         "the camera redirects to another host, which wants a password and gets "
                         "none; give that host's url");
    }
    if (code == -EACCES && client->answered) {
        code = -EKEYREJECTED;
        return *client->camera->credentials
                   ? error_set(error, code, "the camera refuses the user and password in \"%s\"",
                               client->camera->credentials)
                   : error_set(error, code,
                               "the camera wants a user and a password: credentials = \"FILE\", a "
                               "file with the line user:password");
    }
    if ((code != -EPIPE && code != -ETIMEDOUT) || client->answered || !client->rtspsrc)
        return code;
    g_object_get(client->rtspsrc, "location", &url, NULL);
    if (code == -ETIMEDOUT) {
        const char *host;
        int length = rtsp_host_find(url, &host);

        return error_set(error, code, "%.*s does not answer", length, host);
    }
    sentence = rtsp_host_try(url, g_str_has_prefix(url, "rtsps://") ? 322 : 554);
    return sentence ? error_set(error, code, "%s", sentence) : code;
}
