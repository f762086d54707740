// A clip, at its own rate, for ever.
//
// It is played as one segment; when that has been read, a seek without a flush plays it again while
// time runs on, so that the loop has no seam. A clip that cannot be played so (or that breaks off)
// is stopped, and played from its beginning anew one period after its last picture.
//
// Where a clip pauses, its last picture is handed out again and again: it is still what there is to
// see, for viewers who come meanwhile, too. A clip that is stuck has no next picture to wait for.
// One that is stuck between two rounds, as some demuxers are, is begun anew before that is seen.
#include "capture/clip/gstreamer_rounds.h"
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"
#include "capture/gstreamer/gstreamer_intake.h"
#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

// A round has a picture, and there is not room for so many between the demuxer and the sink.
#define ROUNDS_AHEAD_MAX 64
// Both below what brings the slate.
#define PAUSE_NS (300 * NS_PER_MS)
#define STUCK_NS (300 * NS_PER_MS)

struct source_file {
    struct source source;
    struct intake *intake; // owned
    GstElement *converter; // owned reference
    struct rounds *rounds; // the converter's
    char *path;            // owned
    int64_t period_ns;
    int64_t last_pts_ns;
    struct frame *shown;    // owned reference; the last picture of the clip
    uint64_t round_frames;  // since the clip began again
    bool retried;           // since the last picture
    unsigned rounds_ahead;  // read since the last picture
    unsigned replays;       // asked for since it was played from its beginning
    int64_t played_ns;      // when that was
    int64_t begin_again_ns; // when it ended and was stopped: when the next round is due; else 0
};

static void file_source_close(struct source *source)
{
    struct source_file *self = (struct source_file *)source;

    frame_unref(self->shown);
    intake_free(self->intake);
    gst_clear_object(&self->converter);
    free(self->path);
    free(self);
}

// What the file system says about the clip, before GStreamer says it less clearly.
static int check_path(const char *path, struct error *error)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (fd < 0) {
        return error_set(error, -errno, "%s", strerror(errno));
    }
    if (fstat(fd, &status) < 0) {
        return error_set(error, -errno, "%s", strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(error, -ENODATA, "is not a file");
    }
    return status.st_size > 0 ? 0 : error_set(error, -ENODATA, "is empty");
}

// Links the first stream that the converter takes, anew whenever the clip is played after a stop.
// The converter only converts what no view takes.
static void on_stream(GstElement *decoder, GstPad *stream, gpointer converter)
{
    g_autoptr(GstPad) pad = gst_element_get_static_pad(converter, "sink");

    (void)decoder;
    if (!gst_pad_is_linked(pad)) {
        gst_pad_link(stream, pad);
    }
}

static int make_intake(struct source_file *self, const struct source_environment *environment,
                       struct error *error)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(NULL, 0, 0, 0);
    g_autoptr(GstElement) clip = NULL, decoder = NULL;
    g_autoptr(GstPad) decoded = NULL;
    GstBin *bin;
    int r = intake_new("filesrc name=clip ! decodebin name=decoder videoconvert name=converter",
                       caps, environment, error, &self->intake);

    if (r < 0) {
        return r;
    }
    bin = GST_BIN(intake_pipeline(self->intake));
    clip = gst_bin_get_by_name(bin, "clip");
    decoder = gst_bin_get_by_name(bin, "decoder");
    self->converter = gst_bin_get_by_name(bin, "converter");
    g_object_set(clip, "location", self->path, NULL);
    gstreamer_decoders_choose(decoder);
    g_signal_connect_object(decoder, "pad-added", G_CALLBACK(on_stream), self->converter, 0);
    decoded = gst_element_get_static_pad(self->converter, "sink");
    self->rounds = rounds_watch(decoded);
    return self->rounds ? 0 : error_set(error, -ENOMEM, "out of memory");
}

// Plays the clip from its beginning as a segment. False if it cannot be played so.
// gst_element_seek() would hold the pipeline's state lock meanwhile, which the pipeline needs to
// begin to play; and when a short clip has been read before that, and its pictures fill the queue,
// the demuxer takes a seek only once the pipeline plays.
static bool play_segment(GstElement *converter, GstSeekFlags flags)
{
    g_autoptr(GstPad) decoded = gst_element_get_static_pad(converter, "sink");

    return gst_pad_push_event(
        decoded, gst_event_new_seek(1.0, GST_FORMAT_TIME, flags | GST_SEEK_FLAG_SEGMENT,
                                    GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_NONE, 0));
}

static void on_replay(GstElement *converter, gpointer data)
{
    (void)data;
    play_segment(converter, GST_SEEK_FLAG_NONE);
}

// In another thread: the seek waits for room in the queue, and pictures come meanwhile.
static void replay_segment(struct source_file *self)
{
    self->round_frames = 0;
    self->rounds_ahead++;
    self->replays++;
    gst_element_call_async(self->converter, on_replay, NULL, NULL);
}

static int open_clip(struct source_file *self, const struct source_environment *environment,
                     struct error *error)
{
    int r = check_path(self->path, error);

    if (r < 0) {
        return r;
    }
    r = make_intake(self, environment, error);
    if (r < 0) {
        return r;
    }
    r = intake_open(self->intake, &self->source.mode, error);
    return r == -EPIPE || r == -EINVAL || r == -ETIMEDOUT ? -ENODATA : r;
}

static int file_source_open(const struct config_camera *camera,
                            const struct source_environment *environment, struct error *error,
                            struct source **ret_source)
{
    _cleanup_(cleanup_source) struct source *source = NULL;
    struct source_file *self = calloc(1, sizeof *self);
    int r;

    if (!self) {
        return error_set(error, -ENOMEM, "clip: out of memory");
    }
    source = &self->source;
    source->ops = &source_file_ops;
    self->path = strdup(camera->path);
    if (!self->path) {
        return error_set(error, -ENOMEM, "clip: out of memory");
    }
    r = open_clip(self, environment, error);
    if (r < 0) {
        return error_prefix(error, r, "clip %s", self->path);
    }
    if (source->mode.fps_numerator == 0) {
        source->mode.fps_numerator = (unsigned)camera->fps;
        source->mode.fps_denominator = 1;
    }
    self->period_ns = NS_PER_S * source->mode.fps_denominator / source->mode.fps_numerator;
    source_mode_describe(&source->mode, "clip");
    *ret_source = TAKE(source);
    return 0;
}

static void play(struct source_file *self)
{
    self->replays = 0;
    self->played_ns = clock_now_ns();
    intake_play(self->intake);
}

static int file_source_start(struct source *source, struct error *error)
{
    struct source_file *self = (struct source_file *)source;

    (void)error;
    rounds_begin(self->rounds, self->period_ns);
    if (!play_segment(self->converter, GST_SEEK_FLAG_FLUSH)) {
        intake_stop(self->intake); // the demuxer may have flushed nevertheless
    }
    play(self);
    return 0;
}

// Times never go back, over all rounds.
static void stamp(struct source_file *self, struct frame *frame)
{
    if (frame->pts_ns <= self->last_pts_ns) {
        frame->pts_ns = self->last_pts_ns + 1;
    }
    self->last_pts_ns = frame->pts_ns;
    frame_unref(self->shown);
    self->shown = frame_ref(frame);
    self->round_frames++;
    self->rounds_ahead = 0;
    self->retried = false;
}

// The clip is over: the next round is due a frame after the last picture. Without a picture, it is
// tried once more (some cannot be played as a segment); -ENODATA when that did not help either.
static int end_round(struct source_file *self, enum intake_event event, struct error *error)
{
    if (self->round_frames == 0 && self->retried) {
        if (event == INTAKE_FAILED) {
            intake_failure(self->intake, error);
        } else {
            error_set(error, -ENODATA, "not one picture could be decoded");
        }
        return error_prefix(error, -ENODATA, "clip %s", self->path);
    }
    self->retried = self->round_frames == 0;
    intake_stop(self->intake);
    rounds_begin(self->rounds, self->period_ns);
    self->rounds_ahead = 0;
    self->begin_again_ns = self->last_pts_ns + self->period_ns;
    return 0;
}

// The segment has been read. Some clips are, again and again, without a picture coming out.
static int next_round(struct source_file *self, struct error *error)
{
    if (self->rounds_ahead == ROUNDS_AHEAD_MAX) {
        return end_round(self, INTAKE_SEGMENT_DONE, error);
    }
    replay_segment(self);
    return 0;
}

// 0: go on; -EAGAIN: the time is up.
static int time_is_up(struct source_file *self, int64_t deadline_ns)
{
    if (self->begin_again_ns == 0 || clock_now_ns() < self->begin_again_ns) {
        return clock_now_ns() < deadline_ns ? 0 : -EAGAIN;
    }
    self->begin_again_ns = 0;
    self->round_frames = 0;
    play(self);
    return 0;
}

// When the picture shown last is to be shown again: not in the midst of a slow clip.
static int64_t repeat_ns(const struct source_file *self)
{
    int64_t pause_ns = 3 * self->period_ns / 2;

    return self->last_pts_ns + (pause_ns > PAUSE_NS ? pause_ns : PAUSE_NS);
}

// Shows it again if the next one waits until it is due. False: there is nothing to show.
static bool repeat(struct source_file *self, struct frame **ret_frame)
{
    int64_t now_ns = clock_now_ns();

    if (!self->shown || self->begin_again_ns > 0 || now_ns < repeat_ns(self) ||
        now_ns >= intake_due_ns(self->intake, rounds_last_ns(self->rounds)) ||
        intake_repeat(self->intake, self->shown, ret_frame) < 0) {
        return false;
    }
    self->last_pts_ns = (*ret_frame)->pts_ns;
    self->source.counters.frames++;
    return true;
}

// When a round that was asked for has failed to come: after the last picture's time.
static int64_t stuck_ns(const struct source_file *self)
{
    int64_t due_ns = intake_due_ns(self->intake, rounds_last_ns(self->rounds));
    int64_t quiet_ns = self->last_pts_ns > due_ns ? self->last_pts_ns : due_ns;

    return (self->played_ns > quiet_ns ? self->played_ns : quiet_ns) + self->period_ns + STUCK_NS;
}

static bool is_stuck(const struct source_file *self)
{
    return self->replays > 0 && self->begin_again_ns == 0 && clock_now_ns() >= stuck_ns(self) &&
           !rounds_have_come(self->rounds, self->replays + 1);
}

static int64_t earliest(int64_t until_ns, int64_t event_ns)
{
    return event_ns > clock_now_ns() && event_ns < until_ns ? event_ns : until_ns;
}

// Until when there is nothing to do unless something comes.
static int64_t wait_until_ns(const struct source_file *self, int64_t deadline_ns)
{
    if (self->begin_again_ns > 0) {
        return self->begin_again_ns < deadline_ns ? self->begin_again_ns : deadline_ns;
    }
    deadline_ns = self->replays > 0 ? earliest(deadline_ns, stuck_ns(self)) : deadline_ns;
    return earliest(deadline_ns, repeat_ns(self));
}

static int file_source_next(struct source *source, int timeout_ms, struct error *error,
                            struct frame **ret_frame)
{
    struct source_file *self = (struct source_file *)source;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    int r;

    do {
        enum intake_event event = intake_wait(self->intake, wait_until_ns(self, deadline_ns));

        switch (event) {
        case INTAKE_SAMPLE:
            r = intake_take(self->intake, source, error, ret_frame);
            if (r == 0) {
                stamp(self, *ret_frame);
                return 0;
            }
            if (r != -EAGAIN) {
                return error_prefix(error, r, "clip %s", self->path);
            }
            r = time_is_up(self, deadline_ns);
            break;
        case INTAKE_SEGMENT_DONE:
            r = next_round(self, error);
            break;
        case INTAKE_FAILED:
        case INTAKE_EOS:
            r = end_round(self, event, error);
            break;
        case INTAKE_TIMEOUT:
            if (repeat(self, ret_frame)) {
                return 0;
            }
            r = is_stuck(self) ? end_round(self, event, error) : time_is_up(self, deadline_ns);
            break;
        }
    } while (r == 0);
    return r;
}

const struct source_ops source_file_ops = {
    .name = "file",
    .open = file_source_open,
    .start = file_source_start,
    .next = file_source_next,
    .close = file_source_close,
};
