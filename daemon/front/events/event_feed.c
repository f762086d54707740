// Event number n (from 1 on) is at kept[n % EVENT_FEED_KEPT] until number n + EVENT_FEED_KEPT takes
// its place. `moving` has a copy of each start whose end has not come.
#include "daemon/front/events/event_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECONNECT_MS 2000 // what a browser waits before it comes back

struct event_feed {
    uint32_t run;
    uint64_t count; // of events so far: the number of the newest
    struct motion_event kept[EVENT_FEED_KEPT];
    GArray *moving; // owned; of struct open_event
};

struct open_event {
    uint64_t number;
    struct motion_event event;
};

struct event_feed *event_feed_new(void)
{
    struct event_feed *feed = g_new0(struct event_feed, 1);

    feed->run = g_random_int();
    feed->moving = g_array_new(FALSE, FALSE, sizeof(struct open_event));
    return feed;
}

void event_feed_free(struct event_feed *feed)
{
    if (feed) {
        g_array_unref(feed->moving);
        g_free(feed);
    }
}

static void forget_moving(const struct event_feed *feed, const struct motion_event *event)
{
    for (guint i = 0; i < feed->moving->len; i++) {
        const struct motion_event *start = &g_array_index(feed->moving, struct open_event, i).event;

        if (strcmp(start->camera, event->camera) == 0 &&
            strcmp(start->region, event->region) == 0) {
            g_array_remove_index(feed->moving, i);
            return;
        }
    }
}

void event_feed_add(struct event_feed *feed, const struct motion_event *event)
{
    feed->count++;
    feed->kept[feed->count % EVENT_FEED_KEPT] = *event;
    forget_moving(feed, event);
    if (event->kind == MOTION_STARTED) {
        struct open_event moving = {feed->count, *event};

        g_array_append_val(feed->moving, moving);
    }
}

static bool wants(const struct event_reader *reader, const struct motion_event *event)
{
    return event->role <= reader->role &&
           (!reader->camera || strcmp(reader->camera, event->camera) == 0) &&
           (!reader->region || strcmp(reader->region, event->region) == 0);
}

static void append(GString *text, const struct motion_event *event)
{
    g_autofree char *json = motion_json(event);

    g_string_append_printf(text, "event: %s\ndata: %s\n\n", motion_kind_name(event->kind), json);
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

// Appends the events under way that began before the one that the reader hears next.
static void append_moving(const struct event_feed *feed, const struct event_reader *reader,
                          GString *text)
{
    for (guint i = 0; i < feed->moving->len; i++) {
        const struct open_event *moving = &g_array_index(feed->moving, struct open_event, i);

        if (moving->number < reader->next && wants(reader, &moving->event)) {
            append(text, &moving->event);
        }
    }
}

void event_feed_open(const struct event_feed *feed, enum config_role role, const char *last_id,
                     const char *camera, const char *region, struct event_reader *ret_reader,
                     GString *text)
{
    uint64_t next = last_id ? find_next(feed, last_id) : 0;

    *ret_reader = (struct event_reader){
        .role = role,
        .camera = g_strdup(camera),
        .region = g_strdup(region),
        .next = next      ? next
                : last_id ? oldest(feed)
                          : feed->count + 1,
    };
    // An id without data: a reader that is cut off before its first event comes back with this id.
    g_string_append_printf(text, "retry: %d\nid: %08" PRIx32 "-%" PRIu64 "\n\n", RECONNECT_MS,
                           feed->run, ret_reader->next - 1);
    if (!next) {
        append_moving(feed, ret_reader, text);
    }
}

void event_reader_finish(struct event_reader *reader)
{
    g_free(reader->camera);
    g_free(reader->region);
    *reader = (struct event_reader){0};
}

int event_feed_read(const struct event_feed *feed, struct event_reader *reader, GString *text)
{
    while (reader->next <= feed->count) {
        const struct motion_event *event = &feed->kept[reader->next % EVENT_FEED_KEPT];

        if (reader->next < oldest(feed)) {
            return -ENOBUFS;
        }
        reader->next++;
        if (wants(reader, event)) {
            g_string_append_printf(text, "id: %08" PRIx32 "-%" PRIu64 "\n", feed->run,
                                   reader->next - 1);
            append(text, event);
            return 1;
        }
    }
    return 0;
}
