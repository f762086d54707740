// H.264 as encoders write it, given another colour and order: sequence parameter sets, and access
// units of the same bytes. What comes out can be given the same once more without a change.
//
// Parsers: daemon/video/h264_sps.c daemon/video/nal.c
#include "tests/fuzz/fuzz.h"

#include "daemon/video/h264_sps.h"

static const struct h264_sps says = {FRAME_RANGE_FULL, {1, 1, 1}, true};

static void check_set(const uint8_t *sps, size_t size)
{
    g_autoptr(GByteArray) rewritten = h264_sps_rewrite(sps, size, &says);
    g_autoptr(GByteArray) again =
        rewritten ? h264_sps_rewrite(rewritten->data, rewritten->len, &says) : NULL;

    if (rewritten) {
        fuzz_claim(again && again->len == rewritten->len);
        fuzz_claim(memcmp(again->data, rewritten->data, again->len) == 0);
    }
}

static void check_unit(const uint8_t *unit, size_t size)
{
    g_autoptr(GByteArray) rewritten = h264_unit_rewrite(unit, size, &says);
    g_autoptr(GByteArray) again = h264_unit_rewrite(rewritten->data, rewritten->len, &says);

    fuzz_claim(again->len == rewritten->len);
    fuzz_claim(memcmp(again->data, rewritten->data, again->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = (uint8_t *)fuzz_text(data, size); // so that its end is found out

    check_set(bytes, size);
    check_unit(bytes, size);
    free(bytes);
    return 0;
}
