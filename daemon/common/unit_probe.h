// Access units rewritten by a probe of the pad that they pass.
#pragma once

#include <gst/gst.h>

// Puts the access unit, which it takes over, in place of the buffer that the probe was called for;
// its times and flags stay.
static inline void unit_probe_replace(GstPadProbeInfo *info, GByteArray *unit)
{
    GstBuffer *before = GST_PAD_PROBE_INFO_BUFFER(info);
    gsize size = unit->len;
    GstBuffer *after = gst_buffer_new_wrapped(g_byte_array_free(unit, FALSE), size);

    gst_buffer_copy_into(after, before, GST_BUFFER_COPY_METADATA, 0, (gsize)-1);
    GST_PAD_PROBE_INFO_DATA(info) = after;
    gst_buffer_unref(before);
}
