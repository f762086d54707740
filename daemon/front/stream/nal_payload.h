// What the payloads of H.264 and H.265 have in common: NAL units that travel alone, several in one
// packet, or in fragments.
#pragma once

#include "daemon/front/stream/payloader.h"

// A codec's NAL units, and how RFC 6184 or RFC 7798 writes them.
struct nal_format {
    size_t header_size;   // of a NAL unit: 1 or 2 bytes
    size_t fragment_head; // bytes before a fragment, in place of the NAL unit's header
    unsigned (*type)(const uint8_t *nal);
    // Which of struct parameter_sets it is; -1: none.
    int (*parameter_set)(unsigned type);
    bool (*is_small)(unsigned type);     // travels with others
    bool (*is_delimiter)(unsigned type); // is left out
    // Makes `header` (header_size bytes, zeros at first) that of a packet that also holds `nal`.
    void (*aggregate)(uint8_t *header, const uint8_t *nal);
    void (*fragment)(uint8_t *head, const uint8_t *nal, bool first, bool last);
};

// struct payloader_ops, packetize, for a codec.
int nal_packetize(const struct nal_format *format, struct unit *unit, struct parameter_sets *sets);
