#include "daemon/front/outlets.h"

#include <errno.h>

void outlets_init(struct outlets *outlets)
{
    *outlets = (struct outlets){g_ptr_array_new_with_free_func((GDestroyNotify)outlet_free), 0};
}

void outlets_finish(struct outlets *outlets)
{
    g_ptr_array_unref(outlets->array);
}

static struct outlet *outlet_at(const struct outlets *outlets, guint index)
{
    return g_ptr_array_index(outlets->array, index);
}

bool outlets_is_empty(const struct outlets *outlets)
{
    return outlets->array->len == 0;
}

void outlets_add(struct outlets *outlets, struct outlet *outlet)
{
    outlet_set_limit(outlet, outlets->limit_bytes);
    g_ptr_array_add(outlets->array, outlet);
}

struct outlet *outlets_find(const struct outlets *outlets, const GstAppSrc *source)
{
    for (guint i = 0; i < outlets->array->len; i++) {
        if (outlet_source(outlet_at(outlets, i)) == source) {
            return outlet_at(outlets, i);
        }
    }
    return NULL;
}

struct outlet *outlets_steal(struct outlets *outlets, const GstAppSrc *source)
{
    for (guint i = 0; i < outlets->array->len; i++) {
        if (outlet_source(outlet_at(outlets, i)) == source) {
            return g_ptr_array_steal_index_fast(outlets->array, i);
        }
    }
    return NULL;
}

void outlets_set_limit(struct outlets *outlets, size_t limit_bytes)
{
    outlets->limit_bytes = limit_bytes;
    for (guint i = 0; i < outlets->array->len; i++) {
        outlet_set_limit(outlet_at(outlets, i), limit_bytes);
    }
}

bool outlets_has_unprimed(const struct outlets *outlets)
{
    for (guint i = 0; i < outlets->array->len; i++) {
        if (!outlet_is_primed(outlet_at(outlets, i))) {
            return true;
        }
    }
    return false;
}

void outlets_discontinue(struct outlets *outlets)
{
    for (guint i = 0; i < outlets->array->len; i++) {
        outlet_discontinue(outlet_at(outlets, i));
    }
}

bool outlets_push(struct outlets *outlets, const struct outlet_frame *frame, uint64_t *missed)
{
    bool waiting = false;

    for (guint i = 0; i < outlets->array->len; i++) {
        struct outlet *outlet = outlet_at(outlets, i);
        int r = outlet_push(outlet, frame);

        *missed += r == -ENOBUFS && outlet_is_playing(outlet);
        waiting |= r == -EAGAIN;
    }
    return waiting;
}

void outlets_push_unprimed(struct outlets *outlets, const struct outlet_frame *frame)
{
    for (guint i = 0; i < outlets->array->len; i++) {
        if (!outlet_is_primed(outlet_at(outlets, i))) {
            outlet_push(outlet_at(outlets, i), frame);
        }
    }
}
