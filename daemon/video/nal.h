// The NAL units of H.264 and H.265 (ITU-T H.264, H.265): an access unit as encoders hand it out, a
// byte stream of them (annex B of both), the bits of one of them, read and written (H.264, 7.2 and
// 9.1), and what the sequence parameter sets of both say of their pictures.
#pragma once

#include "capture/frame.h"
#include "config/config.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The NAL units of a codec: their header, and those types that matter here (table 7-1 of either).
struct nal_syntax {
    unsigned header_size;           // bytes
    unsigned type_shift, type_mask; // of the type in the first of them
    unsigned first_slice, last_slice;
    unsigned first_key, last_key;  // those of them with which decoding may begin
    unsigned first_set, set_count; // parameter sets: H.264: SPS, PPS; H.265: VPS, SPS, PPS
    unsigned picture_set;          // which of these is the SPS, from 0 on
    unsigned sei, delimiter;       // messages in front of a picture; where an access unit begins
};

// `codec`: H.264, or any other for H.265.
const struct nal_syntax *nal_syntax(enum config_codec codec);

static inline bool nal_is_set(const struct nal_syntax *syntax, unsigned type)
{
    return type - syntax->first_set < syntax->set_count;
}

// A walk from one NAL unit of a byte stream to the next.
struct nal_walk {
    const struct nal_syntax *syntax;
    const uint8_t *bytes; // of the stream, borrowed
    size_t size, next;    // where to look for the next NAL unit
    const uint8_t *nal;   // without start code and the zeros behind it; NULL: there is none
    size_t nal_size;      // 1 or more
    unsigned type;
};

// Stands in front of the first one.
void nal_walk_begin(struct nal_walk *walk, enum config_codec codec, const uint8_t *bytes,
                    size_t size);
// Goes on to the next one. False: there is none.
bool nal_walk_next(struct nal_walk *walk);

// Whether decoding may begin at an access unit, by the type of the first slice in it: H.264, an IDR
// picture; H.265, an IRAP picture. A picture that only has no references of its own is none,
// because pictures behind it may refer to what was before it.
bool nal_is_key_frame(enum config_codec codec, const uint8_t *bytes, size_t size);

// Reads bits, the most significant first. Past the end they are 0, and `over` is set.
struct nal_reader {
    const uint8_t *bytes; // without emulation prevention
    size_t at, end;       // bits
    bool over;
};

struct nal_writer {
    GByteArray *bytes;
    unsigned free; // bits of the last byte
};

// u(count), of up to 32 bits; ue(v), which also sets `over` where it has more; se(v).
uint32_t nal_read(struct nal_reader *reader, unsigned count);
uint32_t nal_read_golomb(struct nal_reader *reader);
int32_t nal_read_signed(struct nal_reader *reader);

void nal_write(struct nal_writer *writer, uint32_t value, unsigned count);
// ue(v) of a value below 2^32 - 1.
void nal_write_golomb(struct nal_writer *writer, uint32_t value);
// Copies what the reader has up to bit `end`.
void nal_copy(struct nal_reader *reader, struct nal_writer *writer, size_t end);

// A NAL unit without its emulation prevention bytes (7.3.1), and with them. The caller owns the
// result.
GByteArray *nal_unescape(const uint8_t *nal, size_t size);
GByteArray *nal_escape(const GByteArray *bytes);
// Where the payload ends, in bits, behind its stop bit; 0: it has none.
size_t nal_end(const GByteArray *bytes);

#define NAL_ASPECT_RATIO_EXTENDED 255 // aspect_ratio_idc: width and height follow

// The facts about pictures in a sequence parameter set.
struct nal_picture {
    uint32_t width, height;               // pixels that are shown, without what is cropped
    uint16_t aspect_width, aspect_height; // of one pixel; 1 and 1 where nothing is said
    uint8_t chroma_format;                // 0 gray, 1 4:2:0, 2 4:2:2, 3 4:4:4
    uint8_t luma_bits, chroma_bits;       // of a sample
    bool says_range;                      // range and colour are said
    enum frame_range range;
    struct frame_colour colour; // COLOUR_UNSPECIFIED where the set leaves it out
};

// Reads the beginning of the VUI, which both have in common (E.1.1; ITU-T H.265, E.2.1): aspect
// ratio, overscan, and the video signal type, to `picture`.
void nal_read_vui(struct nal_reader *reader, struct nal_picture *picture);
