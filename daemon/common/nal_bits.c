#include "daemon/common/nal_bits.h"

uint32_t nal_read(struct nal_reader *reader, unsigned count)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < count; i++, reader->at++) {
        reader->over |= reader->at >= reader->end;
        value = value << 1 |
                (reader->over ? 0 : reader->bytes[reader->at / 8] >> (7 - reader->at % 8) & 1);
    }
    return value;
}

uint32_t nal_read_golomb(struct nal_reader *reader)
{
    unsigned zeros = 0;

    while (!reader->over && nal_read(reader, 1) == 0)
        zeros++;
    reader->over |= zeros > 31;
    return reader->over ? 0 : (1U << zeros) - 1 + nal_read(reader, zeros);
}

int32_t nal_read_signed(struct nal_reader *reader)
{
    uint32_t code = nal_read_golomb(reader);

    return code % 2 ? (int32_t)(code / 2 + 1) : -(int32_t)(code / 2);
}

void nal_write(struct nal_writer *writer, uint32_t value, unsigned count)
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

void nal_write_golomb(struct nal_writer *writer, uint32_t value)
{
    unsigned zeros = 31 - (unsigned)__builtin_clz(value + 1);

    nal_write(writer, 0, zeros);
    nal_write(writer, value + 1, zeros + 1);
}

void nal_copy(struct nal_reader *reader, struct nal_writer *writer, size_t end)
{
    while (reader->at < end)
        nal_write(writer, nal_read(reader, 1), 1);
}

GByteArray *nal_unescape(const uint8_t *nal, size_t size)
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

GByteArray *nal_escape(const GByteArray *bytes)
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

size_t nal_end(const GByteArray *bytes)
{
    guint length = bytes->len;

    while (length > 0 && bytes->data[length - 1] == 0)
        length--;
    return length == 0 ? 0 : 8 * (size_t)length - (size_t)__builtin_ctz(bytes->data[length - 1]);
}

// Table E-1 of either standard.
static const struct {
    uint8_t width, height;
} aspects[] = {{1, 1},   {1, 1},    {12, 11}, {10, 11}, {16, 11}, {40, 33},
               {24, 11}, {20, 11},  {32, 11}, {80, 33}, {18, 11}, {15, 11},
               {64, 33}, {160, 99}, {4, 3},   {3, 2},   {2, 1}};

static void read_aspect(struct nal_reader *reader, struct nal_picture *picture)
{
    uint32_t index = nal_read(reader, 8);

    if (index == NAL_ASPECT_RATIO_EXTENDED) {
        picture->aspect_width = (uint16_t)nal_read(reader, 16);
        picture->aspect_height = (uint16_t)nal_read(reader, 16);
    } else if (index < sizeof aspects / sizeof *aspects) {
        picture->aspect_width = aspects[index].width;
        picture->aspect_height = aspects[index].height;
    }
    if (!picture->aspect_width || !picture->aspect_height)
        picture->aspect_width = picture->aspect_height = 1;
}

void nal_read_vui(struct nal_reader *reader, struct nal_picture *picture)
{
    if (nal_read(reader, 1))
        read_aspect(reader, picture);
    if (nal_read(reader, 1)) {
        nal_read(reader, 1); // overscan_appropriate_flag
    }
    picture->says_range = nal_read(reader, 1);
    if (!picture->says_range)
        return;
    nal_read(reader, 3); // video_format
    picture->range = nal_read(reader, 1) ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED;
    if (nal_read(reader, 1)) {
        picture->colour.primaries = nal_read(reader, 8);
        picture->colour.transfer = nal_read(reader, 8);
        picture->colour.matrix = nal_read(reader, 8);
    }
}
