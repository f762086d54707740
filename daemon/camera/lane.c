// One turn of the loop: open the source when it is time, or grab a frame and run it through the
// channels, or wait; then show the slate where frames have failed to come.

#include "daemon/camera/lane.h"

#include "daemon/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define GRAB_TIMEOUT_MS 100
#define SILENCE_NS (2 * NS_PER_S)        // this long without a frame: open the source again
#define SLATE_AFTER_NS (500 * NS_PER_MS) // this long without a frame: show the slate
#define SLATE_INTERVAL_NS (200 * NS_PER_MS)
#define RETRY_FIRST_NS (100 * NS_PER_MS)
#define RETRY_LONGEST_NS (2 * NS_PER_S)

struct lane {
    struct lane_environment environment;
    struct source_environment source_environment;
    pthread_t thread;
    bool started;
    int wake_fd; // eventfd
    atomic_bool stopping;
    _Atomic int64_t alive_ns;

    // Lane thread only.
    struct source *source; // owned
    bool fatal;            // nothing more can be done
    bool live;             // the state, as last reported
    int64_t lost_ns;       // since when there has been no signal; 0 while there is
    int64_t frame_ns;      // when the last frame, or the source, came
    int64_t slate_ns;      // when the last slate was shown
    int64_t retry_ns, retry_delay_ns;
    uint64_t source_copies; // copies counted before this source was opened
};

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
    lane->environment = *environment;
    lane->source_environment = (struct source_environment){.allocator = environment->allocator,
                                                           .copies = environment->copies};
    lane->retry_delay_ns = RETRY_FIRST_NS;
    *ret_lane = lane;
    return 0;
}

// The memory path: what every frame goes through, as one line.
static void describe_path(struct lane *lane, char *ret_path, size_t size)
{
    const struct source *source = lane->source;
    struct channel *first = lane->environment.channels[0];
    uint64_t frames = source->counters.frames;
    uint64_t copies = copies_total(lane->environment.copies) - lane->source_copies;

    snprintf(ret_path, size, "%s: %s -> %s -> %s -> %s, %.3g copies a frame",
             lane->environment.settings->name, source->mode.description,
             lane->environment.allocator->kind, channel_backend(first), channel_encoder_name(first),
             frames ? (double)copies / (double)frames : 0.0);
    report_set_path(lane->environment.report, &source->mode, ret_path);
    for (size_t i = 0; i < lane->environment.settings->view_count; i++) {
        report_set_encoder(lane->environment.report, i,
                           channel_encoder_name(lane->environment.channels[i]));
    }
}

static void set_live(struct lane *lane, const struct frame *frame)
{
    const char *camera = lane->environment.settings->name;
    char path[256];

    lane->live = true;
    lane->lost_ns = 0;
    lane->retry_delay_ns = RETRY_FIRST_NS;
    describe_path(lane, path, sizeof path);
    report_set_state(lane->environment.report, LINK_CAMERA_LIVE, "");
    // The log puts the camera's name in front itself.
    log_write(LOG_NOTICE, LOG_EVENT_CAMERA_STATE, camera, "live", "%s", path + strlen(camera) + 2);
    log_write(LOG_DEBUG, LOG_EVENT_NONE, camera, NULL,
              "frame %" PRIu64 " was captured at %" PRId64 " ns", frame->sequence, frame->pts_ns);
    lane->environment.changed(lane->environment.context);
}

// Closes what there is of a source and sets the time of the next try.
static void lose_source(struct lane *lane, const char *error)
{
    const char *camera = lane->environment.settings->name;
    int64_t now = clock_now_ns();

    if (lane->source) {
        report_source_closed(lane->environment.report, lane->source);
        source_close(TAKE(lane->source));
    }
    lane->live = false;
    if (!lane->lost_ns) {
        lane->lost_ns = now;
    }
    lane->retry_ns = now + lane->retry_delay_ns;
    if (report_set_state(lane->environment.report, LINK_CAMERA_NO_SIGNAL, error) && !lane->fatal) {
        log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, camera, "no signal",
                  "no signal: %s, retrying in %.1f s", error,
                  (double)lane->retry_delay_ns / NS_PER_S);
        lane->environment.changed(lane->environment.context);
    }
    lane->retry_delay_ns *= 2;
    if (lane->retry_delay_ns > RETRY_LONGEST_NS) {
        lane->retry_delay_ns = RETRY_LONGEST_NS;
    }
}

// Makes views and encoders fit `layout`; without an encoder the process cannot go on.
static int prepare_channels(struct lane *lane, const struct frame_layout *layout,
                            unsigned fps_numerator, unsigned fps_denominator, struct error *error)
{
    const struct config_camera *settings = lane->environment.settings;
    int r = 0;

    for (size_t i = 0; !r && i < settings->view_count; i++) {
        r = channel_prepare(lane->environment.channels[i], layout, fps_numerator, fps_denominator,
                            error);
        if (r) {
            error_prefix(error, r, "view \"%s\"", settings->views[i].name);
        }
    }
    if (r == -ENOSYS) {
        lane->fatal = true;
        report_set_fatal(lane->environment.report, error->text);
        lane->environment.changed(lane->environment.context);
    }
    return r;
}

static void open_source(struct lane *lane)
{
    struct error error = {0};
    struct source *source = NULL;
    int r = source_open(lane->environment.settings, &lane->source_environment, &error, &source);

    if (!r) {
        lane->source_copies = copies_total(lane->environment.copies);
        r = prepare_channels(lane, &source->mode.layout, source->mode.fps_numerator,
                             source->mode.fps_denominator, &error);
    }
    if (!r) {
        r = source_start(source, &error);
    }
    if (r) {
        source_close(source);
        lose_source(lane, error.text);
        return;
    }
    lane->source = source;
    lane->frame_ns = clock_now_ns();
    report_source_opened(lane->environment.report, lane->frame_ns);
}

// Runs the views on one frame. The layout may differ from the last one's (JPEGs do that).
static int run_channels(struct lane *lane, struct frame *frame, struct error *error)
{
    const struct source_mode *mode = &lane->source->mode;
    const struct config_camera *settings = lane->environment.settings;
    int r =
        prepare_channels(lane, &frame->layout, mode->fps_numerator, mode->fps_denominator, error);

    for (size_t i = 0; !r && i < settings->view_count; i++) {
        struct channel *channel = lane->environment.channels[i];

        r = channel_run(channel, frame);
        if (r) {
            error_set(error, r, "view \"%s\": %s failed", settings->views[i].name,
                      channel_encoder_name(channel));
            channel_reset(channel);
        }
    }
    return r;
}

// Says why nothing came for too long: a silent camera, or one whose pictures are all broken.
static int describe_silence(const struct source *source, struct error *error)
{
    const char *broken = source->counters.corrupted ? "only broken" : "no";

    return error_set(error, -EAGAIN, "%s delivers %s frames", source->mode.description, broken);
}

static void grab(struct lane *lane)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    struct error error = {0};
    char path[256];
    int r = source_next(lane->source, GRAB_TIMEOUT_MS, &error, &frame);

    if (r == -EAGAIN && clock_now_ns() - lane->frame_ns < SILENCE_NS) {
        return;
    }
    if (r == -EAGAIN) {
        describe_silence(lane->source, &error);
    } else if (!r) {
        r = run_channels(lane, frame, &error);
    }
    if (r) {
        lose_source(lane, error.text);
        return;
    }
    lane->frame_ns = clock_now_ns();
    if (report_source_frame(lane->environment.report, lane->source, lane->frame_ns)) {
        describe_path(lane, path, sizeof path);
    }
    if (!lane->live) {
        set_live(lane, frame);
    }
}

static bool is_watched(const struct lane *lane)
{
    for (size_t i = 0; i < lane->environment.settings->view_count; i++) {
        if (channel_is_watched(lane->environment.channels[i])) {
            return true;
        }
    }
    return false;
}

static void show_slates(struct lane *lane)
{
    int64_t now = clock_now_ns(), since = lane->lost_ns ? lane->lost_ns : lane->frame_ns;

    if (now - lane->frame_ns < SLATE_AFTER_NS || now - lane->slate_ns < SLATE_INTERVAL_NS) {
        return;
    }
    lane->slate_ns = now;
    for (size_t i = 0; i < lane->environment.settings->view_count; i++) {
        if (channel_run_slate(lane->environment.channels[i], (now - since) / NS_PER_S) < 0) {
            channel_reset(lane->environment.channels[i]);
        }
    }
}

// Until it is time to try the source again, to show the next slate, or somebody wakes the lane.
static void wait_for_retry(struct lane *lane)
{
    struct pollfd wake = {.fd = lane->wake_fd, .events = POLLIN};
    int64_t now = clock_now_ns(), until = lane->retry_ns;
    uint64_t count;

    if (is_watched(lane) && lane->slate_ns + SLATE_INTERVAL_NS < until) {
        until = lane->slate_ns + SLATE_INTERVAL_NS;
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
    const struct config_camera *settings = lane->environment.settings;
    struct frame_layout layout;
    struct error error = {0};

    frame_layout_init(&layout, pixel_format_by_name("NV12"), (uint32_t)settings->width,
                      (uint32_t)settings->height, 64);
    if (prepare_channels(lane, &layout, (unsigned)settings->fps, 1, &error)) {
        lose_source(lane, error.text);
    }
}

static void *lane_thread(void *context)
{
    struct lane *lane = context;

    lane->alive_ns = lane->frame_ns = clock_now_ns();
    prepare_first(lane);
    while (!lane->stopping && !lane->fatal) {
        lane->alive_ns = clock_now_ns();
        if (lane->source) {
            grab(lane);
        } else if (lane->alive_ns >= lane->retry_ns) {
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
    source_close(lane->source);
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
