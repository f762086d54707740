// The description of H.264 or H.265 video in an MP4 file, and access units as the file holds them
// (ISO/IEC 14496-15): the parameter sets stand once, in the description of the track, and the NAL
// units of a sample have their length in front instead of a start code.
//
// Tracks are of the kinds avc1 and hvc1: no sample has parameter sets in it. So a stream whose sets
// change needs another track, which is another file or another init segment.
#pragma once

#include "config/config.h"
#include "daemon/video/nal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP4_CONFIGURATION_MAX 2048u
#define MP4_CODECS_SIZE 48u

struct mp4_video {
    enum config_codec codec;
    struct nal_picture picture;
    char codecs[MP4_CODECS_SIZE]; // its name in RFC 6381: "avc1.64001F", "hvc1.1.6.L93.B0"
    // AVCDecoderConfigurationRecord or HEVCDecoderConfigurationRecord, with the parameter sets.
    uint8_t configuration[MP4_CONFIGURATION_MAX];
    size_t configuration_size;
};

// Reads the parameter sets in front of a key frame: `size` bytes of Annex B at `unit`. -EBADMSG:
// one is missing or cannot be read, or the picture is larger than 65535 in a direction, which no
// track can be; -EMSGSIZE: they are longer than there is room for.
int mp4_video_read(struct mp4_video *ret_video, enum config_codec codec, const uint8_t *unit,
                   size_t size);
// Whether one track can have the samples of both.
bool mp4_video_is_same(const struct mp4_video *a, const struct mp4_video *b);

// Bytes of the sample that an access unit in Annex B becomes, without delimiters and parameter
// sets. 0: it has no picture.
uint32_t mp4_sample_size(enum config_codec codec, const uint8_t *unit, size_t size);

// Writes the sample piece by piece. The unit is borrowed until the last one.
struct mp4_sample_reader {
    struct nal_walk walk;
    size_t given; // bytes of the NAL unit's length and of itself
};

void mp4_sample_begin(struct mp4_sample_reader *reader, enum config_codec codec,
                      const uint8_t *unit, size_t size);
// Writes up to `room` bytes, at least 1. Returns how many; 0: that was all of the sample.
size_t mp4_sample_read(struct mp4_sample_reader *reader, uint8_t *to, size_t room);
