#include "daemon/common/h265_parameters.h"

#include "daemon/common/annex_b.h"
#include "daemon/common/nal_bits.h"
#include "daemon/common/unit_probe.h"

#include <stdbool.h>

// NAL unit types (table 7-1).
#define NAL_IRAP_FIRST 16
#define NAL_IRAP_LAST 21
#define NAL_SLICES 32 // all below it
#define NAL_VPS 32
#define NAL_SPS 33
#define NAL_PPS 34
#define NAL_AUD 35

#define PROFILE_BITS 88
#define LEVEL_BITS 8
#define SUB_LAYERS_MAX 7
#define START_CODE_BYTES 3

static const uint8_t start_code[] = {0, 0, 0, 1}; // of the first NAL unit, and of parameter sets

static unsigned nal_type(const uint8_t *nal)
{
    return nal[0] >> 1 & 63;
}

static void skip(struct nal_reader *reader, unsigned bits)
{
    for (; bits > 32; bits -= 32) {
        nal_read(reader, 32);
    }
    nal_read(reader, bits);
}

// profile_tier_level(1, sub_layers - 1), 7.3.3.
static void skip_profile(struct nal_reader *reader, unsigned sub_layers)
{
    bool has_profile[SUB_LAYERS_MAX], has_level[SUB_LAYERS_MAX];

    skip(reader, PROFILE_BITS + LEVEL_BITS);
    for (unsigned i = 0; i + 1 < sub_layers; i++) {
        has_profile[i] = nal_read(reader, 1);
        has_level[i] = nal_read(reader, 1);
    }
    if (sub_layers > 1) {
        skip(reader, 2 * (8 - (sub_layers - 1))); // reserved_zero_2bits
    }
    for (unsigned i = 0; i + 1 < sub_layers; i++) {
        skip(reader, has_profile[i] * PROFILE_BITS + has_level[i] * LEVEL_BITS);
    }
}

// Reads up to sps_sub_layer_ordering_info_present_flag, which is left for the caller to read.
// Returns how many sub-layers there are; 0: more than there may be.
static unsigned skip_to_ordering(struct nal_reader *reader)
{
    unsigned sub_layers;

    nal_read(reader, 16 + 4); // NAL unit header, video parameter set
    sub_layers = nal_read(reader, 3) + 1;
    if (sub_layers > SUB_LAYERS_MAX) {
        return 0;
    }
    nal_read(reader, 1); // temporal nesting
    skip_profile(reader, sub_layers);
    nal_read_golomb(reader);
    if (nal_read_golomb(reader) == 3) {
        nal_read(reader, 1); // separate_colour_plane_flag
    }
    nal_read_golomb(reader); // width and height
    nal_read_golomb(reader);
    if (nal_read(reader, 1)) {
        for (unsigned i = 0; i < 4; i++) {
            nal_read_golomb(reader); // conformance window
        }
    }
    nal_read_golomb(reader); // bit depths
    nal_read_golomb(reader);
    nal_read_golomb(reader); // log2_max_pic_order_cnt_lsb_minus4
    return sub_layers;
}

static void rewrite(struct nal_reader *reader, struct nal_writer *writer)
{
    struct nal_reader from = *reader;
    unsigned sub_layers = skip_to_ordering(reader);
    bool for_each = nal_read(reader, 1);

    reader->over |= sub_layers == 0;
    for (unsigned i = for_each ? 0 : sub_layers - 1; i < sub_layers && !reader->over; i++) {
        nal_read_golomb(reader); // sps_max_dec_pic_buffering_minus1
        nal_copy(&from, writer, reader->at);
        nal_read_golomb(reader); // sps_max_num_reorder_pics
        nal_write_golomb(writer, 0);
        from.at = reader->at;
        nal_read_golomb(reader); // sps_max_latency_increase_plus1
    }
    nal_copy(&from, writer, from.end);
}

GByteArray *h265_sps_rewrite(const uint8_t *sps, size_t size)
{
    g_autoptr(GByteArray) bytes = NULL, rewritten = NULL;
    struct nal_reader reader = {0};
    struct nal_writer writer = {0};

    if (size < 2 || nal_type(sps) != NAL_SPS) {
        return NULL;
    }
    bytes = nal_unescape(sps, size);
    writer.bytes = rewritten = g_byte_array_new();
    reader.bytes = bytes->data;
    reader.end = nal_end(bytes);
    rewrite(&reader, &writer);
    return reader.over ? NULL : nal_escape(rewritten);
}

static void append(GByteArray *unit, const uint8_t *nal, size_t size)
{
    g_byte_array_append(unit, start_code, sizeof start_code);
    g_byte_array_append(unit, nal, (guint)size);
}

static void append_set(GByteArray *sets, const uint8_t *nal, size_t size)
{
    g_autoptr(GByteArray) sps = h265_sps_rewrite(nal, size);

    append(sets, sps ? sps->data : nal, sps ? sps->len : size);
}

// An access unit, taken apart.
struct parts {
    GByteArray *delimiter, *sets, *others; // in front of the slices: sets rewritten, and the rest
    size_t slices;                         // where the first of them begins; the size: none
    bool is_irap;
};

static void take_apart(const uint8_t *bytes, size_t size, struct parts *parts)
{
    size_t next = 0, offset, length;

    parts->slices = size;
    while ((next = annex_b_next(bytes, size, next, &offset, &length)) > 0) {
        unsigned type = nal_type(bytes + offset);

        if (type < NAL_SLICES) {
            parts->slices = offset - START_CODE_BYTES;
            parts->is_irap = type >= NAL_IRAP_FIRST && type <= NAL_IRAP_LAST;
            return;
        }
        if (type >= NAL_VPS && type <= NAL_PPS) {
            append_set(parts->sets, bytes + offset, length);
        } else {
            append(type == NAL_AUD ? parts->delimiter : parts->others, bytes + offset, length);
        }
    }
}

// The access unit with `known`, the stream's parameter sets, which it may bring anew. NULL: it is
// to stay as it is, or, without slices (*ret_empty), to be kept back.
static GByteArray *put_together(const uint8_t *bytes, size_t size, GByteArray *known,
                                bool *ret_empty)
{
    g_autoptr(GByteArray) delimiter = g_byte_array_new(), sets = g_byte_array_new();
    g_autoptr(GByteArray) others = g_byte_array_new();
    struct parts parts = {delimiter, sets, others, 0, false};
    GByteArray *unit;

    take_apart(bytes, size, &parts);
    *ret_empty = parts.slices == size;
    if (sets->len > 0) {
        g_byte_array_set_size(known, 0);
        g_byte_array_append(known, sets->data, sets->len);
    }
    if (*ret_empty || (sets->len == 0 && !parts.is_irap)) {
        return NULL;
    }
    unit = g_byte_array_sized_new((guint)(size + known->len));
    g_byte_array_append(unit, delimiter->data, delimiter->len);
    g_byte_array_append(unit, known->data, known->len);
    g_byte_array_append(unit, others->data, others->len);
    g_byte_array_append(unit, bytes + parts.slices, (guint)(size - parts.slices));
    return unit;
}

static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    GByteArray *unit;
    GstMapInfo map;
    bool empty;

    (void)pad;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        return GST_PAD_PROBE_OK;
    }
    unit = put_together(map.data, map.size, data, &empty);
    gst_buffer_unmap(buffer, &map);
    if (!unit) {
        return empty ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
    }
    unit_probe_replace(info, unit);
    return GST_PAD_PROBE_OK;
}

static void forget(gpointer known)
{
    g_byte_array_unref(known);
}

void h265_parameters_set(GstPad *pad)
{
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, g_byte_array_new(), forget);
}
