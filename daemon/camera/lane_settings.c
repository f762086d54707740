// How the lane adopts other settings: everything that they need is built beside what runs, then all
// of it takes effect between two frames. After an error the old settings stay.
//
// Views are built in the lane. Encoders, which take tens of milliseconds and more to begin and to
// end, are made and ended in a thread beside it, so that the other views lose no frame.
#include "daemon/camera/lane_private.h"
#include "daemon/common/log.h"

#include <string.h>

static void *run_work(void *context)
{
    struct lane *lane = context;

    pthread_setname_np(pthread_self(), "encoders");
    lane->work(lane);
    lane->working = false;
    lane_wake(lane);
    return NULL;
}

void lane_finish_work(struct lane *lane)
{
    if (lane->worker_started) {
        pthread_join(lane->worker, NULL);
        lane->worker_started = false;
    }
}

// Does the work in the lane itself if no thread can be started.
static void begin_work(struct lane *lane, void (*work)(struct lane *lane))
{
    lane_finish_work(lane);
    lane->work = work;
    lane->working = true;
    lane->worker_started = !pthread_create(&lane->worker, NULL, run_work, lane);
    if (!lane->worker_started) {
        work(lane);
        lane->working = false;
    }
}

static void make_encoders(struct lane *lane)
{
    lane->next_result = channels_stage_encoders(lane->next, &lane->next_error);
}

static void end_encoders(struct lane *lane)
{
    for (size_t i = 0; i < lane->left->count; i++) {
        channel_end_old_encoder(lane->left->channels[i]);
    }
}

static bool leaves_encoders(const struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (channel_has_old_encoder(settings->channels[i])) {
            return true;
        }
    }
    return false;
}

// Gives up `left`, settings that were in force or never came to be; takes over the reference.
static void let_go(struct lane *lane, struct settings *left)
{
    lane->left = left;
    if (leaves_encoders(left)) {
        begin_work(lane, end_encoders);
    }
}

static void tell_number(struct lane *lane, uint32_t number, const char *refusal)
{
    report_set_configuration(lane->environment.report, number, refusal);
    lane->environment.changed(lane->environment.context);
}

static void commit(struct lane *lane)
{
    struct settings *next = TAKE(lane->next);
    struct motion_watch *motion_watch = lane->environment.motion_watch;

    motion_watch_set_camera(motion_watch, settings_camera(next));
    let_go(lane, channels_commit(lane->environment.channels, next));
    report_set_regions(lane->environment.report, motion_watch);
    tell_number(lane, next->number, "");
}

static void refuse(struct lane *lane, const struct error *error)
{
    struct settings *next = TAKE(lane->next);
    uint32_t number = next->number;

    log_write(LOG_WARNING, LOG_EVENT_NONE, lane->environment.camera->name, NULL,
              "%s, keeping the settings before", error->text);
    let_go(lane, next);
    tell_number(lane, number, error->text);
}

static void stage(struct lane *lane)
{
    const struct channel_setup setup = lane_setup(lane, &lane->layout);
    struct error error = {0};
    int r = channels_stage(lane->next, &setup, &error);

    if (r && lane_blame_gpu(lane, r, true, &error)) {
        lane_set_settings(
            lane, TAKE(lane->next)); // once more, now for the CPU, unless newer ones have come
    } else if (r) {
        refuse(lane, &error);
    } else if (channels_want_encoders(lane->next)) {
        begin_work(lane, make_encoders);
    } else {
        commit(lane);
    }
}

void lane_set_settings(struct lane *lane, struct settings *settings)
{
    pthread_mutex_lock(&lane->lock);
    bool newer = !lane->pending || (int32_t)(settings->number - lane->pending->number) > 0;
    struct settings *gone = newer ? lane->pending : settings;
    lane->pending = newer ? settings : lane->pending;
    pthread_mutex_unlock(&lane->lock);
    settings_unref(gone);
    lane_wake(lane);
}

void lane_follow_settings(struct lane *lane)
{
    if (lane->working) {
        return;
    }
    settings_unref(TAKE(lane->left));
    if (lane->next && lane->next_result) {
        channels_abort(lane->next);
        refuse(lane, &lane->next_error);
    } else if (lane->next) {
        commit(lane);
    } else {
        pthread_mutex_lock(&lane->lock);
        lane->next = TAKE(lane->pending);
        pthread_mutex_unlock(&lane->lock);
        if (lane->next) {
            lane->next_result = 0;
            stage(lane);
        }
    }
}
