// Access units as a camera process sends them, cut into RTP packets by each payloader: each packet
// fits, and all of its bytes are the unit's.
//
// Parsers: daemon/video/nal.c daemon/front/stream/payload_jpeg.c
// Parsers: daemon/front/stream/payload_nal.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/stream/payloader.h"

static void check_packets(const struct unit *unit)
{
    fuzz_claim(unit->packet_count > 0);
    for (unsigned i = 0; i < unit->packet_count; i++) {
        const struct unit_packet *packet = &unit->packets[i];

        fuzz_claim(packet->head_size + packet->size > 0);
        fuzz_claim(packet->head_size + packet->size <= UNIT_PACKET_MAX);
        fuzz_claim(packet->offset <= unit->size && packet->size <= unit->size - packet->offset);
    }
}

static void check_fmtp(const struct payloader_ops *payloader, const struct parameter_sets *sets)
{
    GString *text = g_string_new(NULL);

    payloader->write_fmtp(sets, text);
    fuzz_claim(!strpbrk(text->str, "\r\n"));
    fuzz_claim(!payloader->is_described(sets) || text->len > 0);
    g_string_free(text, TRUE);
}

static void packetize(const struct payloader_ops *payloader, const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_unit) struct unit *unit = NULL;
    struct parameter_sets sets = {0};
    uint8_t *bytes = malloc(size + !size);
    struct unit_source source = {.memory = bytes, .size = size, .captured_ns = 1};

    fuzz_claim(bytes != NULL);
    memcpy(bytes, data, size);
    fuzz_claim(unit_new(&source, &unit) == 0);
    if (payloader->packetize(unit, &sets) == 0)
        check_packets(unit);
    if (payloader->write_fmtp)
        check_fmtp(payloader, &sets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    packetize(&payload_h264, data, size);
    packetize(&payload_h265, data, size);
    packetize(&payload_jpeg, data, size);
    return 0;
}
