#include "daemon/video/h265_parameters.h"

#include <errno.h>

#define NAL_SPS 33
#define PROFILE_BITS 88
#define LEVEL_BITS 8
#define SUB_LAYERS_MAX 7
#define REFERENCE_SETS_MAX 64
#define REFERENCES_MAX 16 // pictures that a picture may refer to
#define LONG_TERM_MAX 32  // of those, by sets of their own
#define POC_BITS_MAX 16   // of a picture's number
#define START_CODE_BYTES 3

static const uint8_t start_code[] = {0, 0, 0, 1}; // of the first NAL unit, and of parameter sets

static unsigned nal_type(const uint8_t *nal)
{
    return nal[0] >> 1 & 63;
}

static void skip(struct nal_reader *reader, unsigned bits)
{
    for (; bits > 32; bits -= 32)
        nal_read(reader, 32);
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
    for (unsigned i = 0; i + 1 < sub_layers; i++)
        skip(reader, has_profile[i] * PROFILE_BITS + has_level[i] * LEVEL_BITS);
}

static void read_size(struct nal_reader *reader, struct nal_picture *picture)
{
    uint32_t format = nal_read_golomb(reader);
    uint32_t unit_width = format == 1 || format == 2 ? 2 : 1, unit_height = format == 1 ? 2 : 1;

    picture->chroma_format = (uint8_t)format;
    nal_read(reader, format == 3); // separate_colour_plane_flag
    picture->width = nal_read_golomb(reader);
    picture->height = nal_read_golomb(reader);
    if (nal_read(reader, 1)) { // conformance window
        picture->width -= unit_width * nal_read_golomb(reader);
        picture->width -= unit_width * nal_read_golomb(reader);
        picture->height -= unit_height * nal_read_golomb(reader);
        picture->height -= unit_height * nal_read_golomb(reader);
    }
    picture->luma_bits = (uint8_t)(8 + nal_read_golomb(reader));
    picture->chroma_bits = (uint8_t)(8 + nal_read_golomb(reader));
}

// Reads up to sps_sub_layer_ordering_info_present_flag, which is left for the caller to read.
// Returns how many sub-layers there are; 0: more than there may be. *ret_poc_bits is the length of
// slice_pic_order_cnt_lsb.
static unsigned read_to_ordering(struct nal_reader *reader, struct nal_picture *picture,
                                 uint32_t *ret_poc_bits)
{
    unsigned sub_layers;

    *picture = (struct nal_picture){
        .aspect_width = 1,
        .aspect_height = 1,
        .colour = {COLOUR_UNSPECIFIED, COLOUR_UNSPECIFIED, COLOUR_UNSPECIFIED},
    };
    nal_read(reader, 16 + 4); // NAL unit header, video parameter set
    sub_layers = nal_read(reader, 3) + 1;
    if (sub_layers > SUB_LAYERS_MAX)
        return 0;
    nal_read(reader, 1); // temporal nesting
    skip_profile(reader, sub_layers);
    nal_read_golomb(reader);
    read_size(reader, picture);
    *ret_poc_bits = nal_read_golomb(reader) + 4;
    return sub_layers;
}

static void rewrite(struct nal_reader *reader, struct nal_writer *writer)
{
    struct nal_reader from = *reader;
    struct nal_picture ignored;
    uint32_t poc_bits;
    unsigned sub_layers = read_to_ordering(reader, &ignored, &poc_bits);
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

    if (size < 2 || nal_type(sps) != NAL_SPS)
        return NULL;
    bytes = nal_unescape(sps, size);
    writer.bytes = rewritten = g_byte_array_new();
    reader.bytes = bytes->data;
    reader.end = nal_end(bytes);
    rewrite(&reader, &writer);
    return reader.over ? NULL : nal_escape(rewritten);
}

// scaling_list_data(), 7.3.4.
static void skip_scaling_lists(struct nal_reader *reader)
{
    for (unsigned size = 0; size < 4; size++) {
        for (unsigned matrix = 0; matrix < 6; matrix += size == 3 ? 3 : 1) {
            unsigned count = MIN(64u, 1u << (4 + 2 * size));

            if (!nal_read(reader, 1)) {
                nal_read_golomb(reader); // taken from another one
                continue;
            }
            for (unsigned i = 0; i < count + (size > 1); i++)
                nal_read_golomb(reader);
        }
    }
}

// st_ref_pic_set(), 7.3.7. `before` is how many pictures the set before has, as the result is.
static unsigned skip_reference_set(struct nal_reader *reader, bool is_first, unsigned before)
{
    unsigned count = 0, negative;

    if (!is_first && nal_read(reader, 1)) { // by its difference from the set before
        nal_read(reader, 1);
        nal_read_golomb(reader);
        for (unsigned i = 0; i <= before; i++) {
            bool is_used = nal_read(reader, 1);

            count += is_used || nal_read(reader, 1);
        }
        reader->over |= count > REFERENCES_MAX;
        return count;
    }
    negative = nal_read_golomb(reader);
    count = negative + nal_read_golomb(reader);
    reader->over |= negative > REFERENCES_MAX || count > REFERENCES_MAX;
    for (unsigned i = 0; i < count && !reader->over; i++) {
        nal_read_golomb(reader);
        nal_read(reader, 1);
    }
    return count;
}

static void skip_references(struct nal_reader *reader, uint32_t poc_bits)
{
    uint32_t sets = nal_read_golomb(reader), long_term;
    unsigned count = 0;

    reader->over |= sets > REFERENCE_SETS_MAX || poc_bits > POC_BITS_MAX;
    for (uint32_t i = 0; i < sets && !reader->over; i++)
        count = skip_reference_set(reader, i == 0, count);
    if (!nal_read(reader, 1))
        return;
    long_term = nal_read_golomb(reader);
    reader->over |= long_term > LONG_TERM_MAX;
    for (uint32_t i = 0; i < long_term && !reader->over; i++)
        nal_read(reader, poc_bits + 1);
}

// From behind the order of pictures up to vui_parameters_present_flag.
static void skip_to_vui(struct nal_reader *reader, uint32_t poc_bits)
{
    for (unsigned i = 0; i < 6; i++) {
        nal_read_golomb(reader); // sizes of blocks, depths of their trees
    }
    bool has_lists = nal_read(reader, 1);
    if (has_lists && nal_read(reader, 1)) // else the usual ones
        skip_scaling_lists(reader);
    nal_read(reader, 2);       // amp_enabled_flag, sample_adaptive_offset_enabled_flag
    if (nal_read(reader, 1)) { // pcm
        nal_read(reader, 8);
        nal_read_golomb(reader);
        nal_read_golomb(reader);
        nal_read(reader, 1);
    }
    skip_references(reader, poc_bits);
    nal_read(reader, 2); // motion vectors of other pictures, strong smoothing
}

int h265_sps_read(const uint8_t *sps, size_t size, struct nal_picture *ret_picture)
{
    g_autoptr(GByteArray) bytes = NULL;
    struct nal_reader reader = {0};
    struct nal_picture picture;
    unsigned sub_layers;
    uint32_t poc_bits;

    if (size < 2 || nal_type(sps) != NAL_SPS)
        return -EBADMSG;
    bytes = nal_unescape(sps, size);
    reader.bytes = bytes->data;
    reader.end = nal_end(bytes);
    sub_layers = read_to_ordering(&reader, &picture, &poc_bits);
    if (sub_layers == 0)
        return -EBADMSG;
    for (unsigned i = nal_read(&reader, 1) ? 0 : sub_layers - 1; i < sub_layers; i++) {
        nal_read_golomb(&reader);
        nal_read_golomb(&reader);
        nal_read_golomb(&reader);
    }
    skip_to_vui(&reader, poc_bits);
    if (nal_read(&reader, 1))
        nal_read_vui(&reader, &picture);
    if (reader.over)
        return -EBADMSG;
    *ret_picture = picture;
    return 0;
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
    const struct nal_syntax *syntax = nal_syntax(CONFIG_CODEC_H265);
    struct nal_walk walk;

    parts->slices = size;
    nal_walk_begin(&walk, CONFIG_CODEC_H265, bytes, size);
    while (nal_walk_next(&walk)) {
        if (walk.type <= syntax->last_slice) {
            parts->slices = (size_t)(walk.nal - bytes) - START_CODE_BYTES;
            parts->is_irap = walk.type >= syntax->first_key && walk.type <= syntax->last_key;
            return;
        }
        if (nal_is_set(syntax, walk.type)) {
            append_set(parts->sets, walk.nal, walk.nal_size);
        } else {
            append(walk.type == syntax->delimiter ? parts->delimiter : parts->others, walk.nal,
                   walk.nal_size);
        }
    }
}

GByteArray *h265_unit_rewrite(const uint8_t *bytes, size_t size, GByteArray *known, bool *ret_empty)
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
    if (*ret_empty || (sets->len == 0 && !parts.is_irap))
        return NULL;
    unit = g_byte_array_sized_new((guint)(size + known->len));
    g_byte_array_append(unit, delimiter->data, delimiter->len);
    g_byte_array_append(unit, known->data, known->len);
    g_byte_array_append(unit, others->data, others->len);
    g_byte_array_append(unit, bytes + parts.slices, (guint)(size - parts.slices));
    return unit;
}
