#include "daemon/front/onvif/pull_points.h"

#include "config/base.h"
#include "daemon/front/events/motion.h"
#include "daemon/front/model/lookup.h"

#include <string.h>
#include <sys/random.h>

struct pull_point {
    struct pull_points *points; // borrowed
    char id[PULL_POINT_ID_SIZE];
    char *user, *camera;   // owned; camera NULL: all
    enum config_role role; // of the user, when the last request came
    unsigned topics;
    GQueue messages; // owned struct pull_message
    int64_t end_ns, used_ns;
    guint end_timer;        // GLib source id
    struct pull_wait *wait; // borrowed; NULL: nobody waits
};

struct pull_points {
    struct event_feed *feed; // borrowed
    struct event_reader reader;
    GHashTable *moving; // owned; the set of "CAMERA REGION" in which something moves
    GPtrArray *list;    // owned struct pull_point
    bool is_stopping;
};

// Messages
// ---------------------------------------------------------------------

static bool is_moving(const struct pull_points *points, const char *camera)
{
    size_t length = strlen(camera);
    GHashTableIter iter;
    gpointer key;

    g_hash_table_iter_init(&iter, points->moving);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        if (strncmp(key, camera, length) == 0 && ((const char *)key)[length] == ' ')
            return true;
    }
    return false;
}

static bool is_overtaken(const GList *link)
{
    const struct pull_message *message = link->data;

    for (const GList *later = link->next; later; later = later->next) {
        const struct pull_message *other = later->data;

        if (other->topic == message->topic && strcmp(other->camera, message->camera) == 0)
            return true;
    }
    return false;
}

static void drop_overtaken(struct pull_point *point)
{
    for (GList *link = point->messages.head; link; link = link->next) {
        if (is_overtaken(link)) {
            g_free(link->data);
            g_queue_delete_link(&point->messages, link);
            return;
        }
    }
}

static void push(struct pull_point *point, const struct pull_message *message)
{
    struct pull_message *kept = g_new(struct pull_message, 1);

    *kept = *message;
    g_queue_push_tail(&point->messages, kept);
    if (point->messages.length > PULL_POINT_MESSAGES_MAX)
        drop_overtaken(point);
}

// Adds a message of each topic that the client wants.
static void push_topics(struct pull_point *point, struct pull_message message)
{
    for (unsigned topic = 0; topic < PULL_TOPIC_COUNT; topic++) {
        message.topic = (enum pull_topic)topic;
        if (point->topics & 1U << topic)
            push(point, &message);
    }
}

static bool wants(const struct pull_point *point, const char *camera, enum config_role role)
{
    return point->role >= role && (!point->camera || strcmp(point->camera, camera) == 0);
}

static void push_states(const struct pull_points *points, struct pull_point *point,
                        const struct config *config)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const char *name = config->cameras[i].name;
        struct pull_message message = {.is_initial = true,
                                       .is_moving = is_moving(points, name),
                                       .wall_ns = g_get_real_time() * NS_PER_US};

        g_strlcpy(message.camera, name, sizeof message.camera);
        message.role = lookup_role(config, name);
        if (wants(point, name, message.role))
            push_topics(point, message);
    }
}

// The wait is over before it is told, so that it may begin another.
static void wake(struct pull_wait *wait)
{
    pull_wait_end(wait);
    wait->wake(wait->context);
}

static void tell(const struct pull_points *points, const struct pull_message *message)
{
    for (guint i = 0; i < points->list->len; i++) {
        struct pull_point *point = g_ptr_array_index(points->list, i);

        if (!wants(point, message->camera, message->role))
            continue;
        push_topics(point, *message);
        if (point->wait)
            wake(point->wait);
    }
}

// Notes the start or the end of motion in a region. Tells of it where the camera is then another.
static void take(const struct pull_points *points, const struct event *event)
{
    bool begins = strcmp(event->name, motion_kind_name(MOTION_STARTED)) == 0;
    struct pull_message message = {
        .is_moving = begins, .role = event->role, .wall_ns = event->wall_ns};
    bool was_moving = is_moving(points, event->camera);
    g_autofree char *key = g_strconcat(event->camera, " ", event->region, NULL);

    g_strlcpy(message.camera, event->camera, sizeof message.camera);
    if (begins)
        g_hash_table_add(points->moving, g_steal_pointer(&key));
    else
        g_hash_table_remove(points->moving, key);
    if (is_moving(points, event->camera) != was_moving)
        tell(points, &message);
}

// It is read as events come, so none is missed.
static void on_event(void *context)
{
    struct pull_points *points = context;
    const struct event *event;

    while (event_reader_next(&points->reader, &event) > 0) {
        if (*event->region)
            take(points, event);
    }
}

// Pull points
// ---------------------------------------------------------------------

static void free_point(gpointer data)
{
    struct pull_point *point = data;

    g_clear_handle_id(&point->end_timer, g_source_remove);
    g_queue_clear_full(&point->messages, g_free);
    g_free(point->user);
    g_free(point->camera);
    g_free(point);
}

struct pull_points *pull_points_new(struct event_feed *feed)
{
    struct pull_points *points = g_new0(struct pull_points, 1);
    const struct event *event;

    points->feed = feed;
    points->moving = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    points->list = g_ptr_array_new_with_free_func(free_point);
    event_feed_open(feed, CONFIG_ROLE_ADMIN, NULL, NULL, NULL, &points->reader);
    for (unsigned i = 0; (event = event_reader_under_way(&points->reader, i)); i++) {
        if (*event->region)
            take(points, event);
    }
    event_reader_watch(&points->reader, on_event, points);
    return points;
}

void pull_points_free(struct pull_points *points)
{
    if (points) {
        event_reader_finish(&points->reader);
        g_ptr_array_unref(points->list);
        g_hash_table_unref(points->moving);
        g_free(points);
    }
}

void pull_points_stop(struct pull_points *points)
{
    points->is_stopping = true;
    for (guint i = 0; i < points->list->len; i++) {
        const struct pull_point *point = g_ptr_array_index(points->list, i);

        if (point->wait)
            wake(point->wait);
    }
}

static gboolean on_end(gpointer data)
{
    struct pull_point *point = data;

    point->end_timer = 0;
    pull_points_remove(point->points, point);
    return G_SOURCE_REMOVE;
}

void pull_point_renew(struct pull_point *point, int64_t life_ns)
{
    int64_t cut_ns =
        CLAMP(life_ns, PULL_POINT_LIFE_MIN_S * NS_PER_S, PULL_POINT_LIFE_MAX_S * NS_PER_S);

    g_clear_handle_id(&point->end_timer, g_source_remove);
    point->end_timer = g_timeout_add((guint)(cut_ns / NS_PER_MS), on_end, point);
    point->end_ns = clock_now_ns() + cut_ns;
}

static unsigned count_of(const struct pull_points *points, const char *user)
{
    unsigned count = 0;

    for (guint i = 0; i < points->list->len; i++) {
        const struct pull_point *point = g_ptr_array_index(points->list, i);

        count += strcmp(point->user, user) == 0;
    }
    return count;
}

// The one that has been idle for longest, as of a client that was started again. NULL: all are in
// use.
static struct pull_point *find_idle(const struct pull_points *points)
{
    struct pull_point *oldest = NULL;

    for (guint i = 0; i < points->list->len; i++) {
        struct pull_point *point = g_ptr_array_index(points->list, i);

        if (!point->wait && (!oldest || point->used_ns < oldest->used_ns))
            oldest = point;
    }
    return oldest && clock_now_ns() - oldest->used_ns >= PULL_POINT_IDLE_S * NS_PER_S ? oldest
                                                                                      : NULL;
}

// The newest one of the user who has most, if that leaves no fewer than `user` then has.
static struct pull_point *find_greedy(const struct pull_points *points, const char *user)
{
    unsigned most = count_of(points, user) + 1;
    struct pull_point *found = NULL;

    for (guint i = 0; i < points->list->len; i++) {
        struct pull_point *point = g_ptr_array_index(points->list, i);
        unsigned count = count_of(points, point->user);

        if (count > most || (found && count == most)) {
            most = count;
            found = point;
        }
    }
    return found;
}

static bool make_room(struct pull_points *points, const char *user)
{
    struct pull_point *leaves;

    if (points->list->len < PULL_POINTS_MAX)
        return true;
    leaves = find_idle(points);
    leaves = leaves ? leaves : find_greedy(points, user);
    if (leaves)
        pull_points_remove(points, leaves);
    return leaves;
}

struct pull_point *pull_points_add(struct pull_points *points, const struct pull_client *client,
                                   const struct config *config, int64_t life_ns)
{
    uint8_t number[(PULL_POINT_ID_SIZE - 1) / 2];
    struct pull_point *point;

    if (!make_room(points, client->user) || getrandom(number, sizeof number, 0) != sizeof number)
        return NULL;
    point = g_new0(struct pull_point, 1);
    for (size_t i = 0; i < sizeof number; i++)
        g_snprintf(point->id + 2 * i, 3, "%02x", number[i]);
    point->points = points;
    point->user = g_strdup(client->user);
    point->camera = g_strdup(client->camera);
    point->role = client->role;
    point->topics = client->topics;
    point->used_ns = clock_now_ns();
    pull_point_renew(point, life_ns);
    g_ptr_array_add(points->list, point);
    push_states(points, point, config);
    return point;
}

struct pull_point *pull_points_find(struct pull_points *points, const char *id, const char *user,
                                    enum config_role role)
{
    for (guint i = 0; i < points->list->len; i++) {
        struct pull_point *point = g_ptr_array_index(points->list, i);

        if (strcmp(point->id, id) == 0 && strcmp(point->user, user) == 0) {
            point->used_ns = clock_now_ns();
            point->role = role;
            return point;
        }
    }
    return NULL;
}

void pull_points_remove(struct pull_points *points, struct pull_point *point)
{
    struct pull_wait *wait = point->wait;

    if (wait)
        pull_wait_end(wait);
    g_ptr_array_remove(points->list, point);
    if (wait)
        wait->wake(wait->context);
}

const char *pull_point_id(const struct pull_point *point)
{
    return point->id;
}

int64_t pull_point_end_ns(const struct pull_point *point)
{
    return point->end_ns;
}

void pull_point_synchronize(struct pull_points *points, struct pull_point *point,
                            const struct config *config)
{
    if (g_queue_is_empty(&point->messages))
        push_states(points, point, config);
    if (point->wait && !g_queue_is_empty(&point->messages))
        wake(point->wait);
}

// A camera that is gone keeps its role, so that the end of its motion is told.
static enum config_role role_now(const struct pull_message *message, const struct config *config)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        if (strcmp(config->cameras[i].name, message->camera) == 0)
            return lookup_role(config, message->camera);
    }
    return message->role;
}

bool pull_point_take(struct pull_point *point, const struct config *config,
                     struct pull_message *ret_message)
{
    struct pull_message *message;
    bool is_found = false;

    while (!is_found && (message = g_queue_pop_head(&point->messages))) {
        is_found = wants(point, message->camera, role_now(message, config));
        if (is_found)
            *ret_message = *message;
        g_free(message);
    }
    return is_found;
}

// Waiting
// ---------------------------------------------------------------------

static gboolean on_timeout(gpointer data)
{
    struct pull_wait *wait = data;

    wait->timer = 0;
    wake(wait);
    return G_SOURCE_REMOVE;
}

bool pull_wait_begin(struct pull_points *points, struct pull_point *point, unsigned timeout_ms,
                     struct pull_wait *wait)
{
    if (point->wait)
        wake(point->wait);
    if (points->is_stopping || timeout_ms == 0 || !g_queue_is_empty(&point->messages))
        return false;
    wait->point = point;
    wait->timer = g_timeout_add(timeout_ms, on_timeout, wait);
    point->wait = wait;
    return true;
}

void pull_wait_end(struct pull_wait *wait)
{
    g_clear_handle_id(&wait->timer, g_source_remove);
    if (wait->point)
        wait->point->wait = NULL;
    wait->point = NULL;
}
