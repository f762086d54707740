#include "daemon/front/stream/rtp_sender.h"

#include "daemon/front/stream/rtcp.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define REPORT_NS (5 * NS_PER_S)

struct rtp_sender {
    struct stream *stream; // the reader holds the reference
    struct stream_reader reader;
    struct transport *transport; // owned
    void (*broken)(void *context);
    void *context;
    struct rtp_header header;  // of the next packet
    uint32_t timestamp_offset; // from the camera's clock
    int64_t ticks;             // of the newest time stamp, before they are cut to 32 bits
    unsigned packet;           // of the reader's unit, to be sent next
    int64_t report_ns;         // when the next one is due
    uint32_t packets, octets;
};

// RFC 7022, section 4.2: one that lasts as long as the process.
static const char *cname(void)
{
    static char name[25];
    uint64_t drawn[2];

    if (!*name && getrandom(drawn, sizeof drawn, 0) == (ssize_t)sizeof drawn) {
        g_autofree char *text = g_base64_encode((const guchar *)drawn, sizeof drawn);

        g_strlcpy(name, text, sizeof name);
    }
    return name;
}

// A time of the camera's clock in ticks of RTP's clock.
static int64_t ticks_at(int64_t time_ns)
{
    return time_ns * (RTP_CLOCK_HZ / 10000) / 100000;
}

static uint32_t rtp_time(const struct rtp_sender *sender, int64_t time_ns)
{
    return sender->timestamp_offset + (uint32_t)ticks_at(time_ns);
}

// The time stamp of a unit: only ever later than that of the one before, by 1 ms at least.
static void stamp(struct rtp_sender *sender, const struct unit *unit)
{
    sender->ticks = MAX(ticks_at(unit->captured_ns), sender->ticks + RTP_CLOCK_HZ / 1000);
    sender->header.timestamp = sender->timestamp_offset + (uint32_t)sender->ticks;
}

static void count(struct rtp_sender *sender, const struct unit *unit, unsigned packets)
{
    for (unsigned i = sender->packet; i < sender->packet + packets; i++)
        sender->octets += unit->packets[i].size + unit->packets[i].head_size;
    sender->packets += packets;
    sender->packet += packets;
    sender->header.sequence = (uint16_t)(sender->header.sequence + packets);
}

// Whether all of the unit has been sent; else the rest waits. -errno: the transport has failed.
static int send_unit(struct rtp_sender *sender, const struct unit *unit)
{
    if (sender->packet == 0 && sender->reader.blocked_ns == 0)
        stamp(sender, unit);
    int taken =
        sender->transport->ops->send(sender->transport, &sender->header, unit, sender->packet);
    if (taken < 0)
        return taken;
    if (sender->packet == 0 && taken > 0)
        stream_note_sent(sender->stream, unit);
    count(sender, unit, (unsigned)taken);
    bool all = sender->packet == unit->packet_count;
    if (!all)
        reader_block(&sender->reader, taken > 0);
    return all;
}

static void send_all(void *context)
{
    struct rtp_sender *sender = context;
    struct unit *unit;

    while ((unit = reader_peek(&sender->reader))) {
        int r = send_unit(sender, unit);

        if (r < 0) {
            sender->broken(sender->context);
            return;
        }
        if (r == 0)
            return;
        sender->packet = 0;
        reader_next(&sender->reader);
    }
}

int rtp_sender_new(struct stream *stream, struct transport *transport,
                   void (*broken)(void *context), void *context, struct rtp_sender **ret_sender)
{
    struct rtp_sender *sender = calloc(1, sizeof *sender);
    struct {
        uint32_t ssrc, timestamp;
        uint16_t sequence;
    } drawn;

    if (!sender || getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        free(sender);
        transport->ops->free(transport);
        return -ENOMEM;
    }
    sender->stream = stream;
    sender->transport = transport;
    sender->broken = broken;
    sender->context = context;
    sender->timestamp_offset = drawn.timestamp;
    sender->header = (struct rtp_header){.ssrc = drawn.ssrc,
                                         .sequence = drawn.sequence,
                                         .payload_type = stream_payloader(stream)->payload_type};
    transport->writable = send_all;
    transport->context = sender;
    stream_watch(stream, &sender->reader, send_all, sender);
    *ret_sender = sender;
    return 0;
}

static void report(struct rtp_sender *sender, int64_t now_ns, bool bye)
{
    const struct rtcp_sender said = {.ssrc = sender->header.ssrc,
                                     .wall_ns = g_get_real_time() * NS_PER_US,
                                     .timestamp = rtp_time(sender, now_ns),
                                     .packets = sender->packets,
                                     .octets = sender->octets,
                                     .cname = cname(),
                                     .bye = bye};
    uint8_t bytes[RTCP_REPORT_MAX];
    size_t size = rtcp_write(&said, bytes);

    sender->transport->ops->send_rtcp(sender->transport, bytes, size);
}

void rtp_sender_free(struct rtp_sender *sender)
{
    if (!sender)
        return;
    if (sender->packets > 0)
        report(sender, clock_now_ns(), true);
    sender->transport->ops->free(sender->transport);
    stream_leave(sender->stream, &sender->reader);
    free(sender);
}

void rtp_sender_play(struct rtp_sender *sender)
{
    if (rtp_sender_is_playing(sender))
        return;
    stream_resume(sender->stream, &sender->reader,
                  sender->packets == 0 ? DEMAND_BEGIN : DEMAND_REPAIR);
    send_all(sender); // finds nothing to send yet, and has itself woken from now on
}

void rtp_sender_pause(struct rtp_sender *sender)
{
    reader_hold(&sender->reader);
    sender->packet = 0;
}

bool rtp_sender_is_playing(const struct rtp_sender *sender)
{
    return !sender->reader.held;
}

uint32_t rtp_sender_ssrc(const struct rtp_sender *sender)
{
    return sender->header.ssrc;
}

void rtp_sender_position(const struct rtp_sender *sender, uint16_t *ret_sequence,
                         uint32_t *ret_timestamp)
{
    *ret_sequence = sender->header.sequence;
    *ret_timestamp = rtp_time(sender, clock_now_ns());
}

bool rtp_sender_take_rtcp(struct rtp_sender *sender, const uint8_t *bytes, size_t size)
{
    struct rtcp_feedback feedback;

    if (!rtcp_read(bytes, size, &feedback))
        return false;
    if (feedback.key_frame)
        stream_want_key_frame(sender->stream, DEMAND_REPAIR);
    return !feedback.bye;
}

void rtp_sender_tick(struct rtp_sender *sender, int64_t now_ns)
{
    if (sender->packets > 0 && now_ns >= sender->report_ns && rtp_sender_is_playing(sender)) {
        report(sender, now_ns, false);
        sender->report_ns = now_ns + REPORT_NS;
    }
}

int64_t rtp_sender_stalled_ns(const struct rtp_sender *sender)
{
    return reader_stalled_ns(&sender->reader);
}
