#include "daemon/front/record/tracks.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define PICTURE_NS (NS_PER_S / 2) // between two pictures of a track, at least

struct track {
    struct tracks *tracks;
    uint32_t number; // of the track
    struct record_track settings;
    struct config_names regions; // whose motion is recorded; none: that of all
    struct stream *stream;       // a reference
    struct stream_reader reader;
    uint64_t unit;     // number of the last one sent
    uint64_t expected; // place in the ring of the one after it
    uint64_t clip;     // the newest that is open; 0: none
    bool tell_motion;  // what is under way: the recorder has not heard of it
    // The picture of what is under way.
    float share, asked_share;   // of the picture sent last, and of the one that is waited for
    int64_t asked_ns;           // when a picture was asked for last
    struct still_waiter waiter; // for it
};

struct tracks {
    struct recorder *recorder; // borrowed
    GPtrArray *list;           // owned struct track
    uint32_t numbers;          // given so far
};

// Units
// ---------------------------------------------------------------------

// The number of the unit that was peeked, of which a slate that is given is not in the ring.
static uint64_t number_of(const struct track *track)
{
    uint64_t place = track->reader.number; // of the unit after it
    uint64_t lost = track->unit && place > track->expected + 1 ? place - track->expected - 1 : 0;

    return track->unit + 1 + lost;
}

static int send_unit(const struct track *track, const struct unit *unit)
{
    struct record_unit head = {
        .captured_ns = unit->captured_ns,
        .number = number_of(track),
        .key_frame = unit->key_frame,
        .slate = unit->slate,
    };
    const struct iovec pieces[] = {{&head, sizeof head}, {unit->bytes, unit->size}};

    return recorder_send(track->tracks->recorder, RECORD_UNIT, track->number, pieces, 2);
}

// Sends what there is. Where the recorder takes no more, tracks_drain() goes on.
static void drain(void *context)
{
    struct track *track = context;
    const struct unit *unit;

    while ((unit = reader_peek(&track->reader))) {
        int r = send_unit(track, unit);

        if (r == -ENOBUFS) {
            reader_block(&track->reader, false);
            return;
        }
        if (r < 0) {
            reader_hold(&track->reader); // until tracks_connect()
            return;
        }
        track->unit = number_of(track);
        track->expected = track->reader.number;
        reader_next(&track->reader);
    }
}

static void tell_settings(const struct track *track)
{
    const struct iovec piece = {(void *)&track->settings, sizeof track->settings};

    recorder_send(track->tracks->recorder, RECORD_TRACK, track->number, &piece, 1);
}

static void begin_to_read(struct track *track)
{
    tell_settings(track);
    track->clip = 0;
    track->unit = 0;
    track->tell_motion = true;
    reader_hold(&track->reader);
    stream_resume(track->stream, &track->reader, DEMAND_BEGIN);
    drain(track);
}

// Pictures
// ---------------------------------------------------------------------

static void send_picture(void *context, struct still *still)
{
    struct track *track = context;
    struct record_picture head = {.captured_ns = still->captured_ns, .share = track->asked_share};
    const struct iovec pieces[] = {{&head, sizeof head}, {(void *)still->bytes, still->size}};

    if (recorder_send(track->tracks->recorder, RECORD_PICTURE, track->number, pieces, 2) == 0) {
        track->share = track->asked_share;
    }
}

static void take_picture(struct track *track, float share)
{
    int64_t now_ns = clock_now_ns();

    if (track->waiter.stills || now_ns - track->asked_ns < PICTURE_NS) {
        return;
    }
    track->asked_ns = now_ns;
    track->asked_share = share;
    track->waiter =
        (struct still_waiter){.after_ns = now_ns, .ready = send_picture, .context = track};
    stills_wait(stream_stills(track->stream), &track->waiter);
}

// The life of a track
// ---------------------------------------------------------------------

static struct record_track settings_of(const struct config_camera *camera)
{
    const struct config_record *record = &camera->record;
    const struct config_view *view = config_record_view(camera);
    struct record_track settings = {
        .mode = record->mode == CONFIG_RECORD_ALWAYS ? RECORD_ALWAYS : RECORD_EVENTS,
        .codec = view->codec,
        .before_ns = (int64_t)(record->before_s * NS_PER_S),
        .after_ns = (int64_t)(record->after_s * NS_PER_S),
        .max_clip_ns = record->max_clip_s * NS_PER_S,
    };

    snprintf(settings.camera, sizeof settings.camera, "%s", camera->name);
    snprintf(settings.view, sizeof settings.view, "%s", view->name);
    return settings;
}

static struct track *find(const struct tracks *tracks, const char *camera)
{
    for (guint i = 0; i < tracks->list->len; i++) {
        struct track *track = g_ptr_array_index(tracks->list, i);

        if (strcmp(track->settings.camera, camera) == 0) {
            return track;
        }
    }
    return NULL;
}

static void free_track(gpointer data)
{
    struct track *track = data;

    recorder_send(track->tracks->recorder, RECORD_TRACK_END, track->number, NULL, 0);
    stills_leave(&track->waiter);
    stream_leave(track->stream, &track->reader);
    stream_unref(track->stream);
    g_free(track);
}

static struct track *add_track(struct tracks *tracks, struct stream *stream)
{
    struct track *track = g_new0(struct track, 1);

    track->tracks = tracks;
    track->number = ++tracks->numbers;
    track->stream = stream_ref(stream);
    stream_watch(stream, &track->reader, drain, track);
    g_ptr_array_add(tracks->list, track);
    return track;
}

static void configure_track(struct tracks *tracks, const struct config_camera *camera,
                            struct stream *stream)
{
    const struct record_track settings = settings_of(camera);
    struct track *track = find(tracks, camera->name);
    bool is_new = !track || track->stream != stream;
    bool is_changed = is_new || memcmp(&track->settings, &settings, sizeof settings) != 0;

    if (track && is_new) {
        g_ptr_array_remove(tracks->list, track);
    }
    track = is_new ? add_track(tracks, stream) : track;
    track->settings = settings;
    track->regions = camera->record.regions;
    if (is_new) {
        begin_to_read(track);
    } else if (is_changed) {
        tell_settings(track);
    }
}

static const struct config_camera *find_recorded(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        if (strcmp(camera->name, name) == 0 && camera->record.mode != CONFIG_RECORD_OFF) {
            return camera;
        }
    }
    return NULL;
}

void tracks_configure(struct tracks *tracks, const struct config *config,
                      struct stream *const *streams)
{
    for (guint i = tracks->list->len; i-- > 0;) {
        const struct track *track = g_ptr_array_index(tracks->list, i);

        if (!find_recorded(config, track->settings.camera)) {
            g_ptr_array_remove_index(tracks->list, i);
        }
    }
    for (size_t i = 0; i < config->camera_count; i++) {
        if (config->cameras[i].record.mode != CONFIG_RECORD_OFF) {
            configure_track(tracks, &config->cameras[i], streams[i]);
        }
    }
    recorder_want(tracks->recorder, tracks->list->len > 0);
}

void tracks_stop(struct tracks *tracks)
{
    g_ptr_array_set_size(tracks->list, 0);
    recorder_want(tracks->recorder, false);
}

struct tracks *tracks_new(struct recorder *recorder)
{
    struct tracks *tracks = g_new0(struct tracks, 1);

    tracks->recorder = recorder;
    tracks->list = g_ptr_array_new_with_free_func(free_track);
    return tracks;
}

void tracks_free(struct tracks *tracks)
{
    if (tracks) {
        g_ptr_array_unref(tracks->list);
        g_free(tracks);
    }
}

// What the recorder and the cameras tell
// ---------------------------------------------------------------------

void tracks_connect(struct tracks *tracks)
{
    for (guint i = 0; i < tracks->list->len; i++) {
        begin_to_read(g_ptr_array_index(tracks->list, i));
    }
}

void tracks_drain(struct tracks *tracks)
{
    for (guint i = 0; i < tracks->list->len; i++) {
        drain(g_ptr_array_index(tracks->list, i));
    }
}

static void tell_event(const struct track *track, const char *region,
                       const struct record_event *event)
{
    struct record_event told = *event;
    const struct iovec piece = {&told, sizeof told};

    if (config_record_has_region(&track->regions, region)) {
        snprintf(told.region, sizeof told.region, "%s", region);
        recorder_send(track->tracks->recorder, RECORD_EVENT, track->number, &piece, 1);
    }
}

void tracks_note_clip(struct tracks *tracks, const struct record_clip *clip)
{
    struct track *track = find(tracks, clip->camera);

    if (!track) {
        return;
    }
    if (!clip->is_open) {
        track->clip = track->clip == clip->id ? 0 : track->clip;
    } else if (clip->id > track->clip) {
        track->clip = clip->id;
        track->share = 0;
        take_picture(track, 0);
    }
}

void tracks_note_motion(struct tracks *tracks, const struct motion_event *event)
{
    const struct track *track = find(tracks, event->camera);

    if (track) {
        tell_event(track, event->region,
                   &(struct record_event){.number = event->number,
                                          .started_ns = event->started_ns,
                                          .at_ns = event->at_ns,
                                          .peak = (float)event->peak,
                                          .ended = event->kind == MOTION_ENDED});
    }
}

void tracks_note_shares(struct tracks *tracks, const struct regions *regions)
{
    struct track *track = find(tracks, regions->camera);
    float share = 0;

    for (size_t i = 0; track && i < regions->count; i++) {
        const struct region *region = &regions->list[i];

        if (!region->moving || !config_record_has_region(&track->regions, region->name)) {
            continue;
        }
        share = MAX(share, (float)region->share);
        if (track->tell_motion) {
            tell_event(track, region->name,
                       &(struct record_event){.number = region->events,
                                              .started_ns = region->started_ns,
                                              .at_ns = region->started_ns,
                                              .peak = (float)region->peak});
        }
    }
    if (track) {
        track->tell_motion = false;
    }
    if (track && track->clip && share > track->share) {
        take_picture(track, share);
    }
}

uint32_t tracks_find(const struct tracks *tracks, const char *camera)
{
    const struct track *track = find(tracks, camera);

    return track ? track->number : 0;
}

uint64_t tracks_open_clip(const struct tracks *tracks, const char *camera, const char *region)
{
    const struct track *track = find(tracks, camera);

    return track && config_record_has_region(&track->regions, region) ? track->clip : 0;
}
