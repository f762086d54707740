#include "daemon/camera/report.h"

#include <stdio.h>
#include <string.h>

void report_init(struct report *report, const struct copies *copies)
{
    memset(report, 0, sizeof *report);
    report->copies = copies;
    pthread_mutex_init(&report->lock, NULL);
}

void report_finish(struct report *report)
{
    pthread_mutex_destroy(&report->lock);
}

bool report_set_state(struct report *report, enum link_camera_state state, const char *error)
{
    struct link_telemetry *telemetry = &report->telemetry;

    pthread_mutex_lock(&report->lock);
    bool told = telemetry->state == state ||
                (telemetry->state == LINK_CAMERA_SILENT && state == LINK_CAMERA_NO_SIGNAL);
    bool news = !told || strcmp(telemetry->error, error) != 0;
    telemetry->state = state;
    snprintf(telemetry->error, sizeof telemetry->error, "%s", error);
    pthread_mutex_unlock(&report->lock);
    return news;
}

void report_set_end(struct report *report, enum link_type type, const char *reason)
{
    pthread_mutex_lock(&report->lock);
    report->end = type;
    snprintf(report->end_reason, sizeof report->end_reason, "%s", reason);
    pthread_mutex_unlock(&report->lock);
}

enum link_type report_get_end(struct report *report, char *ret_reason, size_t size)
{
    pthread_mutex_lock(&report->lock);
    enum link_type type = report->end;
    snprintf(ret_reason, size, "%s", report->end_reason);
    pthread_mutex_unlock(&report->lock);
    return type;
}

void report_source_opened(struct report *report)
{
    report->window_ns = 0;
}

// The frame at its beginning is not counted: fps is the distances between frames.
static void begin_window(struct report *report, int64_t now_ns)
{
    report->window_ns = now_ns;
    report->window_frames = 0;
}

static void set_counters(struct report *report, const struct source_counters *open)
{
    report->telemetry.frames = report->closed.frames + open->frames;
    report->telemetry.dropped = report->closed.dropped + open->dropped;
    report->telemetry.corrupted = report->closed.corrupted + open->corrupted;
    for (int kind = 0; kind < COPY_KIND_COUNT; kind++)
        report->telemetry.copies[kind] = report->copies->count[kind];
}

bool report_source_frame(struct report *report, const struct source *source, int64_t now_ns,
                         int64_t patience_ns)
{
    bool first = report->window_ns == 0;
    int64_t window_ns = first ? 0 : now_ns - report->window_ns;
    bool ended = window_ns >= NS_PER_S;

    report->window_frames++;
    pthread_mutex_lock(&report->lock);
    set_counters(report, &source->counters);
    report->telemetry.last_frame_ns = now_ns;
    report->telemetry.patience_ns = patience_ns;
    if (ended) {
        report->telemetry.fps_milli =
            (uint32_t)((int64_t)report->window_frames * 1000 * NS_PER_S / window_ns);
    }
    pthread_mutex_unlock(&report->lock);
    if (first || ended)
        begin_window(report, now_ns);
    return ended;
}

void report_source_closed(struct report *report, const struct source *source, bool lost)
{
    pthread_mutex_lock(&report->lock);
    set_counters(report, &source->counters);
    report->closed = (struct source_counters){.frames = report->telemetry.frames,
                                              .dropped = report->telemetry.dropped,
                                              .corrupted = report->telemetry.corrupted};
    report->telemetry.reconnects += lost;
    report->telemetry.fps_milli = 0;
    report->telemetry.patience_ns = 0;
    pthread_mutex_unlock(&report->lock);
}

void report_set_path(struct report *report, const struct frame_layout *picture, const char *path)
{
    struct link_telemetry *telemetry = &report->telemetry;

    pthread_mutex_lock(&report->lock);
    telemetry->width = picture->width;
    telemetry->height = picture->height;
    snprintf(telemetry->format, sizeof telemetry->format, "%s", picture->format->name);
    snprintf(telemetry->path, sizeof telemetry->path, "%s", path);
    pthread_mutex_unlock(&report->lock);
}

void report_set_regions(struct report *report, const struct motion_watch *motion_watch)
{
    const struct link_region *region;

    pthread_mutex_lock(&report->lock);
    memset(report->telemetry.regions, 0, sizeof report->telemetry.regions);
    for (size_t i = 0; (region = motion_watch_region(motion_watch, i)); i++)
        report->telemetry.regions[i] = *region;
    pthread_mutex_unlock(&report->lock);
}

void report_set_configuration(struct report *report, uint32_t number, const char *refusal)
{
    pthread_mutex_lock(&report->lock);
    report->telemetry.configuration = number;
    snprintf(report->telemetry.refusal, sizeof report->telemetry.refusal, "%s", refusal);
    pthread_mutex_unlock(&report->lock);
}

void report_get(struct report *report, struct link_telemetry *ret_telemetry)
{
    pthread_mutex_lock(&report->lock);
    *ret_telemetry = report->telemetry;
    pthread_mutex_unlock(&report->lock);
}
