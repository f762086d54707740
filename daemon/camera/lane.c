// Each turn of the loop opens the source when it is time, or grabs a frame and runs it through the
// channels, or waits; then it shows the slate if frames have failed to come.

#include "daemon/camera/lane_private.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define GRAB_TIMEOUT_MS 100

int lane_new(const struct lane_environment *environment, struct lane **ret_lane)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane) {
        return -ENOMEM;
    }
    lane->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lane->wake_fd < 0) {
        free(lane);
        return -errno;
    }
    pthread_mutex_init(&lane->lock, NULL);
    lane->environment = *environment;
    lane->means.allocator = frame_allocator_host();
    lane->log_limit.open = true; // the log tells when frames come the first time
    *ret_lane = lane;
    return 0;
}

// What the log has to say while frames come: the memory path where they just began to, and that
// messages were left out.
static void tell_end(struct lane *lane, const char *path)
{
    const char *camera = lane->environment.camera->name;
    unsigned left_out;

    if (!log_limit_end(&lane->log_limit, clock_now_ns(), &left_out)) {
        return;
    }
    if (path) { // the log puts the camera's name in front itself
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_STATE, camera, "live", "%s",
                  path + strlen(camera) + 2);
    }
    if (left_out) {
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_STATE, camera, "live",
                  "live again, %u more messages of no signal were left out", left_out);
    }
}

static void set_live(struct lane *lane, const struct frame *frame)
{
    const char *camera = lane->environment.camera->name;
    char path[256];

    lane->live = true;
    schedule_live(&lane->schedule);
    lane_describe_path(lane, path, sizeof path);
    report_set_state(lane->environment.report, LINK_CAMERA_LIVE, "");
    tell_end(lane, path);
    log_write(LOG_DEBUG, LOG_EVENT_NONE, camera, NULL,
              "frame %" PRIu64 " was captured at %" PRId64 " ns", frame->sequence, frame->pts_ns);
    lane->environment.changed(lane->environment.context);
}

void lane_close_source(struct lane *lane, bool lost)
{
    if (lane->source) {
        report_source_closed(lane->environment.report, lane->source, lost);
        source_close(TAKE(lane->source));
        channels_forget(lane->environment.channels);
        motion_watch_reset(lane->environment.motion_watch, lost);
        report_set_regions(lane->environment.report, lane->environment.motion_watch);
    }
    lane->live = false;
}

// Closes what there is of a source and sets the time of the next try.
static void lose_source(struct lane *lane, const char *error)
{
    const char *camera = lane->environment.camera->name;

    lane_close_source(lane, true);
    int64_t delay_ns = schedule_lose(&lane->schedule, clock_now_ns());
    if (report_set_state(lane->environment.report, LINK_CAMERA_NO_SIGNAL, error) && !lane->fatal) {
        if (log_limit_begin(&lane->log_limit, clock_now_ns())) {
            log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, camera, "no signal",
                      "no signal: %s, retrying in %.1f s", error, (double)delay_ns / NS_PER_S);
        }
        lane->environment.changed(lane->environment.context);
    }
}

void lane_end(struct lane *lane, enum link_type last_word, const char *reason)
{
    lane->fatal = true;
    report_set_end(lane->environment.report, last_word, reason);
    lane->environment.changed(lane->environment.context);
}

static void handle_failure(struct lane *lane, int code, bool preparing, const struct error *error)
{
    if (code == -ESTALE) {
        lane_end(lane, LINK_RESTART, error->text);
    }
    if (!lane_blame_gpu(lane, code, preparing, error)) {
        lose_source(lane, error->text);
    }
}

struct channel_setup lane_setup(const struct lane *lane, const struct frame_layout *layout)
{
    return (struct channel_setup){.input = layout,
                                  .input_surfaces = lane->input_surfaces,
                                  .fps_numerator = lane->fps_numerator,
                                  .fps_denominator = lane->fps_denominator,
                                  .gpu = lane->means.gpu,
                                  .pool = lane->environment.pool,
                                  .allocator = lane->means.allocator,
                                  .surfaces = lane->means.surfaces};
}

int lane_prepare_channels(struct lane *lane, const struct source_mode *mode, struct error *error)
{
    int r = lane_prepare_picture(lane, mode, error);

    if (r) {
        return r;
    }
    lane->input_surfaces = mode->surfaces && !lane->flip;
    lane->fps_numerator = mode->fps_numerator;
    lane->fps_denominator = mode->fps_denominator;
    const struct channel_setup setup = lane_setup(lane, &lane->layout);
    r = channels_prepare(lane->environment.channels, &setup, error);
    if (r == -ENOSYS) {
        lane_end(lane, LINK_FATAL, error->text);
    }
    return r;
}

static void open_source(struct lane *lane)
{
    struct error error = {0};
    struct source *source = NULL;
    int r = source_open(lane->environment.camera, &lane->source_environment, &error, &source);
    bool preparing = false;

    if (!r) {
        lane->source_copies = copies_total(lane->environment.copies);
        r = lane_prepare_channels(lane, &source->mode, &error);
        preparing = r != 0;
    }
    if (!r) {
        r = source_start(source, &error);
    }
    if (r) {
        source_close(source);
        handle_failure(lane, r, preparing, &error);
        return;
    }
    lane->source = source;
    lane_tell_surfaces(lane);
    schedule_rate(&lane->schedule, source->mode.fps_numerator, source->mode.fps_denominator);
    schedule_frame(&lane->schedule, clock_now_ns());
    report_source_opened(lane->environment.report, lane->schedule.frame_ns);
}

// Says why nothing came for too long: a silent camera, or one whose pictures are all broken.
static int describe_silence(const struct source *source, struct error *error)
{
    const char *broken = source->counters.corrupted ? "only broken" : "no";

    return error_set(error, -EAGAIN, "%s delivers %s frames", source->mode.description, broken);
}

// Views, and then the motion watch, because viewers wait for the views; the picture is on the CPU's
// side again.
static int run_picture(struct lane *lane, struct frame *picture, struct error *error)
{
    int r;

    motion_watch_begin(lane->environment.motion_watch, picture);
    r = channels_run(lane->environment.channels, picture, error);
    if (!r) {
        motion_watch_measure(lane->environment.motion_watch, picture);
        report_set_regions(lane->environment.report, lane->environment.motion_watch);
    }
    return r;
}

// The motion watch begins on the CPU's side, and the camera gets its frame back there.
static int run_frame(struct lane *lane, struct frame *frame, struct error *error)
{
    _cleanup_(cleanup_frame) struct frame *picture = NULL;
    bool watched = channels_begin(lane->environment.channels);
    bool measured = motion_watch_region(lane->environment.motion_watch, 0);
    int r;

    if (!watched && !measured) {
        return 0;
    }
    if (!lane_makes_pictures(lane)) {
        r = measured ? frame_begin_cpu_access(frame, error) : 0;
        return r ? r : run_picture(lane, frame, error);
    }
    r = lane_make_picture(lane, frame, error, &picture);
    if (!r && picture && measured && frame_to_cpu(picture, error)) {
        r = -ENOTRECOVERABLE;
    }
    if (!r && picture) {
        r = run_picture(lane, picture, error);
    }
    return !r && frame_to_cpu(frame, error) ? -ENOTRECOVERABLE : r;
}

// The layout may differ from the last frame's: JPEGs do that.
static int run_views(struct lane *lane, struct frame *frame)
{
    struct source_mode mode = lane->source->mode;
    struct error error = {0};

    mode.layout = frame->layout;
    int r = lane_prepare_channels(lane, &mode, &error);
    bool preparing = r != 0;

    if (!r) {
        r = run_frame(lane, frame, &error);
    }
    if (r) {
        handle_failure(lane, r, preparing, &error);
    }
    return r;
}

static void grab(struct lane *lane)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    struct error error = {0};
    char path[256];
    int r = source_next(lane->source, GRAB_TIMEOUT_MS, &error, &frame);

    int64_t now_ns = clock_now_ns();

    if (r == -EAGAIN &&
        (now_ns < lane->source->patient_until_ns || !schedule_is_silent(&lane->schedule, now_ns))) {
        return;
    }
    if (r == -EAGAIN) {
        describe_silence(lane->source, &error);
    }
    if (r) {
        if (lane->source->surface_failed) {
            lane->source_environment.surfaces = NULL;
        }
        handle_failure(lane, r, false, &error);
        return;
    }
    if (run_views(lane, frame)) {
        return;
    }
    schedule_frame(&lane->schedule, clock_now_ns());
    if (lane->source->period_ns) {
        schedule_period(&lane->schedule, lane->source->period_ns);
    }
    bool second_over =
        report_source_frame(lane->environment.report, lane->source, lane->schedule.frame_ns);
    if (!lane->live) {
        set_live(lane, frame);
    } else if (second_over) {
        lane_describe_path(lane, path, sizeof path);
        tell_end(lane, NULL);
    }
}

// As viewers see the slate. The camera stays open: it may go on before it counts as lost.
static void tell_silence(struct lane *lane)
{
    struct error error = {0};

    lane->live = false;
    describe_silence(lane->source, &error);
    if (report_set_state(lane->environment.report, LINK_CAMERA_SILENT, error.text) &&
        log_limit_begin(&lane->log_limit, clock_now_ns())) {
        log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, lane->environment.camera->name, "no signal",
                  "no signal: %s, opening it again if none come", error.text);
    }
    lane->environment.changed(lane->environment.context);
}

static void show_slates(struct lane *lane)
{
    int64_t seconds;

    if (schedule_slate(&lane->schedule, clock_now_ns(), &seconds)) {
        if (lane->source && lane->live) {
            tell_silence(lane);
        }
        channels_run_slate(lane->environment.channels, seconds);
    }
}

// Until it is time to try the source again, to show the next slate, or somebody wakes the lane. As
// long as it is not known what computes, the lane asks once a second, so that a driver that misses
// its deadline is noticed.
static void wait_for_retry(struct lane *lane)
{
    struct pollfd wake = {.fd = lane->wake_fd, .events = POLLIN};
    int64_t now = clock_now_ns(), until = lane->decided ? lane->schedule.retry_ns : now + NS_PER_S;
    int64_t slate = schedule_next_slate_ns(&lane->schedule);
    uint64_t count;

    if (slate < until && channels_are_watched(lane->environment.channels)) {
        until = slate;
    }
    if (until > now) {
        poll(&wake, 1, (int)((until - now + NS_PER_MS - 1) / NS_PER_MS));
    }
    if (wake.revents && read(lane->wake_fd, &count, sizeof count) < 0) {
        log_debug("lane: nothing to wake up for");
    }
}

// Views and encoders for the wished size, before the camera has said what it can do: so the front
// has slates to show whatever the camera does.
static void prepare_first(struct lane *lane)
{
    const struct config_camera *settings = lane->environment.camera;
    struct source_mode mode = {
        .fps_numerator = (unsigned)settings->fps, .fps_denominator = 1, .flipped = true};
    struct error error = {0};

    frame_layout_init(&mode.layout, pixel_format_by_name("NV12"), (uint32_t)settings->width,
                      (uint32_t)settings->height, FRAME_STRIDE_ALIGN);
    if (lane_prepare_channels(lane, &mode, &error)) {
        lose_source(lane, error.text);
    }
}

static void *lane_thread(void *context)
{
    struct lane *lane = context;

    lane->alive_ns = clock_now_ns();
    schedule_init(&lane->schedule, lane->alive_ns);
    prepare_first(lane);
    while (!lane->stopping && !lane->fatal) {
        lane->alive_ns = clock_now_ns();
        lane_follow_compute(lane);
        lane_follow_settings(lane);
        if (lane->fatal) {
            break;
        }
        if (lane->source) {
            grab(lane);
        } else if (lane->decided && lane->alive_ns >= lane->schedule.retry_ns) {
            open_source(lane);
        } else {
            wait_for_retry(lane);
        }
        show_slates(lane);
    }
    return NULL;
}

int lane_start(struct lane *lane)
{
    int r = -pthread_create(&lane->thread, NULL, lane_thread, lane);

    lane->started = !r;
    if (lane->started) {
        pthread_setname_np(lane->thread, "lane");
    }
    return r;
}

void lane_free(struct lane *lane)
{
    if (!lane) {
        return;
    }
    lane->stopping = true;
    lane_wake(lane);
    if (lane->started) {
        pthread_join(lane->thread, NULL);
    }
    lane_finish_work(lane);
    if (lane->next) {
        channels_abort(lane->next);
    }
    settings_unref(lane->next);
    settings_unref(lane->left);
    settings_unref(lane->pending);
    pthread_mutex_destroy(&lane->lock);
    source_close(lane->source);
    flip_free(lane->flip);
    demosaic_free(lane->demosaic);
    close(lane->wake_fd);
    free(lane);
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
