#include "daemon/common/unit_probe.h"

#include "daemon/video/h265_parameters.h"

// Puts the access unit, which it takes over, in place of the buffer that the probe was called for;
// its times and flags stay.
static void replace(GstPadProbeInfo *info, GByteArray *unit)
{
    GstBuffer *before = GST_PAD_PROBE_INFO_BUFFER(info);
    gsize size = unit->len;
    GstBuffer *after = gst_buffer_new_wrapped(g_byte_array_free(unit, FALSE), size);

    gst_buffer_copy_into(after, before, GST_BUFFER_COPY_METADATA, 0, (gsize)-1);
    GST_PAD_PROBE_INFO_DATA(info) = after;
    gst_buffer_unref(before);
}

static GstPadProbeReturn on_h264(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    GByteArray *unit;
    GstMapInfo map;

    (void)pad;
    if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT) ||
        gst_buffer_get_size(buffer) == 0 || !gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        return GST_PAD_PROBE_OK;
    }
    unit = h264_unit_rewrite(map.data, map.size, data);
    gst_buffer_unmap(buffer, &map);
    replace(info, unit);
    return GST_PAD_PROBE_OK;
}

void unit_probe_h264(GstPad *pad, const struct h264_sps *says)
{
    struct h264_sps *copy = g_new(struct h264_sps, 1);

    *copy = *says;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_h264, copy, g_free);
}

static GstPadProbeReturn on_h265(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    GByteArray *unit;
    GstMapInfo map;
    bool empty;

    (void)pad;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ))
        return GST_PAD_PROBE_OK;
    unit = h265_unit_rewrite(map.data, map.size, data, &empty);
    gst_buffer_unmap(buffer, &map);
    if (!unit)
        return empty ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
    replace(info, unit);
    return GST_PAD_PROBE_OK;
}

static void forget(gpointer known)
{
    g_byte_array_unref(known);
}

void unit_probe_h265(GstPad *pad)
{
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_h265, g_byte_array_new(), forget);
}
