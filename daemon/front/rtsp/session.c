#include "daemon/front/rtsp/session.h"

#include "daemon/common/log.h"
#include "daemon/front/rtsp/transport_interleaved.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct session {
    char id[17];
    struct connection *connection; // borrowed
    struct stream *stream;         // borrowed; the sender holds a reference
    struct rtsp_transport_offer offer;
    struct transport *transport; // the sender's; NULL: by multicast
    struct rtp_sender *sender;   // owned, or its group's
    struct multicast_group *group;
    struct multicast_member member; // of the group
    bool played;
    int64_t heard_ns;
    int64_t idle_ns; // when it was set up or paused last
};

static bool is_interleaved(const struct session *session)
{
    return session->offer.lower == RTSP_LOWER_INTERLEAVED;
}

bool session_is_multicast(const struct session *session)
{
    return session->offer.lower == RTSP_LOWER_MULTICAST;
}

static void take_datagram(void *context, const struct sockaddr *from, const uint8_t *bytes,
                          size_t size)
{
    (void)from; // its viewer's
    session_take_rtcp(context, bytes, size);
}

static void on_broken(void *context)
{
    rtsp_service_end(((const struct session *)context)->connection);
}

static int make_transport(struct session *session)
{
    struct connection *connection = session->connection;
    const struct rtsp_transport_offer *offer = &session->offer;

    if (!is_interleaved(session)) {
        struct udp_sockets *sockets =
            rtsp_service_udp(connection->service, connection->peer.ss_family);

        // Firewalls and clients expect the packets from where the RTSP server is (RFC 2326, 12.39).
        return sockets ? transport_udp_new(sockets, &connection->local, &connection->peer,
                                           offer->port, offer->rtcp_port, take_datagram, session,
                                           &session->transport)
                       : -ENOTSUP;
    }
    session->transport = transport_interleaved_new(connection->wire, (uint8_t)offer->channel,
                                                   (uint8_t)offer->rtcp_channel);
    return session->transport ? 0 : -ENOMEM;
}

static int make_sender(struct session *session)
{
    int r = make_transport(session);

    return r < 0 ? r
                 : rtp_sender_new(session->stream, session->transport, on_broken, session,
                                  &session->sender);
}

static int join_group(struct session *session)
{
    session->member.peer = peer_of((const struct sockaddr *)&session->connection->peer);
    int r = multicast_join(session->connection->service->multicast, session->stream,
                           &session->member, &session->group);
    if (r == 0)
        session->sender = multicast_sender(session->group);
    return r;
}

static const char *transport_name(const struct session *session)
{
    return session_is_multicast(session) ? "multicast"
           : is_interleaved(session)     ? wire_kind(session->connection->wire)->name
                                         : "UDP";
}

int session_new(struct connection *connection, struct stream *stream,
                const struct rtsp_transport_offer *offer, struct session **ret_session)
{
    struct session *session = calloc(1, sizeof *session);
    uint64_t drawn;

    if (!session || getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        free(session);
        return -ENOMEM;
    }
    session->connection = connection;
    session->stream = stream;
    session->offer = *offer;
    snprintf(session->id, sizeof session->id, "%016" PRIx64, drawn);
    int r = session_is_multicast(session) ? join_group(session) : make_sender(session);
    if (r < 0) {
        free(session);
        return r;
    }
    connection->service->session_count++;
    g_queue_push_tail(&connection->address->sessions, session);
    session_refresh(session);
    session->idle_ns = session->heard_ns;
    *ret_session = session;
    return 0;
}

static void log_viewer(const struct session *session, const char *state, const char *what)
{
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    if (rtsp_service_logs(session->connection->service, session->connection->address, suffix)) {
        log_write(LOG_INFO, LOG_EVENT_VIEWER, NULL, state, "%s: viewer %s over %s %s%s",
                  stream_path(session->stream), session->connection->peer_name,
                  transport_name(session), what, suffix);
    }
}

void session_free(struct session *session)
{
    if (!session)
        return;
    if (session->played)
        log_viewer(session, "gone", "went");
    session_pause(session);
    session->connection->service->session_count--;
    g_queue_remove(&session->connection->address->sessions, session);
    if (session->group)
        multicast_leave(session->group, &session->member);
    else
        rtp_sender_free(session->sender);
    free(session);
}

const char *session_id(const struct session *session)
{
    return session->id;
}

struct stream *session_stream(const struct session *session)
{
    return session->stream;
}

struct connection *session_connection(const struct session *session)
{
    return session->connection;
}

struct rtp_sender *session_sender(const struct session *session)
{
    return session->sender;
}

bool session_uses_channel(const struct session *session, int channel)
{
    const struct rtsp_transport_offer *offer = &session->offer;

    return is_interleaved(session) && (offer->channel == channel || offer->rtcp_channel == channel);
}

char *session_transport(const struct session *session)
{
    const struct rtsp_transport_offer *offer = &session->offer;
    uint32_t ssrc = rtp_sender_ssrc(session->sender);

    if (session->group) {
        const struct multicast_place *place = multicast_group_place(session->group);

        return g_strdup_printf("RTP/AVP;multicast;destination=%s;port=%u-%u;ttl=%d;ssrc=%08X;"
                               "mode=\"PLAY\"",
                               place->address, place->port, place->port + 1U, place->ttl, ssrc);
    }
    if (!is_interleaved(session)) {
        unsigned port = udp_sockets_port(
            rtsp_service_udp(session->connection->service, session->connection->peer.ss_family));

        return g_strdup_printf("RTP/AVP;unicast;client_port=%u-%u;server_port=%u-%u;ssrc=%08X;"
                               "mode=\"PLAY\"",
                               offer->port, offer->rtcp_port, port, port + 1, ssrc);
    }
    return g_strdup_printf("RTP/AVP/TCP;unicast;interleaved=%d-%d;ssrc=%08X;mode=\"PLAY\"",
                           offer->channel, offer->rtcp_channel, ssrc);
}

void session_play(struct session *session)
{
    if (!session_is_playing(session))
        stream_count_viewer(session->stream, VIEWER_RTSP, 1);
    if (session->group)
        multicast_play(session->group, &session->member);
    else
        rtp_sender_play(session->sender);
    if (!session->played) {
        session->played = true;
        log_viewer(session, "playing", "came");
    }
}

void session_pause(struct session *session)
{
    if (session_is_playing(session)) {
        session->idle_ns = clock_now_ns();
        stream_count_viewer(session->stream, VIEWER_RTSP, -1);
    }
    if (session->group)
        multicast_pause(session->group, &session->member);
    else
        rtp_sender_pause(session->sender);
}

bool session_is_playing(const struct session *session)
{
    return session->group ? session->member.playing : rtp_sender_is_playing(session->sender);
}

bool session_has_played(const struct session *session)
{
    return session->played;
}

int64_t session_idle_ns(const struct session *session)
{
    return session_is_playing(session) ? INT64_MAX : session->idle_ns;
}

void session_refresh(struct session *session)
{
    session->heard_ns = clock_now_ns();
}

void session_take_rtcp(struct session *session, const uint8_t *bytes, size_t size)
{
    if (rtp_sender_take_rtcp(session->sender, bytes, size))
        session_refresh(session);
}

void session_writable(struct session *session)
{
    if (is_interleaved(session))
        session->transport->writable(session->transport->context);
}

int session_tick(struct session *session, int64_t now_ns)
{
    int64_t play_within_ns = session->connection->service->limits.play_within_s * NS_PER_S;
    // A viewer over TCP shows that it is alive by reading.
    int64_t heard_ns = MAX(session->heard_ns, session->member.reported_ns);
    bool silent = now_ns - heard_ns > RTSP_SESSION_TIMEOUT_S * NS_PER_S;
    bool unused = !session->played && now_ns - session->idle_ns > play_within_ns;

    if (now_ns >= rtp_sender_stalled_ns(session->sender))
        return -EPIPE;
    rtp_sender_tick(session->sender, now_ns);
    return unused || (silent && (!is_interleaved(session) || !session_is_playing(session)))
               ? -ETIMEDOUT
               : 0;
}
