// A clip, at its own rate, for ever.
//
// It is decoded in order and ahead: the next two pictures wait here until they are due. It is
// played as one segment; when that has been read, a seek without a flush plays it again, so that
// the loop has no seam. A clip that cannot be played so, that breaks off or is stuck between two
// rounds, as some demuxers are, is stopped and played from its beginning.
//
// Where a clip pauses, its last picture is handed out again and again: it is still what there is to
// see, for viewers who come meanwhile, too.
#include "capture/clip/clip_intake.h"

#include <errno.h>

// Both below what brings the slate.
#define PAUSE_NS (300 * NS_PER_MS)
#define STUCK_NS (300 * NS_PER_MS)
// A round has a picture, and there is not room for so many between the demuxer and the sink.
#define ROUNDS_AHEAD_MAX 64

struct source_file {
    struct source source;
    struct intake *intake; // owned
    char *path;            // owned
    int64_t period_ns;
    struct frame *next;    // owned reference; not due before its pts_ns; NULL: not decoded yet
    struct frame *after;   // owned reference; the one after that
    struct frame *shown;   // owned reference; the last one that was handed out
    int64_t last_pts_ns;   // of the last one that was decoded or handed out
    int64_t clip_ns;       // time in the clip of the last one that had one; -1: none had
    int64_t shift_ns;      // from times in the clip to CLOCK_MONOTONIC, in this round
    uint64_t round_frames; // since the clip was played from its beginning
    unsigned rounds_ahead; // asked for, of which no picture has come yet
    int64_t asked_ns;      // when the last one was
    bool retried;          // played from its beginning since the last picture
};

static void file_source_close(struct source *source)
{
    struct source_file *self = (struct source_file *)source;

    frame_unref(self->next);
    frame_unref(self->after);
    frame_unref(self->shown);
    intake_free(self->intake);
    free(self->path);
    free(self);
}

static void replay_segment(struct source_file *self)
{
    self->rounds_ahead++;
    self->asked_ns = clock_now_ns();
    intake_repeat_segment(self->intake);
}

static int open_clip(struct source_file *self, const struct source_environment *environment,
                     struct error *error)
{
    int r = clip_intake_new(self->path, NULL, environment, error, &self->intake);

    if (r < 0)
        return r;
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

    if (!self)
        return error_set(error, -ENOMEM, "clip: out of memory");
    source = &self->source;
    source->ops = &source_file_ops;
    self->path = strdup(camera->path);
    if (!self->path)
        return error_set(error, -ENOMEM, "clip: out of memory");
    r = open_clip(self, environment, error);
    if (r < 0)
        return error_prefix(error, r, "clip %s", self->path);
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
    self->round_frames = 0;
    self->rounds_ahead = 0;
    self->clip_ns = -1;
    intake_play(self->intake);
}

static int file_source_start(struct source *source, struct error *error)
{
    struct source_file *self = (struct source_file *)source;

    (void)error;
    if (!intake_begin_segment(self->intake)) {
        intake_stop(self->intake); // the demuxer may have flushed nevertheless
    }
    play(self);
    return 0;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// When a picture that has been decoded is due. The first of a round follows the last one before it,
// as do those that come without a time.
static int64_t due_ns(struct source_file *self, int64_t clip_ns)
{
    int64_t next_ns = self->last_pts_ns + self->period_ns;
    bool begins = clip_ns <= self->clip_ns || self->clip_ns < 0;

    if (self->round_frames == 0) {
        next_ns = latest(next_ns, clock_now_ns());
        begins = true;
    }
    if (begins) {
        self->rounds_ahead -= self->rounds_ahead > 0 && self->round_frames > 0;
        self->shift_ns = next_ns - clip_ns;
    }
    return clip_ns < 0 ? next_ns : latest(clip_ns + self->shift_ns, self->last_pts_ns + 1);
}

static void stamp(struct source_file *self, struct frame *frame)
{
    int64_t clip_ns = frame->pts_ns;

    self->last_pts_ns = frame->pts_ns = due_ns(self, clip_ns);
    self->clip_ns = clip_ns;
    self->round_frames++;
    self->retried = false;
}

static int refuse(struct source_file *self, enum intake_event event, struct error *error)
{
    if (event == INTAKE_FAILED)
        intake_failure(self->intake, error);
    else
        error_set(error, -ENODATA, "not one picture could be decoded");
    return error_prefix(error, -ENODATA, "clip %s", self->path);
}

// Plays the clip from its beginning. -ENODATA when no picture came out of it the last time.
static int begin_anew(struct source_file *self, enum intake_event event, struct error *error)
{
    if (self->round_frames == 0 && self->retried)
        return refuse(self, event, error);
    self->retried = self->round_frames == 0;
    intake_stop(self->intake);
    play(self);
    return 0;
}

// When a round that was asked for has failed to come: after the last picture's time.
static int64_t stuck_ns(const struct source_file *self)
{
    return self->rounds_ahead > 0
               ? latest(self->last_pts_ns, self->asked_ns) + self->period_ns + STUCK_NS
               : INT64_MAX;
}

// Waits until `until_ns` for another picture to be decoded, which may still not be there then.
static int decode(struct source_file *self, int64_t until_ns, struct error *error)
{
    enum intake_event event = intake_wait(self->intake, until_ns);
    int r;

    if (event == INTAKE_TIMEOUT)
        return clock_now_ns() < stuck_ns(self) ? 0 : begin_anew(self, event, error);
    if (event == INTAKE_SEGMENT_DONE && self->rounds_ahead < ROUNDS_AHEAD_MAX) {
        replay_segment(self);
        return 0;
    }
    if (event != INTAKE_SAMPLE)
        return begin_anew(self, event, error);
    r = intake_take(self->intake, &self->source, error, &self->after);
    if (r < 0)
        return r == -EAGAIN ? 0 : error_prefix(error, r, "clip %s", self->path);
    stamp(self, self->after);
    return 0;
}

// If the reader was away for longer than a period, skips the older pictures, unless the decoder is
// slow. Stops at `deadline_ns`: a late picture is better than none.
static void skip_missed(struct source_file *self, int64_t deadline_ns)
{
    int64_t now_ns;

    while ((now_ns = clock_now_ns()) - self->next->pts_ns > self->period_ns &&
           now_ns < deadline_ns) {
        if (!self->after) {
            decode(self, now_ns + self->period_ns, NULL); // tells its error another time
        }
        if (!self->after)
            return;
        frame_unref(self->next);
        self->next = TAKE(self->after);
        self->source.counters.frames--;
        self->source.counters.dropped++;
    }
}

// When the picture shown last is to be shown again: not in the midst of a slow clip.
static int64_t repeat_ns(const struct source_file *self)
{
    return self->shown ? self->shown->pts_ns + latest(3 * self->period_ns / 2, PAUSE_NS)
                       : INT64_MAX;
}

static void hand_out(struct source_file *self, struct frame *frame, struct frame **ret_frame)
{
    frame->grabbed_ns = clock_now_ns();
    frame_unref(self->shown);
    self->shown = frame_ref(frame);
    *ret_frame = frame;
}

// False: there is nothing to show, or no memory for it.
static bool repeat(struct source_file *self, struct frame **ret_frame)
{
    struct frame *frame;

    if (clock_now_ns() < repeat_ns(self) || intake_repeat(self->intake, self->shown, &frame) < 0)
        return false;
    self->last_pts_ns = latest(self->last_pts_ns, frame->pts_ns);
    self->source.counters.frames++;
    hand_out(self, frame, ret_frame);
    return true;
}

// The earlier one, unless `event_ns` had been already at `now_ns`.
static int64_t earliest(int64_t until_ns, int64_t event_ns, int64_t now_ns)
{
    return event_ns > now_ns && event_ns < until_ns ? event_ns : until_ns;
}

static int file_source_next(struct source *source, int timeout_ms, struct error *error,
                            struct frame **ret_frame)
{
    struct source_file *self = (struct source_file *)source;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    int r = 0;

    do {
        int64_t now_ns = clock_now_ns();
        int64_t until_ns = earliest(deadline_ns, repeat_ns(self), now_ns);

        if (!self->next)
            self->next = TAKE(self->after);
        if (self->next && self->next->pts_ns <= now_ns) {
            skip_missed(self, deadline_ns);
            hand_out(self, TAKE(self->next), ret_frame);
            return 0;
        }
        if (repeat(self, ret_frame))
            return 0;
        until_ns = earliest(until_ns, self->next ? self->next->pts_ns : 0, now_ns);
        until_ns = earliest(until_ns, stuck_ns(self), now_ns);
        if (!self->after)
            r = decode(self, until_ns, error);
        else
            clock_sleep_until_ns(until_ns);
    } while (r == 0 && clock_now_ns() < deadline_ns);
    return r < 0 ? r : -EAGAIN;
}

const struct source_ops source_file_ops = {
    .open = file_source_open,
    .start = file_source_start,
    .next = file_source_next,
    .close = file_source_close,
};
