#include "daemon/video/nal.h"

#include <string.h>

static const struct nal_syntax h264 = {
    .header_size = 1,
    .type_mask = 31,
    .first_slice = 1,
    .last_slice = 5,
    .first_key = 5,
    .last_key = 5,
    .first_set = 7,
    .set_count = 2,
    .picture_set = 0,
    .sei = 6,
    .delimiter = 9,
};

static const struct nal_syntax h265 = {
    .header_size = 2,
    .type_shift = 1,
    .type_mask = 63,
    .first_slice = 0,
    .last_slice = 31,
    .first_key = 16,
    .last_key = 21,
    .first_set = 32,
    .set_count = 3,
    .picture_set = 1,
    .sei = 39,
    .delimiter = 35,
};

const struct nal_syntax *nal_syntax(enum config_codec codec)
{
    return codec == CONFIG_CODEC_H264 ? &h264 : &h265;
}

// Where the next 00 00 01 begins, or `size`.
static size_t find_start_code(const uint8_t *bytes, size_t size, size_t offset)
{
    // memchr() looks for the 01, as it is many times faster than a loop over every byte.
    for (size_t at = offset + 2; at < size; at++) {
        const uint8_t *one = memchr(bytes + at, 1, size - at);

        if (!one)
            return size;
        at = (size_t)(one - bytes);
        if (one[-1] == 0 && one[-2] == 0)
            return at - 2;
    }
    return size;
}

void nal_walk_begin(struct nal_walk *walk, enum config_codec codec, const uint8_t *bytes,
                    size_t size)
{
    *walk = (struct nal_walk){.syntax = nal_syntax(codec), .bytes = bytes, .size = size};
}

bool nal_walk_next(struct nal_walk *walk)
{
    size_t begin, end;

    do {
        begin = find_start_code(walk->bytes, walk->size, walk->next) + 3;
        if (begin >= walk->size) {
            walk->next = walk->size; // and again, if asked once more
            walk->nal = NULL;
            return false;
        }
        walk->next = end = find_start_code(walk->bytes, walk->size, begin);
        while (end > begin && walk->bytes[end - 1] == 0) {
            end--; // trailing_zero_8bits, or the zero_byte of the next start code
        }
    } while (end == begin);
    walk->nal = walk->bytes + begin;
    walk->nal_size = end - begin;
    walk->type = walk->nal[0] >> walk->syntax->type_shift & walk->syntax->type_mask;
    return true;
}

bool nal_is_key_frame(enum config_codec codec, const uint8_t *bytes, size_t size)
{
    const struct nal_syntax *syntax = nal_syntax(codec);
    struct nal_walk walk;

    nal_walk_begin(&walk, codec, bytes, size);
    while (nal_walk_next(&walk)) {
        if (walk.type >= syntax->first_slice && walk.type <= syntax->last_slice)
            return walk.type >= syntax->first_key && walk.type <= syntax->last_key;
    }
    return false;
}

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
