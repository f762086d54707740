#include "daemon/video/h264_sps.h"

#include <errno.h>
#include <string.h>

#define NAL_SPS 7
#define VIDEO_FORMAT_UNSPECIFIED 5
#define MACROBLOCK 16
#define SCALE_DELTA_MAX 128
#define LOG2_MAX_MV_LENGTH 15 // no bound: the greatest that every edition of the standard has

static void skip_scaling_list(struct nal_reader *reader, unsigned size)
{
    int32_t last = 8, next = 8;

    for (unsigned i = 0; i < size && next != 0; i++) {
        int32_t delta = nal_read_signed(reader);

        reader->over |= delta < -SCALE_DELTA_MAX || delta >= SCALE_DELTA_MAX; // 7.4.2.1.1.1
        next = reader->over ? 0 : (last + delta) & 255;
        last = next ? next : last;
    }
}

static void read_chroma_and_scaling(struct nal_reader *reader, struct nal_picture *picture)
{
    picture->chroma_format = (uint8_t)nal_read_golomb(reader);
    nal_read(reader, picture->chroma_format == 3); // separate_colour_plane_flag
    picture->luma_bits = (uint8_t)(8 + nal_read_golomb(reader));
    picture->chroma_bits = (uint8_t)(8 + nal_read_golomb(reader));
    nal_read(reader, 1);
    if (nal_read(reader, 1)) {
        for (unsigned i = 0; i < (picture->chroma_format == 3 ? 12 : 8); i++) {
            if (nal_read(reader, 1))
                skip_scaling_list(reader, i < 6 ? 16 : 64);
        }
    }
}

static void skip_picture_order(struct nal_reader *reader)
{
    uint32_t type = nal_read_golomb(reader);

    if (type == 0) {
        nal_read_golomb(reader);
    } else if (type == 1) {
        nal_read(reader, 1);
        nal_read_golomb(reader);
        nal_read_golomb(reader);
        for (uint32_t i = nal_read_golomb(reader); i > 0 && !reader->over; i--)
            nal_read_golomb(reader);
    }
}

// From the width to the cropping (7.4.2.1.1).
static void read_size(struct nal_reader *reader, struct nal_picture *picture)
{
    bool subsampled = picture->chroma_format == 1 || picture->chroma_format == 2;
    uint32_t unit_width = subsampled ? 2 : 1, unit_height = picture->chroma_format == 1 ? 2 : 1;

    picture->width = MACROBLOCK * (nal_read_golomb(reader) + 1);
    picture->height = MACROBLOCK * (nal_read_golomb(reader) + 1);
    if (!nal_read(reader, 1)) { // of fields
        nal_read(reader, 1);
        picture->height *= 2;
        unit_height *= 2;
    }
    nal_read(reader, 1);
    if (nal_read(reader, 1)) {
        picture->width -= unit_width * nal_read_golomb(reader);
        picture->width -= unit_width * nal_read_golomb(reader);
        picture->height -= unit_height * nal_read_golomb(reader);
        picture->height -= unit_height * nal_read_golomb(reader);
    }
}

// Reads up to vui_parameters_present_flag, which is left for the caller to read. Returns
// max_num_ref_frames.
static uint32_t read_to_vui(struct nal_reader *reader, struct nal_picture *picture)
{
    static const uint8_t high_profiles[] = {100, 110, 122, 244, 44,  83, 86,
                                            118, 128, 138, 139, 134, 135};
    uint32_t profile, references;

    *picture = (struct nal_picture){
        .aspect_width = 1,
        .aspect_height = 1,
        .chroma_format = 1,
        .luma_bits = 8,
        .chroma_bits = 8,
        .colour = {COLOUR_UNSPECIFIED, COLOUR_UNSPECIFIED, COLOUR_UNSPECIFIED},
    };
    nal_read(reader, 8); // NAL unit header
    profile = nal_read(reader, 8);
    nal_read(reader, 16); // constraints and level
    nal_read_golomb(reader);
    if (memchr(high_profiles, (int)profile, sizeof high_profiles))
        read_chroma_and_scaling(reader, picture);
    nal_read_golomb(reader); // log2_max_frame_num_minus4
    skip_picture_order(reader);
    references = nal_read_golomb(reader);
    nal_read(reader, 1);
    read_size(reader, picture);
    return references;
}

static void skip_aspect_and_overscan(struct nal_reader *reader)
{
    if (nal_read(reader, 1) && nal_read(reader, 8) == NAL_ASPECT_RATIO_EXTENDED)
        nal_read(reader, 32);
    if (nal_read(reader, 1))
        nal_read(reader, 1);
}

static void skip_signal_type(struct nal_reader *reader)
{
    if (nal_read(reader, 1)) {
        nal_read(reader, 4);
        if (nal_read(reader, 1))
            nal_read(reader, 24);
    }
}

static void write_signal_type(struct nal_writer *writer, const struct h264_sps *says)
{
    nal_write(writer, 1, 1);
    nal_write(writer, VIDEO_FORMAT_UNSPECIFIED, 3);
    nal_write(writer, says->range == FRAME_RANGE_FULL, 1);
    nal_write(writer, 1, 1);
    nal_write(writer, says->colour.primaries, 8);
    nal_write(writer, says->colour.transfer, 8);
    nal_write(writer, says->colour.matrix, 8);
}

static void skip_hrd(struct nal_reader *reader)
{
    uint32_t count = nal_read_golomb(reader) + 1;

    nal_read(reader, 8); // scales
    for (uint32_t i = 0; i < count && !reader->over; i++) {
        nal_read_golomb(reader);
        nal_read_golomb(reader);
        nal_read(reader, 1);
    }
    nal_read(reader, 20); // lengths
}

// Reads from behind the video signal type up to bitstream_restriction_flag.
static void skip_to_restriction(struct nal_reader *reader)
{
    bool has_hrd = false;

    if (nal_read(reader, 1)) { // chroma locations
        nal_read_golomb(reader);
        nal_read_golomb(reader);
    }
    if (nal_read(reader, 1)) { // timing
        nal_read(reader, 32);
        nal_read(reader, 32);
        nal_read(reader, 1);
    }
    for (unsigned i = 0; i < 2; i++) { // of NAL units, of slices
        if (nal_read(reader, 1)) {
            skip_hrd(reader);
            has_hrd = true;
        }
    }
    nal_read(reader, has_hrd); // low_delay_hrd_flag
    nal_read(reader, 1);       // pic_struct_present_flag
}

// Copies what the set says of motion vectors and sizes, or says what stands for nothing said.
static void write_restriction(struct nal_reader *reader, struct nal_writer *writer,
                              uint32_t references)
{
    struct nal_reader from = *reader;
    bool is_said = nal_read(reader, 1);

    nal_write(writer, 1, 1);
    if (is_said) {
        from.at = reader->at;
        nal_read(reader, 1);
        for (unsigned i = 0; i < 4; i++)
            nal_read_golomb(reader);
        nal_copy(&from, writer, reader->at);
        nal_read_golomb(reader);
    } else {
        nal_write(writer, 1, 1);     // motion vectors over the picture's edges
        nal_write_golomb(writer, 2); // max_bytes_per_pic_denom
        nal_write_golomb(writer, 1); // max_bits_per_mb_denom
        nal_write_golomb(writer, LOG2_MAX_MV_LENGTH);
        nal_write_golomb(writer, LOG2_MAX_MV_LENGTH);
    }
    nal_write_golomb(writer, 0); // max_num_reorder_frames
    if (!is_said) {
        nal_write_golomb(writer, references); // max_dec_frame_buffering
    }
}

// Copies everything but what `says` is about. Afterwards the reader is at the stop bit.
static void rewrite(struct nal_reader *reader, struct nal_writer *writer,
                    const struct h264_sps *says)
{
    static const uint8_t nothing_said[] = {0}; // all flags behind the signal type are 0
    struct nal_reader from = *reader, absent = {.bytes = nothing_said, .end = 6}, *rest = reader;
    struct nal_picture ignored;
    uint32_t references = read_to_vui(reader, &ignored);
    bool has_vui = nal_read(reader, 1);

    nal_copy(&from, writer, reader->at - 1);
    nal_write(writer, 1, 1);
    from.at = reader->at;
    if (has_vui) {
        skip_aspect_and_overscan(reader);
        nal_copy(&from, writer, reader->at);
        skip_signal_type(reader);
    } else {
        nal_write(writer, 0, 2); // aspect ratio, overscan
        rest = &absent;
    }
    write_signal_type(writer, says);
    if (says->in_order) {
        from = *rest;
        skip_to_restriction(rest);
        nal_copy(&from, writer, rest->at);
        write_restriction(rest, writer, references);
    }
    nal_copy(rest, writer, rest->end);
    nal_copy(reader, writer, reader->end);
}

GByteArray *h264_sps_rewrite(const uint8_t *sps, size_t size, const struct h264_sps *says)
{
    g_autoptr(GByteArray) bytes = NULL, rewritten = NULL;
    struct nal_reader reader = {0};
    struct nal_writer writer = {0};

    if (size == 0 || (sps[0] & 31) != NAL_SPS)
        return NULL;
    bytes = nal_unescape(sps, size);
    writer.bytes = rewritten = g_byte_array_new();
    reader.bytes = bytes->data;
    reader.end = nal_end(bytes);
    rewrite(&reader, &writer, says);
    return reader.over ? NULL : nal_escape(rewritten);
}

GByteArray *h264_unit_rewrite(const uint8_t *bytes, size_t size, const struct h264_sps *says)
{
    GByteArray *unit = g_byte_array_sized_new((guint)size + 32);
    const uint8_t *kept = bytes; // from here on nothing is in `unit` yet
    struct nal_walk walk;

    nal_walk_begin(&walk, CONFIG_CODEC_H264, bytes, size);
    while (nal_walk_next(&walk)) {
        g_autoptr(GByteArray) sps = h264_sps_rewrite(walk.nal, walk.nal_size, says);

        if (sps) {
            g_byte_array_append(unit, kept, (guint)(walk.nal - kept));
            g_byte_array_append(unit, sps->data, sps->len);
            kept = walk.nal + walk.nal_size;
        }
    }
    g_byte_array_append(unit, kept, (guint)(bytes + size - kept));
    return unit;
}

int h264_sps_read(const uint8_t *sps, size_t size, struct nal_picture *ret_picture)
{
    g_autoptr(GByteArray) bytes = NULL;
    struct nal_reader reader = {0};
    struct nal_picture picture;

    if (size == 0 || (sps[0] & 31) != NAL_SPS)
        return -EBADMSG;
    bytes = nal_unescape(sps, size);
    reader.bytes = bytes->data;
    reader.end = nal_end(bytes);
    read_to_vui(&reader, &picture);
    if (nal_read(&reader, 1))
        nal_read_vui(&reader, &picture);
    if (reader.over)
        return -EBADMSG;
    *ret_picture = picture;
    return 0;
}
