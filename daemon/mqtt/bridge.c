#include "daemon/mqtt/bridge.h"

#include "daemon/client/event_stream.h"
#include "daemon/common/json.h"
#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/mqtt/broker.h"
#include "daemon/mqtt/command.h"
#include "daemon/mqtt/discovery.h"
#include "daemon/mqtt/picture_requests.h"
#include "daemon/mqtt/retained.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define RETRY_MS 500u
#define RETRY_MAX_MS 4000u
#define NEWS_NS (10 * NS_PER_S) // an event that is older is told as a state alone
#define UNCONFIRMED_MAX 50u     // beyond it no pictures are sent
#define RENEWAL_MS 100          // at least, between two times that edged is asked how it is

struct bridge {
    const struct client *client; // borrowed
    struct event_stream stream;
    guint retry; // GLib source id; 0: the stream is connected
    unsigned retry_ms;
    bool is_lost_told;
    guint renewal;      // GLib source id: edged is about to be asked for its state
    int64_t renewed_ns; // when it was asked for last

    char *id;                             // of this machine; owned
    char *topic;                          // "edged/ID"; owned; NULL: edged has not told yet
    char *discovery;                      // "homeassistant"; owned; "": none
    JsonObject *schema, *config, *status; // as edged told; owned; NULL: not yet
    char *settings;        // the group mqtt that the broker is connected by; owned; NULL: none
    struct broker *broker; // owned; NULL: none is configured
    struct retained retained;
    GHashTable *moving; // "CAMERA/REGION" of the regions in which something moves; owned
    struct picture_requests *pictures; // owned
    struct log_limit refusals;
};

// To the broker
// ---------------------------------------------------------------------

// Publishes a state, unless the broker has it. Takes over `topic`.
static void tell(struct bridge *bridge, char *topic, const char *payload)
{
    retained_tell(&bridge->retained, bridge->broker, topic, payload);
}

// The same below the topic of this edged.
__attribute__((format(printf, 3, 4))) static void
tell_below(struct bridge *bridge, const char *payload, const char *format, ...)
{
    g_autofree char *rest = NULL;
    va_list list;

    va_start(list, format);
    rest = g_strdup_vprintf(format, list);
    va_end(list);
    tell(bridge, g_strconcat(bridge->topic, "/", rest, NULL), payload);
}

// Tells what happens, which a broker does not keep.
static void tell_once(struct bridge *bridge, const char *level, const char *text)
{
    g_autofree char *topic = g_strconcat(bridge->topic, "/", level, NULL);

    broker_publish(bridge->broker, topic, text, strlen(text), 0, false);
}

static struct edged_state state_of(const struct bridge *bridge)
{
    return (struct edged_state){.id = bridge->id,
                                .topic = bridge->topic,
                                .schema = bridge->schema,
                                .config = bridge->config,
                                .status = bridge->status};
}

// Discovery
// ---------------------------------------------------------------------

static char *discovery_topic(const struct bridge *bridge, const char *camera)
{
    return camera ? g_strdup_printf("%s/device/%s/%s/config", bridge->discovery, bridge->id, camera)
                  : g_strdup_printf("%s/device/%s/config", bridge->discovery, bridge->id);
}

static GList *cameras_of(const struct bridge *bridge)
{
    JsonObject *cameras = get_object(bridge->config, "cameras");

    return cameras ? json_object_get_members(cameras) : NULL;
}

static void tell_discovery(struct bridge *bridge)
{
    const struct edged_state edged = state_of(bridge);
    g_autoptr(GList) cameras = cameras_of(bridge);
    g_autofree char *own = discovery_of_edged(&edged);

    if (!*bridge->discovery)
        return;
    tell(bridge, discovery_topic(bridge, NULL), own);
    for (const GList *link = cameras; link; link = link->next) {
        g_autofree char *text = discovery_of_camera(&edged, link->data);
        char *topic = discovery_topic(bridge, link->data);
        const char *before = retained_last(&bridge->retained, topic);
        g_autofree char *marked = before ? discovery_with_removed(text, before) : NULL;

        if (marked)
            tell(bridge, g_strdup(topic), marked);
        tell(bridge, topic, text);
    }
}

// The camera of a topic of discovery, "" of edged's own; NULL: it is none. The caller g_free()s it.
static char *camera_of_topic(const struct bridge *bridge, const char *topic)
{
    g_autofree char *prefix = g_strdup_printf("%s/device/%s/", bridge->discovery, bridge->id);
    const char *rest = g_str_has_prefix(topic, prefix) ? topic + strlen(prefix) : "";
    size_t end = strlen(rest) - MIN(strlen(rest), strlen("config"));

    if (strcmp(rest + end, "config") != 0 || (end > 0 && rest[end - 1] != '/'))
        return NULL;
    return g_strndup(rest, end ? end - 1 : 0);
}

// Before anything is told anew, which would take the place of it. Each subscription has the broker
// send what it keeps.
static void ask_old_discovery(struct bridge *bridge)
{
    g_autofree char *own = g_strdup_printf("%s/device/%s/#", bridge->discovery, bridge->id);

    if (*bridge->discovery)
        broker_subscribe(bridge->broker, own);
}

// The broker has kept a message that was told before: what is gone is removed.
static void take_old_discovery(struct bridge *bridge, const char *topic, const char *old)
{
    g_autofree char *camera = camera_of_topic(bridge, topic);
    const struct edged_state edged = state_of(bridge);

    if (!camera || !*old)
        return;
    if (*camera && !settings_of(&edged, camera)) {
        retained_take_back(bridge->broker, topic);
        return;
    }
    g_autofree char *wanted =
        *camera ? discovery_of_camera(&edged, camera) : discovery_of_edged(&edged);
    g_autofree char *marked = discovery_with_removed(wanted, old);
    if (marked) {
        broker_publish(bridge->broker, topic, marked, strlen(marked), 1, true);
        retained_doubt(&bridge->retained, topic);
        tell(bridge, g_strdup(topic), wanted);
    }
}

// States
// ---------------------------------------------------------------------

static bool moves(const struct bridge *bridge, const char *camera)
{
    g_autofree char *prefix = g_strconcat(camera, "/", NULL);
    GHashTableIter each;
    gpointer place;
    bool any = false;

    g_hash_table_iter_init(&each, bridge->moving);
    while (g_hash_table_iter_next(&each, &place, NULL))
        any |= g_str_has_prefix(place, prefix);
    return any;
}

static void note_motion(struct bridge *bridge, const char *camera, const char *region,
                        bool is_moving)
{
    char *place = g_strdup_printf("%s/%s", camera, region);

    tell_below(bridge, is_moving ? "ON" : "OFF", "%s/motion", place);
    if (is_moving) {
        g_hash_table_add(bridge->moving, place);
    } else {
        g_hash_table_remove(bridge->moving, place);
        g_free(place);
    }
}

// The camera's motion is that of any of its regions.
static void tell_motion(struct bridge *bridge, const char *camera)
{
    tell_below(bridge, moves(bridge, camera) ? "ON" : "OFF", "%s/motion", camera);
}

struct camera_told {
    struct bridge *bridge;
    const char *name;
};

static void tell_setting(void *context, const struct setting *setting)
{
    const struct camera_told *camera = context;
    g_autofree char *text = setting_text(setting->value);

    tell_below(camera->bridge, text, "%s/%s", camera->name, setting->path);
}

static void tell_camera_state(struct bridge *bridge, JsonObject *camera)
{
    const char *name = get_string(camera, "name"), *state = get_string(camera, "state");
    bool is_live = strcmp(state, "live") == 0;
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autofree char *text = NULL;

    json_builder_begin_object(builder);
    json_add_string(builder, "state", state);
    json_add_string(builder, "error", get_string(camera, "error"));
    json_builder_end_object(builder);
    text = json_built_text(builder, false);
    tell_below(bridge, text, "%s/status", name);
    tell_below(bridge, state, "%s/state", name);
    tell_below(bridge, is_live ? "ON" : "OFF", "%s/live", name);
    tell_below(bridge, is_live ? "online" : "offline", "%s/available", name);
}

// Of a region that the camera's process has not told of yet: false.
static bool is_moving(JsonObject *camera, const char *region)
{
    g_autoptr(GList) told = get_list(camera, "regions");
    bool is = false;

    for (const GList *link = told; link; link = link->next) {
        JsonObject *each = json_node_get_object(link->data);

        is |= strcmp(get_string(each, "name"), region) == 0 && get_boolean(each, "moving");
    }
    return is;
}

static char *snapshot_topic(const struct bridge *bridge, const char *camera)
{
    return g_strdup_printf("%s/%s/snapshot", bridge->topic, camera);
}

static void tell_camera(struct bridge *bridge, JsonObject *camera)
{
    const struct edged_state edged = state_of(bridge);
    struct camera_told told = {bridge, get_string(camera, "name")};
    JsonObject *regions = get_object(settings_of(&edged, told.name), "regions");
    g_autoptr(GList) names = regions ? json_object_get_members(regions) : NULL;

    for (const GList *link = names; link; link = link->next)
        note_motion(bridge, told.name, link->data, is_moving(camera, link->data));
    tell_motion(bridge, told.name);
    settings_each(&edged, told.name, tell_setting, &told);
    retained_keep(&bridge->retained, snapshot_topic(bridge, told.name));
    tell_camera_state(bridge, camera);
}

// Puts what edged says of a page in the place of what it said before.
static int ask(struct bridge *bridge, const char *page, struct error *error, JsonObject **object)
{
    _cleanup_(cleanup_free) char *body = NULL;
    JsonObject *told = NULL;
    int r = client_get(bridge->client, page, error, &body);

    r = r < 0 ? r : client_parse(body, error, &told);
    if (r < 0)
        return r;
    g_clear_pointer(object, json_object_unref);
    *object = told;
    return 0;
}

// Publishes all states, as edged has them now. Availability comes last, when the rest is right.
static int tell_all(struct bridge *bridge, struct error *error)
{
    bool has_problem = false, is_doubted = bridge->retained.tells_again;

    if (!broker_is_connected(bridge->broker))
        return 0;
    int r = bridge->schema ? ask(bridge, "/v1/status", error, &bridge->status)
                           : error_set(error, -ENOTCONN, "edged has not told of itself yet");
    if (r < 0) {
        tell_below(bridge, "offline", "available");
        return r;
    }
    g_autoptr(GList) cameras = get_list(bridge->status, "cameras");
    retained_begin(&bridge->retained);
    if (is_doubted)
        ask_old_discovery(bridge);
    tell_discovery(bridge);
    g_hash_table_remove_all(bridge->moving);
    for (const GList *link = cameras; link; link = link->next) {
        JsonObject *camera = json_node_get_object(link->data);

        tell_camera(bridge, camera);
        has_problem |= strcmp(get_string(camera, "state"), "live") != 0;
    }
    tell_below(bridge, has_problem ? "ON" : "OFF", "problem");
    tell_below(bridge, "online", "available");
    retained_end(&bridge->retained, bridge->broker, bridge->discovery);
    if (is_doubted)
        retained_look_back(&bridge->retained, bridge->broker, bridge->topic);
    return 0;
}

static void leave_edged(struct bridge *bridge, const char *why);
static gboolean on_renewal(gpointer data);

// Asks edged at once for what a change has made, and later once for what others right behind it
// have made. While edged is away nothing is to be asked: all is told once it is back.
static void renew_soon(struct bridge *bridge)
{
    int64_t wait_ns = bridge->renewed_ns + RENEWAL_MS * NS_PER_MS - clock_now_ns();

    if (!bridge->renewal && !bridge->retry)
        bridge->renewal = g_timeout_add((guint)(MAX(wait_ns, 0) / NS_PER_MS), on_renewal, bridge);
}

// From the broker
// ---------------------------------------------------------------------

static void tell_error(struct bridge *bridge, const char *topic, const char *sentence)
{
    char left_out[LOG_LIMIT_SUFFIX_SIZE];
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autofree char *text = NULL;

    json_builder_begin_object(builder);
    json_add_string(builder, "topic", topic);
    json_add_string(builder, "error", sentence);
    json_builder_end_object(builder);
    text = json_built_text(builder, false);
    if (log_limit_line(&bridge->refusals, clock_now_ns(), left_out))
        log_notice("%.200s: refused: %s%s", topic, sentence, left_out);
    tell_once(bridge, "error", text);
}

static int send_command(const struct bridge *bridge, const struct command *command,
                        struct error *error)
{
    _cleanup_(cleanup_free) char *reply = NULL;

    return command->is_patch
               ? client_patch(bridge->client, command->page, command->json, error, &reply)
               : client_post(bridge->client, command->page, command->json, error, &reply);
}

// A control of Home Assistant shows what it asked for until it hears how it is: it is told again.
static void take_command(struct bridge *bridge, const char *topic, const char *rest,
                         const char *payload, size_t size)
{
    const struct edged_state edged = state_of(bridge);
    g_autofree char *state = g_strconcat(bridge->topic, "/", rest, NULL);
    struct command command;
    struct error error = {0};
    int r = command_read(&edged, rest, payload, size, &error, &command);

    r = r < 0 ? r : send_command(bridge, &command, &error);
    command_finish(&command);
    if (r < 0) {
        tell_error(bridge, topic, error.text);
        retained_doubt(&bridge->retained, state);
        renew_soon(bridge);
    }
}

// The broker has kept a state that was told before.
static void take_old_state(struct bridge *bridge, const char *topic, const char *payload)
{
    const struct edged_state edged = state_of(bridge);
    const char *levels = topic + strlen(bridge->topic) + 1;
    size_t length = strcspn(levels, "/");
    g_autofree char *name = g_strndup(levels, length);
    g_autofree char *camera = g_strndup(topic, (size_t)(levels - topic) + length);

    retained_take_old(&bridge->retained, bridge->broker, topic, payload,
                      settings_of(&edged, name) ? NULL : camera);
}

static bool is_below(const char *topic, const char *level)
{
    size_t length = strlen(level);

    return length && strncmp(topic, level, length) == 0 && topic[length] == '/';
}

static void on_message(void *context, const char *topic, const char *payload, size_t size,
                       bool is_retained)
{
    struct bridge *bridge = context;
    g_autofree char *commands = g_strconcat(bridge->topic, "/set", NULL);
    g_autofree char *status = g_strconcat(bridge->discovery, "/status", NULL);

    if (!bridge->status) // edged has not told yet
        return;
    if (is_below(topic, commands)) {
        if (!is_retained) // it was meant for another moment
            take_command(bridge, topic, topic + strlen(commands) + 1, payload, size);
    } else if (strcmp(topic, status) == 0) {
        if (strcmp(payload, "online") == 0) { // Home Assistant has just been started
            retained_doubt_all(&bridge->retained);
            renew_soon(bridge);
        }
    } else if (is_retained && is_below(topic, bridge->discovery)) {
        take_old_discovery(bridge, topic, payload);
    } else if (is_retained && is_below(topic, bridge->topic)) {
        take_old_state(bridge, topic, payload);
    }
}

static void on_connected(void *context)
{
    struct bridge *bridge = context;
    g_autofree char *commands = g_strconcat(bridge->topic, "/set/#", NULL);
    struct error error = {0};

    broker_subscribe(bridge->broker, commands);
    if (*bridge->discovery) {
        g_autofree char *status = g_strconcat(bridge->discovery, "/status", NULL);

        broker_subscribe(bridge->broker, status);
    }
    retained_doubt_all(&bridge->retained);
    if (tell_all(bridge, &error) < 0 && !bridge->retry)
        leave_edged(bridge, error.text);
}

static void connect_broker(struct bridge *bridge, JsonObject *group)
{
    const char *host = get_string(group, "broker");
    const struct broker_handler handler = {on_connected, on_message, bridge};
    g_autofree char *client_id = g_strconcat("edged-", bridge->id, NULL);
    g_autofree char *will = NULL;
    int port = (int)get_number(group, "port");
    bool tls = get_boolean(group, "tls");

    bridge->topic = g_strconcat(get_string(group, "topic"), "/", bridge->id, NULL);
    bridge->discovery = g_strdup(get_string(group, "discovery"));
    if (!*host) {
        log_notice("no broker is configured (mqtt.broker), waiting for one");
        return;
    }
    will = g_strconcat(bridge->topic, "/available", NULL);
    const struct broker_settings settings = {.host = host,
                                             .port = port  ? port
                                                     : tls ? 8883
                                                           : 1883,
                                             .tls = tls,
                                             .ca = get_string(group, "ca"),
                                             .user = get_string(group, "user"),
                                             .password_file = get_string(group, "password_file"),
                                             .client_id = client_id,
                                             .will_topic = will};
    bridge->broker = broker_new(&settings, &handler);
}

static void disconnect_broker(struct bridge *bridge)
{
    if (bridge->topic)
        tell_below(bridge, "offline", "available");
    broker_free(TAKE(bridge->broker));
    g_clear_pointer(&bridge->topic, g_free);
    g_clear_pointer(&bridge->discovery, g_free);
    retained_forget(&bridge->retained);
}

// Connects as the configuration says, unless that is as before.
static void configure(struct bridge *bridge)
{
    JsonObject *group = get_object(bridge->config, "mqtt");
    JsonNode *node = group ? json_object_get_member(bridge->config, "mqtt") : NULL;
    g_autofree char *settings = node ? json_text(node, false) : g_strdup("");

    if (g_strcmp0(settings, bridge->settings) == 0)
        return;
    disconnect_broker(bridge);
    g_free(bridge->settings);
    bridge->settings = TAKE(settings);
    if (group)
        connect_broker(bridge, group);
    else
        log_warning("edged knows no group mqtt: are both of one version?");
}

// From edged
// ---------------------------------------------------------------------

// Asks for the settings, and tells the broker what has changed.
static int refresh(struct bridge *bridge, struct error *error)
{
    int r = bridge->schema ? 0 : ask(bridge, "/v1/config/schema", error, &bridge->schema);

    r = r < 0 ? r : ask(bridge, "/v1/config", error, &bridge->config);
    if (r < 0)
        return r;
    configure(bridge);
    return tell_all(bridge, error);
}

// The camera or the broker may be gone since the picture was asked for.
static void on_picture(void *context, const char *camera, const char *jpeg, size_t size)
{
    struct bridge *bridge = context;
    const struct edged_state edged = state_of(bridge);

    if (!bridge->broker || !settings_of(&edged, camera) ||
        broker_unconfirmed(bridge->broker) > UNCONFIRMED_MAX) {
        return;
    }
    g_autofree char *topic = snapshot_topic(bridge, camera);
    broker_publish(bridge->broker, topic, jpeg, size, 0, true);
}

// An event entity of Home Assistant takes its type from the member event_type.
static void tell_event(struct bridge *bridge, JsonObject *event, const char *level)
{
    g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), event);
    g_autofree char *text = NULL;

    json_object_set_string_member(event, "event_type", get_string(event, "event"));
    text = json_text(root, false);
    tell_once(bridge, level, text);
}

static bool is_news(JsonObject *event)
{
    JsonNode *time = json_object_get_member(event, "time_ns");

    return time && g_get_real_time() * NS_PER_US - json_node_get_int(time) < NEWS_NS;
}

// Motion of long ago may be over: only how it is now is told of it.
static void take_motion(struct bridge *bridge, JsonObject *event)
{
    const char *camera = get_string(event, "camera"), *region = get_string(event, "region");
    bool has_begun = strcmp(get_string(event, "event"), "motion_started") == 0;
    g_autofree char *of_camera = g_strdup_printf("%s/event", camera);
    g_autofree char *of_region = g_strdup_printf("%s/%s/event", camera, region);

    if (!is_news(event)) {
        renew_soon(bridge);
        return;
    }
    note_motion(bridge, camera, region, has_begun);
    tell_motion(bridge, camera);
    tell_event(bridge, event, of_camera);
    tell_event(bridge, event, of_region);
    if (has_begun)
        picture_requests_add(bridge->pictures, camera);
}

static void take_event(struct bridge *bridge, JsonObject *event)
{
    const char *name = get_string(event, "event");

    if (strcmp(name, "settings_changed") == 0 || strcmp(name, "camera_state") == 0) {
        renew_soon(bridge);
    } else if (!broker_is_connected(bridge->broker)) {
        return; // all is told once it is
    } else if (strcmp(name, "clip_ended") == 0) {
        g_autofree char *level = g_strdup_printf("%s/event", get_string(event, "camera"));

        tell_event(bridge, event, level);
    } else if (g_str_has_prefix(name, "motion_")) {
        take_motion(bridge, event);
    }
}

static int on_event(void *context, const char *json)
{
    struct bridge *bridge = context;
    g_autoptr(JsonObject) event = NULL;
    struct error error = {0};

    int r = client_parse(json, &error, &event);

    if (r < 0) {
        log_debug("%s", error.text);
        return r;
    }
    take_event(bridge, event);
    return 0;
}

static gboolean on_retry(gpointer data);

static void try_later(struct bridge *bridge, const char *why)
{
    if (!bridge->is_lost_told)
        log_warning("%s, trying again until it is back", why);
    bridge->is_lost_told = true;
    g_clear_handle_id(&bridge->renewal, g_source_remove);
    bridge->retry = g_timeout_add(bridge->retry_ms, on_retry, bridge);
    bridge->retry_ms = MIN(2 * bridge->retry_ms, RETRY_MAX_MS);
    if (bridge->topic)
        tell_below(bridge, "offline", "available");
}

// edged does not answer although its events may go on: all begins anew, once it does.
static void leave_edged(struct bridge *bridge, const char *why)
{
    event_stream_disconnect(&bridge->stream);
    try_later(bridge, why);
}

static gboolean on_renewal(gpointer data)
{
    struct bridge *bridge = data;
    struct error error = {0};

    bridge->renewal = 0;
    bridge->renewed_ns = clock_now_ns();
    if (refresh(bridge, &error) < 0)
        leave_edged(bridge, error.text);
    return G_SOURCE_REMOVE;
}

static void on_lost(void *context, int result, const char *how)
{
    (void)result;
    try_later(context, how);
}

// First the events, so that none comes between what edged says of itself and the next one.
static gboolean on_retry(gpointer data)
{
    struct bridge *bridge = data;
    struct error error = {0};
    int r = event_stream_connect(&bridge->stream, &error);

    bridge->retry = 0;
    if (r == 0) {
        g_clear_pointer(&bridge->schema, json_object_unref); // it may be another edged
        r = refresh(bridge, &error);
        if (r < 0)
            event_stream_disconnect(&bridge->stream);
    }
    if (r < 0) {
        try_later(bridge, error.text);
    } else {
        if (bridge->is_lost_told)
            log_notice("edged is there");
        bridge->is_lost_told = false;
        bridge->retry_ms = RETRY_MS;
    }
    return G_SOURCE_REMOVE;
}

struct bridge *bridge_new(const struct client *client, const char *id)
{
    struct bridge *bridge = g_new0(struct bridge, 1);
    const struct event_stream_handler handler = {on_event, on_lost, bridge};

    bridge->client = client;
    bridge->id = g_strdup(id);
    bridge->retry_ms = RETRY_MS;
    retained_init(&bridge->retained);
    bridge->moving = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bridge->pictures = picture_requests_new(client, on_picture, bridge);
    event_stream_init(&bridge->stream, client, "/v1/events", &handler);
    bridge->retry = g_timeout_add(0, on_retry, bridge);
    return bridge;
}

void bridge_free(struct bridge *bridge)
{
    if (!bridge)
        return;
    g_clear_handle_id(&bridge->retry, g_source_remove);
    g_clear_handle_id(&bridge->renewal, g_source_remove);
    event_stream_finish(&bridge->stream);
    picture_requests_free(bridge->pictures);
    disconnect_broker(bridge);
    g_clear_pointer(&bridge->schema, json_object_unref);
    g_clear_pointer(&bridge->config, json_object_unref);
    g_clear_pointer(&bridge->status, json_object_unref);
    retained_finish(&bridge->retained);
    g_hash_table_unref(bridge->moving);
    g_free(bridge->settings);
    g_free(bridge->id);
    g_free(bridge);
}
