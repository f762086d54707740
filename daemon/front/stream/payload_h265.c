// RTP payload of H.265, RFC 7798. Numbers in parentheses are its sections.
//
// As payload_h264.c does it: aggregation packets (4.4.2), single NAL units (4.4.1), fragmentation
// units (4.4.3). No decoding order numbers: units are sent in decoding order.

#include "daemon/front/stream/nal_payload.h"

#include <glib.h>

enum h265_nal_type {
    NAL_VPS = 32,
    NAL_SPS = 33,
    NAL_PPS = 34,
    NAL_DELIMITER = 35,
    NAL_PREFIX_SEI = 39,
    NAL_AGGREGATION = 48,
    NAL_FRAGMENTATION = 49,
};

// A NAL unit's header (1.1.4): forbidden bit, six of type, six of layer, three of temporal ID + 1.
#define NAL_TYPE 0x7e
#define FU_START 0x80
#define FU_END 0x40

static unsigned nal_type(const uint8_t *nal)
{
    return (nal[0] & NAL_TYPE) >> 1;
}

static int parameter_set(unsigned type)
{
    return type >= NAL_VPS && type <= NAL_PPS ? (int)(type - NAL_VPS) : -1;
}

static bool is_small(unsigned type)
{
    return parameter_set(type) >= 0 || type == NAL_PREFIX_SEI;
}

static bool is_delimiter(unsigned type)
{
    return type == NAL_DELIMITER;
}

// The lowest layer and the lowest temporal ID of those inside (4.4.2).
static void aggregate(uint8_t *header, const uint8_t *nal)
{
    unsigned layer = (nal[0] & 1u) << 5 | nal[1] >> 3, id = nal[1] & 7u;
    unsigned layer_before = (header[0] & 1u) << 5 | header[1] >> 3, id_before = header[1] & 7u;

    if (id_before > 0) { // the first one has none before it
        layer = layer < layer_before ? layer : layer_before;
        id = id < id_before ? id : id_before;
    }
    header[0] = (uint8_t)(NAL_AGGREGATION << 1 | layer >> 5);
    header[1] = (uint8_t)((layer & 0x1f) << 3 | id);
}

static void fragment(uint8_t *head, const uint8_t *nal, bool first, bool last)
{
    head[0] = (uint8_t)((nal[0] & ~NAL_TYPE) | NAL_FRAGMENTATION << 1);
    head[1] = nal[1];
    head[2] = (uint8_t)(nal_type(nal) | (first ? FU_START : 0) | (last ? FU_END : 0));
}

static const struct nal_format format = {
    .header_size = 2,
    .fragment_head = 3,
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

// Parameters of section 7.1.
static void write_fmtp(const struct parameter_sets *sets, FILE *file)
{
    static const char *const names[] = {"sprop-vps", "sprop-sps", "sprop-pps"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        g_autofree char *text = g_base64_encode(sets->sets[i], sets->sizes[i]);

        fprintf(file, "%s%s=%s", i ? ";" : "", names[i], text);
    }
}

static bool is_described(const struct parameter_sets *sets)
{
    return sets->sizes[0] > 0 && sets->sizes[1] > 0 && sets->sizes[2] > 0;
}

const struct payloader_ops payload_h265 = {
    .encoding = "H265",
    .payload_type = 96,
    .packetize = packetize,
    .write_fmtp = write_fmtp,
    .is_described = is_described,
};
