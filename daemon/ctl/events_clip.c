#include "daemon/ctl/events_clip.h"

#include "daemon/camera/sentry.h"
#include "daemon/ctl/clip_reader.h"

#include <errno.h>
#include <inttypes.h>

struct clip {
    bool frames;
    FILE *output;
    struct sentry *sentry; // owned
};

// Names of regions need no escaping, and a '.' is a '.' in every locale.
static void print_number(struct clip *clip, const char *name, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    fprintf(clip->output, ",\"%s\":%s", name, g_ascii_formatd(text, sizeof text, "%.4f", value));
}

static void print_time(struct clip *clip, const char *name, int64_t time_ns)
{
    print_number(clip, name, (double)time_ns / (double)NS_PER_S);
}

static void print_region(struct clip *clip, const struct link_region *region)
{
    print_number(clip, "share", region->share);
    fprintf(clip->output, ",\"box\":{\"x\":%u,\"y\":%u,\"width\":%u,\"height\":%u}", region->x,
            region->y, region->width, region->height);
}

static void print_event(void *context, const struct link_event *event)
{
    struct clip *clip = context;
    bool ended = event->kind == LINK_EVENT_MOTION_ENDED;

    fprintf(clip->output, "{\"event\":\"motion_%s\",\"region\":\"%s\",\"number\":%" PRIu64,
            ended ? "ended" : "started", event->region.name, event->number);
    print_time(clip, "time_s", event->at_ns);
    print_time(clip, "started_s", event->started_ns);
    print_region(clip, &event->region);
    print_number(clip, "peak", event->peak_share);
    fputs("}\n", clip->output);
}

static void print_frame(struct clip *clip, int64_t time_ns)
{
    const struct link_region *region;

    for (size_t i = 0; (region = sentry_region(clip->sentry, i)); i++) {
        fprintf(clip->output, "{\"event\":\"frame\",\"region\":\"%s\",\"moving\":%s", region->name,
                region->moving ? "true" : "false");
        print_time(clip, "time_s", time_ns);
        print_region(clip, region);
        fputs("}\n", clip->output);
    }
}

static int see_frames(struct clip *clip, struct clip_reader *reader, struct error *error)
{
    int r;

    do {
        _cleanup_(cleanup_frame) struct frame *frame = NULL;

        r = clip_reader_next(reader, error, &frame);
        if (r > 0) {
            sentry_see(clip->sentry, frame);
        }
        if (r > 0 && clip->frames) {
            print_frame(clip, frame->pts_ns);
        }
    } while (r > 0);
    return r;
}

int events_read_clip(const struct config_camera *camera, const char *path, bool frames,
                     FILE *output, struct error *error)
{
    struct clip clip = {.frames = frames, .output = output};
    struct clip_reader *reader = NULL;
    int r = sentry_new(camera, print_event, &clip, &clip.sentry);

    r = r < 0 ? error_set(error, r, "out of memory")
              : clip_reader_new(path, path, false, frame_allocator_host(), error, &reader);
    if (r == 0) {
        r = see_frames(&clip, reader, error);
    }
    clip_reader_free(reader);
    sentry_free(clip.sentry);
    return r;
}
