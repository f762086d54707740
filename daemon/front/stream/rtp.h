// The RTP header of RFC 3550, section 5.1: its fields, and what changes from packet to packet.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RTP_HEADER_SIZE 12
#define RTP_VERSION 2

struct rtp_header {
    uint32_t ssrc, timestamp;
    uint16_t sequence;
    uint8_t payload_type;
};

static inline void rtp_put16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static inline void rtp_put32(uint8_t *bytes, uint32_t value)
{
    rtp_put16(bytes, (uint16_t)(value >> 16));
    rtp_put16(bytes + 2, (uint16_t)value);
}

static inline uint32_t rtp_get32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Writes the RTP_HEADER_SIZE bytes of a packet. `marker`: it ends an access unit.
static inline void rtp_write_header(const struct rtp_header *header, bool marker, uint8_t *bytes)
{
    bytes[0] = RTP_VERSION << 6;
    bytes[1] = (uint8_t)((marker ? 0x80 : 0) | header->payload_type);
    rtp_put16(bytes + 2, header->sequence);
    rtp_put32(bytes + 4, header->timestamp);
    rtp_put32(bytes + 8, header->ssrc);
}
