#include "daemon/video/mp4_video.h"

#include "daemon/video/h264_sps.h"
#include "daemon/video/h265_parameters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_SIZE 4 // bytes in front of a NAL unit
#define SIZE_MAX_PX 65535u
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

// How many NAL units of the parameter set `index` there are, in one byte with `flags`, or in two;
// then each with its length. Returns how many.
static unsigned put_sets(struct mp4_record *record, enum config_codec codec, unsigned index,
                         const uint8_t *unit, size_t size)
{
    size_t count_at = record->size + (codec == CONFIG_CODEC_H265 ? 2 : 0);
    unsigned count = 0, type = nal_syntax(codec)->first_set + index;
    struct nal_walk walk;

    if (codec == CONFIG_CODEC_H265) {
        put8(record, 0x80 | type); // array_completeness: none in the samples
        put8(record, 0);
    }
    put8(record, 0);
    nal_walk_begin(&walk, codec, unit, size);
    while (nal_walk_next(&walk)) {
        if (walk.type != type)
            continue;
        put16(record, (unsigned)walk.nal_size);
        put(record, walk.nal, walk.nal_size);
        record->full |= walk.nal_size > UINT16_MAX || ++count > 31;
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
    has_both = put_sets(record, CONFIG_CODEC_H264, 0, unit, size) > 0;
    record->bytes[count_at] |= 0xe0;
    has_both &= put_sets(record, CONFIG_CODEC_H264, 1, unit, size) > 0;
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
        has_all &= put_sets(record, CONFIG_CODEC_H265, i, unit, size) > 0;
    return has_all;
}

// The first SPS. False: there is none.
static bool find_sps(struct nal_walk *walk)
{
    const struct nal_syntax *syntax = walk->syntax;

    while (nal_walk_next(walk)) {
        if (walk->type == syntax->first_set + syntax->picture_set)
            return true;
    }
    return false;
}

int mp4_video_read(struct mp4_video *ret_video, enum config_codec codec, const uint8_t *unit,
                   size_t size)
{
    struct mp4_video video = {.codec = codec};
    struct mp4_record record = {.bytes = video.configuration, .room = sizeof video.configuration};
    bool is_h264 = codec == CONFIG_CODEC_H264;
    struct nal_walk walk;
    bool has_all;

    nal_walk_begin(&walk, codec, unit, size);
    if (!find_sps(&walk) ||
        (is_h264 ? h264_sps_read(walk.nal, walk.nal_size, &video.picture)
                 : h265_sps_read(walk.nal, walk.nal_size, &video.picture)) < 0) {
        return -EBADMSG;
    }
    if (video.picture.width - 1 >= SIZE_MAX_PX || video.picture.height - 1 >= SIZE_MAX_PX ||
        video.picture.chroma_format > 3 || video.picture.luma_bits > 15 ||
        video.picture.chroma_bits > 15) {
        return -EBADMSG;
    }
    has_all = is_h264 ? describe_h264(&video, &record, walk.nal, unit, size)
                      : describe_h265(&video, &record, walk.nal, walk.nal_size, unit, size);
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
    nal_walk_begin(&reader->walk, codec, unit, size);
    reader->given = 0;
}

// Goes on to the next NAL unit of the sample. False: there is none.
static bool find_next(struct mp4_sample_reader *reader)
{
    const struct nal_walk *walk = &reader->walk;
    bool found;

    do {
        found = nal_walk_next(&reader->walk);
    } while (found &&
             (walk->type == walk->syntax->delimiter || nal_is_set(walk->syntax, walk->type)));
    reader->given = 0;
    return found;
}

uint32_t mp4_sample_size(enum config_codec codec, const uint8_t *unit, size_t size)
{
    struct mp4_sample_reader reader;
    size_t sum = 0;

    mp4_sample_begin(&reader, codec, unit, size);
    while (find_next(&reader))
        sum += LENGTH_SIZE + reader.walk.nal_size;
    return (uint32_t)sum;
}

size_t mp4_sample_read(struct mp4_sample_reader *reader, uint8_t *to, size_t room)
{
    const struct nal_walk *walk = &reader->walk;
    size_t written = 0;

    while (written < room) {
        bool is_given = !walk->nal || reader->given == LENGTH_SIZE + walk->nal_size;

        if (is_given && !find_next(reader))
            break;
        if (reader->given < LENGTH_SIZE) {
            to[written++] = (uint8_t)(walk->nal_size >> 8 * (LENGTH_SIZE - 1 - reader->given++));
            continue;
        }
        size_t at = reader->given - LENGTH_SIZE, part = MIN(room - written, walk->nal_size - at);
        memcpy(to + written, walk->nal + at, part);
        written += part;
        reader->given += part;
    }
    return written;
}
