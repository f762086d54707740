// RTP payload of baseline JPEG, RFC 2435. Numbers in parentheses are its sections.
//
// A receiver makes the JPEG headers itself from eight bytes before each packet, which leave no
// choice but of two samplings and of the quantization tables: those travel with the first packet of
// each picture (Q 255, 3.1.8). Other choices of a camera cannot be sent.

#include "daemon/front/stream/payloader.h"

#include <errno.h>
#include <string.h>

enum jpeg_marker {
    SOF0 = 0xc0, // baseline
    DHT = 0xc4,
    SOI = 0xd8,
    EOI = 0xd9,
    SOS = 0xda,
    DQT = 0xdb,
    DRI = 0xdd,
};

#define TABLE_SIZE 64
#define MAIN_HEADER 8
#define RESTART_HEADER 4
#define TABLES_HEADER (4 + 2 * TABLE_SIZE)
#define RESTART_TYPE 64 // added to the type where there are restart intervals
#define Q_TABLES_INSIDE 255
#define SIDE_MAX 2040     // in units of eight pixels it has to fit a byte
#define SCAN_MAX 0xffffff // the fragment offset has 24 bits

// The Huffman tables of the standard (ITU-T T.81, annex K.3), class and number first.
static const uint8_t dc_luminance[] = {
    0x00, 0x00, 0x01, 0x05, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
};
static const uint8_t ac_luminance[] = {
    0x10, 0x00, 0x02, 0x01, 0x03, 0x03, 0x02, 0x04, 0x03, 0x05, 0x05, 0x04, 0x04, 0x00, 0x00,
    0x01, 0x7d, 0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13,
    0x51, 0x61, 0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1,
    0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19,
    0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43,
    0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a,
    0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79,
    0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
    0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4,
    0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca,
    0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6,
    0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
};
static const uint8_t dc_chrominance[] = {
    0x01, 0x00, 0x03, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
};
static const uint8_t ac_chrominance[] = {
    0x11, 0x00, 0x02, 0x01, 0x02, 0x04, 0x04, 0x03, 0x04, 0x07, 0x05, 0x04, 0x04, 0x00, 0x01,
    0x02, 0x77, 0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51,
    0x07, 0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09,
    0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1,
    0x17, 0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a,
    0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
    0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,
    0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95,
    0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2,
    0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
    0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe2, 0xe3, 0xe4, 0xe5,
    0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
};

// The facts in the headers of a picture.
struct jpeg_picture {
    unsigned type; // 0: 4:2:2, 1: 4:2:0
    unsigned width, height, restart_interval;
    const uint8_t *tables[2]; // luminance, chrominance; in zigzag order
    size_t scan, scan_size;   // the coded picture
};

static unsigned get16(const uint8_t *bytes)
{
    return (unsigned)bytes[0] << 8 | bytes[1];
}

static bool read_tables(struct jpeg_picture *picture, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 1 + TABLE_SIZE) {
        // 8 bits each, number 0 or 1
        if (bytes[at] > 1 || size - at < 1 + TABLE_SIZE)
            return false;
        picture->tables[bytes[at]] = bytes + at + 1;
    }
    return true;
}

// Tables of one segment, each as in the standard.
static bool are_usual(const uint8_t *bytes, size_t size)
{
    static const struct {
        const uint8_t *bytes;
        size_t size;
    } usual[] = {
        {dc_luminance, sizeof dc_luminance},
        {ac_luminance, sizeof ac_luminance},
        {dc_chrominance, sizeof dc_chrominance},
        {ac_chrominance, sizeof ac_chrominance},
    };

    while (size > 0) {
        size_t i = 0;

        while (i < ARRAY_LENGTH(usual) &&
               (size < usual[i].size || memcmp(bytes, usual[i].bytes, usual[i].size) != 0)) {
            i++;
        }
        if (i == ARRAY_LENGTH(usual))
            return false;
        bytes += usual[i].size;
        size -= usual[i].size;
    }
    return true;
}

// Three components: luminance of 2x1 or 2x2 samples, with table 0, and two of 1x1 with table 1.
static bool read_frame(struct jpeg_picture *picture, const uint8_t *bytes, size_t size)
{
    if (size != 15 || bytes[0] != 8 || bytes[5] != 3 || (bytes[7] != 0x21 && bytes[7] != 0x22) ||
        bytes[8] != 0 || bytes[10] != 0x11 || bytes[11] != 1 || bytes[13] != 0x11 ||
        bytes[14] != 1) {
        return false;
    }
    picture->height = get16(bytes + 1);
    picture->width = get16(bytes + 3);
    picture->type = bytes[7] == 0x22;
    return picture->width > 0 && picture->width <= SIDE_MAX && picture->height > 0 &&
           picture->height <= SIDE_MAX;
}

static bool read_segment(struct jpeg_picture *picture, unsigned marker, const uint8_t *bytes,
                         size_t size)
{
    switch (marker) {
    case DQT:
        return read_tables(picture, bytes, size);
    case DHT:
        return are_usual(bytes, size);
    case SOF0:
        return read_frame(picture, bytes, size);
    case DRI:
        picture->restart_interval = size == 2 ? get16(bytes) : 0;
        return size == 2;
    default:
        // Comments and application segments; no other kind of frame.
        return marker == 0xfe || (marker & 0xf0) == 0xe0 || marker == SOS;
    }
}

static bool read_picture(struct jpeg_picture *picture, const uint8_t *bytes, size_t size)
{
    size_t at = 2;

    if (size < 4 || bytes[0] != 0xff || bytes[1] != SOI)
        return false;
    while (size - at >= 4 && bytes[at] == 0xff) {
        unsigned marker = bytes[at + 1];
        size_t length = get16(bytes + at + 2);

        if (length < 2 || length > size - at - 2 ||
            !read_segment(picture, marker, bytes + at + 4, length - 2)) {
            return false;
        }
        at += 2 + length;
        if (marker == SOS) {
            picture->scan = at;
            picture->scan_size = size - at;
            return picture->width > 0 && picture->tables[0] && picture->tables[1];
        }
    }
    return false;
}

// The end marker is the receiver's to add.
static void cut_end(struct jpeg_picture *picture, const uint8_t *bytes)
{
    const uint8_t *scan = bytes + picture->scan;

    while (picture->scan_size > 1 &&
           !(scan[picture->scan_size - 2] == 0xff && scan[picture->scan_size - 1] == EOI) &&
           scan[picture->scan_size - 1] == 0) {
        picture->scan_size--; // padding
    }
    if (picture->scan_size > 1 && scan[picture->scan_size - 2] == 0xff &&
        scan[picture->scan_size - 1] == EOI) {
        picture->scan_size -= 2;
    }
}

// The headers before `offset` of the scan (3.1, 3.1.7, 3.1.8). Returns their size.
static size_t write_head(const struct jpeg_picture *picture, size_t offset, uint8_t *head)
{
    unsigned restart = picture->restart_interval;
    size_t size = MAIN_HEADER;

    head[0] = 0;
    head[1] = (uint8_t)(offset >> 16);
    head[2] = (uint8_t)(offset >> 8);
    head[3] = (uint8_t)offset;
    head[4] = (uint8_t)(picture->type + (restart ? RESTART_TYPE : 0));
    head[5] = Q_TABLES_INSIDE;
    head[6] = (uint8_t)((picture->width + 7) / 8);
    head[7] = (uint8_t)((picture->height + 7) / 8);
    if (restart) { // the whole picture is one chunk: F, L and the count all ones
        const uint8_t header[RESTART_HEADER] = {(uint8_t)(restart >> 8), (uint8_t)restart, 0xff,
                                                0xff};

        memcpy(head + size, header, sizeof header);
        size += sizeof header;
    }
    if (offset == 0) {
        const uint8_t header[] = {0, 0, 0, 2 * TABLE_SIZE};

        memcpy(head + size, header, sizeof header);
        memcpy(head + size + 4, picture->tables[0], TABLE_SIZE);
        memcpy(head + size + 4 + TABLE_SIZE, picture->tables[1], TABLE_SIZE);
        size += TABLES_HEADER;
    }
    return size;
}

static int packetize(struct unit *unit, struct parameter_sets *sets)
{
    struct jpeg_picture picture = {0};
    int r = 0;

    if (!read_picture(&picture, unit->bytes, unit->size))
        return -EBADMSG;
    sets->width = picture.width;
    sets->height = picture.height;
    cut_end(&picture, unit->bytes);
    if (picture.scan_size > SCAN_MAX)
        return -EBADMSG;
    for (size_t at = 0; at < picture.scan_size && r == 0;) {
        uint8_t head[MAIN_HEADER + RESTART_HEADER + TABLES_HEADER];
        size_t head_size = write_head(&picture, at, head);
        size_t left = picture.scan_size - at, room = UNIT_PACKET_MAX - head_size;
        size_t part = left < room ? left : room;

        r = unit_add_packet(unit, head, head_size, picture.scan + at, part);
        at += part;
    }
    return r < 0 ? r : unit->packet_count > 0 ? 0 : -EBADMSG;
}

static bool is_described(const struct parameter_sets *sets)
{
    (void)sets;
    return true;
}

const struct payloader_ops payload_jpeg = {
    .encoding = "JPEG",
    .payload_type = 26,
    .packetize = packetize,
    .is_described = is_described,
};
