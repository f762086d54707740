#include "daemon/front/model/tracks.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define PICTURE_NS (NS_PER_S / 2) // between two pictures of a track, at least
#define REPEAT_S 1                // until all that is wanted is said again
#define BEGIN_NS (10 * NS_PER_S)  // until a clip that was asked for has begun, at most

struct track {
    struct tracks *tracks;
    uint32_t number; // of the track
    struct record_track settings;
    struct config_names regions; // whose motion is recorded; none: that of all
    struct stream *stream;       // a reference
    struct stream_reader reader;
    struct record_wanted wanted; // as the recorder is told
    bool is_asked;               // record.mode is "off": it lasts as long as its clip
    int64_t begun_ns;            // when it was made
    int64_t asked_for_ns;        // how long its first clip is to be; 0: that has begun
    uint64_t clip;               // the newest that is open; 0: none
    // The picture of what is under way.
    float share, asked_share;   // of the picture sent last, and of the one that is waited for
    int64_t asked_ns;           // when a picture was asked for last
    struct still_waiter waiter; // for it
};

struct tracks {
    struct recorder *recorder; // borrowed
    GPtrArray *list;           // owned struct track
    GPtrArray *idle;           // owned struct idle_camera: those of record.mode "off"
    GPtrArray *waiters;        // borrowed struct clip_waiter
    uint32_t numbers;          // given so far
    GHashTable *open;          // the ids of the clips that are being written; owned
    guint repeat;              // GLib source id
};

// A camera that has no track, unless a clip is asked for.
struct idle_camera {
    struct record_track settings;
    struct stream *stream; // a reference
};

// Units
// ---------------------------------------------------------------------

static int send_unit(const struct track *track, const struct unit *unit)
{
    struct record_unit head = {
        .captured_ns = unit->captured_ns,
        .number = unit->number,
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
        reader_next(&track->reader);
    }
}

static void tell_settings(const struct track *track)
{
    const struct iovec piece = {(void *)&track->settings, sizeof track->settings};

    recorder_send(track->tracks->recorder, RECORD_TRACK, track->number, &piece, 1);
}

// If this one finds no room, the next one tells the same.
static void tell_wanted(const struct track *track)
{
    const struct iovec piece = {(void *)&track->wanted, sizeof track->wanted};

    recorder_send(track->tracks->recorder, RECORD_WANTED, track->number, &piece, 1);
}

static void begin_to_read(struct track *track)
{
    tell_settings(track);
    tell_wanted(track);
    track->clip = 0;
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

    if (recorder_send(track->tracks->recorder, RECORD_PICTURE, track->number, pieces, 2) == 0)
        track->share = track->asked_share;
}

static void take_picture(struct track *track, float share)
{
    int64_t now_ns = clock_now_ns();

    if (track->waiter.stills || now_ns - track->asked_ns < PICTURE_NS)
        return;
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

        if (strcmp(track->settings.camera, camera) == 0)
            return track;
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
    track->begun_ns = clock_now_ns();
    track->stream = stream_ref(stream);
    stream_watch(stream, &track->reader, drain, track);
    track->reader.wants_all = true;
    g_ptr_array_add(tracks->list, track);
    return track;
}

static bool has_region(const struct track *track, const char *region)
{
    return !track->is_asked && config_record_has_region(&track->regions, region);
}

// Forgets regions whose motion is not recorded any more.
static void forget_regions(struct track *track)
{
    struct record_wanted *wanted = &track->wanted;
    uint32_t count = wanted->region_count;

    for (uint32_t i = count; i-- > 0;) {
        if (!has_region(track, wanted->regions[i].region))
            wanted->regions[i] = wanted->regions[--wanted->region_count];
    }
    wanted->number += wanted->region_count < count;
}

static void configure_track(struct tracks *tracks, const struct config_camera *camera,
                            struct stream *stream)
{
    const struct record_track settings = settings_of(camera);
    struct track *track = find(tracks, camera->name);
    bool is_new = !track || track->stream != stream;
    bool is_changed = is_new || memcmp(&track->settings, &settings, sizeof settings) != 0;
    const struct record_wanted wanted = track ? track->wanted : (struct record_wanted){.number = 1};

    if (track && is_new)
        g_ptr_array_remove(tracks->list, track);
    track = is_new ? add_track(tracks, stream) : track;
    track->wanted = wanted;
    track->settings = settings;
    track->is_asked = camera->record.mode == CONFIG_RECORD_OFF;
    track->regions = camera->record.regions;
    forget_regions(track);
    if (is_new)
        begin_to_read(track);
    else if (is_changed)
        tell_settings(track);
}

// Whether the camera of a track is there and still recorded.
static bool is_recorded(const struct track *track, const struct config *config)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        if (strcmp(camera->name, track->settings.camera) == 0)
            return track->is_asked || camera->record.mode != CONFIG_RECORD_OFF;
    }
    return false;
}

static void free_idle(gpointer data)
{
    struct idle_camera *idle = data;

    stream_unref(idle->stream);
    g_free(idle);
}

static void add_idle(const struct tracks *tracks, const struct config_camera *camera,
                     struct stream *stream)
{
    struct idle_camera *idle = g_new0(struct idle_camera, 1);

    idle->settings = settings_of(camera);
    idle->stream = stream_ref(stream);
    g_ptr_array_add(tracks->idle, idle);
}

static const struct idle_camera *find_idle(const struct tracks *tracks, const char *camera)
{
    for (guint i = 0; i < tracks->idle->len; i++) {
        const struct idle_camera *idle = g_ptr_array_index(tracks->idle, i);

        if (strcmp(idle->settings.camera, camera) == 0)
            return idle;
    }
    return NULL;
}

void tracks_configure(struct tracks *tracks, const struct config *config,
                      struct stream *const *streams)
{
    for (guint i = tracks->list->len; i-- > 0;) {
        if (!is_recorded(g_ptr_array_index(tracks->list, i), config))
            g_ptr_array_remove_index(tracks->list, i);
    }
    g_ptr_array_set_size(tracks->idle, 0);
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        bool is_off = camera->record.mode == CONFIG_RECORD_OFF;

        if (is_off)
            add_idle(tracks, camera, streams[i]);
        if (!is_off || find(tracks, camera->name))
            configure_track(tracks, camera, streams[i]);
    }
    recorder_want(tracks->recorder, tracks->list->len > 0);
}

void tracks_stop(struct tracks *tracks)
{
    g_ptr_array_set_size(tracks->list, 0);
    g_ptr_array_set_size(tracks->idle, 0);
    recorder_want(tracks->recorder, false);
}

// Ends the tracks of clips that were asked for and are over, or do not begin.
static void end_asked(struct tracks *tracks)
{
    int64_t now_ns = clock_now_ns();

    for (guint i = tracks->list->len; i-- > 0;) {
        const struct track *track = g_ptr_array_index(tracks->list, i);
        bool is_over = !track->clip && (now_ns > track->wanted.asked_until_ns ||
                                        now_ns > track->begun_ns + BEGIN_NS);

        if (track->is_asked && is_over)
            g_ptr_array_remove_index(tracks->list, i);
    }
    recorder_want(tracks->recorder, tracks->list->len > 0);
}

// While something waits for the recorder nothing is repeated, because it would pile up.
static gboolean on_repeat(gpointer data)
{
    struct tracks *tracks = data;

    end_asked(tracks);
    for (guint i = 0; i < tracks->list->len && !recorder_is_behind(tracks->recorder); i++)
        tell_wanted(g_ptr_array_index(tracks->list, i));
    return G_SOURCE_CONTINUE;
}

struct tracks *tracks_new(struct recorder *recorder)
{
    struct tracks *tracks = g_new0(struct tracks, 1);

    tracks->recorder = recorder;
    tracks->list = g_ptr_array_new_with_free_func(free_track);
    tracks->idle = g_ptr_array_new_with_free_func(free_idle);
    tracks->waiters = g_ptr_array_new();
    tracks->open = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    tracks->repeat = g_timeout_add_seconds(REPEAT_S, on_repeat, tracks);
    return tracks;
}

void tracks_free(struct tracks *tracks)
{
    if (tracks) {
        g_source_remove(tracks->repeat);
        g_ptr_array_unref(tracks->list);
        g_ptr_array_unref(tracks->idle);
        g_ptr_array_unref(tracks->waiters);
        g_hash_table_unref(tracks->open);
        g_free(tracks);
    }
}

// Reports of the recorder and the cameras
// ---------------------------------------------------------------------

void tracks_connect(struct tracks *tracks)
{
    g_hash_table_remove_all(tracks->open); // those of a recorder that has ended are not told of
    for (guint i = 0; i < tracks->list->len; i++)
        begin_to_read(g_ptr_array_index(tracks->list, i));
}

void tracks_drain(struct tracks *tracks)
{
    for (guint i = 0; i < tracks->list->len; i++)
        drain(g_ptr_array_index(tracks->list, i));
}

// The place of a region's last event, which is new if there was none. Of those that are over the
// oldest makes room. NULL: there is no room.
static struct record_motion *find_motion(struct record_wanted *wanted, const char *region)
{
    struct record_motion *oldest = NULL;

    for (uint32_t i = 0; i < wanted->region_count; i++) {
        struct record_motion *motion = &wanted->regions[i];

        if (strcmp(motion->region, region) == 0)
            return motion;
        if (motion->ended_ns && (!oldest || motion->ended_ns < oldest->ended_ns))
            oldest = motion;
    }
    if (wanted->region_count == RECORD_REGIONS_MAX)
        return oldest;
    oldest = &wanted->regions[wanted->region_count++];
    *oldest = (struct record_motion){0};
    return oldest;
}

static bool is_same_motion(const struct record_motion *a, const struct record_motion *b)
{
    return strcmp(a->region, b->region) == 0 && a->number == b->number &&
           a->started_ns == b->started_ns && a->ended_ns == b->ended_ns &&
           !(a->peak < b->peak || a->peak > b->peak);
}

static void set_motion(struct track *track, const char *region, struct record_motion motion)
{
    struct record_motion *place =
        has_region(track, region) ? find_motion(&track->wanted, region) : NULL;

    snprintf(motion.region, sizeof motion.region, "%s", region);
    if (place && !is_same_motion(place, &motion)) {
        *place = motion;
        track->wanted.number++;
    }
}

// Whether it has been open.
static bool note_open(const struct tracks *tracks, const struct record_clip *clip)
{
    if (!clip->is_open)
        return g_hash_table_remove(tracks->open, &clip->id);
    g_hash_table_add(tracks->open, g_memdup(&clip->id, sizeof clip->id));
    return false;
}

// The first clip that was asked for is as long as it was to be from its beginning on, however long
// that took.
static void begin_to_count(struct track *track)
{
    if (track->asked_for_ns) {
        track->wanted.asked_until_ns = clock_now_ns() + track->asked_for_ns;
        track->asked_for_ns = 0;
        track->wanted.number++;
        tell_wanted(track);
    }
}

static void note_clip_of(struct track *track, const struct record_clip *clip)
{
    if (!clip->is_open) {
        track->clip = track->clip == clip->id ? 0 : track->clip;
    } else if (clip->id > track->clip) {
        track->clip = clip->id;
        track->share = 0;
        take_picture(track, 0);
        begin_to_count(track);
    }
}

bool tracks_note_clip(struct tracks *tracks, const struct record_clip *clip)
{
    struct track *track = find(tracks, clip->camera);

    if (track)
        note_clip_of(track, clip);
    for (guint i = 0; i < tracks->waiters->len; i++) {
        const struct clip_waiter *waiter = g_ptr_array_index(tracks->waiters, i);

        waiter->wake(waiter->context);
    }
    return note_open(tracks, clip);
}

void tracks_note_motion(struct tracks *tracks, const struct motion_event *event)
{
    struct track *track = find(tracks, event->camera);

    if (track) {
        set_motion(track, event->region,
                   (struct record_motion){
                       .number = event->number,
                       .started_ns = event->started_ns,
                       .ended_ns = event->kind == MOTION_ENDED ? event->at_ns : 0,
                       .peak = (float)event->peak,
                   });
        tell_wanted(track);
    }
}

void tracks_note_regions(struct tracks *tracks, const struct regions *regions)
{
    struct track *track = find(tracks, regions->camera);
    float share = 0;

    for (size_t i = 0; track && i < regions->count; i++) {
        const struct region *region = &regions->list[i];

        if (!region->moving || !has_region(track, region->name))
            continue;
        share = MAX(share, (float)region->share);
        set_motion(track, region->name,
                   (struct record_motion){.number = region->events,
                                          .started_ns = region->started_ns,
                                          .peak = (float)region->peak});
    }
    if (track && track->clip && share > track->share)
        take_picture(track, share);
}

void tracks_note_trigger(struct tracks *tracks, uint32_t number,
                         const struct record_trigger *trigger)
{
    for (guint i = 0; i < tracks->list->len; i++) {
        struct track *track = g_ptr_array_index(tracks->list, i);
        struct record_wanted *wanted = &track->wanted;

        if (track->number == number) {
            track->asked_for_ns = 0;
            wanted->asked_until_ns =
                record_trigger_until(trigger, &track->settings, wanted->asked_until_ns);
            wanted->asked_by = trigger->request;
            wanted->number++;
        }
    }
}

// Clips that are asked for
// ---------------------------------------------------------------------

void tracks_wait(struct tracks *tracks, struct clip_waiter *waiter)
{
    waiter->tracks = tracks;
    g_ptr_array_add(tracks->waiters, waiter);
}

void tracks_leave(struct clip_waiter *waiter)
{
    if (waiter->tracks)
        g_ptr_array_remove_fast(waiter->tracks->waiters, waiter);
    waiter->tracks = NULL;
}

// As tracks_configure() would: the recorder hears of the track and of what is wanted at once.
static void begin_asked(struct tracks *tracks, const struct idle_camera *idle,
                        const struct record_trigger *trigger)
{
    struct track *track = add_track(tracks, idle->stream);

    track->settings = idle->settings;
    track->is_asked = true;
    track->wanted.number = 1;
    track->asked_for_ns = trigger->duration_ns ? trigger->duration_ns : track->settings.max_clip_ns;
    track->wanted.asked_until_ns = trigger->asked_ns + BEGIN_NS + track->asked_for_ns;
    begin_to_read(track);
    recorder_want(tracks->recorder, true);
}

bool tracks_begin_clip(struct tracks *tracks, const char *camera,
                       const struct record_trigger *trigger)
{
    const struct idle_camera *idle = find_idle(tracks, camera);
    struct track *track = find(tracks, camera);

    if (!track && !idle)
        return false;
    if (!track && trigger->action == RECORD_STOP)
        return true;
    if (track) {
        track->asked_for_ns = 0;
        track->wanted.asked_until_ns =
            record_trigger_until(trigger, &track->settings, track->wanted.asked_until_ns);
        track->wanted.number++;
        tell_wanted(track);
    } else {
        begin_asked(tracks, idle, trigger);
    }
    return true;
}

uint32_t tracks_find(const struct tracks *tracks, const char *camera)
{
    const struct track *track = find(tracks, camera);

    return track && !(track->is_asked && !track->clip) ? track->number : 0;
}

uint64_t tracks_newest_clip(const struct tracks *tracks, const char *camera)
{
    const struct track *track = find(tracks, camera);

    return track ? track->clip : 0;
}

uint64_t tracks_open_clip(const struct tracks *tracks, const char *camera, const char *region)
{
    const struct track *track = find(tracks, camera);

    return track && has_region(track, region) ? track->clip : 0;
}
