#include "daemon/front/stream/slate_pair.h"

void slate_pair_add(struct slate_pair *pair, struct unit *slate)
{
    if (!pair->next) {
        pair->next = slate;
        return;
    }
    if (pair->after_next) {
        unit_unref(pair->next);
        pair->next = pair->after_next;
    }
    pair->after_next = slate;
}

struct unit *slate_pair_show(struct slate_pair *pair, int64_t now_ns)
{
    struct unit *slate = pair->next, *shown;

    if (!slate || unit_again(slate, now_ns, &shown) < 0) {
        return NULL;
    }
    if (pair->after_next) {
        pair->next = pair->after_next;
        pair->after_next = slate;
    }
    return shown;
}

bool slate_pair_is_complete(const struct slate_pair *pair)
{
    return pair->after_next != NULL;
}

void slate_pair_finish(struct slate_pair *pair)
{
    unit_unref(pair->next);
    unit_unref(pair->after_next);
    *pair = (struct slate_pair){0};
}
