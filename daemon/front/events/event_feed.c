// Event number n (from 1 on) is at kept[n % EVENT_FEED_KEPT] until number n + EVENT_FEED_KEPT takes
// its place. `moving` has a copy of each start whose end has not come.
#include "daemon/front/events/event_feed.h"

#include "config/base.h"
#include "daemon/front/http/http_reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEEP_ALIVE_S 15
#define KEEP_ALIVE ": still there\n\n"
#define RECONNECT_MS 2000 // what a browser waits before it comes back

struct event_feed {
    uint32_t run;
    uint64_t count; // of events so far: the number of the newest
    struct motion_event kept[EVENT_FEED_KEPT];
    GArray *moving;       // owned; of struct open_event
    GPtrArray *readers;   // borrowed struct event_reader, that are told of events
    GPtrArray *followers; // of struct follower, each owned by its stream
    guint keep_alive;     // GLib source id; 0: nobody follows
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
    feed->readers = g_ptr_array_new();
    feed->followers = g_ptr_array_new();
    return feed;
}

void event_feed_free(struct event_feed *feed)
{
    if (feed) {
        g_array_unref(feed->moving);
        g_ptr_array_unref(feed->readers);
        g_ptr_array_unref(feed->followers);
        g_free(feed);
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

const struct motion_event *event_reader_under_way(const struct event_reader *reader, unsigned index)
{
    const GArray *moving = reader->feed->moving;

    for (guint i = 0; i < moving->len; i++) {
        const struct open_event *open = &g_array_index(moving, struct open_event, i);

        if (open->number < reader->first && wants(reader, &open->event) && index-- == 0) {
            return &open->event;
        }
    }
    return NULL;
}

void event_reader_begin(const struct event_reader *reader, GString *text)
{
    const struct motion_event *event;

    // An id without data: a reader that is cut off before its first event comes back with this id.
    g_string_append_printf(text, "retry: %d\nid: %08" PRIx32 "-%" PRIu64 "\n\n", RECONNECT_MS,
                           reader->feed->run, reader->next - 1);
    for (unsigned i = 0; (event = event_reader_under_way(reader, i)); i++) {
        append(text, event);
    }
}

void event_reader_finish(struct event_reader *reader)
{
    if (reader->wake) {
        g_ptr_array_remove_fast(reader->feed->readers, reader);
    }
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

int event_reader_next(struct event_reader *reader, const struct motion_event **ret_event)
{
    const struct event_feed *feed = reader->feed;

    while (reader->next <= feed->count) {
        const struct motion_event *event = &feed->kept[reader->next % EVENT_FEED_KEPT];

        if (reader->next < oldest(feed)) {
            return -ENOBUFS;
        }
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
    const struct motion_event *event;
    int r = event_reader_next(reader, &event);

    if (r > 0) {
        g_string_append_printf(text, "id: %08" PRIx32 "-%" PRIu64 "\n", reader->feed->run,
                               reader->next - 1);
        append(text, event);
    }
    return r;
}

// The readers on their connections
// ---------------------------------------------------------------------

struct follower {
    struct event_feed *feed;    // borrowed
    struct http_stream *stream; // borrowed
    struct event_reader reader;
    GString *text; // owned; what it is being sent
    size_t sent;   // bytes of it
};

static gboolean on_keep_alive(gpointer data)
{
    const struct event_feed *feed = data;

    for (guint i = 0; i < feed->followers->len; i++) {
        struct follower *follower = g_ptr_array_index(feed->followers, i);

        if (follower->sent == follower->text->len) {
            g_string_append(follower->text, KEEP_ALIVE);
            http_stream_wake(follower->stream);
        }
    }
    return G_SOURCE_CONTINUE;
}

static ssize_t send_more(void *context, char *buffer, size_t size)
{
    struct follower *follower = context;
    int result = 1;

    if (follower->sent == follower->text->len) {
        follower->sent = 0;
        g_string_truncate(follower->text, 0);
        result = event_reader_read(&follower->reader, follower->text);
    }
    if (result <= 0) {
        return result < 0 ? HTTP_STREAM_BROKEN : 0;
    }
    size = MIN(size, follower->text->len - follower->sent);
    memcpy(buffer, follower->text->str + follower->sent, size);
    follower->sent += size;
    return (ssize_t)size;
}

static void drop_follower(void *context)
{
    struct follower *follower = context;
    struct event_feed *feed = follower->feed;

    g_ptr_array_remove(feed->followers, follower);
    if (!feed->followers->len) {
        g_clear_handle_id(&feed->keep_alive, g_source_remove);
    }
    event_reader_finish(&follower->reader);
    g_string_free(follower->text, TRUE);
    g_free(follower);
}

static void on_event(void *context)
{
    const struct follower *follower = context;

    http_stream_wake(follower->stream);
}

CONTROL_RESULT event_feed_follow(struct event_feed *feed, struct http_server *server,
                                 struct MHD_Connection *with, enum config_role role)
{
    struct follower *follower = g_new0(struct follower, 1);

    follower->feed = feed;
    follower->text = g_string_new(NULL);
    event_feed_open(feed, role, MHD_lookup_connection_value(with, MHD_HEADER_KIND, "Last-Event-ID"),
                    MHD_lookup_connection_value(with, MHD_GET_ARGUMENT_KIND, "camera"),
                    MHD_lookup_connection_value(with, MHD_GET_ARGUMENT_KIND, "region"),
                    &follower->reader);
    event_reader_begin(&follower->reader, follower->text);
    g_ptr_array_add(feed->followers, follower);
    if (!feed->keep_alive) {
        feed->keep_alive = g_timeout_add_seconds(KEEP_ALIVE_S, on_keep_alive, feed);
    }
    event_reader_watch(&follower->reader, on_event, follower);
    const struct http_stream_source source = {send_more, drop_follower, follower};
    const struct http_head head = {.content_type = "text/event-stream"};
    return http_stream_begin(server, with, &head, &source, &follower->stream);
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
    for (guint i = 0; i < feed->readers->len; i++) {
        const struct event_reader *reader = g_ptr_array_index(feed->readers, i);

        reader->wake(reader->context);
    }
}

// What a reader may ask for
// ---------------------------------------------------------------------

static enum config_role camera_role(const struct config_camera *camera)
{
    enum config_role least = CONFIG_ROLE_ADMIN;

    for (size_t i = 0; i < camera->view_count; i++) {
        least = MIN(least, config_view_role(&camera->views[i]));
    }
    return least;
}

enum config_role event_feed_role(const struct config *config, const char *camera)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        if (strcmp(config->cameras[i].name, camera) == 0) {
            return camera_role(&config->cameras[i]);
        }
    }
    return CONFIG_ROLE_ADMIN;
}

static bool is_asked(const char *asked, const char *name)
{
    return !asked || g_strcmp0(asked, name) == 0;
}

// Names of cameras need no escaping: the configuration allows only letters, digits, _ and -.
static char *list_cameras(const struct config *config, enum config_role role)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        if (camera_role(&config->cameras[i]) <= role) {
            g_string_append_printf(list, "%s\"%s\"", list->len ? ", " : "",
                                   config->cameras[i].name);
        }
    }
    return g_string_free(list, FALSE);
}

static char *list_regions(const struct config *config, enum config_role role, const char *camera)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *each = &config->cameras[i];

        if (camera_role(each) > role || !is_asked(camera, each->name)) {
            continue;
        }
        for (size_t j = 0; j < each->region_count; j++) {
            g_string_append_printf(list, "%s\"%s\" of camera \"%s\"", list->len ? ", " : "",
                                   each->regions[j].name, each->name);
        }
    }
    return g_string_free(list, FALSE);
}

static bool has_region(const struct config_camera *camera, const char *region)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        if (is_asked(region, camera->regions[i].name)) {
            return true;
        }
    }
    return !region;
}

char *event_feed_refuse(const struct config *config, enum config_role role, const char *camera,
                        const char *region)
{
    bool camera_there = !camera;

    for (size_t i = 0; i < config->camera_count; i++) {
        bool asked =
            is_asked(camera, config->cameras[i].name) && camera_role(&config->cameras[i]) <= role;

        if (asked && has_region(&config->cameras[i], region)) {
            return NULL;
        }
        camera_there |= asked;
    }
    g_autofree char *list =
        camera_there ? list_regions(config, role, camera) : list_cameras(config, role);
    return g_strdup_printf("%s: there is no \"%s\", allowed: %s",
                           camera_there ? "region" : "camera", camera_there ? region : camera,
                           list[0] ? list : "none");
}
