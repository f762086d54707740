// Event number n (from 1 on) is at kept[n % EVENT_FEED_KEPT] until number n + EVENT_FEED_KEPT takes
// its place. `open` has a copy of each event that tells what is still so.
#include "daemon/front/events/event_feed.h"

#include "config/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECONNECT_MS 2000 // what a browser waits before it comes back

struct event_feed {
    uint32_t run;
    uint64_t count; // of events so far: the number of the newest
    struct event kept[EVENT_FEED_KEPT];
    GArray *open;       // owned; of struct open_event
    GPtrArray *readers; // borrowed struct event_reader, that are told of events
};

struct open_event {
    uint64_t number;
    struct event event;
    char *state; // of a camera, to compare with; owned; NULL: it is a start of motion
};

static void clear_open(gpointer data)
{
    struct open_event *open = data;

    event_clear(&open->event);
    g_free(open->state);
}

struct event_feed *event_feed_new(void)
{
    struct event_feed *feed = g_new0(struct event_feed, 1);

    feed->run = g_random_int();
    feed->open = g_array_new(FALSE, FALSE, sizeof(struct open_event));
    g_array_set_clear_func(feed->open, clear_open);
    feed->readers = g_ptr_array_new();
    return feed;
}

void event_feed_free(struct event_feed *feed)
{
    if (feed) {
        for (size_t i = 0; i < EVENT_FEED_KEPT; i++)
            event_clear(&feed->kept[i]);
        g_array_unref(feed->open);
        g_ptr_array_unref(feed->readers);
        g_free(feed);
    }
}

static bool wants(const struct event_reader *reader, const struct event *event)
{
    return event->role <= reader->role &&
           (!reader->camera || strcmp(reader->camera, event->camera) == 0) &&
           (!reader->region || strcmp(reader->region, event->region) == 0);
}

static void append(GString *text, const struct event *event)
{
    g_string_append_printf(text, "event: %s\ndata: %s\n\n", event->name, event->json);
}

static uint64_t oldest(const struct event_feed *feed)
{
    return feed->count < EVENT_FEED_KEPT ? 1 : feed->count - EVENT_FEED_KEPT + 1;
}

// The number of the event after `last_id`. 0: that event is not kept any more, or the id is of
// another run.
static uint64_t find_next(const struct event_feed *feed, const char *last_id)
{
    uint32_t run;
    uint64_t number;
    int length = 0;

    if (sscanf(last_id, "%8" SCNx32 "-%19" SCNu64 "%n", &run, &number, &length) != 2 ||
        last_id[length] || run != feed->run || number > feed->count || number + 1 < oldest(feed)) {
        return 0;
    }
    return number + 1;
}

void event_feed_open(struct event_feed *feed, enum config_role role, const char *last_id,
                     const char *camera, const char *region, struct event_reader *ret_reader)
{
    uint64_t next = last_id ? find_next(feed, last_id) : 0;

    *ret_reader = (struct event_reader){
        .feed = feed,
        .role = role,
        .camera = g_strdup(camera),
        .region = g_strdup(region),
        .first = next      ? 0
                 : last_id ? oldest(feed)
                           : feed->count + 1,
    };
    ret_reader->next = next ? next : ret_reader->first;
}

const struct event *event_reader_under_way(const struct event_reader *reader, unsigned index)
{
    const GArray *list = reader->feed->open;

    for (guint i = 0; i < list->len; i++) {
        const struct open_event *open = &g_array_index(list, struct open_event, i);

        if (open->number < reader->first && wants(reader, &open->event) && index-- == 0)
            return &open->event;
    }
    return NULL;
}

void event_reader_begin(const struct event_reader *reader, GString *text)
{
    const struct event *event;

    // An id without data: a reader that is cut off before its first event comes back with this id.
    g_string_append_printf(text, "retry: %d\nid: %08" PRIx32 "-%" PRIu64 "\n\n", RECONNECT_MS,
                           reader->feed->run, reader->next - 1);
    for (unsigned i = 0; (event = event_reader_under_way(reader, i)); i++)
        append(text, event);
}

void event_reader_finish(struct event_reader *reader)
{
    if (reader->wake)
        g_ptr_array_remove_fast(reader->feed->readers, reader);
    g_free(reader->camera);
    g_free(reader->region);
    *reader = (struct event_reader){0};
}

void event_reader_watch(struct event_reader *reader, void (*wake)(void *context), void *context)
{
    reader->wake = wake;
    reader->context = context;
    g_ptr_array_add(reader->feed->readers, reader);
}

int event_reader_next(struct event_reader *reader, const struct event **ret_event)
{
    const struct event_feed *feed = reader->feed;

    while (reader->next <= feed->count) {
        const struct event *event = &feed->kept[reader->next % EVENT_FEED_KEPT];

        if (reader->next < oldest(feed))
            return -ENOBUFS;
        reader->next++;
        if (wants(reader, event)) {
            *ret_event = event;
            return 1;
        }
    }
    return 0;
}

void event_reader_skip(struct event_reader *reader)
{
    reader->next = reader->feed->count + 1;
}

int event_reader_read(struct event_reader *reader, GString *text)
{
    const struct event *event;
    int r = event_reader_next(reader, &event);

    if (r > 0) {
        g_string_append_printf(text, "id: %08" PRIx32 "-%" PRIu64 "\n", reader->feed->run,
                               reader->next - 1);
        append(text, event);
    }
    return r;
}

// Adding events
// ---------------------------------------------------------------------

// Whether both tell of the same region's motion, or of the same camera's state.
static bool is_of_same(const struct event *a, const struct event *b)
{
    return strcmp(a->camera, b->camera) == 0 && strcmp(a->region, b->region) == 0;
}

static struct open_event *find_open(const struct event_feed *feed, const struct event *event)
{
    for (guint i = 0; i < feed->open->len; i++) {
        struct open_event *open = &g_array_index(feed->open, struct open_event, i);

        if (is_of_same(&open->event, event))
            return open;
    }
    return NULL;
}

static void forget_open(const struct event_feed *feed, const struct event *event)
{
    const struct open_event *open = find_open(feed, event);

    if (open) {
        g_array_remove_index(feed->open,
                             (guint)(open - &g_array_index(feed->open, struct open_event, 0)));
    }
}

// Adds an event as the one that tells what is so. Takes over `state`.
static void add_open(const struct event_feed *feed, const struct event *event, char *state)
{
    struct open_event open = {feed->count, *event, state};

    open.event.json = g_strdup(event->json);
    g_array_append_val(feed->open, open);
}

static void add(struct event_feed *feed, struct event event)
{
    struct event *place = &feed->kept[++feed->count % EVENT_FEED_KEPT];

    event_clear(place);
    *place = event;
}

static void wake_readers(const struct event_feed *feed)
{
    for (guint i = 0; i < feed->readers->len; i++) {
        const struct event_reader *reader = g_ptr_array_index(feed->readers, i);

        reader->wake(reader->context);
    }
}

void event_feed_add(struct event_feed *feed, struct event event)
{
    add(feed, event);
    if (*event.region) {
        forget_open(feed, &event);
        if (strcmp(event.name, motion_kind_name(MOTION_STARTED)) == 0)
            add_open(feed, &event, NULL);
    }
    wake_readers(feed);
}

// The caller g_free()s it.
static char *state_text(const char *state, const char *error)
{
    char *text = g_strconcat(state, ": ", error, NULL), *to = text;

    for (const char *from = text; *from; from++) {
        if (!g_ascii_isdigit(*from))
            *to++ = *from;
    }
    *to = 0;
    return text;
}

void event_feed_note_camera(struct event_feed *feed, const char *camera, enum config_role role,
                            const char *state, const char *error)
{
    struct event event = {.name = EVENT_CAMERA_STATE};
    g_autofree char *text = state_text(state, error);
    struct open_event *open;

    g_strlcpy(event.camera, camera, sizeof event.camera);
    open = find_open(feed, &event);
    if (open && strcmp(open->state, text) == 0) {
        open->event.role = role;
        return;
    }
    forget_open(feed, &event);
    event = event_of_camera(camera, role, state, error);
    add(feed, event);
    add_open(feed, &event, TAKE(text));
    wake_readers(feed);
}

static void raise_role(struct event *event, const struct config *config, event_role *role_of)
{
    if (event->json && event->camera[0])
        event->role = MAX(event->role, role_of(config, event));
}

void event_feed_keep_cameras(struct event_feed *feed, const struct config *config,
                             event_role *role_of)
{
    for (size_t i = 0; i < EVENT_FEED_KEPT; i++)
        raise_role(&feed->kept[i], config, role_of);
    for (guint i = feed->open->len; i-- > 0;) {
        struct open_event *open = &g_array_index(feed->open, struct open_event, i);
        bool is_there = !open->state;

        raise_role(&open->event, config, role_of);
        for (size_t j = 0; j < config->camera_count; j++)
            is_there |= strcmp(config->cameras[j].name, open->event.camera) == 0;
        if (!is_there)
            g_array_remove_index(feed->open, i);
    }
}
