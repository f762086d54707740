#include "daemon/front/stream/stream.h"

#include "config/base.h"
#include "daemon/front/stream/freshness.h"
#include "daemon/front/stream/slate_pair.h"
#include "daemon/front/stream/stream_statistics.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define FIRST_FRAME_NS (400 * NS_PER_MS)
#define SLATE_INTERVAL_NS (500 * NS_PER_MS)

struct stream {
    int references;
    char path[80];
    const struct payloader_ops *payloader;
    struct parameter_sets sets;
    unsigned description_version; // counts their changes
    struct ring ring;
    struct demand demand;

    struct slate_pair slate;
    guint slate_timer;          // GLib source id; 0: none; runs while there are readers
    int64_t look_ns;            // when it fires
    struct freshness freshness; // of the access units, while there are readers
    bool interrupted;           // the slates play
    bool broken;                // a key frame has to come next
    int64_t first_slate_ns;     // when readers that got nothing are to have a slate
    struct stream_statistics statistics;
};

int stream_new(const char *path, const struct payloader_ops *payloader, uint32_t bitrate_kbps,
               struct stream **ret_stream)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        return -ENOMEM;
    }
    stream->references = 1;
    stream->payloader = payloader;
    snprintf(stream->path, sizeof stream->path, "%s", path);
    ring_init(&stream->ring, 0);
    stream->demand.stream = stream;
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
    if (!stream || --stream->references > 0) {
        return;
    }
    demand_finish(&stream->demand);
    g_clear_handle_id(&stream->slate_timer, g_source_remove);
    ring_finish(&stream->ring);
    slate_pair_finish(&stream->slate);
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

// Some reader has resumed and not got anything yet.
static bool has_beginners(const struct stream *stream)
{
    for (const struct cursor *cursor = stream->ring.cursors; cursor; cursor = cursor->following) {
        if (!cursor->held && !cursor->begun) {
            return true;
        }
    }
    return false;
}

// Gives readers that have not got anything yet a slate of their own.
static void give_slate(struct stream *stream, struct unit *slate)
{
    struct ring *ring = &stream->ring;

    for (struct cursor *cursor = ring->cursors; cursor; cursor = ring->visiting) {
        ring->visiting = cursor->following;
        if (!cursor->begun) {
            cursor_give(cursor, slate);
        }
    }
}

static void play_slate(struct stream *stream, bool to_all)
{
    _cleanup_(cleanup_unit) struct unit *slate = slate_pair_show(&stream->slate, clock_now_ns());

    if (!slate) {
        return;
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

    if (stream->interrupted) {
        return SLATE_INTERVAL_NS;
    }
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

    if (stream->slate_timer && stream->look_ns <= look_ns) {
        return;
    }
    g_clear_handle_id(&stream->slate_timer, g_source_remove);
    stream->look_ns = look_ns;
    stream->slate_timer =
        g_timeout_add((guint)((delay_ns + NS_PER_MS - 1) / NS_PER_MS), on_slate_timer, stream);
}

static gboolean on_slate_timer(gpointer data)
{
    struct stream *stream = data;
    int64_t now_ns = clock_now_ns();

    stream->slate_timer = 0;
    if (!stream_is_watched(stream)) {
        return G_SOURCE_REMOVE;
    }
    if (!stream->interrupted && freshness_left_ns(&stream->freshness, now_ns) <= 0) {
        interrupt(stream); // the process is there, but hangs
    }
    stream_ref(stream); // a reader that goes may hold the last one
    if (stream->interrupted || now_ns >= stream->first_slate_ns) {
        play_slate(stream, stream->interrupted);
    }
    if (stream_is_watched(stream)) {
        arm_slate_timer(stream, next_look_ns(stream, now_ns));
    }
    stream_unref(stream);
    return G_SOURCE_REMOVE;
}

void stream_interrupt(struct stream *stream)
{
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

    if (r < 0) {
        return r;
    }
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

int stream_take_slate(struct stream *stream, uint8_t *payload, size_t size)
{
    const struct unit_source source = {
        .memory = payload, .size = size, .key_frame = true, .slate = true};
    struct unit *unit;
    int r = make_unit(stream, &source, &unit);

    if (r == 0) {
        slate_pair_add(&stream->slate, unit);
    }
    return r;
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
    stream_statistics_add(&stream->statistics, &life, size - sizeof life, clock_now_ns());
    const struct unit_source source = {.memory = payload,
                                       .offset = sizeof life,
                                       .size = size - sizeof life,
                                       .captured_ns = life.captured_ns,
                                       .key_frame = life.key_frame != 0,
                                       .slate = life.slate != 0};
    int r = make_unit(stream, &source, &unit);
    if (r < 0) {
        return r;
    }
    freshness_note(&stream->freshness, clock_now_ns());
    if (unit->key_frame) {
        stream->interrupted = stream->broken = false;
        demand_take_key_frame(&stream->demand);
    }
    r = stream->broken ? 0 : ring_add(&stream->ring, unit);
    stream->broken |= r < 0;
    if (stream->broken || ring_wants_key_frame(&stream->ring)) {
        stream_want_key_frame(stream, DEMAND_REPAIR);
    }
    return r;
}

void stream_set_demand(struct stream *stream, stream_demand_handler *handler, void *context)
{
    demand_set_handler(&stream->demand, handler, context);
    if (!handler) {
        g_clear_handle_id(&stream->slate_timer, g_source_remove);
    }
}

void stream_want_key_frame(struct stream *stream, enum demand_reason reason)
{
    if (stream_is_watched(stream)) {
        demand_key_frame(&stream->demand, reason);
    }
}

void stream_watch(struct stream *stream, struct cursor *cursor, void (*wake)(void *context),
                  void *context)
{
    if (!stream_is_watched(stream)) {
        freshness_start(&stream->freshness, clock_now_ns());
    }
    cursor_begin(cursor, &stream->ring, wake, context);
    stream_ref(stream);
    demand_report(&stream->demand);
    arm_slate_timer(stream, next_look_ns(stream, clock_now_ns()));
}

void stream_leave(struct stream *stream, struct cursor *cursor)
{
    cursor_end(cursor);
    demand_report(&stream->demand);
    if (!stream_is_watched(stream)) {
        demand_drop_key_frame(&stream->demand);
    }
    stream_unref(stream);
}

bool stream_is_watched(const struct stream *stream)
{
    return stream->ring.cursor_count > 0;
}

void stream_resume(struct stream *stream, struct cursor *cursor, enum demand_reason reason)
{
    int64_t now_ns = clock_now_ns();

    if (!has_beginners(stream)) {
        stream->first_slate_ns =
            now_ns + demand_wait_ns(&stream->demand, reason, now_ns) + FIRST_FRAME_NS;
    }
    cursor_resume(cursor);
    arm_slate_timer(stream, next_look_ns(stream, now_ns));
    stream_want_key_frame(stream, reason);
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
    return slate_pair_is_complete(&stream->slate);
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

void stream_describe(const struct stream *stream, struct snapshot_mount *mount)
{
    snprintf(mount->path, sizeof mount->path, "%s", stream->path);
    stream_statistics_describe(&stream->statistics, clock_now_ns(), mount);
    mount->dropped += stream->ring.skipped;
}
