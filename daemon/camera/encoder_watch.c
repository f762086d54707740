#include "daemon/camera/encoder_watch.h"

#include "config/base.h"

#include <string.h>

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
    if (!watches)
        return;
    watches->began_ns = clock_now_ns();
    pthread_mutex_lock(&watches->lock);
    watch->next = watches->first;
    watches->first = watch;
    pthread_mutex_unlock(&watches->lock);
}

void encoder_watches_remove(struct encoder_watches *watches, struct encoder_watch *watch)
{
    if (!watches)
        return;
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
    for (struct encoder_watch *watch = watches->first; watch; watch = watch->next)
        found = hangs(watch) ? watch->element : found;
    pthread_mutex_unlock(&watches->lock);
    return found;
}

// With the lock. Its entry, or a free one; NULL: there is neither.
static struct link_trial *find_trial(struct encoder_watches *watches, const char *encoder)
{
    struct link_trial *room = NULL;

    for (unsigned i = 0; i < LINK_TRIALS_MAX; i++) {
        struct link_trial *trial = &watches->trials[i];

        if (trial->element && strcmp(trial->encoder, encoder) == 0)
            return trial;
        room = trial->element || room ? room : trial;
    }
    return room;
}

bool encoder_watches_note(struct encoder_watches *watches, const struct link_trial *trial)
{
    pthread_mutex_lock(&watches->lock);
    struct link_trial *entry = find_trial(watches, trial->encoder);
    bool news = entry && (!entry->element || strcmp(entry->reason, trial->reason) != 0);
    if (entry)
        *entry = *trial;
    pthread_mutex_unlock(&watches->lock);
    return news;
}

void encoder_watches_note_success(struct encoder_watches *watches, const char *encoder)
{
    pthread_mutex_lock(&watches->lock);
    struct link_trial *entry = find_trial(watches, encoder);
    if (entry)
        *entry = (struct link_trial){0};
    pthread_mutex_unlock(&watches->lock);
}

void encoder_watches_trials(struct encoder_watches *watches,
                            struct link_trial ret_trials[LINK_TRIALS_MAX])
{
    pthread_mutex_lock(&watches->lock);
    memcpy(ret_trials, watches->trials, sizeof watches->trials);
    pthread_mutex_unlock(&watches->lock);
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
