// H.264 as encoders write it, given another colour and order: sequence parameter sets, and access
// units of the same bytes. What comes out can be given the same once more without a change.
//
// Parsers: daemon/common/h264_sps.c daemon/common/nal_bits.c
#include "tests/fuzz/fuzz.h"

#include "daemon/common/h264_sps.c"

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

// What the probe of h264_sps_set() makes of a buffer; the caller owns it, as it does `bytes`.
static GstBuffer *probe(const void *bytes, size_t size)
{
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, size, NULL);
    GstPadProbeInfo info = {.type = GST_PAD_PROBE_TYPE_BUFFER, .data = buffer};

    gst_buffer_fill(buffer, 0, bytes, size);
    on_buffer(NULL, &info, (gpointer)&says);
    return info.data;
}

static void check_unit(const uint8_t *unit, size_t size)
{
    GstBuffer *rewritten = probe(unit, size), *again;
    GstMapInfo map;

    fuzz_claim(gst_buffer_map(rewritten, &map, GST_MAP_READ));
    again = probe(map.data, map.size);
    fuzz_claim(gst_buffer_get_size(again) == map.size);
    fuzz_claim(gst_buffer_memcmp(again, 0, map.data, map.size) == 0);
    gst_buffer_unmap(rewritten, &map);
    gst_buffer_unref(rewritten);
    gst_buffer_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = (uint8_t *)fuzz_text(data, size); // so that its end is found out

    setenv("GST_REGISTRY_DISABLE", "yes", true); // no plugin is needed
    gst_init(NULL, NULL);
    check_set(bytes, size);
    check_unit(bytes, size);
    free(bytes);
    return 0;
}
