#include "daemon/front/stream/rtcp.h"

#include "config/base.h"
#include "daemon/front/stream/rtp.h"

#include <string.h>

enum packet_type { RTCP_SR = 200, RTCP_RR, RTCP_SDES, RTCP_BYE, RTCP_APP, RTCP_RTPFB, RTCP_PSFB };

#define HEADER_SIZE 4u
#define SDES_CNAME 1
#define PSFB_PLI 1                       // RFC 4585, section 6.3.1
#define PSFB_FIR 4                       // RFC 5104, section 4.3.1
#define NTP_EPOCH_S UINT64_C(2208988800) // 1970 on the scale that begins in 1900

// `count` fills the header's five bits.
static void write_header(uint8_t *bytes, unsigned count, enum packet_type type, size_t size)
{
    bytes[0] = (uint8_t)(RTP_VERSION << 6 | count);
    bytes[1] = (uint8_t)type;
    rtp_put16(bytes + 2, (uint16_t)(size / 4 - 1));
}

static size_t write_report(const struct rtcp_sender *sender, uint8_t *bytes)
{
    const size_t size = 28;
    uint64_t fraction = ((uint64_t)(sender->wall_ns % NS_PER_S) << 32) / (uint64_t)NS_PER_S;

    write_header(bytes, 0, RTCP_SR, size);
    rtp_put32(bytes + 4, sender->ssrc);
    rtp_put32(bytes + 8, (uint32_t)((uint64_t)(sender->wall_ns / NS_PER_S) + NTP_EPOCH_S));
    rtp_put32(bytes + 12, (uint32_t)fraction);
    rtp_put32(bytes + 16, sender->timestamp);
    rtp_put32(bytes + 20, sender->packets);
    rtp_put32(bytes + 24, sender->octets);
    return size;
}

static size_t write_description(const struct rtcp_sender *sender, uint8_t *bytes)
{
    size_t length = strnlen(sender->cname, 64);
    size_t size = (8 + 2 + length + 1 + 3) / 4 * 4; // ends in one to four zeros

    memset(bytes, 0, size);
    write_header(bytes, 1, RTCP_SDES, size);
    rtp_put32(bytes + 4, sender->ssrc);
    bytes[8] = SDES_CNAME;
    bytes[9] = (uint8_t)length;
    memcpy(bytes + 10, sender->cname, length);
    return size;
}

size_t rtcp_write(const struct rtcp_sender *sender, uint8_t *bytes)
{
    size_t size = write_report(sender, bytes);

    size += write_description(sender, bytes + size);
    if (sender->bye) {
        write_header(bytes + size, 1, RTCP_BYE, 8);
        rtp_put32(bytes + size + 4, sender->ssrc);
        size += 8;
    }
    return size;
}

static void note(struct rtcp_feedback *feedback, unsigned type, unsigned count)
{
    feedback->report |= type == RTCP_RR || type == RTCP_SR;
    feedback->bye |= type == RTCP_BYE;
    feedback->key_frame |= type == RTCP_PSFB && (count == PSFB_PLI || count == PSFB_FIR);
}

bool rtcp_read(const uint8_t *bytes, size_t size, struct rtcp_feedback *ret_feedback)
{
    struct rtcp_feedback feedback = {0};
    size_t at = 0;

    while (size - at >= HEADER_SIZE) {
        size_t length = 4 * ((size_t)bytes[at + 2] << 8 | bytes[at + 3]) + 4;

        if (bytes[at] >> 6 != RTP_VERSION || bytes[at + 1] < RTCP_SR || length > size - at)
            return false;
        note(&feedback, bytes[at + 1], bytes[at] & 0x1f);
        at += length;
    }
    if (at == 0 || at != size)
        return false;
    *ret_feedback = feedback;
    return true;
}
