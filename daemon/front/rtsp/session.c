#include "daemon/front/rtsp/session.h"

#include "daemon/common/log.h"
#include "daemon/front/rtsp/transport_interleaved.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// A stream on its way to the viewer. By multicast its sender is the group's.
struct session_track {
    struct session *session;
    struct session_track *next;
    unsigned number;       // of the mount's tracks
    struct stream *stream; // borrowed; the sender holds a reference
    struct rtsp_transport_offer offer;
    struct transport *transport; // the sender's; NULL: by multicast
    struct rtp_sender *sender;   // owned, or its group's
    struct multicast_group *group;
    struct multicast_member member; // of the group
};

struct session {
    char id[17];
    struct connection *connection; // borrowed
    struct session_track *tracks;  // owned, a list
    bool played;
    int64_t heard_ns;
    int64_t idle_ns; // when it was set up or paused last
};

static bool is_interleaved(const struct session_track *track)
{
    return track->offer.lower == RTSP_LOWER_INTERLEAVED;
}

static void take_rtcp(struct session_track *track, const uint8_t *bytes, size_t size)
{
    if (rtp_sender_take_rtcp(track->sender, bytes, size))
        session_refresh(track->session);
}

static void take_datagram(void *context, const struct sockaddr *from, const uint8_t *bytes,
                          size_t size)
{
    (void)from; // its viewer's
    take_rtcp(context, bytes, size);
}

static void on_broken(void *context)
{
    rtsp_service_end(context);
}

static int make_transport(struct session_track *track)
{
    struct connection *connection = track->session->connection;
    const struct rtsp_transport_offer *offer = &track->offer;

    if (!is_interleaved(track)) {
        struct udp_sockets *sockets =
            rtsp_service_udp(connection->service, connection->peer.ss_family);

        // Firewalls and clients expect the packets from where the RTSP server is (RFC 2326, 12.39).
        return sockets
                   ? transport_udp_new(sockets, &connection->local, &connection->peer, offer->port,
                                       offer->rtcp_port, take_datagram, track, &track->transport)
                   : -ENOTSUP;
    }
    track->transport = transport_interleaved_new(connection->wire, (uint8_t)offer->channel,
                                                 (uint8_t)offer->rtcp_channel);
    return track->transport ? 0 : -ENOMEM;
}

static int make_sender(struct session_track *track)
{
    int r = make_transport(track);

    return r < 0 ? r
                 : rtp_sender_new(track->stream, track->transport, on_broken,
                                  track->session->connection, &track->sender);
}

static int join_group(struct session_track *track)
{
    const struct connection *connection = track->session->connection;

    track->member.peer = peer_of((const struct sockaddr *)&connection->peer);
    int r = multicast_join(connection->service->multicast, track->stream, &track->member,
                           &track->group);
    if (r == 0)
        track->sender = multicast_sender(track->group);
    return r;
}

int session_add_track(struct session *session, unsigned number, struct stream *stream,
                      const struct rtsp_transport_offer *offer)
{
    struct session_track *track = calloc(1, sizeof *track);

    if (!track)
        return -ENOMEM;
    *track = (struct session_track){
        .session = session, .number = number, .stream = stream, .offer = *offer};
    int r = offer->lower == RTSP_LOWER_MULTICAST ? join_group(track) : make_sender(track);
    if (r < 0) {
        free(track);
        return r;
    }
    track->next = session->tracks;
    session->tracks = track;
    return 0;
}

static void free_track(struct session_track *track)
{
    if (track->group)
        multicast_leave(track->group, &track->member);
    else
        rtp_sender_free(track->sender);
    free(track);
}

struct session *session_new(struct connection *connection)
{
    struct session *session = calloc(1, sizeof *session);
    uint64_t drawn;

    if (!session || getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        free(session);
        return NULL;
    }
    session->connection = connection;
    snprintf(session->id, sizeof session->id, "%016" PRIx64, drawn);
    connection->service->session_count++;
    g_queue_push_tail(&connection->address->sessions, session);
    session_refresh(session);
    session->idle_ns = session->heard_ns;
    return session;
}

static const char *transport_name(const struct session *session)
{
    return session_is_multicast(session)     ? "multicast"
           : is_interleaved(session->tracks) ? wire_kind(session->connection->wire)->name
                                             : "UDP";
}

static void log_viewer(const struct session *session, const char *state, const char *what)
{
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    if (rtsp_service_logs(session->connection->service, session->connection->address, suffix)) {
        log_write(LOG_INFO, LOG_EVENT_VIEWER, NULL, state, "%s: viewer %s over %s %s%s",
                  session_path(session), session->connection->peer_name, transport_name(session),
                  what, suffix);
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
    while (session->tracks) {
        struct session_track *track = session->tracks;

        session->tracks = track->next;
        free_track(track);
    }
    free(session);
}

const char *session_id(const struct session *session)
{
    return session->id;
}

struct connection *session_connection(const struct session *session)
{
    return session->connection;
}

const char *session_path(const struct session *session)
{
    assert(session->tracks);
    return stream_path(session->tracks->stream);
}

bool session_is_of(const struct session *session, const struct mount *mount)
{
    bool same = true;

    for (const struct session_track *track = session->tracks; track; track = track->next)
        same &= mount_track(mount, track->number) == track->stream;
    return same;
}

static struct session_track *find_track(const struct session *session, unsigned number)
{
    struct session_track *track = session->tracks;

    while (track && track->number != number)
        track = track->next;
    return track;
}

bool session_has_track(const struct session *session, unsigned number)
{
    return find_track(session, number);
}

int session_find_channel(const struct session *session, int channel)
{
    for (const struct session_track *track = session->tracks; track; track = track->next) {
        const struct rtsp_transport_offer *offer = &track->offer;

        if (is_interleaved(track) && (offer->channel == channel || offer->rtcp_channel == channel))
            return (int)track->number;
    }
    return -1;
}

bool session_is_multicast(const struct session *session)
{
    bool found = false;

    for (const struct session_track *track = session->tracks; track; track = track->next)
        found |= track->group != NULL;
    return found;
}

char *session_transport(const struct session *session, unsigned number)
{
    const struct session_track *track = find_track(session, number);
    const struct rtsp_transport_offer *offer = &track->offer;
    uint32_t ssrc = rtp_sender_ssrc(track->sender);

    if (track->group) {
        const struct multicast_place *place = multicast_group_place(track->group);

        return g_strdup_printf("RTP/AVP;multicast;destination=%s;port=%u-%u;ttl=%d;ssrc=%08X;"
                               "mode=\"PLAY\"",
                               place->address, place->port, place->port + 1U, place->ttl, ssrc);
    }
    if (!is_interleaved(track)) {
        unsigned port = udp_sockets_port(
            rtsp_service_udp(session->connection->service, session->connection->peer.ss_family));

        return g_strdup_printf("RTP/AVP;unicast;client_port=%u-%u;server_port=%u-%u;ssrc=%08X;"
                               "mode=\"PLAY\"",
                               offer->port, offer->rtcp_port, port, port + 1, ssrc);
    }
    return g_strdup_printf("RTP/AVP/TCP;unicast;interleaved=%d-%d;ssrc=%08X;mode=\"PLAY\"",
                           offer->channel, offer->rtcp_channel, ssrc);
}

char *session_rtp_info(const struct session *session, const char *base)
{
    GString *text = g_string_new(NULL);

    for (const struct session_track *track = session->tracks; track; track = track->next) {
        uint16_t sequence;
        uint32_t timestamp;

        rtp_sender_position(track->sender, &sequence, &timestamp);
        g_string_append_printf(text, "%surl=%s/" RTSP_TRACK_CONTROL ";seq=%u;rtptime=%u",
                               text->len > 0 ? "," : "", base, track->number, sequence, timestamp);
    }
    return g_string_free(text, FALSE);
}

static bool is_playing(const struct session_track *track)
{
    return track->group ? track->member.playing : rtp_sender_is_playing(track->sender);
}

void session_play(struct session *session)
{
    for (struct session_track *track = session->tracks; track; track = track->next) {
        if (!is_playing(track))
            stream_count_viewer(track->stream, VIEWER_RTSP, 1);
        if (track->group)
            multicast_play(track->group, &track->member);
        else
            rtp_sender_play(track->sender);
    }
    if (!session->played) {
        session->played = true;
        log_viewer(session, "playing", "came");
    }
}

void session_pause(struct session *session)
{
    for (struct session_track *track = session->tracks; track; track = track->next) {
        if (is_playing(track)) {
            session->idle_ns = clock_now_ns();
            stream_count_viewer(track->stream, VIEWER_RTSP, -1);
        }
        if (track->group)
            multicast_pause(track->group, &track->member);
        else
            rtp_sender_pause(track->sender);
    }
}

bool session_is_playing(const struct session *session)
{
    bool playing = false;

    for (const struct session_track *track = session->tracks; track; track = track->next)
        playing |= is_playing(track);
    return playing;
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

void session_take_rtcp(struct session *session, unsigned number, const uint8_t *bytes, size_t size)
{
    take_rtcp(find_track(session, number), bytes, size);
}

void session_writable(struct session *session)
{
    for (struct session_track *track = session->tracks; track; track = track->next) {
        if (is_interleaved(track))
            track->transport->writable(track->transport->context);
    }
}

int64_t session_stalled_ns(const struct session *session)
{
    int64_t stalled_ns = INT64_MAX;

    for (const struct session_track *track = session->tracks; track; track = track->next)
        stalled_ns = MIN(stalled_ns, rtp_sender_stalled_ns(track->sender));
    return stalled_ns;
}

int session_tick(struct session *session, int64_t now_ns)
{
    int64_t play_within_ns = session->connection->service->limits.play_within_s * NS_PER_S;
    int64_t heard_ns = session->heard_ns;
    bool reads = false; // a viewer over TCP shows that it is alive by reading

    if (now_ns >= session_stalled_ns(session))
        return -EPIPE;
    for (struct session_track *track = session->tracks; track; track = track->next) {
        rtp_sender_tick(track->sender, now_ns);
        heard_ns = MAX(heard_ns, track->member.reported_ns);
        reads |= is_interleaved(track) && is_playing(track);
    }
    bool silent = now_ns - heard_ns > RTSP_SESSION_TIMEOUT_S * NS_PER_S;
    bool unused = !session->played && now_ns - session->idle_ns > play_within_ns;
    return unused || (silent && !reads) ? -ETIMEDOUT : 0;
}
