#include "capture/clip/gstreamer_rounds.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct rounds {
    pthread_mutex_t lock; // guards all below
    int64_t period_ns;
    unsigned begun;     // since rounds_begin()
    guint32 seek;       // the sequence number that a round's segments have from its seek
    GstSegment given;   // the round's last segment as it came
    GstSegment segment; // the same, delayed
    int64_t delay_ns;   // of the round, against the time that the demuxer counts
    // Running times in the streaming thread's segment. The least lead is the one without loss.
    int64_t begin_ns; // of the round
    int64_t lead_ns;  // from there to a round's first picture, the least of all rounds
    int64_t last_ns;  // of the last picture
    bool pictures;    // the round has had one
    // Of the segment's last picture: as it came, and as it went on; GST_CLOCK_TIME_NONE at first.
    GstClockTime given_pts, pts;
    int64_t shift_ns; // from one to the other
};

#define JUMP_NS (1000 * 1000 * 1000) // back in time: more than pictures out of order

static void rounds_free(gpointer data)
{
    struct rounds *rounds = data;

    pthread_mutex_destroy(&rounds->lock);
    free(rounds);
}

// What would be due before time begins is left out.
static void delay_segment(GstSegment *segment, int64_t delay_ns)
{
    int64_t base_ns = (int64_t)segment->base + delay_ns;
    guint64 left_out = base_ns < 0 ? (guint64)-base_ns : 0;

    if (GST_CLOCK_TIME_IS_VALID(segment->stop) && left_out > segment->stop - segment->start) {
        left_out = segment->stop - segment->start;
    }
    segment->base = base_ns < 0 ? 0 : (guint64)base_ns;
    segment->start += left_out;
    segment->time += left_out;
}

// A round may have several segments, all from the same seek. A round before may have had no
// picture: then this one takes its place.
static void place_segment(struct rounds *rounds, GstSegment *segment, guint32 seek)
{
    bool begins = rounds->begun == 0 || seek != rounds->seek;

    if (rounds->begun == 0) {
        rounds->delay_ns = 0;
    } else if (begins && rounds->lead_ns != INT64_MAX) {
        rounds->delay_ns =
            rounds->last_ns + rounds->period_ns - rounds->lead_ns - (int64_t)segment->base;
    }
    if (begins) {
        rounds->begin_ns = (int64_t)segment->base + rounds->delay_ns;
        rounds->pictures = false;
        rounds->begun++;
    }
    rounds->seek = seek;
    rounds->given = *segment;
    rounds->given_pts = rounds->pts = GST_CLOCK_TIME_NONE;
    rounds->shift_ns = 0;
    delay_segment(segment, rounds->delay_ns);
    rounds->segment = *segment;
}

static GstClockTime due(const struct rounds *rounds, const GstBuffer *buffer)
{
    return gst_segment_to_running_time(&rounds->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
}

// The first picture of all is due at once, as there is nothing to show until then: returns the
// segment that makes it so, NULL for one that is not late.
static GstEvent *hurry(struct rounds *rounds, const GstBuffer *buffer)
{
    GstClockTime running = due(rounds, buffer);
    GstEvent *event;

    if (rounds->begun == 0 || rounds->lead_ns != INT64_MAX || !GST_CLOCK_TIME_IS_VALID(running) ||
        (int64_t)running <= rounds->period_ns) {
        return NULL;
    }
    rounds->delay_ns = -(int64_t)running;
    rounds->begin_ns -= (int64_t)running;
    event = gst_event_new_segment(&rounds->given);
    gst_event_set_seqnum(event, rounds->seek);
    return event;
}

// The segment's next picture, which came with the time `given`.
static GstClockTime picture_pts(struct rounds *rounds, GstClockTime given)
{
    GstClockTime next = rounds->pts + (GstClockTime)rounds->period_ns, pts;

    if (!GST_CLOCK_TIME_IS_VALID(rounds->pts)) {
        return GST_CLOCK_TIME_IS_VALID(given) ? given : rounds->segment.start;
    }
    if (!GST_CLOCK_TIME_IS_VALID(given) || given == rounds->given_pts) {
        return next;
    }
    if (given + JUMP_NS < rounds->given_pts) {
        rounds->shift_ns = (int64_t)(next - given);
    }
    pts = given + (GstClockTime)rounds->shift_ns;
    return pts > rounds->pts ? pts : rounds->pts + 1;
}

// Pictures without times, or with the same, follow each other by a period rather than all at once.
// Takes `buffer` and returns the one to send instead.
static GstBuffer *stamp(struct rounds *rounds, GstBuffer *buffer)
{
    GstClockTime given = GST_BUFFER_PTS(buffer);

    rounds->pts = picture_pts(rounds, given);
    if (GST_CLOCK_TIME_IS_VALID(given)) {
        rounds->given_pts = given;
    }
    if (rounds->pts != given) {
        buffer = gst_buffer_make_writable(buffer);
        GST_BUFFER_PTS(buffer) = rounds->pts;
    }
    return buffer;
}

static void note_picture(struct rounds *rounds, const GstBuffer *buffer)
{
    GstClockTime running = due(rounds, buffer);
    int64_t lead_ns = (int64_t)running - rounds->begin_ns;

    if (!GST_CLOCK_TIME_IS_VALID(running)) {
        return;
    }
    if (!rounds->pictures && lead_ns < rounds->lead_ns) {
        rounds->lead_ns = lead_ns;
    }
    if ((int64_t)running > rounds->last_ns) {
        rounds->last_ns = (int64_t)running;
    }
    rounds->pictures = true;
}

static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    struct rounds *rounds = data;
    GstEvent *segment;

    pthread_mutex_lock(&rounds->lock);
    // What comes between rounds_begin() and the first segment is about to be dropped.
    segment = hurry(rounds, buffer);
    pthread_mutex_unlock(&rounds->lock);
    if (segment) {
        gst_pad_send_event(pad, segment); // passes on_event()
    }
    pthread_mutex_lock(&rounds->lock);
    if (rounds->begun > 0) {
        buffer = stamp(rounds, buffer);
        note_picture(rounds, buffer);
        GST_PAD_PROBE_INFO_DATA(info) = buffer;
    }
    pthread_mutex_unlock(&rounds->lock);
    return GST_PAD_PROBE_OK;
}

// Takes `event` and returns the one to send instead.
static GstEvent *place_event(struct rounds *rounds, GstEvent *event)
{
    guint32 seek = gst_event_get_seqnum(event);
    GstSegment segment;
    GstEvent *delayed;

    gst_event_copy_segment(event, &segment);
    place_segment(rounds, &segment, seek);
    delayed = gst_event_new_segment(&segment);
    gst_event_set_seqnum(delayed, seek);
    gst_event_unref(event);
    return delayed;
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    struct rounds *rounds = data;

    (void)pad;
    // The sink would take a gap for its first picture, and the format would never be known.
    if (GST_EVENT_TYPE(event) == GST_EVENT_GAP) {
        return GST_PAD_PROBE_DROP;
    }
    if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) {
        pthread_mutex_lock(&rounds->lock);
        GST_PAD_PROBE_INFO_DATA(info) = place_event(rounds, event);
        pthread_mutex_unlock(&rounds->lock);
    }
    return GST_PAD_PROBE_OK;
}

struct rounds *rounds_watch(GstPad *pad)
{
    struct rounds *rounds = calloc(1, sizeof *rounds);

    if (!rounds) {
        return NULL;
    }
    pthread_mutex_init(&rounds->lock, NULL);
    rounds_begin(rounds, 0);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, rounds, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, rounds, rounds_free);
    return rounds;
}

void rounds_begin(struct rounds *rounds, int64_t period_ns)
{
    pthread_mutex_lock(&rounds->lock);
    rounds->period_ns = period_ns;
    rounds->begun = 0;
    rounds->lead_ns = INT64_MAX;
    rounds->last_ns = 0;
    rounds->pictures = false;
    pthread_mutex_unlock(&rounds->lock);
}

int64_t rounds_last_ns(struct rounds *rounds)
{
    int64_t last_ns;

    pthread_mutex_lock(&rounds->lock);
    last_ns = rounds->last_ns;
    pthread_mutex_unlock(&rounds->lock);
    return last_ns;
}

bool rounds_have_come(struct rounds *rounds, unsigned count)
{
    bool come;

    pthread_mutex_lock(&rounds->lock);
    come = rounds->begun >= count && rounds->pictures;
    pthread_mutex_unlock(&rounds->lock);
    return come;
}
