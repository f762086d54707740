// RTP payload of H.264, RFC 6184, and of H.265, RFC 7798. Numbers in parentheses are sections, of
// the one or of the other.
//
// Parameter sets and SEI messages that precede a picture travel together in one packet (STAP-A,
// 5.7.1; aggregation packet, 4.4.2); slices that fit travel alone (5.6; 4.4.1), the others in
// fragments of equal size (FU-A, 5.8; fragmentation unit, 4.4.3), so that the kernel can cut them
// apart itself (UDP GSO). Access unit delimiters are left out: the marker and the time stamp say it
// already (5.1). H.265 has no decoding order numbers: units are sent in decoding order.

#include "daemon/front/stream/payloader.h"
#include "daemon/video/h264_sps.h"
#include "daemon/video/h265_parameters.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define HEAD_MAX 3
#define FU_START 0x80
#define FU_END 0x40

// How an RFC writes the NAL units of its codec.
struct nal_format {
    enum config_codec codec;
    size_t fragment_head; // bytes before a fragment, in place of the NAL unit's header
    // Makes `header` (of a NAL unit's size, zeros at first) that of a packet that also holds `nal`.
    void (*aggregate)(uint8_t *header, const uint8_t *nal);
    void (*fragment)(uint8_t *head, const uint8_t *nal, bool first, bool last);
    int (*read_picture)(const uint8_t *sps, size_t size, struct nal_picture *ret_picture);
};

// NAL units that wait to travel together.
struct aggregate {
    const struct nal_format *format;
    size_t header_size;             // of a NAL unit, and of the packet
    uint8_t bytes[UNIT_PACKET_MAX]; // the packet, from its header on
    size_t size;
    unsigned count;
    size_t offset, nal_size; // of the only one, while count is 1
};

static void note_set(struct parameter_sets *sets, unsigned index, const uint8_t *nal, size_t size)
{
    bool fits = size <= sizeof sets->sets[index];

    memcpy(sets->sets[index], nal, fits ? size : 0);
    sets->sizes[index] = fits ? size : 0;
}

static bool has_room(const struct aggregate *aggregate, size_t size)
{
    size_t used = aggregate->count ? aggregate->size : aggregate->header_size;

    return used + 2 + size <= sizeof aggregate->bytes;
}

static void add(struct aggregate *aggregate, const uint8_t *bytes, size_t offset, size_t size)
{
    if (aggregate->count++ == 0) {
        aggregate->size = aggregate->header_size;
        memset(aggregate->bytes, 0, aggregate->size);
    }
    aggregate->format->aggregate(aggregate->bytes, bytes + offset);
    aggregate->bytes[aggregate->size] = (uint8_t)(size >> 8);
    aggregate->bytes[aggregate->size + 1] = (uint8_t)size;
    memcpy(aggregate->bytes + aggregate->size + 2, bytes + offset, size);
    aggregate->size += 2 + size;
    aggregate->offset = offset;
    aggregate->nal_size = size;
}

static int flush(struct unit *unit, struct aggregate *aggregate)
{
    unsigned count = aggregate->count;

    aggregate->count = 0;
    if (count == 0)
        return 0;
    return count == 1 ? unit_add_packet(unit, NULL, 0, aggregate->offset, aggregate->nal_size)
                      : unit_add_packet(unit, aggregate->bytes, aggregate->size, 0, 0);
}

static int add_fragments(const struct nal_format *format, struct unit *unit,
                         const struct nal_walk *walk)
{
    size_t begin = (size_t)(walk->nal - unit->bytes) + walk->syntax->header_size;
    size_t end = (size_t)(walk->nal - unit->bytes) + walk->nal_size;
    int r = 0;

    for (size_t at = begin; at < end && r == 0;) {
        size_t part = MIN(UNIT_PACKET_MAX - format->fragment_head, end - at);
        uint8_t head[HEAD_MAX];

        format->fragment(head, walk->nal, at == begin, at + part == end);
        r = unit_add_packet(unit, head, format->fragment_head, at, part);
        at += part;
    }
    return r;
}

static int add_nal(struct unit *unit, struct aggregate *aggregate, const struct nal_walk *walk)
{
    size_t offset = (size_t)(walk->nal - unit->bytes), size = walk->nal_size;
    bool small = nal_is_set(walk->syntax, walk->type) || walk->type == walk->syntax->sei;
    int r = small && has_room(aggregate, size) ? 0 : flush(unit, aggregate);

    if (r < 0)
        return r;
    if (small && has_room(aggregate, size)) {
        add(aggregate, unit->bytes, offset, size);
        return 0;
    }
    return size <= UNIT_PACKET_MAX ? unit_add_packet(unit, NULL, 0, offset, size)
                                   : add_fragments(aggregate->format, unit, walk);
}

// Notes what the SPS says; one that cannot be read says nothing.
static void note_picture(const struct nal_format *format, struct parameter_sets *sets)
{
    unsigned index = nal_syntax(format->codec)->picture_set;
    struct nal_picture picture;

    if (sets->sizes[index] > 0 &&
        format->read_picture(sets->sets[index], sets->sizes[index], &picture) == 0) {
        sets->width = picture.width;
        sets->height = picture.height;
    }
}

static int packetize(const struct nal_format *format, struct unit *unit,
                     struct parameter_sets *sets)
{
    const struct nal_syntax *syntax = nal_syntax(format->codec);
    struct aggregate aggregate = {.format = format, .header_size = syntax->header_size};
    struct nal_walk walk;
    int r = 0;

    nal_walk_begin(&walk, format->codec, unit->bytes, unit->size);
    while (r == 0 && nal_walk_next(&walk)) {
        if (nal_is_set(syntax, walk.type))
            note_set(sets, walk.type - syntax->first_set, walk.nal, walk.nal_size);
        if (walk.type != syntax->delimiter && walk.nal_size >= syntax->header_size)
            r = add_nal(unit, &aggregate, &walk);
    }
    note_picture(format, sets);
    r = r < 0 ? r : flush(unit, &aggregate);
    return r < 0 ? r : unit->packet_count > 0 ? 0 : -EBADMSG;
}

#define H264_STAP_A 24
#define H264_FU_A 28
#define H264_TYPE 0x1f
#define H264_REF_IDC 0x60

// The highest nal_ref_idc of those inside (5.7).
static void h264_aggregate(uint8_t *header, const uint8_t *nal)
{
    uint8_t importance = nal[0] & H264_REF_IDC, before = header[0] & H264_REF_IDC;

    header[0] = H264_STAP_A | (importance > before ? importance : before);
}

static void h264_fragment(uint8_t *head, const uint8_t *nal, bool first, bool last)
{
    head[0] = (nal[0] & ~H264_TYPE) | H264_FU_A;
    head[1] = (uint8_t)((nal[0] & H264_TYPE) | (first ? FU_START : 0) | (last ? FU_END : 0));
}

static const struct nal_format h264_format = {
    .codec = CONFIG_CODEC_H264,
    .fragment_head = 2,
    .aggregate = h264_aggregate,
    .fragment = h264_fragment,
    .read_picture = h264_sps_read,
};

static int h264_packetize(struct unit *unit, struct parameter_sets *sets)
{
    return packetize(&h264_format, unit, sets);
}

// Parameters of section 8.1. profile-level-id: the three bytes behind the SPS's header.
static void h264_write_fmtp(const struct parameter_sets *sets, GString *text)
{
    const uint8_t *sps = sets->sets[0];
    g_autofree char *sps_text = g_base64_encode(sps, sets->sizes[0]);
    g_autofree char *pps_text = g_base64_encode(sets->sets[1], sets->sizes[1]);

    g_string_append(text, "packetization-mode=1");
    if (sets->sizes[0] >= 4)
        g_string_append_printf(text, ";profile-level-id=%02X%02X%02X", sps[1], sps[2], sps[3]);
    if (sets->sizes[0] > 0 && sets->sizes[1] > 0)
        g_string_append_printf(text, ";sprop-parameter-sets=%s,%s", sps_text, pps_text);
}

static bool h264_is_described(const struct parameter_sets *sets)
{
    return sets->sizes[0] >= 4 && sets->sizes[1] > 0;
}

const struct payloader_ops payload_h264 = {
    .encoding = "H264",
    .payload_type = 96,
    .packetize = h264_packetize,
    .write_fmtp = h264_write_fmtp,
    .is_described = h264_is_described,
};

#define H265_AGGREGATION 48
#define H265_FRAGMENTATION 49
// A NAL unit's header (1.1.4): forbidden bit, six of type, six of layer, three of temporal ID + 1.
#define H265_TYPE 0x7e

// The lowest layer and the lowest temporal ID of those inside (4.4.2).
static void h265_aggregate(uint8_t *header, const uint8_t *nal)
{
    unsigned layer = (nal[0] & 1u) << 5 | nal[1] >> 3, id = nal[1] & 7u;
    unsigned layer_before = (header[0] & 1u) << 5 | header[1] >> 3, id_before = header[1] & 7u;

    if (id_before > 0) { // the first one has none before it
        layer = layer < layer_before ? layer : layer_before;
        id = id < id_before ? id : id_before;
    }
    header[0] = (uint8_t)(H265_AGGREGATION << 1 | layer >> 5);
    header[1] = (uint8_t)((layer & 0x1f) << 3 | id);
}

static void h265_fragment(uint8_t *head, const uint8_t *nal, bool first, bool last)
{
    head[0] = (uint8_t)((nal[0] & ~H265_TYPE) | H265_FRAGMENTATION << 1);
    head[1] = nal[1];
    head[2] = (uint8_t)((nal[0] & H265_TYPE) >> 1 | (first ? FU_START : 0) | (last ? FU_END : 0));
}

static const struct nal_format h265_format = {
    .codec = CONFIG_CODEC_H265,
    .fragment_head = 3,
    .aggregate = h265_aggregate,
    .fragment = h265_fragment,
    .read_picture = h265_sps_read,
};

static int h265_packetize(struct unit *unit, struct parameter_sets *sets)
{
    return packetize(&h265_format, unit, sets);
}

// Parameters of section 7.1.
static void h265_write_fmtp(const struct parameter_sets *sets, GString *text)
{
    static const char *const names[] = {"sprop-vps", "sprop-sps", "sprop-pps"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        g_autofree char *set = g_base64_encode(sets->sets[i], sets->sizes[i]);

        g_string_append_printf(text, "%s%s=%s", i ? ";" : "", names[i], set);
    }
}

static bool h265_is_described(const struct parameter_sets *sets)
{
    return sets->sizes[0] > 0 && sets->sizes[1] > 0 && sets->sizes[2] > 0;
}

const struct payloader_ops payload_h265 = {
    .encoding = "H265",
    .payload_type = 96,
    .packetize = h265_packetize,
    .write_fmtp = h265_write_fmtp,
    .is_described = h265_is_described,
};
