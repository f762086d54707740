#include "daemon/mp4/mp4_video.h"

#include "daemon/common/annex_b.h"
#include "daemon/common/h264_sps.h"
#include "daemon/common/h265_parameters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_SIZE 4 // bytes in front of a NAL unit
#define SIZE_MAX_PX 65535u
#define H264_FIRST_SET 7  // SPS, then the PPS
#define H265_FIRST_SET 32 // VPS, then the SPS and the PPS
#define H264_DELIMITER 9
#define H265_DELIMITER 35
#define H265_PROFILE_AT 3 // in an SPS: profile_tier_level(), of which 12 bytes are the general part
#define H265_PROFILE_SIZE 12

// A box's worth of bytes in memory of fixed size. `full`: more was to be written.
struct mp4_record {
    uint8_t *bytes;
    size_t size, room;
    bool full;
};

static void put(struct mp4_record *record, const void *bytes, size_t size)
{
    record->full |= size > record->room - record->size;
    if (!record->full) {
        memcpy(record->bytes + record->size, bytes, size);
        record->size += size;
    }
}

static void put8(struct mp4_record *record, unsigned value)
{
    put(record, &(uint8_t){(uint8_t)value}, 1);
}

static void put16(struct mp4_record *record, unsigned value)
{
    put8(record, value >> 8);
    put8(record, value & 255);
}

static unsigned nal_type(enum config_codec codec, const uint8_t *nal)
{
    return codec == CONFIG_CODEC_H264 ? nal[0] & 31 : nal[0] >> 1 & 63;
}

// The next NAL unit of that type from *offset on, which moves on. False: there is none.
static bool find_nal(enum config_codec codec, unsigned type, const uint8_t *unit, size_t size,
                     size_t *offset, const uint8_t **ret_nal, size_t *ret_size)
{
    size_t at;

    while ((*offset = annex_b_next(unit, size, *offset, &at, ret_size)) > 0) {
        if (nal_type(codec, unit + at) == type) {
            *ret_nal = unit + at;
            return true;
        }
    }
    return false;
}

// How many NAL units of a type there are, in one byte with `flags`, or in two; then each with its
// length. Returns how many.
static unsigned put_sets(struct mp4_record *record, enum config_codec codec, unsigned type,
                         const uint8_t *unit, size_t size)
{
    size_t count_at = record->size + (codec == CONFIG_CODEC_H265 ? 2 : 0), next = 0, length;
    unsigned count = 0;
    const uint8_t *nal;

    if (codec == CONFIG_CODEC_H265) {
        put8(record, 0x80 | type); // array_completeness: none in the samples
        put8(record, 0);
    }
    put8(record, 0);
    while (find_nal(codec, type, unit, size, &next, &nal, &length)) {
        put16(record, (unsigned)length);
        put(record, nal, length);
        record->full |= length > UINT16_MAX || ++count > 31;
    }
    if (!record->full)
        record->bytes[count_at] = (uint8_t)count;
    return count;
}

// 5.3.3.1.2.
static bool describe_h264(struct mp4_video *video, struct mp4_record *record, const uint8_t *sps,
                          const uint8_t *unit, size_t size)
{
    const struct nal_picture *picture = &video->picture;
    size_t count_at;
    bool has_both;

    snprintf(video->codecs, sizeof video->codecs, "avc1.%02X%02X%02X", sps[1], sps[2], sps[3]);
    put8(record, 1);
    put(record, sps + 1, 3); // profile, compatibility, level
    put8(record, 0xfc | (LENGTH_SIZE - 1));
    count_at = record->size;
    has_both = put_sets(record, CONFIG_CODEC_H264, H264_FIRST_SET, unit, size) > 0;
    record->bytes[count_at] |= 0xe0;
    has_both &= put_sets(record, CONFIG_CODEC_H264, H264_FIRST_SET + 1, unit, size) > 0;
    if (sps[1] != 66 && sps[1] != 77 && sps[1] != 88) { // baseline, main, extended
        put8(record, 0xfc | picture->chroma_format);
        put8(record, 0xf8 | (picture->luma_bits - 8));
        put8(record, 0xf8 | (picture->chroma_bits - 8));
        put8(record, 0);
    }
    return has_both;
}

// Annex E.3 of 14496-15; `profile` are the 12 bytes of the SPS.
static void name_h265(struct mp4_video *video, const uint8_t profile[H265_PROFILE_SIZE])
{
    static const char *const spaces[] = {"", "A", "B", "C"};
    uint32_t compatible = 0;
    size_t last = H265_PROFILE_SIZE - 1; // behind the constraints that are not 0
    size_t length;

    for (unsigned i = 0; i < 32; i++) // the first flag is the lowest bit
        compatible |= (uint32_t)(profile[1 + i / 8] >> (7 - i % 8) & 1) << i;
    length = (size_t)snprintf(video->codecs, sizeof video->codecs, "hvc1.%s%u.%X.%c%u",
                              spaces[profile[0] >> 6], profile[0] & 31, compatible,
                              profile[0] & 32 ? 'H' : 'L', profile[11]);
    while (last > 5 && profile[last - 1] == 0)
        last--;
    for (size_t i = 5; i < last; i++) {
        length += (size_t)snprintf(video->codecs + length, sizeof video->codecs - length, ".%X",
                                   profile[i]);
    }
}

// 8.3.3.1.2.
static bool describe_h265(struct mp4_video *video, struct mp4_record *record, const uint8_t *sps,
                          size_t sps_size, const uint8_t *unit, size_t size)
{
    g_autoptr(GByteArray) bytes = nal_unescape(sps, sps_size);
    const struct nal_picture *picture = &video->picture;
    const uint8_t *profile = bytes->data + H265_PROFILE_AT;
    bool has_all = true;

    name_h265(video, profile);
    put8(record, 1);
    put(record, profile, H265_PROFILE_SIZE);
    put16(record, 0xf000); // min_spatial_segmentation_idc: not known
    put8(record, 0xfc);    // parallelismType: not known
    put8(record, 0xfc | picture->chroma_format);
    put8(record, 0xf8 | (picture->luma_bits - 8));
    put8(record, 0xf8 | (picture->chroma_bits - 8));
    put16(record, 0); // frame rate: not known
    put8(record, ((bytes->data[2] >> 1 & 7) + 1u) << 3 | (bytes->data[2] & 1u) << 2 |
                     (LENGTH_SIZE - 1)); // temporal layers, whether nested
    put8(record, 3);
    for (unsigned i = 0; i < 3; i++)
        has_all &= put_sets(record, CONFIG_CODEC_H265, H265_FIRST_SET + i, unit, size) > 0;
    return has_all;
}

int mp4_video_read(struct mp4_video *ret_video, enum config_codec codec, const uint8_t *unit,
                   size_t size)
{
    struct mp4_video video = {.codec = codec};
    struct mp4_record record = {.bytes = video.configuration, .room = sizeof video.configuration};
    bool is_h264 = codec == CONFIG_CODEC_H264;
    size_t next = 0, length = 0;
    const uint8_t *sps;
    bool has_all;

    if (!find_nal(codec, is_h264 ? H264_FIRST_SET : H265_FIRST_SET + 1, unit, size, &next, &sps,
                  &length) ||
        (is_h264 ? h264_sps_read(sps, length, &video.picture)
                 : h265_sps_read(sps, length, &video.picture)) < 0) {
        return -EBADMSG;
    }
    if (video.picture.width - 1 >= SIZE_MAX_PX || video.picture.height - 1 >= SIZE_MAX_PX ||
        video.picture.chroma_format > 3 || video.picture.luma_bits > 15 ||
        video.picture.chroma_bits > 15) {
        return -EBADMSG;
    }
    has_all = is_h264 ? describe_h264(&video, &record, sps, unit, size)
                      : describe_h265(&video, &record, sps, length, unit, size);
    if (!has_all || record.full)
        return has_all ? -EMSGSIZE : -EBADMSG;
    video.configuration_size = record.size;
    *ret_video = video;
    return 0;
}

bool mp4_video_is_same(const struct mp4_video *a, const struct mp4_video *b)
{
    return a->codec == b->codec && a->configuration_size == b->configuration_size &&
           memcmp(a->configuration, b->configuration, a->configuration_size) == 0;
}

void mp4_sample_begin(struct mp4_sample_reader *reader, enum config_codec codec,
                      const uint8_t *unit, size_t size)
{
    *reader = (struct mp4_sample_reader){.codec = codec, .unit = unit, .unit_size = size};
}

static bool is_left_out(enum config_codec codec, const uint8_t *nal)
{
    unsigned type = nal_type(codec, nal);

    return codec == CONFIG_CODEC_H264 ? type == H264_DELIMITER || type - H264_FIRST_SET < 2
                                      : type == H265_DELIMITER || type - H265_FIRST_SET < 3;
}

// Goes on to the next NAL unit of the sample. False: there is none.
static bool find_next(struct mp4_sample_reader *reader)
{
    size_t offset;

    do {
        reader->next =
            annex_b_next(reader->unit, reader->unit_size, reader->next, &offset, &reader->nal_size);
        if (reader->next == 0) {
            reader->next = reader->unit_size; // and again, if asked once more
            reader->nal_size = 0;
            return false;
        }
        reader->nal = reader->unit + offset;
    } while (is_left_out(reader->codec, reader->nal));
    reader->given = 0;
    return true;
}

uint32_t mp4_sample_size(enum config_codec codec, const uint8_t *unit, size_t size)
{
    struct mp4_sample_reader reader;
    size_t sum = 0;

    mp4_sample_begin(&reader, codec, unit, size);
    while (find_next(&reader))
        sum += LENGTH_SIZE + reader.nal_size;
    return (uint32_t)sum;
}

size_t mp4_sample_read(struct mp4_sample_reader *reader, uint8_t *to, size_t room)
{
    size_t written = 0;

    while (written < room) {
        if (!reader->nal || reader->given == LENGTH_SIZE + reader->nal_size) {
            if (!find_next(reader)) {
                reader->nal = NULL;
                break;
            }
        }
        if (reader->given < LENGTH_SIZE) {
            to[written++] = (uint8_t)(reader->nal_size >> 8 * (LENGTH_SIZE - 1 - reader->given++));
            continue;
        }
        size_t at = reader->given - LENGTH_SIZE, part = MIN(room - written, reader->nal_size - at);
        memcpy(to + written, reader->nal + at, part);
        written += part;
        reader->given += part;
    }
    return written;
}
