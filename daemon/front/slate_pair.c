#include "daemon/front/slate_pair.h"

void slate_pair_add(struct slate_pair *pair, GstMemory *memory)
{
    if (!pair->next) {
        pair->next = memory;
        return;
    }
    if (pair->after_next) {
        gst_memory_unref(pair->next);
        pair->next = pair->after_next;
    }
    pair->after_next = memory;
}

GstMemory *slate_pair_advance(struct slate_pair *pair)
{
    GstMemory *memory = pair->next;

    if (pair->after_next) {
        pair->next = pair->after_next;
        pair->after_next = memory;
    }
    return memory;
}

bool slate_pair_is_complete(const struct slate_pair *pair)
{
    return pair->after_next != NULL;
}

void slate_pair_finish(struct slate_pair *pair)
{
    g_clear_pointer(&pair->next, gst_memory_unref);
    g_clear_pointer(&pair->after_next, gst_memory_unref);
}
