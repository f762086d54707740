// The bits of a NAL unit of H.264 or H.265, read and written (ITU-T H.264, 7.2 and 9.1), and what
// the sequence parameter sets of both say of their pictures.
#pragma once

#include "capture/frame.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
