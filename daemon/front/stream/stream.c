#include "daemon/front/stream/stream.h"

#include "config/base.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define FIRST_FRAME_NS (400 * NS_PER_MS)
#define SLATE_INTERVAL_NS (500 * NS_PER_MS)
#define OLDEST_NS (10 * NS_PER_S) // an access unit that waited longer would be no live picture
#define FRESHNESS_LIMIT_NS (700 * NS_PER_MS)
#define FRESHNESS_INTERVALS 3
#define PATIENCE_PERIODS 3 // the camera process waits for so many, and a burst has one
// After the patience of the camera process, so that its own slates come first.
#define FRESHNESS_AFTER_NS (200 * NS_PER_MS)
// A longer interval is a pause, unless the one before was as long; none counts as longer than the
// maximum.
#define FRESHNESS_PAUSE_NS (1500 * NS_PER_MS)
#define FRESHNESS_INTERVAL_MAX_NS (20 * NS_PER_S)

struct stream {
    int references;
    char path[80];
    const struct payloader_ops *payloader;
    struct parameter_sets sets;
    unsigned description_version; // counts their changes
    struct ring ring;
    uint64_t numbers; // of units of the camera, given so far
    struct demand demand;
    struct stills stills;
    unsigned viewers[VIEWER_KIND_COUNT];
    char group[32]; // that it is sent to; "": none

    // Two consecutive key frames of the NO SIGNAL picture, shown in turn: two, because consecutive
    // IDR pictures of a stream must differ in idr_pic_id. References.
    struct unit *next_slate, *slate_after;
    guint slate_timer;          // GLib source id; 0: none; runs while there are readers
    int64_t look_ns;            // when it fires
    struct freshness freshness; // of the access units, while there are readers
    uint32_t fps_milli;         // of the camera, as its process says
    bool looks_again;           // the last look found that slates are due
    bool interrupted;           // the slates play
    bool broken;                // a key frame has to come next
    int64_t first_slate_ns;     // when readers that got nothing are to have a slate
    struct stream_statistics statistics;
};

static void want_still(void *context)
{
    struct stream *stream = context;

    demand_report(&stream->demand);
}

int stream_new(const char *path, const struct payloader_ops *payloader, uint32_t bitrate_kbps,
               struct stream **ret_stream)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return -ENOMEM;
    stream->references = 1;
    stream->payloader = payloader;
    snprintf(stream->path, sizeof stream->path, "%s", path);
    ring_init(&stream->ring, 0);
    stream->demand.stream = stream;
    stills_init(&stream->stills, want_still, stream);
    stream_set_bitrate(stream, bitrate_kbps);
    *ret_stream = stream;
    return 0;
}

struct stream *stream_ref(struct stream *stream)
{
    stream->references++;
    return stream;
}

void stream_unref(struct stream *stream)
{
    if (!stream || --stream->references > 0)
        return;
    demand_finish(&stream->demand);
    stills_finish(&stream->stills);
    g_clear_handle_id(&stream->slate_timer, g_source_remove);
    ring_finish(&stream->ring);
    unit_unref(stream->next_slate);
    unit_unref(stream->slate_after);
    free(stream);
}

const char *stream_path(const struct stream *stream)
{
    return stream->path;
}

void stream_set_bitrate(struct stream *stream, uint32_t bitrate_kbps)
{
    ring_set_limit(&stream->ring, (size_t)bitrate_kbps * 1000 / 8 * 4);
}

void freshness_start(struct freshness *freshness, int64_t now_ns)
{
    freshness->last_ns = now_ns;
    freshness->starting = true;
}

void freshness_note(struct freshness *freshness, int64_t now_ns)
{
    int64_t interval_ns = now_ns - freshness->last_ns;

    // The start may be anywhere between two frames, so its interval may only be too short.
    if (!freshness->starting || interval_ns > freshness->interval_ns) {
        freshness->interval_before_ns = freshness->interval_ns;
        freshness->interval_ns = interval_ns;
    }
    freshness->starting = false;
    freshness->last_ns = now_ns;
}

static int64_t expected_interval_ns(const struct freshness *freshness)
{
    int64_t interval_ns = freshness->interval_ns;

    if (interval_ns >= FRESHNESS_PAUSE_NS && freshness->interval_before_ns < interval_ns)
        interval_ns = freshness->interval_before_ns;
    return interval_ns < FRESHNESS_INTERVAL_MAX_NS ? interval_ns : FRESHNESS_INTERVAL_MAX_NS;
}

int64_t freshness_left_ns(const struct freshness *freshness, int64_t now_ns)
{
    int64_t limit_ns = MAX(FRESHNESS_INTERVALS * expected_interval_ns(freshness),
                           freshness->patience_ns + FRESHNESS_AFTER_NS);

    return freshness->last_ns - now_ns + MAX(limit_ns, FRESHNESS_LIMIT_NS);
}

// Some reader has resumed and not got anything yet.
static bool has_beginners(const struct stream *stream)
{
    for (const struct stream_reader *reader = stream->ring.readers; reader;
         reader = reader->following) {
        if (!reader->held && !reader->begun)
            return true;
    }
    return false;
}

// Gives readers that have not got anything yet a slate of their own.
static void give_slate(struct stream *stream, struct unit *slate)
{
    struct ring *ring = &stream->ring;

    for (struct stream_reader *reader = ring->readers; reader; reader = ring->visiting) {
        ring->visiting = reader->following;
        if (!reader->begun)
            reader_give(reader, slate);
    }
}

static void play_slate(struct stream *stream, bool to_all)
{
    _cleanup_(cleanup_unit) struct unit *slate = NULL;
    struct unit *shown = stream->next_slate;

    if (!shown || unit_again(shown, clock_now_ns(), &slate) < 0)
        return;
    if (stream->slate_after) {
        stream->next_slate = stream->slate_after;
        stream->slate_after = shown;
    }
    if (to_all) {
        ring_add(&stream->ring, slate); // out of memory: the next one is due soon
    } else {
        give_slate(stream, slate);
    }
}

static void interrupt(struct stream *stream)
{
    stream->interrupted = true;
    stream->broken = true;
}

// How long until something may have to be done about slates.
static int64_t next_look_ns(const struct stream *stream, int64_t now_ns)
{
    int64_t look_ns = freshness_left_ns(&stream->freshness, now_ns);

    if (stream->interrupted)
        return SLATE_INTERVAL_NS;
    if (has_beginners(stream)) {
        int64_t first_ns = stream->first_slate_ns - now_ns;

        look_ns = MIN(look_ns, first_ns > 0 ? first_ns : SLATE_INTERVAL_NS);
    }
    return MAX(look_ns, 0);
}

static gboolean on_slate_timer(gpointer data);

// Looks again in `delay_ns`, or when it was going to anyway if that is sooner.
static void arm_slate_timer(struct stream *stream, int64_t delay_ns)
{
    int64_t look_ns = clock_now_ns() + delay_ns;

    if (stream->slate_timer && stream->look_ns <= look_ns)
        return;
    g_clear_handle_id(&stream->slate_timer, g_source_remove);
    stream->look_ns = look_ns;
    stream->slate_timer =
        g_timeout_add((guint)((delay_ns + NS_PER_MS - 1) / NS_PER_MS), on_slate_timer, stream);
}

static bool is_slate_due(const struct stream *stream, int64_t now_ns)
{
    return !stream->interrupted && (freshness_left_ns(&stream->freshness, now_ns) <= 0 ||
                                    (has_beginners(stream) && now_ns >= stream->first_slate_ns));
}

static gboolean on_slate_timer(gpointer data)
{
    struct stream *stream = data;
    int64_t now_ns = clock_now_ns();

    stream->slate_timer = 0;
    if (!stream_is_watched(stream))
        return G_SOURCE_REMOVE;
    // If the whole loop stood still, pictures wait in the link, which is read before the next look.
    stream->looks_again = !stream->looks_again && is_slate_due(stream, now_ns);
    if (stream->looks_again) {
        arm_slate_timer(stream, 0);
        return G_SOURCE_REMOVE;
    }
    if (!stream->interrupted && freshness_left_ns(&stream->freshness, now_ns) <= 0) {
        interrupt(stream); // the process is there, but hangs
    }
    stream_ref(stream); // a reader that goes may hold the last one
    if (stream->interrupted || now_ns >= stream->first_slate_ns)
        play_slate(stream, stream->interrupted);
    if (stream_is_watched(stream))
        arm_slate_timer(stream, next_look_ns(stream, now_ns));
    stream_unref(stream);
    return G_SOURCE_REMOVE;
}

void stream_set_rate(struct stream *stream, uint32_t fps_milli)
{
    stream->fps_milli = fps_milli;
}

uint32_t stream_rate(const struct stream *stream)
{
    return stream->fps_milli;
}

void stream_set_patience(struct stream *stream, int64_t patience_ns)
{
    stream->freshness.patience_ns = patience_ns;
    ring_set_burst(&stream->ring, patience_ns / PATIENCE_PERIODS);
}

struct stills *stream_stills(struct stream *stream)
{
    return &stream->stills;
}

void stream_interrupt(struct stream *stream)
{
    stills_drop(&stream->stills);
    interrupt(stream);
    g_clear_handle_id(&stream->slate_timer, g_source_remove);
    on_slate_timer(stream);
}

// Takes over `source->memory`. Makes the packets, and notes the parameter sets of a key frame.
static int make_unit(struct stream *stream, const struct unit_source *source,
                     struct unit **ret_unit)
{
    struct parameter_sets sets = {0};
    struct unit *unit;
    int r = unit_new(source, &unit);

    if (r < 0)
        return r;
    r = stream->payloader->packetize(unit, &sets);
    if (r < 0) {
        unit_unref(unit);
        return r;
    }
    if (unit->key_frame && stream->payloader->is_described(&sets) &&
        memcmp(&stream->sets, &sets, sizeof sets) != 0) {
        stream->sets = sets;
        stream->description_version++;
    }
    *ret_unit = unit;
    return 0;
}

// Takes over a reference; the older of two is dropped.
static void add_slate(struct stream *stream, struct unit *slate)
{
    if (!stream->next_slate) {
        stream->next_slate = slate;
        return;
    }
    if (stream->slate_after) {
        unit_unref(stream->next_slate);
        stream->next_slate = stream->slate_after;
    }
    stream->slate_after = slate;
}

int stream_take_slate(struct stream *stream, uint8_t *payload, size_t size)
{
    const struct unit_source source = {
        .memory = payload, .size = size, .key_frame = true, .slate = true};
    struct unit *unit;
    int r = make_unit(stream, &source, &unit);

    if (r == 0)
        add_slate(stream, unit);
    return r;
}

static void add_to_rates(struct stream_statistics *statistics, uint64_t bytes, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - statistics->window_began_ns;

    if (elapsed_ns >= NS_PER_S) {
        bool paused = elapsed_ns >= 2 * NS_PER_S; // the second before had no frames
        double seconds = (double)elapsed_ns / (double)NS_PER_S;

        statistics->bitrate_kbps =
            paused ? 0 : (uint32_t)((double)statistics->window_bytes * 8 / 1000 / seconds);
        statistics->fps_milli = paused ? 0 : (uint32_t)(statistics->window_units * 1000 / seconds);
        statistics->window_began_ns = now_ns;
        statistics->window_bytes = 0;
        statistics->window_units = 0;
    }
    statistics->window_bytes += bytes;
    statistics->window_units++;
}

static void mend_times(struct stream_statistics *statistics, struct link_access_unit *unit,
                       int64_t now_ns)
{
    int64_t captured_ns = CLAMP(unit->captured_ns, now_ns - OLDEST_NS, now_ns);

    statistics->bad_timestamps += captured_ns != unit->captured_ns;
    unit->captured_ns = captured_ns;
    unit->grabbed_ns = CLAMP(unit->grabbed_ns, unit->captured_ns, now_ns);
    unit->computed_ns = CLAMP(unit->computed_ns, unit->grabbed_ns, now_ns);
    unit->encoded_ns = CLAMP(unit->encoded_ns, unit->computed_ns, now_ns);
}

// Counts an access unit of `bytes` that arrived at `now_ns` (CLOCK_MONOTONIC). Slate pictures are
// counted, but say nothing about latency. The times come from a camera process and are not trusted:
// they are corrected so that `unit` was captured within the last 10 s, and that no step of its life
// is earlier than the one before.
static void count_unit(struct stream_statistics *statistics, struct link_access_unit *unit,
                       uint64_t bytes, int64_t now_ns)
{
    mend_times(statistics, unit, now_ns);
    statistics->access_units++;
    statistics->key_frames += unit->key_frame != 0;
    statistics->bytes += bytes;
    add_to_rates(statistics, bytes, now_ns);
    if (unit->slate)
        return;
    histogram_add_ns(&statistics->latency[LATENCY_CAPTURE], unit->grabbed_ns - unit->captured_ns);
    histogram_add_ns(&statistics->latency[LATENCY_COMPUTE], unit->computed_ns - unit->grabbed_ns);
    histogram_add_ns(&statistics->latency[LATENCY_ENCODE], unit->encoded_ns - unit->computed_ns);
    histogram_add_ns(&statistics->latency[LATENCY_LINK], now_ns - unit->encoded_ns);
}

int stream_take_access_unit(struct stream *stream, uint8_t *payload, size_t size)
{
    _cleanup_(cleanup_unit) struct unit *unit = NULL;
    struct link_access_unit life;

    if (size < sizeof life) {
        free(payload);
        return -EBADMSG;
    }
    memcpy(&life, payload, sizeof life);
    count_unit(&stream->statistics, &life, size - sizeof life, clock_now_ns());
    const struct unit_source source = {.memory = payload,
                                       .offset = sizeof life,
                                       .size = size - sizeof life,
                                       .captured_ns = life.captured_ns,
                                       .key_frame = life.key_frame != 0,
                                       .slate = life.slate != 0,
                                       .number = life.slate ? 0 : ++stream->numbers};
    int r = make_unit(stream, &source, &unit);
    if (r < 0)
        return r;
    freshness_note(&stream->freshness, clock_now_ns());
    if (unit->key_frame) {
        stream->interrupted = stream->broken = false;
        demand_take_key_frame(&stream->demand);
    }
    r = stream->broken ? 0 : ring_add(&stream->ring, unit);
    stream->broken |= r < 0;
    if (stream->broken || ring_wants_key_frame(&stream->ring))
        stream_want_key_frame(stream, DEMAND_REPAIR);
    return r;
}

void stream_set_demand(struct stream *stream, stream_demand_handler *handler, void *context)
{
    demand_set_handler(&stream->demand, handler, context);
    if (!handler)
        g_clear_handle_id(&stream->slate_timer, g_source_remove);
}

void stream_want_key_frame(struct stream *stream, enum demand_reason reason)
{
    if (stream_is_watched(stream))
        demand_key_frame(&stream->demand, reason);
}

void stream_watch(struct stream *stream, struct stream_reader *reader, void (*wake)(void *context),
                  void *context)
{
    if (!stream_is_watched(stream))
        freshness_start(&stream->freshness, clock_now_ns());
    reader_begin(reader, &stream->ring, wake, context);
    stream_ref(stream);
    demand_report(&stream->demand);
    arm_slate_timer(stream, next_look_ns(stream, clock_now_ns()));
}

void stream_leave(struct stream *stream, struct stream_reader *reader)
{
    reader_end(reader);
    demand_report(&stream->demand);
    if (!stream_is_watched(stream))
        demand_drop_key_frame(&stream->demand);
    stream_unref(stream);
}

bool stream_is_watched(const struct stream *stream)
{
    return stream->ring.reader_count > 0;
}

void stream_resume(struct stream *stream, struct stream_reader *reader, enum demand_reason reason)
{
    int64_t now_ns = clock_now_ns();

    if (!has_beginners(stream)) {
        stream->first_slate_ns =
            now_ns + demand_wait_ns(&stream->demand, reason, now_ns) + FIRST_FRAME_NS;
    }
    reader_resume(reader);
    arm_slate_timer(stream, next_look_ns(stream, now_ns));
    stream_want_key_frame(stream, reason);
}

void stream_count_viewer(struct stream *stream, enum viewer_kind kind, int change)
{
    stream->viewers[kind] = (unsigned)((int)stream->viewers[kind] + change);
}

unsigned stream_viewers(const struct stream *stream, enum viewer_kind kind)
{
    return stream->viewers[kind];
}

void stream_set_group(struct stream *stream, const char *group)
{
    g_strlcpy(stream->group, group, sizeof stream->group);
}

const char *stream_group(const struct stream *stream)
{
    return stream->group;
}

void stream_note_sent(struct stream *stream, const struct unit *unit)
{
    if (!unit->slate) {
        histogram_add_ns(&stream->statistics.latency[LATENCY_CAPTURE_TO_RTP],
                         clock_now_ns() - unit->captured_ns);
    }
}

void stream_set_view_counters(struct stream *stream, uint64_t encoded, uint64_t dropped,
                              const char *encoder, const char *governor)
{
    stream->statistics.encoded = encoded;
    stream->statistics.dropped = dropped;
    snprintf(stream->statistics.encoder, sizeof stream->statistics.encoder, "%s", encoder);
    snprintf(stream->statistics.governor, sizeof stream->statistics.governor, "%s", governor);
}

bool stream_has_slates(const struct stream *stream)
{
    return stream->slate_after;
}

const struct payloader_ops *stream_payloader(const struct stream *stream)
{
    return stream->payloader;
}

const struct parameter_sets *stream_parameter_sets(const struct stream *stream)
{
    return &stream->sets;
}

unsigned stream_description_version(const struct stream *stream)
{
    return stream->description_version;
}

bool stream_is_described(const struct stream *stream)
{
    return stream->payloader->is_described(&stream->sets);
}

void stream_count(const struct stream *stream, struct stream_statistics *ret_statistics)
{
    *ret_statistics = stream->statistics;
    ret_statistics->dropped += stream->ring.skipped;
    ret_statistics->snapshots = stream->stills.count;
    if (clock_now_ns() - stream->statistics.window_began_ns > 2 * NS_PER_S)
        ret_statistics->bitrate_kbps = ret_statistics->fps_milli = 0;
}
