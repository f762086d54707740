// Each turn of the loop opens the source when it is time, or grabs a frame and runs it through the
// channels, or waits; then it shows the slate if frames have failed to come.

#include "daemon/camera/lane.h"

#include "capture/v4l2/v4l2_nodes.h"
#include "daemon/camera/picture.h"
#include "daemon/camera/source_watch.h"
#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/common/mask_file.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define GRAB_TIMEOUT_MS 100
#define PATH_SIZE 512

struct lane {
    struct lane_environment environment;
    pthread_t thread;
    bool started;
    int wake_fd;  // eventfd
    int nodes_fd; // of v4l2_nodes_open(); negative: the camera is none of V4L2, or nothing is told
    atomic_bool stopping, asked_anew;
    _Atomic int64_t alive_ns;

    pthread_mutex_t lock;
    struct settings *pending; // a reference, guarded by it: to be gone over to; NULL: none

    // Lane thread only.
    struct channels channels;
    struct picture_maker picture;
    bool told_userptr;                       // that the driver refuses USERPTR, once a process
    bool input_surfaces;                     // the frames that views are made for are surfaces
    unsigned fps_numerator, fps_denominator; // of these frames
    bool decided;                            // what computes; until then no source is opened
    struct compute_means means;
    struct source_environment source_environment; // of a source while it is open
    struct source *source;                        // owned
    bool fatal;                                   // nothing more can be done
    bool live;                                    // the state, as last reported
    struct log_limit log_limit;
    struct source_watch watch;
    uint64_t source_copies;        // copies counted before this source was opened
    struct mask_stamp credentials; // of the file, as it was when the source was opened
};

// The settings that the source is opened with; other settings in force agree with it in that.
static const struct config_camera *source_settings(const struct lane *lane)
{
    return settings_camera(lane->environment.settings);
}

int lane_new(const struct lane_environment *environment, struct lane **ret_lane)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return -ENOMEM;
    lane->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lane->wake_fd < 0) {
        free(lane);
        return -errno;
    }
    pthread_mutex_init(&lane->lock, NULL);
    lane->environment = *environment;
    const struct config_camera *camera = source_settings(lane);
    bool has_node = camera->source == CONFIG_SOURCE_V4L2 || camera->source == CONFIG_SOURCE_AUTO;
    lane->nodes_fd = has_node ? v4l2_nodes_open(camera->device) : -1;
    lane->means.allocator = frame_allocator_host();
    channels_init(&lane->channels, settings_camera(environment->settings)->name, environment->graph,
                  settings_ref(environment->settings), lane->wake_fd);
    lane->log_limit.open = true; // the log tells when frames come the first time
    *ret_lane = lane;
    return 0;
}

// Logs, while frames come, the memory path where they just began to, and that messages were left
// out.
static void tell_end(struct lane *lane, const char *path)
{
    const char *camera = source_settings(lane)->name;
    unsigned left_out;

    if (!log_limit_end(&lane->log_limit, clock_now_ns(), &left_out))
        return;
    if (path) { // the log puts the camera's name in front itself
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_STATE, camera, "live", "%s",
                  path + strlen(camera) + 2);
    }
    if (left_out) {
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_STATE, camera, "live",
                  "live again, %u more messages of no signal were suppressed", left_out);
    }
}

// The memory path: what every frame goes through, as one line.
static void describe_path(struct lane *lane, char *ret_path, size_t size)
{
    const struct source *source = lane->source;
    const struct channel *first = lane->channels.settings->channels[0];
    uint64_t frames = source->counters.frames;
    uint64_t copies = copies_total(lane->environment.copies) - lane->source_copies;
    char steps[64], behind[64], per_frame[32];

    picture_maker_describe(&lane->picture, steps, sizeof steps);
    channel_describe_path(first, behind, sizeof behind);
    snprintf(per_frame, sizeof per_frame, "%.3g", frames ? (double)copies / (double)frames : 0.0);
    snprintf(ret_path, size, "%s: %s -> %s%s -> %s, %s cop%s a frame", source_settings(lane)->name,
             source->mode.description, source->mode.surfaces ? "nvmm" : lane->means.allocator->kind,
             steps, behind, per_frame, strcmp(per_frame, "1") == 0 ? "y" : "ies");
    report_set_path(lane->environment.report, &lane->picture.layout, ret_path);
}

static void set_live(struct lane *lane, const struct frame *frame)
{
    const char *camera = source_settings(lane)->name;
    char path[PATH_SIZE];

    lane->live = true;
    source_watch_live(&lane->watch);
    describe_path(lane, path, sizeof path);
    report_set_state(lane->environment.report, LINK_CAMERA_LIVE, "");
    tell_end(lane, path);
    log_write(LOG_DEBUG, LOG_EVENT_NONE, camera, NULL,
              "frame %" PRIu64 " was captured at %" PRId64 " ns", frame->sequence, frame->pts_ns);
    lane->environment.changed(lane->environment.context);
}

// Closes what there is of a source; `lost`: because it failed.
static void close_source(struct lane *lane, bool lost)
{
    if (lane->source) {
        if (lane->source->surface_failed)
            lane->source_environment.surfaces = NULL;
        report_source_closed(lane->environment.report, lane->source, lost);
        source_close(TAKE(lane->source));
        tuner_abandon(lane->environment.tuner);
        channels_forget(&lane->channels);
        motion_watch_reset(lane->environment.motion_watch, lost);
        report_set_regions(lane->environment.report, lane->environment.motion_watch);
    }
    lane->live = false;
}

// Closes what there is of a source and sets the time of the next try.
static void lose_source(struct lane *lane, int code, const char *error)
{
    const char *camera = source_settings(lane)->name;

    close_source(lane, true);
    int64_t delay_ns = code == -EKEYREJECTED ? source_watch_refuse(&lane->watch, clock_now_ns())
                                             : source_watch_lose(&lane->watch, clock_now_ns());
    if (report_set_state(lane->environment.report, LINK_CAMERA_NO_SIGNAL, error) && !lane->fatal) {
        if (log_limit_begin(&lane->log_limit, clock_now_ns())) {
            log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, camera, "no signal",
                      "no signal: %s, retrying in %.1f s", error, (double)delay_ns / NS_PER_S);
        }
        lane->environment.changed(lane->environment.context);
    }
}

// This process can do no more; the front is told why by a message of the type `last_word` with
// `reason`.
static void end_lane(struct lane *lane, enum link_type last_word, const char *reason)
{
    lane->fatal = true;
    report_set_end(lane->environment.report, last_word, reason);
    lane->environment.changed(lane->environment.context);
}

// The camera is closed first, so that the next process can open it.
static void lose_gpu(struct lane *lane, const char *reason)
{
    compute_lose(lane->environment.compute, reason);
    close_source(lane, false);
    end_lane(lane, LINK_GPU_FAULT, reason);
}

// Handles a failure while the GPU computes. False: it is the camera that has failed.
static bool blame_gpu(struct lane *lane, int code, bool preparing, const struct error *error)
{
    struct error why = *error;

    if (!lane->means.gpu || lane->fatal)
        return false;
    int r = compute_blame(lane->environment.compute, code, preparing, &why);
    if (r == -ENOTRECOVERABLE)
        lose_gpu(lane, why.text);
    return r != 0;
}

static void handle_failure(struct lane *lane, int code, bool preparing, const struct error *error)
{
    if (code == -ESTALE)
        end_lane(lane, LINK_RESTART, error->text);
    if (!blame_gpu(lane, code, preparing, error))
        lose_source(lane, code, error->text);
}

// The input of views and the means to compute them.
static struct channel_setup channel_setup(const struct lane *lane)
{
    return (struct channel_setup){.input = &lane->picture.layout,
                                  .input_surfaces = lane->input_surfaces,
                                  .fps_numerator = lane->fps_numerator,
                                  .fps_denominator = lane->fps_denominator,
                                  .gpu = lane->means.gpu,
                                  .pool = lane->environment.pool,
                                  .allocator = lane->means.allocator,
                                  .surfaces = lane->means.surfaces};
}

// Makes what is in front of the views, these and their encoders fit frames of `mode`. Without an
// encoder (-ENOSYS) the process ends; else what demosaic_new(), flip_new() and view_new() say.
static int prepare_channels(struct lane *lane, const struct source_mode *mode, struct error *error)
{
    const struct picture_setup picture = {
        .input = &mode->layout,
        .flip = mode->flipped ? CONFIG_FLIP_NONE : source_settings(lane)->flip,
        .camera = settings_camera(lane->channels.settings),
        .measured = motion_watch_region(lane->environment.motion_watch, 0),
        .means = &lane->means,
        .copies = lane->environment.copies,
        .pool = lane->environment.pool};
    int r = picture_maker_prepare(&lane->picture, &picture, error);

    if (r)
        return r;
    if (lane->picture.shows_other) { // what becomes black has not moved
        channels_forget(&lane->channels);
        motion_watch_reset(lane->environment.motion_watch, false);
    }
    lane->input_surfaces = mode->surfaces && !lane->picture.flip;
    lane->fps_numerator = mode->fps_numerator;
    lane->fps_denominator = mode->fps_denominator;
    const struct channel_setup setup = channel_setup(lane);
    r = channels_prepare(&lane->channels, &setup, error);
    if (r == -ENOSYS)
        end_lane(lane, LINK_FATAL, error->text);
    return r;
}

// Logs why a camera's pictures do not come in the best way, if they do not.
static void tell_way(struct lane *lane)
{
    const struct source *source = lane->source;

    if (source->userptr_missed.text[0] && !lane->told_userptr) {
        lane->told_userptr = true;
        log_write(LOG_NOTICE, LOG_EVENT_NONE, source_settings(lane)->name, NULL,
                  "%s, using the driver's buffers", source->userptr_missed.text);
    }
    if (source->surfaces_missed.text[0]) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, source_settings(lane)->name, NULL,
                  "the camera's surfaces cannot be used: %s, using %s memory",
                  source->surfaces_missed.text,
                  source->mode.surfaces ? "other nvmm" : lane->means.allocator->kind);
    }
}

static void open_source(struct lane *lane)
{
    mask_file_stamp(source_settings(lane)->credentials, &lane->credentials);
    const char *shut = settings_find_shut(lane->environment.settings);
    struct error error = {0};
    struct source *source = NULL;
    int r = shut ? error_set(&error, -ESTALE, "%s was replaced, which only a new process can read",
                             shut)
                 : source_open(source_settings(lane), &lane->source_environment, &error, &source);
    bool preparing = false;

    if (!r) {
        lane->source_copies = copies_total(lane->environment.copies);
        r = prepare_channels(lane, &source->mode, &error);
        preparing = r != 0;
    }
    if (!r)
        r = source_start(source, &error);
    if (r) {
        source_close(source);
        handle_failure(lane, r, preparing, &error);
        return;
    }
    lane->source = source;
    tell_way(lane);
    source_watch_rate(&lane->watch, source->mode.fps_numerator, source->mode.fps_denominator);
    source_watch_frame(&lane->watch, clock_now_ns());
    report_source_opened(lane->environment.report);
}

// Says why nothing came for too long: a silent camera, or one whose pictures are all broken.
static int describe_silence(const struct source *source, struct error *error)
{
    const char *broken = source->counters.corrupted ? "only broken" : "no";

    return error_set(error, -EAGAIN, "%s delivers %s frames", source->mode.description, broken);
}

// Views, and then what is measured of the picture, because viewers wait for the views.
static int run_picture(struct lane *lane, struct frame *picture, bool measured, struct error *error)
{
    struct motion_watch *watch = lane->environment.motion_watch;
    int r = measured
                ? motion_watch_begin(watch, lane->means.gpu, lane->means.allocator, picture, error)
                : 0;

    if (!r)
        r = channels_run(&lane->channels, picture, error);
    if (!r && measured) {
        r = motion_watch_measure(watch, picture, error);
        report_set_regions(lane->environment.report, watch);
    }
    return r;
}

// The camera gets its frame back on the CPU's side.
static int run_frame(struct lane *lane, struct frame *grabbed, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL, *picture = NULL;
    bool watched = channels_begin(&lane->channels);
    bool measured = motion_watch_wants(lane->environment.motion_watch, grabbed->pts_ns);
    int r = 0;

    if (watched || measured)
        r = picture_maker_hide(&lane->picture, lane->source, grabbed, error, &frame);
    if (!frame)
        return r;
    if (!picture_maker_is_used(&lane->picture))
        return run_picture(lane, frame, measured, error);
    r = picture_maker_run(&lane->picture, lane->source, frame, error, &picture);
    r = r && lane->means.gpu ? -ENOTRECOVERABLE : r;
    if (!r && picture)
        r = run_picture(lane, picture, measured, error);
    return !r && frame_to_cpu(frame, error) ? -ENOTRECOVERABLE : r;
}

// The layout may differ from the last frame's: JPEGs do that.
static int run_views(struct lane *lane, struct frame *frame)
{
    struct source_mode mode = lane->source->mode;
    struct error error = {0};

    mode.layout = frame->layout;
    int r = prepare_channels(lane, &mode, &error);
    bool preparing = r != 0;

    if (!r)
        r = run_frame(lane, frame, &error);
    if (r)
        handle_failure(lane, r, preparing, &error);
    return r;
}

static void tune(struct lane *lane)
{
    const struct tuner_place place = {lane->channels.settings, &lane->picture.layout, &lane->means,
                                      lane->fps_numerator, lane->fps_denominator};
    struct error error = {0};

    if (tuner_turn(lane->environment.tuner, &place, &error))
        lose_gpu(lane, error.text);
}

// As viewers see the slate. The camera stays open: it may go on before it counts as lost.
static void tell_silence(struct lane *lane)
{
    struct error error = {0};

    lane->live = false;
    describe_silence(lane->source, &error);
    if (report_set_state(lane->environment.report, LINK_CAMERA_SILENT, error.text) &&
        log_limit_begin(&lane->log_limit, clock_now_ns())) {
        log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, source_settings(lane)->name, "no signal",
                  "no signal: %s, opening it again if none come", error.text);
    }
    lane->environment.changed(lane->environment.context);
}

static void show_slates(struct lane *lane)
{
    int64_t seconds;

    if (source_watch_slate(&lane->watch, clock_now_ns(), &seconds)) {
        if (lane->source && lane->live)
            tell_silence(lane);
        channels_run_slate(&lane->channels, seconds);
    }
}

static void grab(struct lane *lane)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    struct error error = {0};
    char path[PATH_SIZE];
    int r = source_next(lane->source, GRAB_TIMEOUT_MS, &error, &frame);
    int64_t now_ns = clock_now_ns();

    if (r == -EAGAIN && (now_ns < lane->source->patient_until_ns ||
                         !source_watch_is_silent(&lane->watch, now_ns))) {
        return;
    }
    if (r == -EAGAIN) {
        show_slates(lane); // to close a source may take its time
        describe_silence(lane->source, &error);
    }
    if (r) {
        handle_failure(lane, r, false, &error);
        return;
    }
    // Frames that would wait to be encoded wait in the source, where they are small.
    channels_wait_for_room(&lane->channels, lane->source->in_order_until_ns);
    if (run_views(lane, frame))
        return;
    source_watch_frame(&lane->watch, clock_now_ns());
    if (lane->source->period_ns)
        source_watch_period(&lane->watch, lane->source->period_ns);
    bool second_over =
        report_source_frame(lane->environment.report, lane->source, lane->watch.frame_ns,
                            source_watch_patience_ns(&lane->watch));
    if (!lane->live) {
        set_live(lane, frame);
    } else if (second_over) {
        describe_path(lane, path, sizeof path);
        tell_end(lane, NULL);
    }
    tune(lane);
}

// Adopting other settings
// ---------------------------------------------------------------------

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

static void tell_number(struct lane *lane, uint32_t number, const char *refusal)
{
    report_set_configuration(lane->environment.report, number, refusal);
    lane->environment.changed(lane->environment.context);
}

static void refuse(struct lane *lane, uint32_t number, const struct error *error)
{
    log_write(LOG_WARNING, LOG_EVENT_NONE, source_settings(lane)->name, NULL,
              "%s, keeping the settings before", error->text);
    tell_number(lane, number, error->text);
}

// Begins to adopt the newest settings, or to replace encoders that failed, if there are any. False:
// there is nothing to end yet.
static bool begin_settings(struct lane *lane)
{
    const struct channel_setup setup = channel_setup(lane);
    struct error error = {0};

    pthread_mutex_lock(&lane->lock);
    struct settings *next = TAKE(lane->pending);
    pthread_mutex_unlock(&lane->lock);
    if (!next && channels_have_lost_encoder(&lane->channels))
        next = settings_ref(lane->channels.settings);
    if (!next)
        return false;
    int r = channels_begin_settings(&lane->channels, next, &setup, &error);
    if (r == 0)
        return channels_are_idle(&lane->channels);
    if (blame_gpu(lane, r, true, &error)) {
        lane_set_settings(lane, next); // once more, now for the CPU, unless newer ones have come
    } else {
        refuse(lane, next->number, &error);
        settings_unref(next);
    }
    return false;
}

// Between two frames: adopts the newest settings as far as they are ready.
static void follow_settings(struct lane *lane)
{
    struct channels *channels = &lane->channels;
    struct motion_watch *motion_watch = lane->environment.motion_watch;
    struct error error = {0};

    if (!channels_are_idle(channels) || (!channels->next && !begin_settings(lane)))
        return;
    uint32_t number = channels->next->number;
    bool repairs = channels->next == channels->settings;
    if (channels_end_settings(channels, &error)) {
        refuse(lane, number, &error);
        return;
    }
    if (repairs)
        return;
    motion_watch_set_camera(motion_watch, settings_camera(channels->settings));
    report_set_regions(lane->environment.report, motion_watch);
    tell_number(lane, number, "");
}

// The loop
// ---------------------------------------------------------------------

// A camera that has refused the login is asked again before its time if somebody wants that, or if
// the file with the login has changed.
static void look_for_login(struct lane *lane)
{
    bool wanted = atomic_exchange(&lane->asked_anew, false);
    struct mask_stamp now;

    if (lane->watch.refusals == 0)
        return;
    mask_file_stamp(source_settings(lane)->credentials, &now);
    if (wanted || memcmp(&now, &lane->credentials, sizeof now) != 0)
        source_watch_ask_anew(&lane->watch, clock_now_ns());
}

// Until it is time to try the source again, to show the next slate, or somebody wakes the lane; at
// most a second, so that the lane counts as alive. As long as it is not known what computes, a
// driver that misses its deadline is noticed then.
static void wait_for_retry(struct lane *lane)
{
    struct pollfd fds[] = {{.fd = lane->wake_fd, .events = POLLIN},
                           {.fd = lane->nodes_fd, .events = POLLIN}};
    int64_t now = clock_now_ns(), until = now + NS_PER_S;
    int64_t slate = source_watch_next_slate_ns(&lane->watch);
    uint64_t count;

    if (lane->decided && lane->watch.retry_ns < until)
        until = lane->watch.retry_ns;
    if (slate < until && channels_are_watched(&lane->channels))
        until = slate;
    if (until > now)
        poll(fds, ARRAY_LENGTH(fds), (int)((until - now + NS_PER_MS - 1) / NS_PER_MS));
    if (fds[1].revents && v4l2_nodes_have_come(lane->nodes_fd, source_settings(lane)->device))
        source_watch_device_came(&lane->watch, clock_now_ns());
    if (fds[0].revents && read(lane->wake_fd, &count, sizeof count) < 0)
        log_debug("lane: nothing to wake up for");
    look_for_login(lane);
}

// Views and encoders for the wished size, before the camera has said what it can do: so the front
// has slates to show whatever the camera does.
static void prepare_first(struct lane *lane)
{
    const struct config_camera *settings = source_settings(lane);
    struct source_mode mode = {
        .fps_numerator = (unsigned)settings->fps, .fps_denominator = 1, .flipped = true};
    struct error error = {0};

    frame_layout_init(&mode.layout, pixel_format_by_name("NV12"), (uint32_t)settings->width,
                      (uint32_t)settings->height, FRAME_STRIDE_ALIGN);
    int r = prepare_channels(lane, &mode, &error);
    if (r)
        lose_source(lane, r, error.text);
}

// Makes the views on the GPU while the camera still delivers to the CPU's memory: a GPU that has no
// room for them costs no frame.
static bool fits_gpu(struct lane *lane, const struct compute_means *means)
{
    const struct compute_means before = lane->means;
    struct error error = {0};

    lane->means = *means;
    int r = prepare_channels(lane, &lane->source->mode, &error);
    if (r) {
        blame_gpu(lane, r, true, &error);
        lane->means = before;
    }
    return !r;
}

// Between two frames: begins to compute by CPU or GPU as compute.h has decided.
static void follow_compute(struct lane *lane)
{
    struct compute_means means;
    struct error error = {0};

    if (!compute_ask(lane->environment.compute, lane->alive_ns, &means) ||
        (lane->decided && means.gpu == lane->means.gpu)) {
        return;
    }
    if (means.gpu && gpu_enter(means.gpu, &error)) {
        compute_give_up(lane->environment.compute, -ENOMEM, &error);
        return;
    }
    if (lane->source && means.gpu && !fits_gpu(lane, &means))
        return;
    close_source(lane, false);
    lane->means = means;
    lane->source_environment = (struct source_environment){
        .allocator = means.allocator,
        .copies = lane->environment.copies,
        .surfaces = means.surfaces ? gpu_surfaces_allocator(means.surfaces) : NULL};
    lane->decided = true;
    lane->watch.retry_ns = lane->alive_ns;
}

static void *lane_thread(void *context)
{
    struct lane *lane = context;

    pthread_setname_np(pthread_self(),
                       "lane"); // before an encoder borrows the name and gives it back
    lane->alive_ns = clock_now_ns();
    source_watch_init(&lane->watch, lane->alive_ns);
    prepare_first(lane);
    while (!lane->stopping && !lane->fatal) {
        lane->alive_ns = clock_now_ns();
        follow_compute(lane);
        follow_settings(lane);
        if (lane->fatal)
            break;
        if (lane->source)
            grab(lane);
        else if (lane->decided && lane->alive_ns >= lane->watch.retry_ns)
            open_source(lane);
        else
            wait_for_retry(lane);
        show_slates(lane);
    }
    return NULL;
}

int lane_start(struct lane *lane)
{
    int r = -pthread_create(&lane->thread, NULL, lane_thread, lane);

    lane->started = !r;
    return r;
}

void lane_stop(struct lane *lane)
{
    lane->stopping = true;
    lane_wake(lane);
    if (lane->started) {
        pthread_join(lane->thread, NULL);
        lane->started = false;
    }
    source_close(TAKE(lane->source));
}

void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    lane_stop(lane);
    channels_finish(&lane->channels);
    settings_unref(lane->pending);
    pthread_mutex_destroy(&lane->lock);
    picture_maker_finish(&lane->picture);
    cleanup_close(&lane->nodes_fd);
    close(lane->wake_fd);
    free(lane);
}

void lane_ask_anew(struct lane *lane)
{
    lane->asked_anew = true;
    lane_wake(lane);
}

int64_t lane_alive_ns(const struct lane *lane)
{
    return lane->alive_ns;
}

void lane_wake(struct lane *lane)
{
    uint64_t one = 1;

    if (write(lane->wake_fd, &one, sizeof one) < 0) {
        log_debug("lane: is awake already"); // the counter is full
    }
}
