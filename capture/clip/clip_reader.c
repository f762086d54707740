#include "capture/clip/clip_reader.h"

#include "capture/clip/clip_intake.h"
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_frame.h"

#include <errno.h>

// After so long without a picture a clip whose last picture has come is over, although its demuxer
// does not say so (as GIF's does not); any other clip is broken.
#define OVER_NS (2 * NS_PER_S)
#define STUCK_NS (60 * NS_PER_S)
// Containers round durations, so a clip may be a quarter of a second shorter.
#define ROUNDING_NS (NS_PER_S / 4)
// The rate of clips that name none, in frames a second.
#define RATE 25

struct clip_reader {
    const char *name; // what errors call the clip
    bool rgb;
    struct clip_facts facts;
    struct intake *intake; // owned
    const struct frame_allocator *allocator;
    struct frame_pool *pool; // owned reference
    GstSample *sample;       // owned; decoded, but not handed out yet; else NULL
    struct copies copies;    // nobody reads these counts
    // Of the last frame that was handed out; end_ns is 0 before the first one.
    int64_t pts_ns, end_ns;
    int64_t video_end_ns; // of the video alone, as its container names it; -1: it does not
};

static int64_t period_ns(const struct clip_reader *reader)
{
    const GstVideoInfo *info = &reader->facts.info;

    return info->fps_n > 0 && info->fps_d > 0 ? NS_PER_S * info->fps_d / info->fps_n
                                              : NS_PER_S / RATE;
}

// Makes a pool of frames like the sample, unless the pool is one already.
static int take_caps(struct clip_reader *reader, struct error *error)
{
    GstCaps *caps = gst_sample_get_caps(reader->sample);
    struct frame_layout *layout = &reader->facts.layout;
    struct source_mode mode = {0};
    int r;

    if (!gst_video_info_from_caps(&reader->facts.info, caps) ||
        gstreamer_caps_read(caps, &mode) < 0) {
        return error_set(error, -EINVAL, "no size or format in its video");
    }
    frame_layout_init(layout, mode.layout.format, mode.layout.width, mode.layout.height,
                      FRAME_STRIDE_ALIGN);
    if (!reader->rgb) {
        layout->range = mode.layout.range;
        layout->colour = mode.layout.colour;
    }
    if (reader->pool && frame_layout_equal(frame_pool_layout(reader->pool), layout))
        return 0;
    frame_pool_unref(TAKE(reader->pool));
    r = frame_pool_new(layout, CLIP_READER_FRAMES, reader->allocator, &reader->pool);
    return r < 0
               ? error_set(error, r, "no memory for frames of %ux%u", layout->width, layout->height)
               : 0;
}

// When the last picture should be over; -1: nobody knows. The sound may be longer.
static int64_t named_end_ns(const struct clip_reader *reader)
{
    int64_t duration_ns = reader->facts.duration_ns;

    return reader->video_end_ns >= 0 ? MIN(reader->video_end_ns, duration_ns) : duration_ns;
}

static bool has_reached_end(const struct clip_reader *reader)
{
    return reader->facts.duration_ns >= 0 && reader->end_ns + ROUNDING_NS >= named_end_ns(reader);
}

static int check_end(const struct clip_reader *reader, struct error *error)
{
    if (reader->end_ns == 0)
        return error_set(error, -ENODATA, "no video in it");
    if (reader->facts.duration_ns >= 0 && !has_reached_end(reader)) {
        return error_set(error, -ENODATA, "truncated, the video ends after %.1f s of %.1f s",
                         (double)reader->end_ns / (double)NS_PER_S,
                         (double)named_end_ns(reader) / (double)NS_PER_S);
    }
    return 0;
}

// Waits for the next sample: 1, or 0 at the end of the clip.
static int decode(struct clip_reader *reader, struct error *error)
{
    bool ends = has_reached_end(reader);

    switch (intake_wait(reader->intake, clock_now_ns() + (ends ? OVER_NS : STUCK_NS))) {
    case INTAKE_SAMPLE: {
        reader->sample = intake_take_sample(reader->intake);
        int r = take_caps(reader, error);
        return r < 0 ? r : 1;
    }
    case INTAKE_FAILED:
        return intake_failure(reader->intake, error) == -EINVAL
                   ? error_set(error, -ENODATA, "no video in it")
                   : -EIO;
    case INTAKE_TIMEOUT:
        return ends ? 0
                    : error_set(error, -ETIMEDOUT,
                                "nothing came for a minute after %.1f s, the file may be damaged",
                                (double)reader->end_ns / (double)NS_PER_S);
    default:
        return check_end(reader, error);
    }
}

static int start(struct clip_reader *reader, const char *path, struct error *error)
{
    static const struct source_environment nothing_lent;
    const struct pixel_format *format = reader->rgb ? pixel_format_by_name("RGB3") : NULL;
    gint64 duration_ns;
    int r;

    gst_init(NULL, NULL); // only the first call does anything
    r = clip_intake_new(path, format, &nothing_lent, error, &reader->intake);
    if (r < 0)
        return r;
    intake_play(reader->intake);
    r = decode(reader, error);
    if (r > 0 && gst_element_query_duration(intake_pipeline(reader->intake), GST_FORMAT_TIME,
                                            &duration_ns)) {
        reader->facts.duration_ns = duration_ns;
    }
    return r;
}

int clip_reader_new(const char *path, const char *name, bool rgb,
                    const struct frame_allocator *allocator, struct error *error,
                    struct clip_reader **ret_reader)
{
    struct clip_reader *reader = calloc(1, sizeof *reader);
    int r;

    if (!reader)
        return error_set(error, -ENOMEM, "%s: out of memory", name);
    reader->allocator = allocator;
    reader->rgb = rgb;
    reader->facts.duration_ns = reader->video_end_ns = -1;
    reader->name = name;
    r = start(reader, path, error);
    if (r < 0) {
        clip_reader_free(reader);
        return error_prefix(error, r, "%s", name);
    }
    *ret_reader = reader;
    return 0;
}

void clip_reader_free(struct clip_reader *reader)
{
    if (reader) {
        intake_free(reader->intake);
        g_clear_pointer(&reader->sample, gst_sample_unref);
        frame_pool_unref(reader->pool);
        free(reader);
    }
}

const struct clip_facts *clip_reader_facts(const struct clip_reader *reader)
{
    return &reader->facts;
}

// Gives the frame a time, because muxers refuse frames without one, or with that of another frame.
static void stamp(struct clip_reader *reader, struct frame *frame)
{
    const GstBuffer *buffer = gst_sample_get_buffer(reader->sample);
    int64_t duration_ns = GST_BUFFER_DURATION_IS_VALID(buffer)
                              ? (int64_t)GST_BUFFER_DURATION(buffer)
                              : period_ns(reader);
    int64_t pts_ns = gstreamer_frame_clip_ns(reader->sample);

    if (pts_ns < 0 || (reader->end_ns > 0 && pts_ns <= reader->pts_ns))
        pts_ns = reader->end_ns;
    reader->pts_ns = frame->pts_ns = pts_ns;
    reader->end_ns = pts_ns + duration_ns;
    reader->video_end_ns = gstreamer_frame_clip_end_ns(reader->sample);
}

int clip_reader_next(struct clip_reader *reader, struct error *error, struct frame **ret_frame)
{
    struct frame *frame = NULL;
    int r = reader->sample ? 1 : decode(reader, error);

    if (r > 0) {
        r = gstreamer_frame_copy(reader->sample, reader->pool, &reader->copies, &frame);
        r = r < 0 ? error_set(error, r, "a frame that is smaller than it says") : 1;
    }
    if (r <= 0)
        return r < 0 ? error_prefix(error, r, "%s", reader->name) : 0;
    stamp(reader, frame);
    g_clear_pointer(&reader->sample, gst_sample_unref);
    *ret_frame = frame;
    return 1;
}
