// H.265 as encoders write it: sequence parameter sets, whose order of pictures is rewritten, and
// access units, which get the sets in front. What comes out can go in once more without a change.
//
// Parsers: daemon/video/h265_parameters.c
#include "tests/fuzz/fuzz.h"

#include "daemon/video/h265_parameters.h"

static void check_set(const uint8_t *sps, size_t size)
{
    g_autoptr(GByteArray) rewritten = h265_sps_rewrite(sps, size);
    g_autoptr(GByteArray) again =
        rewritten ? h265_sps_rewrite(rewritten->data, rewritten->len) : NULL;

    if (rewritten) {
        fuzz_claim(again && again->len == rewritten->len);
        fuzz_claim(memcmp(again->data, rewritten->data, again->len) == 0);
    }
}

static void check_unit(const uint8_t *bytes, size_t size)
{
    g_autoptr(GByteArray) known = g_byte_array_new(), known_again = g_byte_array_new();
    bool empty;
    g_autoptr(GByteArray) unit = h265_unit_rewrite(bytes, size, known, &empty);
    g_autoptr(GByteArray) again =
        unit ? h265_unit_rewrite(unit->data, unit->len, known_again, &empty) : NULL;

    if (unit && known->len > 0) {
        fuzz_claim(again && again->len == unit->len);
        fuzz_claim(memcmp(again->data, unit->data, unit->len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = (uint8_t *)fuzz_text(data, size); // so that its end is found out

    check_set(bytes, size);
    check_unit(bytes, size);
    free(bytes);
    return 0;
}
