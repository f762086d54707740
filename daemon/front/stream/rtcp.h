// RTCP, RFC 3550, section 6, and the feedback of RFC 4585 and RFC 5104.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTCP_REPORT_MAX 128

// The contents of a sender report.
struct rtcp_sender {
    uint32_t ssrc;
    int64_t wall_ns;    // since 1970
    uint32_t timestamp; // RTP time of the same moment
    uint32_t packets, octets;
    const char *cname; // at most 64 bytes
    bool bye;          // it ends
};

// Writes the compound packet SR, SDES and, at the end, BYE to `bytes` (RTCP_REPORT_MAX of them).
// Returns its size.
size_t rtcp_write(const struct rtcp_sender *sender, uint8_t *bytes);

// Feedback of a receiver.
struct rtcp_feedback {
    bool report;    // it is there
    bool key_frame; // it has lost a picture: PLI or FIR
    bool bye;
};

// Reads a compound packet (or, by RFC 5506, a lone one). False: it is none.
bool rtcp_read(const uint8_t *bytes, size_t size, struct rtcp_feedback *ret_feedback);
