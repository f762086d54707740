// Sequence parameter sets as encoders write them, given another colour. What comes out can be given
// the same colour once more without a change.
//
// Parsers: daemon/common/h264_colour.c
#include "tests/fuzz/fuzz.h"

#include "daemon/common/h264_colour.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct h264_colour colour = {FRAME_RANGE_FULL, {1, 1, 1}};
    uint8_t *sps = (uint8_t *)fuzz_text(data, size);
    g_autoptr(GByteArray) rewritten = h264_colour_rewrite(sps, size, &colour);
    g_autoptr(GByteArray) again =
        rewritten ? h264_colour_rewrite(rewritten->data, rewritten->len, &colour) : NULL;

    if (rewritten) {
        fuzz_claim(again && again->len == rewritten->len);
        fuzz_claim(memcmp(again->data, rewritten->data, again->len) == 0);
    }
    free(sps);
    return 0;
}
