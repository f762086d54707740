#include "daemon/recorder/footage.h"

#include "config/schema/schema.h"
#include "daemon/recorder/wanted.h"

#include <errno.h>
#include <string.h>

#define FORGET_NS (60 * NS_PER_S) // a view that nobody feeds
#define QUIET_NS (2 * NS_PER_S)   // without a unit, until the pictures there are go to the disk
#define LATE_NS (4 * NS_PER_S)    // units come that much after they were captured, at most
#define AHEAD_NS (10 * NS_PER_S)
#define FIRST_INTERVAL_NS (NS_PER_S / 30)
#define HOLE_NS (NS_PER_S / 4) // without pictures, of a camera that was opened again

struct footage {
    struct footage_pool *pool;
    uint32_t number; // on the connection; 0: nobody feeds it
    const char *camera, *view;
    struct record_track settings;

    // In memory.
    GQueue units; // of struct footage_unit, references; the first one is a key frame
    bool has_video, waits_for_key_frame;
    struct mp4_video video;
    uint64_t next_number; // 0: any
    int64_t last_ns;      // when the newest unit was captured
    int64_t interval_ns;  // between units, the newest; a hole counts if the one before was one
    bool has_hole;        // in front of the newest one
    int64_t fed_ns;       // when the newest one came, by this process's clock

    // Requests.
    struct wanted wanted;
    int64_t asked_ns; // where the clip of an event is to begin

    // The clip.
    struct growing_file *file; // NULL: none is open
    struct recording *recording;
    int64_t begun_ns, end_ns; // captured; the end of what was given to the file
    bool skips;               // up to the next key frame, because memory was full
    int64_t covered_ns;       // the newest unit that a clip has
    int64_t given_up_ns;      // the newest unit when a clip could not be written last
    int64_t paused_until_ns;  // no clip is begun before, by this process's clock
    uint64_t last_clip;
    struct fragment *fragment; // owned; NULL: empty
};

static int64_t wall_offset_ns(void)
{
    return g_get_real_time() * NS_PER_US - clock_now_ns();
}

// Memory
// ---------------------------------------------------------------------

static void drop_first_unit(struct footage *footage)
{
    struct footage_unit *unit = g_queue_pop_head(&footage->units);

    footage->pool->bytes -= unit->size;
    footage_unit_unref(unit);
}

static bool begins_with_key_frame(const struct footage *footage)
{
    const struct footage_unit *unit = g_queue_peek_head((GQueue *)&footage->units);

    return !unit || unit->is_key_frame;
}

// The first group of pictures. Returns how many units that were.
static unsigned drop_first_group(struct footage *footage)
{
    unsigned count = 0;

    do {
        drop_first_unit(footage);
        count++;
    } while (!begins_with_key_frame(footage));
    return count;
}

// The place of the second key frame in memory, which may be the oldest one if it is old enough.
static const GList *second_key_frame(const struct footage *footage)
{
    const GList *link = footage->units.head;

    while (link && (link = link->next)) {
        const struct footage_unit *unit = link->data;

        if (unit->is_key_frame)
            return link;
    }
    return NULL;
}

static int64_t captured_ns(const GList *link)
{
    return ((const struct footage_unit *)link->data)->captured_ns;
}

// Whether the first group in memory belongs into a clip that has no file. `next` is the group
// behind it. A clip may have had the beginning of the group, and have ended there.
static bool is_first_group_missed(const struct footage *footage, const GList *next)
{
    int64_t missed_ns = MAX(footage->given_up_ns, MAX(footage->asked_ns, footage->covered_ns));
    const GList *link = footage->units.head;

    while (link != next && captured_ns(link) <= missed_ns)
        link = link->next;
    return !footage->file && link != next && captured_ns(link) < wanted_until_ns(&footage->wanted);
}

static void forget_old_units(struct footage *footage)
{
    int64_t oldest_ns = footage->last_ns - footage->settings.before_ns - FOOTAGE_NOTICED_NS;
    const GList *link;

    while ((link = second_key_frame(footage)) && captured_ns(link) <= oldest_ns) {
        bool missed = is_first_group_missed(footage, link);
        unsigned count = drop_first_group(footage);

        footage->pool->lost_units += missed ? count : 0;
    }
}

static void forget_all_units(struct footage *footage)
{
    while (!g_queue_is_empty(&footage->units))
        drop_first_unit(footage);
}

static struct footage *holder_of_oldest(const struct footage_pool *pool)
{
    struct footage *oldest = NULL;
    int64_t oldest_ns = INT64_MAX;

    for (guint i = 0; i < pool->views->len; i++) {
        struct footage *footage = pool->views->pdata[i];
        const struct footage_unit *unit = g_queue_peek_head(&footage->units);

        if (unit && unit->captured_ns < oldest_ns) {
            oldest_ns = unit->captured_ns;
            oldest = footage;
        }
    }
    return oldest;
}

// The oldest group of all views, until there is room.
static void make_room(struct footage_pool *pool)
{
    struct footage *oldest;

    while (pool->bytes > FOOTAGE_BYTES_MAX && (oldest = holder_of_oldest(pool)))
        pool->lost_units += drop_first_group(oldest);
}

// The clip
// ---------------------------------------------------------------------

// When the picture in front of a unit is over.
static int64_t end_before(const struct footage_unit *unit)
{
    return unit->captured_ns - unit->gap_ns;
}

static const struct footage_unit *newest_unit(const struct fragment *fragment)
{
    return fragment->units->pdata[fragment->units->len - 1];
}

static void set_end(struct footage *footage, int64_t end_ns)
{
    footage->end_ns = end_ns;
    footage->recording->end_wall_ns =
        footage->recording->start_wall_ns + end_ns - footage->begun_ns;
}

// Gives the file the units that were gathered, the last of which is over at `end_ns`. That is a
// guess if the next picture is not there yet; add_to_fragment() puts it right then.
static void end_fragment(struct footage *footage, int64_t end_ns)
{
    struct fragment *fragment = TAKE(footage->fragment);
    const struct footage_unit *first;

    if (!fragment)
        return;
    first = fragment->units->pdata[0];
    int64_t newest_ns = newest_unit(fragment)->captured_ns;
    int64_t gap_ns = footage->end_ns ? MAX(first->captured_ns - footage->end_ns, 0) : 0;
    fragment->end_ns = end_ns;
    fragment->wall_offset_ns = wall_offset_ns();
    if (archive_append(footage->pool->archive, footage->file, fragment) < 0) {
        footage->skips = true;
        return;
    }
    footage->covered_ns = newest_ns;
    footage->recording->gap_ns += (uint64_t)gap_ns;
    set_end(footage, end_ns);
}

static void add_to_fragment(struct footage *footage, struct footage_unit *unit)
{
    struct fragment *fragment = footage->fragment;

    if (footage->skips && !unit->is_key_frame) {
        footage->pool->lost_units++;
        return;
    }
    if (!fragment && footage->end_ns && !footage->skips)
        footage->end_ns = end_before(unit);
    footage->skips = false;
    if (!fragment) {
        fragment = g_new0(struct fragment, 1);
        fragment->units = g_ptr_array_new_with_free_func((GDestroyNotify)footage_unit_unref);
        footage->fragment = fragment;
    }
    unit->references++;
    g_ptr_array_add(fragment->units, unit);
    fragment->bytes += unit->size;
}

static bool is_fragment_full(const struct footage *footage, const struct footage_unit *next)
{
    const struct footage_unit *first =
        footage->fragment ? footage->fragment->units->pdata[0] : NULL;

    return first && (next->is_key_frame || next->gap_ns ||
                     next->captured_ns - first->captured_ns >= FRAGMENT_NS);
}

// `end_ns`: when its last picture is over.
static void end_clip(struct footage *footage, int64_t end_ns)
{
    if (!footage->file)
        return;
    end_fragment(footage, end_ns);
    if (footage->end_ns && !footage->skips) // the end of the last fragment was perhaps a guess
        set_end(footage, end_ns);
    archive_finish(footage->pool->archive, TAKE(footage->file));
    footage->recording = NULL;
}

// Where a clip begins in memory. NULL: nowhere yet.
static GList *find_beginning(const struct footage *footage)
{
    GList *found = NULL;

    for (GList *link = footage->units.head; link; link = link->next) {
        const struct footage_unit *unit = link->data;

        if (!unit->is_key_frame)
            continue;
        if (footage->covered_ns > footage->asked_ns) {
            if (unit->captured_ns > footage->covered_ns)
                return link;
        } else if (!found || unit->captured_ns <= footage->asked_ns) {
            found = link;
        }
    }
    return found;
}

// Gives the clip the pictures in memory from `link` on.
static void replay(struct footage *footage, GList *link)
{
    for (; link; link = link->next) {
        struct footage_unit *unit = link->data;

        if (is_fragment_full(footage, unit))
            end_fragment(footage, end_before(unit));
        add_to_fragment(footage, unit);
    }
}

// For the table of a clip of max_clip, at the rate of the pictures in memory and a quarter more.
static uint32_t table_room(const struct footage *footage)
{
    const struct footage_unit *first = g_queue_peek_head((GQueue *)&footage->units);
    int64_t span_ns = footage->last_ns - first->captured_ns, max_ns = footage->settings.max_clip_ns;
    uint64_t intervals = footage->units.length - 1;

    if (intervals == 0 || span_ns <= 0) {
        span_ns = MAX(footage->interval_ns, FIRST_INTERVAL_NS);
        intervals = 1;
    }
    double samples = 1.25 * (double)intervals * (double)max_ns / (double)span_ns;
    return mp4_room_for((uint64_t)MIN(samples, MP4_ROOM_MAX), (uint64_t)(max_ns / NS_PER_S));
}

// Begins a clip if one is wanted and can be.
static void begin_clip(struct footage *footage)
{
    GList *link =
        footage->last_ns < wanted_until_ns(&footage->wanted) ? find_beginning(footage) : NULL;
    const struct footage_unit *first = link ? link->data : NULL;

    if (footage->file || !first || !footage->has_video || clock_now_ns() < footage->paused_until_ns)
        return;
    int64_t offset_ns = wall_offset_ns();
    bool is_continued = !footage->asked_ns || footage->covered_ns > footage->asked_ns;
    struct recording recording = {
        .camera = footage->camera,
        .view = footage->view,
        .regions = "",
        .codec = config_codec_name(footage->video.codec),
        .start_wall_ns = first->captured_ns + offset_ns,
        .end_wall_ns = first->captured_ns + offset_ns,
        .asked_wall_ns = (is_continued ? first->captured_ns : footage->asked_ns) + offset_ns,
        .is_always = footage->settings.mode == RECORD_ALWAYS,
        .wall_offset_ns = offset_ns,
    };
    wanted_mark(&footage->wanted, footage->last_ns, &recording);
    footage->file = archive_begin(footage->pool->archive, &recording, &footage->video,
                                  table_room(footage), &footage->recording);
    if (footage->file) {
        footage->last_clip = footage->recording->id;
        footage->begun_ns = first->captured_ns;
        footage->end_ns = 0;
        footage->skips = false;
        archive_announce(footage->pool->archive, footage->recording);
        replay(footage, link);
    }
}

// When the newest picture is over if no other follows it.
static int64_t end_of_newest(const struct footage *footage)
{
    return footage->last_ns + footage->interval_ns;
}

// Nothing follows what there is, for now.
static void take_gap(struct footage *footage)
{
    if (footage->file)
        end_fragment(footage, end_of_newest(footage));
    footage->waits_for_key_frame = true;
}

// Input
// ---------------------------------------------------------------------

// Whether `unit` is of the same video as what came before; if not, a new one begins with it.
static bool read_video(struct footage *footage, const struct footage_unit *unit)
{
    struct mp4_video video;

    if (!unit->is_key_frame ||
        mp4_video_read(&video, footage->settings.codec, unit->bytes, unit->size) < 0) {
        return footage->has_video;
    }
    if (footage->has_video && !mp4_video_is_same(&video, &footage->video)) {
        end_clip(footage, end_before(unit));
        forget_all_units(footage);
    }
    footage->video = video;
    footage->has_video = true;
    return true;
}

// Ends the clip, or its fragment, if that is due before `unit`.
static void end_if_due(struct footage *footage, const struct footage_unit *unit)
{
    bool too_long = unit->is_key_frame &&
                    unit->captured_ns - footage->begun_ns >= footage->settings.max_clip_ns;

    if (footage->file && (too_long || unit->captured_ns >= wanted_until_ns(&footage->wanted)))
        end_clip(footage, end_before(unit));
    else if (footage->file && is_fragment_full(footage, unit))
        end_fragment(footage, end_before(unit));
}

// A camera may bring few pictures, so it counts how often they came before.
static int64_t gap_before(const struct footage *footage, const struct footage_unit *unit)
{
    int64_t passed_ns = unit->captured_ns - footage->last_ns;
    bool is_hole = footage->units.length > 1 && passed_ns > MAX(HOLE_NS, 3 * footage->interval_ns);

    return footage->last_ns && (is_hole || footage->waits_for_key_frame)
               ? MAX(passed_ns - footage->interval_ns, 0)
               : 0;
}

static void take_unit(struct footage *footage, struct footage_unit *unit)
{
    unit->gap_ns = gap_before(footage, unit);
    if (!footage->waits_for_key_frame && (!unit->gap_ns || footage->has_hole))
        footage->interval_ns = unit->captured_ns - footage->last_ns;
    footage->has_hole = unit->gap_ns && !footage->waits_for_key_frame;
    footage->waits_for_key_frame = false;
    if (!read_video(footage, unit)) {
        footage->waits_for_key_frame = true;
        footage->pool->lost_units++;
        footage_unit_unref(unit);
        return;
    }
    end_if_due(footage, unit);
    footage->last_ns = unit->captured_ns;
    g_queue_push_tail(&footage->units, unit);
    footage->pool->bytes += unit->size;
    if (footage->file)
        add_to_fragment(footage, unit);
    else
        begin_clip(footage);
    forget_old_units(footage);
    make_room(footage->pool);
}

// A unit with this number came. Those between it and the one before are lost. False: there are
// some.
static bool count_unit(struct footage *footage, uint64_t number)
{
    uint64_t expected = footage->next_number;

    footage->fed_ns = clock_now_ns();
    footage->next_number = number + 1;
    footage->pool->lost_units += expected && number > expected ? number - expected : 0;
    return !expected || number == expected;
}

void footage_take(struct footage *footage, uint8_t *payload, size_t size)
{
    struct record_unit header;

    memcpy(&header, payload, sizeof header);
    struct footage_unit unit = {
        .references = 1,
        .captured_ns = header.captured_ns,
        .number = header.number,
        .is_key_frame = header.key_frame,
        .size = size - sizeof header,
        .bytes = payload + sizeof header,
        .payload = payload,
    };
    bool is_usable = !header.slate && unit.captured_ns > footage->last_ns &&
                     unit.captured_ns < clock_now_ns() + AHEAD_NS &&
                     mp4_sample_size(footage->settings.codec, unit.bytes, unit.size) > 0;
    bool is_next = header.slate || count_unit(footage, header.number);

    if (!footage->waits_for_key_frame && (!is_next || !is_usable))
        take_gap(footage);
    if (!is_usable || (footage->waits_for_key_frame && !unit.is_key_frame)) {
        footage->pool->lost_units += !header.slate;
        free(payload);
        return;
    }
    take_unit(footage, g_memdup(&unit, sizeof unit));
}

// Something asks for a clip that begins at `asked_ns`; one that is open goes on.
static void ask(struct footage *footage, int64_t asked_ns)
{
    if (!footage->file) {
        if (footage->settings.mode == RECORD_EVENTS) {
            footage->asked_ns = asked_ns;
            footage->covered_ns = 0;
        }
        begin_clip(footage);
    } else {
        wanted_mark(&footage->wanted, footage->last_ns, footage->recording);
        archive_announce(footage->pool->archive, footage->recording);
    }
}

void footage_want(struct footage *footage, const struct record_wanted *told)
{
    int64_t asked_ns = wanted_take(&footage->wanted, told, footage->last_ns, footage->recording);

    if (asked_ns != INT64_MAX)
        ask(footage, asked_ns);
}

int footage_trigger(struct footage *footage, const struct record_trigger *trigger, uint64_t *ret_id)
{
    const struct wanted before = footage->wanted;
    int64_t asked_ns = footage->asked_ns, covered_ns = footage->covered_ns;

    if (clock_now_ns() - trigger->asked_ns > FOOTAGE_ANSWER_NS)
        return -ETIMEDOUT;
    wanted_trigger(&footage->wanted, trigger);
    if (trigger->action == RECORD_START)
        ask(footage, trigger->asked_ns - footage->settings.before_ns);
    if (trigger->action == RECORD_START && !footage->recording) {
        footage->wanted = before; // it is refused
        footage->asked_ns = asked_ns;
        footage->covered_ns = covered_ns;
        return -EAGAIN;
    }
    *ret_id = footage->recording ? footage->recording->id : 0;
    return 0;
}

uint64_t footage_clip_at(const struct footage *footage, int64_t captured_ns)
{
    return captured_ns >= footage->begun_ns && captured_ns <= footage->last_ns + LATE_NS
               ? footage->last_clip
               : 0;
}

// The pool
// ---------------------------------------------------------------------

static void free_footage(gpointer data)
{
    struct footage *footage = data;

    end_clip(footage, end_of_newest(footage));
    forget_all_units(footage);
    g_free(footage);
}

void footage_pool_init(struct footage_pool *pool, struct archive *archive)
{
    *pool = (struct footage_pool){.archive = archive};
    pool->views = g_ptr_array_new_with_free_func(free_footage);
}

void footage_pool_finish(struct footage_pool *pool)
{
    g_ptr_array_unref(pool->views);
}

struct footage *footage_find(const struct footage_pool *pool, uint32_t number)
{
    for (guint i = 0; number && i < pool->views->len; i++) {
        struct footage *footage = pool->views->pdata[i];

        if (footage->number == number)
            return footage;
    }
    return NULL;
}

static struct footage *find_or_add(struct footage_pool *pool, const char *camera, const char *view)
{
    for (guint i = 0; i < pool->views->len; i++) {
        struct footage *footage = pool->views->pdata[i];

        if (strcmp(footage->camera, camera) == 0 && strcmp(footage->view, view) == 0)
            return footage;
    }
    struct footage *footage = g_new0(struct footage, 1);
    footage->pool = pool;
    footage->camera = g_intern_string(camera);
    footage->view = g_intern_string(view);
    footage->waits_for_key_frame = true;
    footage->interval_ns = FIRST_INTERVAL_NS;
    g_queue_init(&footage->units);
    g_ptr_array_add(pool->views, footage);
    return footage;
}

bool footage_set(struct footage_pool *pool, uint32_t number, const struct record_track *settings)
{
    if (!number || !schema_name_rule.accepts(settings->camera) ||
        !schema_name_rule.accepts(settings->view)) {
        return false;
    }
    struct footage *footage = find_or_add(pool, settings->camera, settings->view);
    if (footage->number &&
        (settings->codec != footage->settings.codec || settings->mode != footage->settings.mode)) {
        end_clip(footage, end_of_newest(footage));
    }
    if (settings->codec != footage->settings.codec) {
        forget_all_units(footage);
        footage->has_video = false;
        footage->waits_for_key_frame = true;
    }
    if (number != footage->number) // another stream, or another front
        footage->next_number = 0;
    footage->number = number;
    footage->settings = *settings;
    footage->wanted.settings = &footage->settings;
    footage->fed_ns = clock_now_ns();
    return true;
}

void footage_remove(struct footage_pool *pool, struct footage *footage)
{
    const char *camera = footage->camera, *view = footage->view;

    g_ptr_array_remove(pool->views, footage);
    archive_forget_view(pool->archive, camera, view);
}

// A camera that brings nothing must not keep pictures from the disk, or a clip open.
static void tick(struct footage *footage)
{
    int64_t silent_ns = clock_now_ns() - footage->fed_ns;
    int64_t end_ns = end_of_newest(footage);

    if (!footage->file || silent_ns < QUIET_NS)
        return;
    // A camera may send in bursts: pictures that are wanted still come when that time is over.
    if (silent_ns > FOOTAGE_SILENT_NS ||
        clock_now_ns() - LATE_NS > wanted_until_ns(&footage->wanted)) {
        end_clip(footage, end_ns);
    } else {
        end_fragment(footage, end_ns);
    }
}

void footage_pool_tick(struct footage_pool *pool)
{
    for (guint i = pool->views->len; i-- > 0;) {
        struct footage *footage = pool->views->pdata[i];

        tick(footage);
        if (!footage->number && clock_now_ns() - footage->fed_ns > FORGET_NS)
            footage_remove(pool, footage);
    }
}

static void give_up_clip(struct footage *footage)
{
    end_clip(footage, end_of_newest(footage));
    // Nobody knows how much of it was written; what was not is counted by the archive.
    footage->covered_ns = 0;
    footage->given_up_ns = footage->last_ns;
}

void footage_pool_give_up_clips(struct footage_pool *pool)
{
    for (guint i = 0; i < pool->views->len; i++)
        give_up_clip(pool->views->pdata[i]);
}

void footage_pool_give_up_clip(struct footage_pool *pool, uint64_t id)
{
    for (guint i = 0; i < pool->views->len; i++) {
        struct footage *footage = pool->views->pdata[i];

        if (footage->recording && footage->recording->id == id) {
            footage->paused_until_ns = clock_now_ns() + ARCHIVE_RETRY_NS;
            give_up_clip(footage);
        }
    }
}

void footage_pool_disconnect(struct footage_pool *pool)
{
    for (guint i = 0; i < pool->views->len; i++) {
        struct footage *footage = pool->views->pdata[i];

        take_gap(footage);
        wanted_forget(&footage->wanted);
        if (footage->settings.mode == RECORD_EVENTS)
            end_clip(footage, end_of_newest(footage));
        footage->number = 0;
    }
}
