#include "daemon/front/slate.h"

void slate_add(struct slate *slate, GstMemory *memory)
{
    if (!slate->next) {
        slate->next = memory;
        return;
    }
    if (slate->after_next) {
        gst_memory_unref(slate->next);
        slate->next = slate->after_next;
    }
    slate->after_next = memory;
}

GstMemory *slate_advance(struct slate *slate)
{
    GstMemory *memory = slate->next;

    if (slate->after_next) {
        slate->next = slate->after_next;
        slate->after_next = memory;
    }
    return memory;
}

bool slate_is_complete(const struct slate *slate)
{
    return slate->after_next != NULL;
}

void slate_finish(struct slate *slate)
{
    g_clear_pointer(&slate->next, gst_memory_unref);
    g_clear_pointer(&slate->after_next, gst_memory_unref);
}
