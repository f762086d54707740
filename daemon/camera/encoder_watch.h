// Whether encoders make progress, seen from outside. An element may hang in any call, and whoever
// called it hangs with it; so each call is noted here before and after, and the control thread
// looks at all encoders of the process once a second.
#pragma once

#include "config/config.h"
#include "daemon/link/messages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

// An encoder hangs when so many looks in a row find no progress: 4 s, and 10 s before its first
// access unit, as beginning takes long on a busy machine. Its lane may hang with it, for which
// camera.c waits longer.
#define ENCODER_WATCH_LOOKS 4
#define ENCODER_WATCH_FIRST_LOOKS 10
// An encoder that was given so many frames since its last access unit makes no progress. One that
// drops a frame now and then is not meant.
#define ENCODER_WATCH_OWED 3

// The state of one encoder; embedded in it.
struct encoder_watch {
    struct encoder_watch *next;
    enum config_encoder element;
    atomic_uint calls;   // into the element that have not returned
    atomic_uint returns; // of calls
    atomic_uint owed;    // frames given since an access unit came out
    atomic_uint units;   // that came out
    // Of the thread that looks.
    unsigned returns_seen, units_seen, looks;
};

struct encoder_watches {
    // A bit for each config_encoder that "auto" tries last: it hung, or encoded nothing on trial.
    atomic_uint passed_over;
    // When an encoder began last. Each has a limited time for it, whoever waits for it meanwhile.
    _Atomic int64_t began_ns;
    pthread_mutex_t lock; // guards both below
    struct encoder_watch *first;
    struct link_trial trials[LINK_TRIALS_MAX]; // that failed, each encoder's newest
};

void encoder_watches_init(struct encoder_watches *watches);
void encoder_watches_finish(struct encoder_watches *watches);
// Any thread. Around an encoder's life. Both do nothing where nobody watches (NULL).
void encoder_watches_add(struct encoder_watches *watches, struct encoder_watch *watch);
void encoder_watches_remove(struct encoder_watches *watches, struct encoder_watch *watch);
// Once a second, one thread. An element that hangs, CONFIG_ENCODER_AUTO if none does. It counts
// looks rather than time, so that a process that was stopped for a while is not taken for one that
// hangs.
enum config_encoder encoder_watches_look(struct encoder_watches *watches);

// Any thread. Keeps a trial that failed. Returns whether that is news: the encoder has not failed
// so before.
bool encoder_watches_note(struct encoder_watches *watches, const struct link_trial *trial);
// Any thread. `encoder` ("nvv4l2h264enc by descriptor") has passed its trial.
void encoder_watches_note_success(struct encoder_watches *watches, const char *encoder);
// Any thread. Copies the trials that failed to `ret_trials`.
void encoder_watches_trials(struct encoder_watches *watches,
                            struct link_trial ret_trials[LINK_TRIALS_MAX]);

// Any thread. Around each call into the element.
void encoder_watch_enter(struct encoder_watch *watch);
void encoder_watch_leave(struct encoder_watch *watch);
// Any thread. The encoder was given a frame, or an access unit came out.
void encoder_watch_give(struct encoder_watch *watch);
void encoder_watch_take(struct encoder_watch *watch);
