#include "daemon/front/rtsp/transport_interleaved.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_SIZE 4 // "$", channel, length
#define PREFIX_SIZE (FRAME_SIZE + RTP_HEADER_SIZE)
// Packets a system call: three parts each.
#define BATCH 64
#define PARTS 3

struct interleaved {
    struct transport transport;
    struct wire *wire; // borrowed
    uint8_t channel, rtcp_channel;
};

static void write_frame(uint8_t channel, size_t size, uint8_t *bytes)
{
    bytes[0] = '$';
    bytes[1] = channel;
    rtp_put16(bytes + 2, (uint16_t)size);
}

static int send_batch(const struct interleaved *interleaved, const struct rtp_header *first,
                      const struct unit *unit, unsigned from, unsigned count)
{
    struct rtp_header header = *first;
    uint8_t prefixes[BATCH][PREFIX_SIZE];
    struct iovec parts[BATCH * PARTS];

    for (unsigned i = 0; i < count; i++) {
        const struct unit_packet *packet = &unit->packets[from + i];
        bool last = from + i + 1 == unit->packet_count;

        write_frame(interleaved->channel, RTP_HEADER_SIZE + packet->head_size + packet->size,
                    prefixes[i]);
        rtp_write_header(&header, last, prefixes[i] + FRAME_SIZE);
        header.sequence++;
        parts[i * PARTS] = (struct iovec){prefixes[i], PREFIX_SIZE};
        parts[i * PARTS + 1] = (struct iovec){unit_packet_head(unit, packet), packet->head_size};
        parts[i * PARTS + 2] = (struct iovec){unit->bytes + packet->offset, packet->size};
    }
    return wire_send_packets(interleaved->wire, parts, PARTS, (int)count);
}

static int send_packets(struct transport *transport, const struct rtp_header *first,
                        const struct unit *unit, unsigned from)
{
    const struct interleaved *interleaved = (struct interleaved *)transport;
    struct rtp_header header = *first;
    unsigned at = from;

    while (at < unit->packet_count) {
        unsigned count = unit->packet_count - at < BATCH ? unit->packet_count - at : BATCH;
        int taken = send_batch(interleaved, &header, unit, at, count);

        if (taken < 0)
            return taken;
        at += (unsigned)taken;
        header.sequence = (uint16_t)(header.sequence + taken);
        if ((unsigned)taken < count)
            break;
    }
    return (int)(at - from);
}

static void send_rtcp(struct transport *transport, const uint8_t *bytes, size_t size)
{
    const struct interleaved *interleaved = (struct interleaved *)transport;
    uint8_t frame[FRAME_SIZE];
    const struct iovec parts[] = {{frame, sizeof frame}, {(void *)bytes, size}};

    write_frame(interleaved->rtcp_channel, size, frame);
    wire_send_packets(interleaved->wire, parts, 2, 1);
}

static void free_interleaved(struct transport *transport)
{
    free(transport);
}

static const struct transport_ops operations = {
    .send = send_packets,
    .send_rtcp = send_rtcp,
    .free = free_interleaved,
};

struct transport *transport_interleaved_new(struct wire *wire, uint8_t channel,
                                            uint8_t rtcp_channel)
{
    struct interleaved *interleaved = calloc(1, sizeof *interleaved);

    if (!interleaved)
        return NULL;
    interleaved->transport.ops = &operations;
    interleaved->wire = wire;
    interleaved->channel = channel;
    interleaved->rtcp_channel = rtcp_channel;
    return &interleaved->transport;
}
