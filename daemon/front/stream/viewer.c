#include "daemon/front/stream/viewer.h"

#include "daemon/front/stream/rtcp.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// A viewer that does not read is hung up on within 10 s. That it does not read is noticed only when
// the buffers on the way to it are full, so fewer seconds are counted here.
#define STALLED_NS (9 * NS_PER_S)
#define REPORT_NS (5 * NS_PER_S)

struct viewer {
    struct stream *stream; // the cursor holds the reference
    struct cursor cursor;
    struct transport *transport; // owned
    void (*broken)(void *context);
    void *context;
    struct rtp_header header;  // of the next packet
    uint32_t timestamp_offset; // from the camera's clock
    int64_t ticks;             // of the newest time stamp, before they are cut to 32 bits
    unsigned packet;           // of the cursor's unit, to be sent next
    int64_t blocked_ns;        // since when nothing has been taken; 0: nothing waits
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

static uint32_t rtp_time(const struct viewer *viewer, int64_t time_ns)
{
    return viewer->timestamp_offset + (uint32_t)ticks_at(time_ns);
}

// The time stamp of a unit: only ever later than that of the one before, by 1 ms at least.
static void stamp(struct viewer *viewer, const struct unit *unit)
{
    viewer->ticks = MAX(ticks_at(unit->captured_ns), viewer->ticks + RTP_CLOCK_HZ / 1000);
    viewer->header.timestamp = viewer->timestamp_offset + (uint32_t)viewer->ticks;
}

static void count(struct viewer *viewer, const struct unit *unit, unsigned packets)
{
    for (unsigned i = viewer->packet; i < viewer->packet + packets; i++) {
        viewer->octets += unit->packets[i].size + unit->packets[i].head_size;
    }
    viewer->packets += packets;
    viewer->packet += packets;
    viewer->header.sequence = (uint16_t)(viewer->header.sequence + packets);
}

// Whether all of the unit has been sent; else the rest waits. -errno: the transport has failed.
static int send_unit(struct viewer *viewer, const struct unit *unit)
{
    if (viewer->packet == 0 && viewer->blocked_ns == 0) {
        stamp(viewer, unit);
    }
    int taken =
        viewer->transport->ops->send(viewer->transport, &viewer->header, unit, viewer->packet);
    if (taken < 0) {
        return taken;
    }
    if (viewer->packet == 0 && taken > 0) {
        stream_note_sent(viewer->stream, unit);
    }
    count(viewer, unit, (unsigned)taken);
    bool all = viewer->packet == unit->packet_count;
    if (all) {
        viewer->blocked_ns = 0;
    } else if (taken > 0 || viewer->blocked_ns == 0) {
        viewer->blocked_ns = clock_now_ns();
    }
    return all;
}

static void send_all(void *context)
{
    struct viewer *viewer = context;
    struct unit *unit;

    while ((unit = cursor_peek(&viewer->cursor))) {
        int r = send_unit(viewer, unit);

        if (r < 0) {
            viewer->broken(viewer->context);
            return;
        }
        if (r == 0) {
            return;
        }
        viewer->packet = 0;
        cursor_next(&viewer->cursor);
    }
    if (viewer->cursor.waiting && viewer->packets > 0) {
        stream_want_key_frame(viewer->stream, DEMAND_REPAIR);
    }
}

int viewer_new(struct stream *stream, struct transport *transport, void (*broken)(void *context),
               void *context, struct viewer **ret_viewer)
{
    struct viewer *viewer = calloc(1, sizeof *viewer);
    struct {
        uint32_t ssrc, timestamp;
        uint16_t sequence;
    } drawn;

    if (!viewer || getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        free(viewer);
        transport->ops->free(transport);
        return -ENOMEM;
    }
    viewer->stream = stream;
    viewer->transport = transport;
    viewer->broken = broken;
    viewer->context = context;
    viewer->timestamp_offset = drawn.timestamp;
    viewer->header = (struct rtp_header){.ssrc = drawn.ssrc,
                                         .sequence = drawn.sequence,
                                         .payload_type = stream_payloader(stream)->payload_type};
    transport->writable = send_all;
    transport->context = viewer;
    stream_watch(stream, &viewer->cursor, send_all, viewer);
    *ret_viewer = viewer;
    return 0;
}

static void report(struct viewer *viewer, int64_t now_ns, bool bye)
{
    const struct rtcp_sender sender = {.ssrc = viewer->header.ssrc,
                                       .wall_ns = g_get_real_time() * NS_PER_US,
                                       .timestamp = rtp_time(viewer, now_ns),
                                       .packets = viewer->packets,
                                       .octets = viewer->octets,
                                       .cname = cname(),
                                       .bye = bye};
    uint8_t bytes[RTCP_REPORT_MAX];
    size_t size = rtcp_write(&sender, bytes);

    viewer->transport->ops->send_rtcp(viewer->transport, bytes, size);
}

void viewer_free(struct viewer *viewer)
{
    if (!viewer) {
        return;
    }
    if (viewer->packets > 0) {
        report(viewer, clock_now_ns(), true);
    }
    viewer->transport->ops->free(viewer->transport);
    stream_leave(viewer->stream, &viewer->cursor);
    free(viewer);
}

void viewer_play(struct viewer *viewer)
{
    if (viewer_is_playing(viewer)) {
        return;
    }
    stream_resume(viewer->stream, &viewer->cursor,
                  viewer->packets == 0 ? DEMAND_BEGIN : DEMAND_REPAIR);
    send_all(viewer); // finds nothing to send yet, and has itself woken from now on
}

void viewer_welcome(struct viewer *viewer)
{
    stream_want_key_frame(viewer->stream, DEMAND_BEGIN);
}

void viewer_pause(struct viewer *viewer)
{
    cursor_hold(&viewer->cursor);
    viewer->packet = 0;
    viewer->blocked_ns = 0;
}

bool viewer_is_playing(const struct viewer *viewer)
{
    return !viewer->cursor.held;
}

uint32_t viewer_ssrc(const struct viewer *viewer)
{
    return viewer->header.ssrc;
}

void viewer_position(const struct viewer *viewer, uint16_t *ret_sequence, uint32_t *ret_timestamp)
{
    *ret_sequence = viewer->header.sequence;
    *ret_timestamp = rtp_time(viewer, clock_now_ns());
}

bool viewer_take_rtcp(struct viewer *viewer, const uint8_t *bytes, size_t size)
{
    struct rtcp_feedback feedback;

    if (!rtcp_read(bytes, size, &feedback)) {
        return false;
    }
    if (feedback.key_frame) {
        stream_want_key_frame(viewer->stream, DEMAND_REPAIR);
    }
    return !feedback.bye;
}

void viewer_tick(struct viewer *viewer, int64_t now_ns)
{
    if (viewer->packets > 0 && now_ns >= viewer->report_ns && viewer_is_playing(viewer)) {
        report(viewer, now_ns, false);
        viewer->report_ns = now_ns + REPORT_NS;
    }
}

int64_t viewer_stalled_ns(const struct viewer *viewer)
{
    return viewer->blocked_ns ? viewer->blocked_ns + STALLED_NS : INT64_MAX;
}
