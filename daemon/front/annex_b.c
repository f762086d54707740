#include "daemon/front/annex_b.h"

#include <stdlib.h>

bool annex_b_is(const uint8_t *bytes, size_t size)
{
    return size > 4 && bytes[0] == 0 && bytes[1] == 0 &&
           (bytes[2] == 1 || (bytes[2] == 0 && bytes[3] == 1));
}

GstMemory *annex_b_wrap(uint8_t *payload, size_t size, size_t offset)
{
    return gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, payload, size, offset, size - offset,
                                  payload, free);
}
