// A viewer over a transport of the test's own, which takes as many packets as it is told to.
#pragma once

#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/rtcp.h"
#include "daemon/front/stream/rtp_sender.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define SENT_MAX 4096

// A packet that the transport has taken.
struct sent {
    struct rtp_header header;
    bool marker;
    uint8_t first, last; // bytes of the payload
    size_t size;
};

struct sender_bed {
    struct transport transport; // the first member: the viewer's is this one
    struct stream *stream;
    struct rtp_sender *sender;
    int room; // packets it takes; -errno: it has failed
    struct sent sent[SENT_MAX];
    unsigned count;
    uint8_t report[RTCP_REPORT_MAX];
    size_t report_size;
    unsigned reports, frees, breaks, key_frame_demands;
};

static inline int send_packets(struct transport *transport, const struct rtp_header *header,
                               const struct unit *unit, unsigned from)
{
    struct sender_bed *bed = (struct sender_bed *)transport;
    struct rtp_header next = *header;
    int taken = 0;

    if (bed->room < 0) {
        return bed->room;
    }
    assert_in_range(from, 0, unit->packet_count - 1);
    for (unsigned i = from; i < unit->packet_count && bed->room > 0; i++, bed->room--) {
        const struct unit_packet *packet = &unit->packets[i];
        const uint8_t *body = unit->bytes + packet->offset;
        const uint8_t *head = packet->head_size ? unit_packet_head(unit, packet) : body;

        assert_in_range(bed->count, 0, SENT_MAX - 1);
        bed->sent[bed->count++] = (struct sent){.header = next,
                                                .marker = i + 1 == unit->packet_count,
                                                .first = head[0],
                                                .last = body[packet->size - 1],
                                                .size = packet->size + packet->head_size};
        next.sequence++;
        taken++;
    }
    return taken;
}

static inline void send_rtcp(struct transport *transport, const uint8_t *bytes, size_t size)
{
    struct sender_bed *bed = (struct sender_bed *)transport;

    assert_in_range(size, 1, sizeof bed->report);
    memcpy(bed->report, bytes, size);
    bed->report_size = size;
    bed->reports++;
}

static inline void free_transport(struct transport *transport)
{
    ((struct sender_bed *)transport)->frees++;
}

static const struct transport_ops test_transport = {
    .send = send_packets, .send_rtcp = send_rtcp, .free = free_transport};

static inline void on_broken(void *context)
{
    ((struct sender_bed *)context)->breaks++;
}

static inline void on_demand(void *context, struct stream *stream, bool key_frame)
{
    (void)stream;
    ((struct sender_bed *)context)->key_frame_demands += key_frame;
}

static inline int set_up_viewer(void **state)
{
    struct sender_bed *bed = calloc(1, sizeof *bed);

    bed->transport.ops = &test_transport;
    bed->room = SENT_MAX;
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &bed->stream), 0);
    stream_set_demand(bed->stream, on_demand, bed);
    assert_int_equal(rtp_sender_new(bed->stream, &bed->transport, on_broken, bed, &bed->sender), 0);
    *state = bed;
    return 0;
}

static inline int set_up_playing_viewer(void **state)
{
    set_up_viewer(state);
    rtp_sender_play(((struct sender_bed *)*state)->sender);
    return 0;
}

static inline int tear_down_viewer(void **state)
{
    struct sender_bed *bed = *state;

    rtp_sender_free(bed->sender);
    assert_int_equal(bed->frees, 1);
    assert_false(stream_is_watched(bed->stream));
    stream_set_demand(bed->stream, NULL, NULL);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(bed->stream);
    free(bed);
    return 0;
}

// A frame whose one slice has `size` bytes, the last of them `mark`: 1400 bytes are one packet.
static inline uint8_t *make_frame(size_t before, bool key_frame, size_t size, uint8_t mark)
{
    uint8_t *payload = calloc(1, before + 4 + size);

    memset(payload + before + 4, 0xaa, size);
    payload[before + 3] = 1;
    payload[before + 4] = key_frame ? 0x65 : 0x41;
    payload[before + 4 + size - 1] = mark;
    return payload;
}

static inline void send_frame(struct sender_bed *bed, bool key_frame, int64_t captured_ns,
                              size_t size, uint8_t mark)
{
    struct link_access_unit life = {.captured_ns = captured_ns, .key_frame = key_frame};
    uint8_t *payload = make_frame(sizeof life, key_frame, size, mark);

    memcpy(payload, &life, sizeof life);
    assert_int_equal(stream_take_access_unit(bed->stream, payload, sizeof life + 4 + size), 0);
}

static inline void send_slate(struct sender_bed *bed, uint8_t mark)
{
    assert_int_equal(stream_take_slate(bed->stream, make_frame(0, true, 20, mark), 24), 0);
}

// The packets from number `from` on have sequence numbers that follow.
static inline void assert_sequence(const struct sender_bed *bed, unsigned from)
{
    for (unsigned i = from + 1; i < bed->count; i++) {
        assert_int_equal(bed->sent[i].header.sequence,
                         (uint16_t)(bed->sent[i - 1].header.sequence + 1));
        assert_int_equal(bed->sent[i].header.ssrc, bed->sent[0].header.ssrc);
    }
}

static inline uint32_t step(const struct sender_bed *bed, unsigned packet)
{
    return bed->sent[packet].header.timestamp - bed->sent[packet - 1].header.timestamp;
}
