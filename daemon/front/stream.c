#include "daemon/front/stream.h"

#include "config/base.h"
#include "daemon/front/annex_b.h"
#include "daemon/front/freshness.h"
#include "daemon/front/meter.h"
#include "daemon/front/outlets.h"
#include "daemon/front/slate_pair.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define STREAM_FIRST_FRAME_NS (400 * NS_PER_MS)
#define STREAM_SLATE_INTERVAL_NS (500 * NS_PER_MS)
#define STREAM_KEY_FRAME_INTERVAL_NS (250 * NS_PER_MS)

struct stream {
    gint references;
    char path[80];

    // Main loop only.
    stream_demand_handler *demand;
    void *demand_context;
    guint slate_timer; // 0: none; runs while there are outlets
    int64_t look_ns;   // when it fires

    pthread_mutex_t lock; // guards all below
    pthread_cond_t servable;
    struct outlets outlets;
    struct slate_pair slate;
    struct freshness freshness; // of the access units, while there are outlets
    bool interrupted;           // the slates play
    bool live;                  // a key frame came from the camera process that is there now
    int64_t first_slate_ns;     // when outlets that got nothing are to have a slate
    bool hurried;               // the next outlet's viewer has waited already
    int64_t key_frame_asked_ns;
    struct meter meter;
};

int stream_new(const char *path, uint32_t bitrate_kbps, struct stream **ret_stream)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        return -ENOMEM;
    }
    stream->references = 1;
    snprintf(stream->path, sizeof stream->path, "%s", path);
    outlets_init(&stream->outlets);
    pthread_mutex_init(&stream->lock, NULL);
    condition_init(&stream->servable);
    stream_set_bitrate(stream, bitrate_kbps);
    *ret_stream = stream;
    return 0;
}

struct stream *stream_ref(struct stream *stream)
{
    g_atomic_int_inc(&stream->references);
    return stream;
}

void stream_unref(struct stream *stream)
{
    if (!stream || !g_atomic_int_dec_and_test(&stream->references)) {
        return;
    }
    outlets_finish(&stream->outlets);
    slate_pair_finish(&stream->slate);
    pthread_cond_destroy(&stream->servable);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

const char *stream_path(const struct stream *stream)
{
    return stream->path;
}

void stream_set_bitrate(struct stream *stream, uint32_t bitrate_kbps)
{
    pthread_mutex_lock(&stream->lock);
    outlets_set_limit(&stream->outlets, (size_t)bitrate_kbps * 1000 / 8 * 4);
    pthread_mutex_unlock(&stream->lock);
}

static void push_slate_locked(struct stream *stream, bool to_all)
{
    struct outlet_frame frame = {.memory = slate_pair_advance(&stream->slate),
                                 .pts_ns = clock_now_ns(),
                                 .key_frame = true,
                                 .slate = true};

    if (!frame.memory) {
        return;
    }
    if (to_all) {
        uint64_t missed = 0; // slates are not missed

        outlets_push(&stream->outlets, &frame, &missed);
    } else {
        outlets_push_unprimed(&stream->outlets, &frame);
    }
}

static void interrupt_locked(struct stream *stream)
{
    stream->interrupted = true;
    stream->live = false;
    outlets_discontinue(&stream->outlets);
}

// How long until something may have to be done about slates.
static int64_t next_look_ns_locked(const struct stream *stream, int64_t now_ns)
{
    int64_t look_ns = freshness_left_ns(&stream->freshness, now_ns);

    if (stream->interrupted) {
        return STREAM_SLATE_INTERVAL_NS;
    }
    if (outlets_has_unprimed(&stream->outlets)) {
        int64_t first_ns = stream->first_slate_ns - now_ns;

        look_ns = MIN(look_ns, first_ns > 0 ? first_ns : STREAM_SLATE_INTERVAL_NS);
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
    pthread_mutex_lock(&stream->lock);
    if (!stream->interrupted && freshness_left_ns(&stream->freshness, now_ns) <= 0) {
        interrupt_locked(stream); // the process is there, but hangs
    }
    if (stream->interrupted || now_ns >= stream->first_slate_ns) {
        push_slate_locked(stream, stream->interrupted);
    }
    bool watched = !outlets_is_empty(&stream->outlets);
    int64_t delay_ns = next_look_ns_locked(stream, now_ns);
    pthread_mutex_unlock(&stream->lock);
    if (watched) {
        arm_slate_timer(stream, delay_ns);
    }
    return G_SOURCE_REMOVE;
}

void stream_interrupt(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    interrupt_locked(stream);
    pthread_mutex_unlock(&stream->lock);
    g_clear_handle_id(&stream->slate_timer, g_source_remove);
    on_slate_timer(stream);
}

int stream_take_slate(struct stream *stream, uint8_t *payload, size_t size)
{
    if (!annex_b_is(payload, size)) {
        free(payload);
        return -EBADMSG;
    }
    pthread_mutex_lock(&stream->lock);
    slate_pair_add(&stream->slate, annex_b_wrap(payload, size, 0));
    pthread_cond_broadcast(&stream->servable);
    pthread_mutex_unlock(&stream->lock);
    return 0;
}

struct demand_call {
    struct stream *stream; // a reference
    bool key_frame;
};

static gboolean on_demand(gpointer data)
{
    const struct demand_call *call = data;
    struct stream *stream = call->stream;

    if (!stream->demand) {
        return G_SOURCE_REMOVE;
    }
    pthread_mutex_lock(&stream->lock);
    bool watched = !outlets_is_empty(&stream->outlets);
    int64_t delay_ns = next_look_ns_locked(stream, clock_now_ns());
    pthread_mutex_unlock(&stream->lock);
    if (watched) {
        arm_slate_timer(stream, delay_ns);
    }
    stream->demand(stream->demand_context, stream, call->key_frame);
    return G_SOURCE_REMOVE;
}

static void free_demand_call(gpointer data)
{
    struct demand_call *call = data;

    stream_unref(call->stream);
    g_free(call);
}

static void report_demand(struct stream *stream, bool key_frame)
{
    struct demand_call *call = g_new(struct demand_call, 1);

    *call = (struct demand_call){.stream = stream_ref(stream), .key_frame = key_frame};
    // Not g_main_context_invoke: the demand belongs on the main loop even while that is not
    // running.
    g_idle_add_full(G_PRIORITY_HIGH, on_demand, call, free_demand_call);
}

void stream_set_demand(struct stream *stream, stream_demand_handler *handler, void *context)
{
    stream->demand = handler;
    stream->demand_context = context;
    if (!handler) {
        g_clear_handle_id(&stream->slate_timer, g_source_remove);
    }
}

void stream_want_key_frame(struct stream *stream)
{
    report_demand(stream, true);
}

int stream_attach(struct stream *stream, GstAppSrc *source, int64_t base_ns)
{
    struct outlet *outlet;
    int r = outlet_new(source, base_ns, &outlet);

    if (r < 0) {
        return r;
    }
    pthread_mutex_lock(&stream->lock);
    int64_t now_ns = clock_now_ns();
    if (!outlets_has_unprimed(&stream->outlets)) {
        stream->first_slate_ns = now_ns + (stream->hurried ? 0 : STREAM_FIRST_FRAME_NS);
        stream->hurried = false;
    }
    if (outlets_is_empty(&stream->outlets)) {
        freshness_start(&stream->freshness, now_ns);
    }
    outlets_add(&stream->outlets, outlet);
    pthread_mutex_unlock(&stream->lock);
    report_demand(stream, true);
    return 0;
}

void stream_detach(struct stream *stream, GstAppSrc *source)
{
    pthread_mutex_lock(&stream->lock);
    struct outlet *outlet = outlets_steal(&stream->outlets, source);
    pthread_mutex_unlock(&stream->lock);
    outlet_free(outlet); // perhaps with the source's last reference: not under the lock
    if (outlet) {
        report_demand(stream, false);
    }
}

void stream_set_playing(struct stream *stream, GstAppSrc *source, bool playing)
{
    pthread_mutex_lock(&stream->lock);
    struct outlet *outlet = outlets_find(&stream->outlets, source);
    if (outlet) {
        outlet_set_playing(outlet, playing);
    }
    pthread_mutex_unlock(&stream->lock);
}

static bool can_serve_locked(const struct stream *stream)
{
    return stream->slate.next || stream->live;
}

bool stream_wait_servable(struct stream *stream, int64_t timeout_ns)
{
    int64_t deadline_ns = clock_now_ns() + timeout_ns;
    const struct timespec deadline = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};
    bool waited = false, in_time = true;

    pthread_mutex_lock(&stream->lock);
    while (!can_serve_locked(stream) && in_time) {
        waited = true;
        in_time = pthread_cond_timedwait(&stream->servable, &stream->lock, &deadline) == 0;
    }
    bool can = can_serve_locked(stream);
    stream->hurried |= waited && can;
    pthread_mutex_unlock(&stream->lock);
    return can;
}

bool stream_has_slates(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool has = slate_pair_is_complete(&stream->slate);
    pthread_mutex_unlock(&stream->lock);
    return has;
}

bool stream_is_watched(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool watched = !outlets_is_empty(&stream->outlets);
    pthread_mutex_unlock(&stream->lock);
    return watched;
}

// Returns true when an outlet waits for a key frame that nobody asked for recently.
static bool push_live_locked(struct stream *stream, const struct outlet_frame *frame)
{
    bool waiting = outlets_push(&stream->outlets, frame, &stream->meter.missed);
    int64_t now_ns = clock_now_ns();
    if (!waiting || now_ns - stream->key_frame_asked_ns < STREAM_KEY_FRAME_INTERVAL_NS) {
        return false;
    }
    stream->key_frame_asked_ns = now_ns;
    return true;
}

int stream_take_access_unit(struct stream *stream, uint8_t *payload, size_t size)
{
    struct link_access_unit unit;

    if (size < sizeof unit || !annex_b_is(payload + sizeof unit, size - sizeof unit)) {
        free(payload);
        return -EBADMSG;
    }
    memcpy(&unit, payload, sizeof unit);

    struct outlet_frame frame = {.memory = annex_b_wrap(payload, size, sizeof unit),
                                 .key_frame = unit.key_frame != 0};
    pthread_mutex_lock(&stream->lock);
    meter_add(&stream->meter, &unit, size - sizeof unit, clock_now_ns());
    frame.pts_ns = unit.captured_ns;
    freshness_note(&stream->freshness, clock_now_ns());
    if (frame.key_frame) {
        stream->interrupted = false;
        stream->live = true;
        pthread_cond_broadcast(&stream->servable);
    }
    bool want_key_frame = push_live_locked(stream, &frame);
    pthread_mutex_unlock(&stream->lock);
    gst_memory_unref(frame.memory);
    if (want_key_frame && stream->demand) {
        stream->demand(stream->demand_context, stream, true);
    }
    return 0;
}

void stream_note_payloaded(struct stream *stream, GstAppSrc *source, int64_t pts_ns)
{
    pthread_mutex_lock(&stream->lock);
    const struct outlet *outlet = outlets_find(&stream->outlets, source);
    if (outlet && outlet_is_playing(outlet) && !stream->interrupted) {
        histogram_add_ns(&stream->meter.latency[LATENCY_CAPTURE_TO_RTP], clock_now_ns() - pts_ns);
    }
    pthread_mutex_unlock(&stream->lock);
}

void stream_set_view_counters(struct stream *stream, uint64_t encoded, uint64_t dropped,
                              const char *encoder)
{
    pthread_mutex_lock(&stream->lock);
    stream->meter.encoded = encoded;
    stream->meter.dropped = dropped;
    snprintf(stream->meter.encoder, sizeof stream->meter.encoder, "%s", encoder);
    pthread_mutex_unlock(&stream->lock);
}

void stream_describe(struct stream *stream, struct snapshot_mount *mount)
{
    snprintf(mount->path, sizeof mount->path, "%s", stream->path);
    pthread_mutex_lock(&stream->lock);
    meter_describe(&stream->meter, clock_now_ns(), mount);
    pthread_mutex_unlock(&stream->lock);
}
