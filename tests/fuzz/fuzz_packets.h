// Access units as a camera process sends them, cut into RTP packets: each packet fits, and all of
// its bytes are the unit's.
#pragma once

#include "tests/fuzz/fuzz.h"

#include "daemon/front/stream/payloader.h"

static inline int fuzz_packetize(const struct payloader_ops *payloader, const uint8_t *data,
                                 size_t size)
{
    _cleanup_(cleanup_unit) struct unit *unit = NULL;
    static struct parameter_sets sets;
    uint8_t *bytes = malloc(size + !size);
    struct unit_source source = {.memory = bytes, .size = size, .captured_ns = 1};

    fuzz_claim(bytes != NULL);
    memcpy(bytes, data, size);
    fuzz_claim(unit_new(&source, &unit) == 0);
    int r = payloader->packetize(unit, &sets);
    for (unsigned i = 0; r == 0 && i < unit->packet_count; i++) {
        const struct unit_packet *packet = &unit->packets[i];

        fuzz_claim(packet->head_size + packet->size > 0);
        fuzz_claim(packet->head_size + packet->size <= UNIT_PACKET_MAX);
        fuzz_claim(packet->offset <= size && packet->size <= size - packet->offset);
    }
    fuzz_claim(r < 0 || unit->packet_count > 0);
    if (payloader->write_fmtp) {
        _cleanup_(cleanup_free) char *text = NULL;
        size_t length;
        FILE *file = open_memstream(&text, &length);

        payloader->write_fmtp(&sets, file);
        fclose(file);
        fuzz_claim(!strpbrk(text, "\r\n"));
    }
    return 0;
}
