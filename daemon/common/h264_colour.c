#include "daemon/common/h264_colour.h"

#include <string.h>

#define NAL_SPS 7
#define START_CODE_BYTES 3 // 00 00 01
#define VIDEO_FORMAT_UNSPECIFIED 5
#define ASPECT_RATIO_EXTENDED 255
#define SCALE_DELTA_MAX 128

// Reads bits, the most significant first. Past the end they are 0, and `over` is set.
struct reader {
    const uint8_t *bytes;
    size_t at, end; // bits
    bool over;
};

struct writer {
    GByteArray *bytes;
    unsigned free; // bits of the last byte
};

static uint32_t read_bits(struct reader *reader, unsigned count)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < count; i++, reader->at++) {
        reader->over |= reader->at >= reader->end;
        value = value << 1 |
                (reader->over ? 0 : reader->bytes[reader->at / 8] >> (7 - reader->at % 8) & 1);
    }
    return value;
}

// ue(v) of 9.1; se(v) takes as many bits.
static uint32_t read_golomb(struct reader *reader)
{
    unsigned zeros = 0;

    while (!reader->over && read_bits(reader, 1) == 0) {
        zeros++;
    }
    reader->over |= zeros > 31;
    return reader->over ? 0 : (1U << zeros) - 1 + read_bits(reader, zeros);
}

static int32_t read_signed(struct reader *reader)
{
    uint32_t code = read_golomb(reader);

    return code % 2 ? (int32_t)(code / 2 + 1) : -(int32_t)(code / 2);
}

static void write_bits(struct writer *writer, uint32_t value, unsigned count)
{
    while (count-- > 0) {
        if (writer->free == 0) {
            g_byte_array_append(writer->bytes, (const guint8 *)"", 1);
            writer->free = 8;
        }
        writer->free--;
        writer->bytes->data[writer->bytes->len - 1] |= (value >> count & 1) << writer->free;
    }
}

static void copy_bits(struct reader *reader, struct writer *writer, size_t end)
{
    while (reader->at < end) {
        write_bits(writer, read_bits(reader, 1), 1);
    }
}

static void skip_scaling_list(struct reader *reader, unsigned size)
{
    int32_t last = 8, next = 8;

    for (unsigned i = 0; i < size && next != 0; i++) {
        int32_t delta = read_signed(reader);

        reader->over |= delta < -SCALE_DELTA_MAX || delta >= SCALE_DELTA_MAX; // 7.4.2.1.1.1
        next = reader->over ? 0 : (last + delta) & 255;
        last = next ? next : last;
    }
}

static void skip_chroma_and_scaling(struct reader *reader)
{
    uint32_t chroma_format = read_golomb(reader);

    read_bits(reader, chroma_format == 3); // separate_colour_plane_flag
    read_golomb(reader);                   // bit depths
    read_golomb(reader);
    read_bits(reader, 1);
    if (read_bits(reader, 1)) {
        for (unsigned i = 0; i < (chroma_format == 3 ? 12 : 8); i++) {
            if (read_bits(reader, 1)) {
                skip_scaling_list(reader, i < 6 ? 16 : 64);
            }
        }
    }
}

static void skip_picture_order(struct reader *reader)
{
    uint32_t type = read_golomb(reader);

    if (type == 0) {
        read_golomb(reader);
    } else if (type == 1) {
        read_bits(reader, 1);
        read_golomb(reader);
        read_golomb(reader);
        for (uint32_t i = read_golomb(reader); i > 0 && !reader->over; i--) {
            read_golomb(reader);
        }
    }
}

// Reads up to vui_parameters_present_flag, which is left for the caller to read.
static void skip_to_vui(struct reader *reader)
{
    static const uint8_t high_profiles[] = {100, 110, 122, 244, 44,  83, 86,
                                            118, 128, 138, 139, 134, 135};
    uint32_t profile;

    read_bits(reader, 8); // NAL unit header
    profile = read_bits(reader, 8);
    read_bits(reader, 16); // constraints and level
    read_golomb(reader);
    if (memchr(high_profiles, (int)profile, sizeof high_profiles)) {
        skip_chroma_and_scaling(reader);
    }
    read_golomb(reader); // log2_max_frame_num_minus4
    skip_picture_order(reader);
    read_golomb(reader); // max_num_ref_frames
    read_bits(reader, 1);
    read_golomb(reader); // width and height
    read_golomb(reader);
    if (!read_bits(reader, 1)) {
        read_bits(reader, 1); // of fields
    }
    read_bits(reader, 1);
    if (read_bits(reader, 1)) {
        for (unsigned i = 0; i < 4; i++) {
            read_golomb(reader); // cropping
        }
    }
}

static void skip_aspect_and_overscan(struct reader *reader)
{
    if (read_bits(reader, 1) && read_bits(reader, 8) == ASPECT_RATIO_EXTENDED) {
        read_bits(reader, 32);
    }
    if (read_bits(reader, 1)) {
        read_bits(reader, 1);
    }
}

static void skip_signal_type(struct reader *reader)
{
    if (read_bits(reader, 1)) {
        read_bits(reader, 4);
        if (read_bits(reader, 1)) {
            read_bits(reader, 24);
        }
    }
}

static void write_signal_type(struct writer *writer, const struct h264_colour *colour)
{
    write_bits(writer, 1, 1);
    write_bits(writer, VIDEO_FORMAT_UNSPECIFIED, 3);
    write_bits(writer, colour->range == FRAME_RANGE_FULL, 1);
    write_bits(writer, 1, 1);
    write_bits(writer, colour->colour.primaries, 8);
    write_bits(writer, colour->colour.transfer, 8);
    write_bits(writer, colour->colour.matrix, 8);
}

// Copies everything, with another video signal type. Afterwards the reader is at the stop bit.
static void rewrite(struct reader *reader, struct writer *writer, const struct h264_colour *colour)
{
    struct reader from = *reader;
    bool has_vui;

    skip_to_vui(reader);
    has_vui = read_bits(reader, 1);
    copy_bits(&from, writer, reader->at - 1);
    write_bits(writer, 1, 1);
    from.at = reader->at;
    if (has_vui) {
        skip_aspect_and_overscan(reader);
        copy_bits(&from, writer, reader->at);
        write_signal_type(writer, colour);
        skip_signal_type(reader);
    } else {
        write_bits(writer, 0, 2); // aspect ratio, overscan
        write_signal_type(writer, colour);
        write_bits(writer, 0, 6); // all that follows in a VUI
    }
    copy_bits(reader, writer, reader->end);
}

// The bytes between which 7.3.1 puts emulation prevention bytes, without them.
static GByteArray *unescape(const uint8_t *nal, size_t size)
{
    GByteArray *bytes = g_byte_array_sized_new((guint)size);
    unsigned zeros = 0;

    for (size_t i = 0; i < size; i++) {
        if (zeros >= 2 && nal[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = nal[i] == 0 ? zeros + 1 : 0;
        g_byte_array_append(bytes, nal + i, 1);
    }
    return bytes;
}

static GByteArray *escape(const GByteArray *bytes)
{
    GByteArray *nal = g_byte_array_sized_new(bytes->len + 8);
    const guint8 prevention = 3;
    unsigned zeros = 0;

    for (guint i = 0; i < bytes->len; i++) {
        if (zeros >= 2 && bytes->data[i] <= 3) {
            g_byte_array_append(nal, &prevention, 1);
            zeros = 0;
        }
        zeros = bytes->data[i] == 0 ? zeros + 1 : 0;
        g_byte_array_append(nal, bytes->data + i, 1);
    }
    return nal;
}

// Where the payload of a NAL unit ends, in bits, behind its stop bit.
static size_t end_of(const GByteArray *bytes)
{
    guint length = bytes->len;

    while (length > 0 && bytes->data[length - 1] == 0) {
        length--;
    }
    return length == 0 ? 0 : 8 * (size_t)length - (size_t)__builtin_ctz(bytes->data[length - 1]);
}

GByteArray *h264_colour_rewrite(const uint8_t *sps, size_t size, const struct h264_colour *colour)
{
    g_autoptr(GByteArray) bytes = NULL, rewritten = NULL;
    struct reader reader = {0};
    struct writer writer = {0};

    if (size == 0 || (sps[0] & 31) != NAL_SPS) {
        return NULL;
    }
    bytes = unescape(sps, size);
    writer.bytes = rewritten = g_byte_array_new();
    reader.bytes = bytes->data;
    reader.end = end_of(bytes);
    rewrite(&reader, &writer, colour);
    return reader.over ? NULL : escape(rewritten);
}

// Where the next start code begins, from `at` on; `size` without one.
static size_t next_start(const uint8_t *bytes, size_t size, size_t at)
{
    for (; at + START_CODE_BYTES <= size; at++) {
        if (bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1) {
            return at;
        }
    }
    return size;
}

static GByteArray *rewrite_unit(const uint8_t *bytes, size_t size, const struct h264_colour *colour)
{
    GByteArray *unit = g_byte_array_sized_new((guint)size + 32);
    size_t at = next_start(bytes, size, 0);

    g_byte_array_append(unit, bytes, (guint)at);
    while (at < size) {
        size_t end = next_start(bytes, size, at + START_CODE_BYTES);
        g_autoptr(GByteArray) sps =
            h264_colour_rewrite(bytes + at + START_CODE_BYTES, end - at - START_CODE_BYTES, colour);

        g_byte_array_append(unit, bytes + at, sps ? START_CODE_BYTES : (guint)(end - at));
        if (sps) {
            g_byte_array_append(unit, sps->data, sps->len);
            if (end < size) { // the byte that makes the next start code four long
                g_byte_array_append(unit, (const guint8 *)"", 1);
            }
        }
        at = end;
    }
    return unit;
}

static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info), *rewritten;
    GByteArray *unit;
    GstMapInfo map;
    gsize size;

    (void)pad;
    if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT) ||
        !gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        return GST_PAD_PROBE_OK;
    }
    unit = rewrite_unit(map.data, map.size, data);
    gst_buffer_unmap(buffer, &map);
    size = unit->len;
    rewritten = gst_buffer_new_wrapped(g_byte_array_free(unit, FALSE), size);
    gst_buffer_copy_into(rewritten, buffer, GST_BUFFER_COPY_METADATA, 0, (gsize)-1);
    GST_PAD_PROBE_INFO_DATA(info) = rewritten;
    gst_buffer_unref(buffer);
    return GST_PAD_PROBE_OK;
}

void h264_colour_set(GstPad *pad, const struct h264_colour *colour)
{
    struct h264_colour *copy = g_new(struct h264_colour, 1);

    *copy = *colour;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, copy, g_free);
}
