// How access units of a codec become RTP packets, and what SDP says of them.
#pragma once

#include "config/base.h"
#include "daemon/front/stream/unit.h"

#include <glib.h>

#define RTP_CLOCK_HZ 90000 // of video (RFC 3551, section 5)

// The parameter sets of a stream, as its newest key frame had them, and what they say. Starts out
// empty ({0}).
struct parameter_sets {
    uint8_t sets[3][256];   // H.264: SPS, PPS; H.265: VPS, SPS, PPS; without start codes
    size_t sizes[3];        // 0: not seen, or longer than there is room for
    uint32_t width, height; // of the pictures in pixels; 0: not known
};

struct payloader_ops {
    const char *encoding; // the rtpmap's: "H264"
    uint8_t payload_type; // 96 for those that SDP has to name, else RFC 3551's
    // Cuts the unit's bytes into packets of at most UNIT_PACKET_MAX bytes, and copies the parameter
    // sets in it to `sets`. -EBADMSG: no access unit of this codec; -ENOMEM. After an error the
    // unit's packets must not be used.
    int (*packetize)(struct unit *unit, struct parameter_sets *sets);
    // Appends what stands behind "a=fmtp:96 " in SDP. NULL: there is nothing to say.
    void (*write_fmtp)(const struct parameter_sets *sets, GString *text);
    // Whether `sets` has all that a decoder needs before the first picture.
    bool (*is_described)(const struct parameter_sets *sets);
};

// RFC 6184, packetization mode 1: parameter sets and what else fits together in a STAP-A, a NAL
// unit as it is where it fits, else in FU-A fragments.
extern const struct payloader_ops payload_h264;
// RFC 7798, without decoding order numbers, in the same way.
extern const struct payloader_ops payload_h265;
// RFC 2435: baseline JPEG of YUV 4:2:0 or 4:2:2, up to 2040x2040 pixels, with its own quantization
// tables, which travel with each picture, and the usual Huffman tables. -EBADMSG: any other.
extern const struct payloader_ops payload_jpeg;
