// RTP payload of H.264, RFC 6184. Numbers in parentheses are its sections.
//
// Parameter sets and SEI messages that precede a picture travel together in one STAP-A (5.7.1);
// slices that fit travel alone (5.6), the others in FU-A fragments of equal size (5.8), so that the
// kernel can cut them apart itself (UDP GSO). Access unit delimiters are left out: the marker and
// the time stamp say it already (5.1).

#include "daemon/front/stream/nal_payload.h"

#include <glib.h>

enum h264_nal_type {
    NAL_SEI = 6,
    NAL_SPS = 7,
    NAL_PPS = 8,
    NAL_DELIMITER = 9,
    NAL_STAP_A = 24,
    NAL_FU_A = 28,
};

#define NAL_TYPE 0x1f
#define NAL_REF_IDC 0x60
#define FU_START 0x80
#define FU_END 0x40

static unsigned nal_type(const uint8_t *nal)
{
    return nal[0] & NAL_TYPE;
}

static int parameter_set(unsigned type)
{
    return type == NAL_SPS ? 0 : type == NAL_PPS ? 1 : -1;
}

static bool is_small(unsigned type)
{
    return type == NAL_SEI || type == NAL_SPS || type == NAL_PPS;
}

static bool is_delimiter(unsigned type)
{
    return type == NAL_DELIMITER;
}

// The highest nal_ref_idc of those inside (5.7).
static void aggregate(uint8_t *header, const uint8_t *nal)
{
    uint8_t importance = nal[0] & NAL_REF_IDC, before = header[0] & NAL_REF_IDC;

    header[0] = NAL_STAP_A | (importance > before ? importance : before);
}

static void fragment(uint8_t *head, const uint8_t *nal, bool first, bool last)
{
    head[0] = (nal[0] & ~NAL_TYPE) | NAL_FU_A;
    head[1] = (uint8_t)((nal[0] & NAL_TYPE) | (first ? FU_START : 0) | (last ? FU_END : 0));
}

static const struct nal_format format = {
    .header_size = 1,
    .fragment_head = 2,
    .type = nal_type,
    .parameter_set = parameter_set,
    .is_small = is_small,
    .is_delimiter = is_delimiter,
    .aggregate = aggregate,
    .fragment = fragment,
};

static int packetize(struct unit *unit, struct parameter_sets *sets)
{
    return nal_packetize(&format, unit, sets);
}

// Parameters of section 8.1. profile-level-id: the three bytes behind the SPS's header.
static void write_fmtp(const struct parameter_sets *sets, FILE *file)
{
    const uint8_t *sps = sets->sets[0];
    g_autofree char *sps_text = g_base64_encode(sps, sets->sizes[0]);
    g_autofree char *pps_text = g_base64_encode(sets->sets[1], sets->sizes[1]);

    fprintf(file, "packetization-mode=1");
    if (sets->sizes[0] >= 4) {
        fprintf(file, ";profile-level-id=%02X%02X%02X", sps[1], sps[2], sps[3]);
    }
    if (sets->sizes[0] > 0 && sets->sizes[1] > 0) {
        fprintf(file, ";sprop-parameter-sets=%s,%s", sps_text, pps_text);
    }
}

static bool is_described(const struct parameter_sets *sets)
{
    return sets->sizes[0] >= 4 && sets->sizes[1] > 0;
}

const struct payloader_ops payload_h264 = {
    .encoding = "H264",
    .payload_type = 96,
    .packetize = packetize,
    .write_fmtp = write_fmtp,
    .is_described = is_described,
};
