#include "daemon/camera/encoder_watch.h"

#include "config/base.h"

#include <stdbool.h>

void encoder_watches_init(struct encoder_watches *watches)
{
    pthread_mutex_init(&watches->lock, NULL);
}

void encoder_watches_finish(struct encoder_watches *watches)
{
    pthread_mutex_destroy(&watches->lock);
}

void encoder_watches_add(struct encoder_watches *watches, struct encoder_watch *watch)
{
    if (!watches) {
        return;
    }
    watches->began_ns = clock_now_ns();
    pthread_mutex_lock(&watches->lock);
    watch->next = watches->first;
    watches->first = watch;
    pthread_mutex_unlock(&watches->lock);
}

void encoder_watches_remove(struct encoder_watches *watches, struct encoder_watch *watch)
{
    if (!watches) {
        return;
    }
    pthread_mutex_lock(&watches->lock);
    for (struct encoder_watch **at = &watches->first; *at; at = &(*at)->next) {
        if (*at == watch) {
            *at = watch->next;
            break;
        }
    }
    pthread_mutex_unlock(&watches->lock);
}

static bool hangs(struct encoder_watch *watch)
{
    unsigned returns = watch->returns, units = watch->units;
    bool is_silent = units == watch->units_seen;
    bool is_held = watch->calls > 0 && returns == watch->returns_seen;

    watch->returns_seen = returns;
    watch->units_seen = units;
    watch->looks =
        is_silent && (is_held || watch->owed >= ENCODER_WATCH_OWED) ? watch->looks + 1 : 0;
    return watch->looks >= (units == 0 ? ENCODER_WATCH_FIRST_LOOKS : ENCODER_WATCH_LOOKS);
}

enum config_encoder encoder_watches_look(struct encoder_watches *watches)
{
    enum config_encoder found = CONFIG_ENCODER_AUTO;

    pthread_mutex_lock(&watches->lock);
    for (struct encoder_watch *watch = watches->first; watch; watch = watch->next) {
        found = hangs(watch) ? watch->element : found;
    }
    pthread_mutex_unlock(&watches->lock);
    return found;
}

void encoder_watch_enter(struct encoder_watch *watch)
{
    watch->calls++;
}

void encoder_watch_leave(struct encoder_watch *watch)
{
    watch->calls--;
    watch->returns++;
}

void encoder_watch_give(struct encoder_watch *watch)
{
    watch->owed++;
}

void encoder_watch_take(struct encoder_watch *watch)
{
    watch->owed = 0;
    watch->units++;
}
