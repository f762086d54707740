#include "daemon/ctl/process/process_clip.h"

#include "capture/clip/clip_reader.h"
#include "daemon/ctl/process/clip_writer.h"
#include "daemon/ctl/progress.h"

#include <errno.h>

// A clip that is being read. The view is made for frames like the first one.
struct reading {
    const struct process_clip *clip;
    struct clip_reader *reader; // owned
    struct flip *flip;          // owned; NULL: pictures stay as they are
    struct view *view;          // owned
    struct frame_layout layout; // of all frames
    struct progress progress;   // in milliseconds of a duration that is known
};

static int reading_begin(struct reading *reading, enum view_output output, struct error *error)
{
    const struct process_clip *clip = reading->clip;
    const struct clip_facts *facts;
    // Exact pictures with the camera's colours are RGB; streams are YUV, as the daemon's.
    bool rgb = output == VIEW_OUTPUT_EXACT && config_view_reads_colour(clip->settings);
    int r = clip_reader_new(clip->input, clip->input_name, rgb,
                            gpu_session_allocator(clip->session), error, &reading->reader);

    if (r < 0) {
        clip->session->failed |= r == -ENOMEM && clip->session->gpu;
        return r;
    }
    facts = clip_reader_facts(reading->reader);
    reading->layout = facts->layout;
    r = gpu_session_flip_new(clip->session, clip->flip, &reading->layout, error, &reading->flip);
    if (r < 0) {
        return r;
    }
    const struct view_setup setup = {.settings = clip->settings,
                                     .input = reading->flip ? flip_layout(reading->flip)
                                                            : &reading->layout,
                                     .output = output,
                                     .frames = CLIP_READER_FRAMES};
    r = gpu_session_view_new(clip->session, &setup, error, &reading->view);
    if (r == 0 && facts->duration_ns >= 0) {
        progress_start(&reading->progress, clip->settings->name,
                       (size_t)(facts->duration_ns / NS_PER_MS) + 1);
    }
    return r;
}

static void reading_end(struct reading *reading)
{
    progress_end(&reading->progress);
    view_free(reading->view);
    flip_free(reading->flip);
    clip_reader_free(reading->reader);
}

// The next frame: 1, or 0 at the end of the clip.
static int reading_next(struct reading *reading, struct error *error, struct frame **ret_frame)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    int r = clip_reader_next(reading->reader, error, &frame);

    if (r <= 0) {
        return r;
    }
    if (!frame_layout_equal(&frame->layout, &reading->layout)) {
        return error_set(error, -EINVAL,
                         "%s: its colours change after %.1f s, allowed are clips of one format",
                         reading->clip->input_name, (double)frame->pts_ns / (double)NS_PER_S);
    }
    if (reading->progress.steps > 0) {
        progress_reach(&reading->progress, (size_t)(frame->pts_ns / NS_PER_MS));
    }
    *ret_frame = TAKE(frame);
    return 1;
}

// The view's picture of *frame, which becomes the flipped one.
static int compute(struct reading *reading, struct frame **frame, struct error *error,
                   struct frame **ret_output)
{
    struct gpu_session *session = reading->clip->session;
    int r = gpu_session_flip_run(session, reading->flip, error, frame);

    if (r == 0) {
        r = gpu_session_view_run(session, reading->view, *frame, error, ret_output);
    }
    return r < 0 ? error_prefix(error, r, "the view failed") : 0;
}

// Says which row or column is missing in the output, whose sides are even.
static void say_what_is_cut(const char *name, const struct frame_layout *layout)
{
    if (layout->width % 2 != 0 || layout->height % 2 != 0) {
        fprintf(stderr, "edgectl: %s: H.264 has even sizes only, %ux%u becomes %ux%u\n", name,
                layout->width, layout->height, layout->width & ~1U, layout->height & ~1U);
    }
}

static int write_all(struct reading *reading, struct clip_writer *writer, struct error *error)
{
    int r;

    do {
        _cleanup_(cleanup_frame) struct frame *input = NULL, *output = NULL;

        r = reading_next(reading, error, &input);
        if (r > 0) {
            r = compute(reading, &input, error, &output);
            r = r == 0 ? clip_writer_push(writer, output, error) : r;
            r = r == 0 ? 1 : r;
        }
    } while (r > 0);
    return r == 0 ? clip_writer_finish(writer, error) : r;
}

int process_clip_to_clip(const struct process_clip *clip, const char *muxer, const char *path,
                         const char *name, struct error *error)
{
    struct reading reading = {.clip = clip,
                              .progress = {.what = clip->settings->name, .percent = -1}};
    struct clip_writer *writer = NULL;
    int r = reading_begin(&reading, VIEW_OUTPUT_STREAM, error);

    if (r == 0) {
        const struct clip_writer_settings settings = {.layout = view_output_layout(reading.view),
                                                      .like =
                                                          &clip_reader_facts(reading.reader)->info,
                                                      .bitrate_kbps = clip->settings->bitrate_kbps,
                                                      .muxer = muxer,
                                                      .path = path,
                                                      .name = name};
        say_what_is_cut(name, settings.layout);
        r = clip_writer_new(&settings, error, &writer);
    }
    if (r == 0) {
        r = write_all(&reading, writer, error);
    }
    clip_writer_free(writer);
    reading_end(&reading);
    return r;
}

int process_clip_to_picture(const struct process_clip *clip, unsigned number, struct error *error,
                            struct frame **ret_picture)
{
    struct reading reading = {.clip = clip,
                              .progress = {.what = clip->settings->name, .percent = -1}};
    bool remembers = config_view_remembers(clip->settings);
    struct frame *picture = NULL;
    int r = reading_begin(&reading, VIEW_OUTPUT_EXACT, error);

    for (unsigned i = 0; i <= number && r >= 0; i++) {
        _cleanup_(cleanup_frame) struct frame *input = NULL;

        r = reading_next(&reading, error, &input);
        if (r == 0) {
            r = error_set(error, -ERANGE, "%s: --frame %u: allowed are 0 to %u", clip->input_name,
                          number, i - 1);
        } else if (r > 0 && (remembers || i == number)) {
            frame_unref(TAKE(picture));
            r = compute(&reading, &input, error, &picture);
        }
    }
    reading_end(&reading);
    if (r < 0) {
        frame_unref(picture);
        return r;
    }
    *ret_picture = picture;
    return 0;
}
