#include "daemon/front/http/clips_route.h"

#include "config/schema/schema.h"
#include "daemon/common/json_members.h"
#include "daemon/common/json_text.h"
#include "daemon/front/http/clip_request.h"
#include "daemon/front/http/http_body.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LIMIT 100
#define LIMIT_MAX 1000
#define DURATION_S_MAX 86400
#define DAYS_MAX 36500
#define SIZES "bytes with a unit of 1000, as \"200M\" or \"16G\", at least \"1M\"; or none"

// A clip as JSON
// ---------------------------------------------------------------------

static void add_null(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_null_value(builder);
}

static void add_flag(JsonBuilder *builder, const char *name, bool value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_boolean_value(builder, value);
}

static void add_times(JsonBuilder *builder, const struct record_clip *clip)
{
    int64_t duration_ns = clip->end_wall_ns - clip->start_wall_ns;

    json_add_time(builder, "start", clip->start_wall_ns);
    json_add_time(builder, "end", clip->end_wall_ns);
    json_add_number(builder, "duration", (double)duration_ns / (double)NS_PER_S);
    if (clip->asked_wall_ns) {
        json_add_time(builder, "asked", clip->asked_wall_ns);
    } else {
        add_null(builder, "asked");
    }
    json_add_number(builder, "gap", (double)clip->gap_ns / (double)NS_PER_S);
}

static void add_cause(JsonBuilder *builder, const struct record_clip *clip)
{
    json_builder_set_member_name(builder, "regions");
    json_builder_begin_array(builder);
    for (unsigned i = 0; i < clip->region_count; i++) {
        g_autofree char *name = json_valid(clip->regions[i]);

        json_builder_add_string_value(builder, name);
    }
    json_builder_end_array(builder);
    if (clip->event) {
        json_add_integer(builder, "event", (int64_t)clip->event);
    } else {
        add_null(builder, "event");
    }
    json_add_number(builder, "peak", clip->peak);
}

// The caller g_free()s it.
static char *clip_json(const struct record_clip *clip)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonNode) root = NULL;

    json_builder_begin_object(builder);
    json_add_integer(builder, "id", (int64_t)clip->id);
    json_add_string(builder, "camera", clip->camera);
    json_add_string(builder, "view", clip->view);
    add_times(builder, clip);
    add_cause(builder, clip);
    json_add_integer(builder, "bytes", (int64_t)clip->bytes);
    add_flag(builder, "keep", clip->is_kept);
    add_flag(builder, "open", clip->is_open);
    add_flag(builder, "always", clip->is_always);
    add_flag(builder, "triggered", clip->is_triggered);
    json_add_clip(builder, "url", clip->id, "mp4");
    json_add_clip(builder, "picture", clip->has_picture ? clip->id : 0, "jpg");
    json_builder_end_object(builder);
    root = json_builder_get_root(builder);
    return json_text(root, false);
}

static CONTROL_RESULT reply_clip(const struct http_call *call, struct clip_request *asked)
{
    g_autofree char *text = clip_json(&asked->clip);

    clip_request_free(asked);
    return control_reply(call->connection, MHD_HTTP_OK, "application/json",
                         g_strconcat(text, "\n", NULL));
}

CONTROL_RESULT clips_route_show(struct http_call *call)
{
    return clip_request_find(call, reply_clip);
}

// The list
// ---------------------------------------------------------------------

bool clips_route_read_time(const char *text, int64_t *ret_wall_ns)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, NULL);
    char *end;
    double seconds = g_ascii_strtod(text, &end);

    if (time && g_date_time_get_year(time) >= 1970 && g_date_time_get_year(time) <= 2261) {
        *ret_wall_ns =
            g_date_time_to_unix(time) * NS_PER_S + g_date_time_get_microsecond(time) * NS_PER_US;
        return true;
    }
    if (time || end == text || *end || !(seconds >= 0 && seconds < 9e9)) {
        return false;
    }
    *ret_wall_ns = (int64_t)(seconds * (double)NS_PER_S);
    return true;
}

static bool read_integer(const char *text, uint64_t most, uint64_t *ret_number)
{
    return g_ascii_string_to_unsigned(text, 10, 1, most, ret_number, NULL);
}

#define TIMES "a time as 2026-11-27T08:15:03Z, or seconds since 1970"

// Reads the query. Whether it can; else the request is refused, as *ret_result.
static bool read_query(const struct http_call *call, struct record_list *list,
                       CONTROL_RESULT *ret_result)
{
    const char *from = http_query(call, "from"), *to = http_query(call, "to"),
               *camera = http_query(call, "camera"), *limit = http_query(call, "limit"),
               *before = http_query(call, "before");
    uint64_t count = LIMIT;
    const char *wrong = NULL, *got = NULL, *allowed = TIMES;

    if (from && !clips_route_read_time(from, &list->from_wall_ns)) {
        wrong = "from", got = from;
    } else if (to && !clips_route_read_time(to, &list->to_wall_ns)) {
        wrong = "to", got = to;
    } else if (camera && !schema_name_rule.accepts(camera)) {
        wrong = "camera", got = camera, allowed = schema_name_rule.allowed;
    } else if (limit && !read_integer(limit, LIMIT_MAX, &count)) {
        wrong = "limit", got = limit, allowed = "1 to 1000";
    } else if (before && !read_integer(before, G_MAXINT64, &list->before_id)) {
        wrong = "before", got = before, allowed = "the id of a clip";
    }
    if (wrong) {
        *ret_result = http_refuse_value(call->connection, wrong, got, allowed);
        return false;
    }
    list->count = (uint32_t)count;
    g_strlcpy(list->camera, camera ? camera : "", sizeof list->camera);
    return true;
}

static void list_clip(struct clip_request *asked)
{
    if (asked->shown < asked->limit && clip_request_shows(asked)) {
        g_autofree char *text = clip_json(&asked->clip);

        g_string_append_printf(asked->list, "%s%s", asked->shown++ ? ",\n" : "", text);
    }
}

// Replies, or goes on while the client is shown fewer than it asked for and there are more.
static CONTROL_RESULT reply_list(const struct http_call *call, struct clip_request *asked)
{
    struct record_list list = {0};
    CONTROL_RESULT result = MHD_NO;
    char *text;

    read_query(call, &list, &result); // as it was read before
    if (asked->shown < asked->limit && asked->count >= asked->limit) {
        list.before_id = asked->clip.id;
        list.count = LIMIT_MAX;
        return clip_request_ask(call, asked, RECORD_LIST, 0, &list, sizeof list, reply_list);
    }
    text = g_strconcat(asked->list->str, "]\n", NULL);
    clip_request_free(asked);
    return control_reply(call->connection, MHD_HTTP_OK, "application/json", text);
}

CONTROL_RESULT clips_route_list(struct http_call *call)
{
    struct record_list list = {0};
    struct clip_request *asked;
    CONTROL_RESULT result = MHD_NO;

    if (clip_request_continue(call, &result) || !read_query(call, &list, &result)) {
        return result;
    }
    asked = clip_request_new(call);
    asked->take = list_clip;
    asked->limit = list.count;
    g_string_assign(asked->list, "[");
    return clip_request_ask(call, asked, RECORD_LIST, 0, &list, sizeof list, reply_list);
}

// Changes
// ---------------------------------------------------------------------

// Replies why the recorder did not do it.
static CONTROL_RESULT refuse_done(const struct http_call *call, struct clip_request *asked)
{
    const struct record_done *done = &asked->done;
    g_autofree char *sentence =
        json_valid(*done->sentence ? done->sentence : g_strerror(-done->error));
    unsigned status = MHD_HTTP_SERVICE_UNAVAILABLE;

    if (done->error == -ENOENT) {
        status = MHD_HTTP_NOT_FOUND;
    } else if (done->error == -EBUSY || done->error == -EPERM || done->error == -EINVAL) {
        status = MHD_HTTP_CONFLICT;
    }
    return clip_request_refuse(call, asked, status, sentence);
}

static CONTROL_RESULT ask_change(const struct http_call *call, struct clip_request *asked,
                                 enum record_action action, clip_step *next)
{
    struct record_change change = {.action = action, .id = asked->clip.id};

    return clip_request_ask(call, asked, RECORD_CHANGE, 0, &change, sizeof change, next);
}

// Reads {"keep": true}.
static bool read_keep(const struct http_call *call, bool *ret_keep)
{
    g_autoptr(JsonObject) body = NULL;
    struct error error = {0};
    JsonNode *keep = NULL;

    if (http_body_object(call->request->body, call->request->body_size, &error, &body) == 0 &&
        json_object_get_size(body) == 1) {
        keep = json_object_get_member(body, "keep");
    }
    if (!keep || json_node_get_value_type(keep) != G_TYPE_BOOLEAN) {
        return false;
    }
    *ret_keep = json_node_get_boolean(keep);
    return true;
}

static CONTROL_RESULT reply_changed(const struct http_call *call, struct clip_request *asked)
{
    bool keep = false;

    if (asked->done.error) {
        return refuse_done(call, asked);
    }
    read_keep(call, &keep); // as it was read before
    asked->clip.is_kept = keep;
    return reply_clip(call, asked);
}

static CONTROL_RESULT ask_keep(const struct http_call *call, struct clip_request *asked)
{
    bool keep = false;

    read_keep(call, &keep);
    return ask_change(call, asked, keep ? RECORD_KEEP : RECORD_UNKEEP, reply_changed);
}

CONTROL_RESULT clips_route_change(struct http_call *call)
{
    bool keep;

    if (!read_keep(call, &keep)) {
        return control_refuse(call->connection, 422,
                              "keep: got another body than {\"keep\": true}, allowed: true, false");
    }
    return clip_request_find(call, ask_keep);
}

static CONTROL_RESULT reply_deleted(const struct http_call *call, struct clip_request *asked)
{
    uint64_t id = asked->clip.id;

    if (asked->done.error) {
        return refuse_done(call, asked);
    }
    clip_request_free(asked);
    return control_reply(call->connection, MHD_HTTP_OK, "application/json",
                         g_strdup_printf("{\"deleted\": %" PRIu64 "}\n", id));
}

static CONTROL_RESULT ask_delete(const struct http_call *call, struct clip_request *asked)
{
    if (asked->clip.is_kept && call->role < CONFIG_ROLE_ADMIN) {
        return clip_request_refuse(call, asked, MHD_HTTP_FORBIDDEN,
                                   "only an administrator may delete a clip that is kept");
    }
    return ask_change(call, asked, RECORD_DELETE, reply_deleted);
}

CONTROL_RESULT clips_route_delete(struct http_call *call)
{
    return clip_request_find(call, ask_delete);
}

// A signal from outside
// ---------------------------------------------------------------------

// Reads {"record": true, "duration_s": 30}; nothing at all starts a clip as well.
static bool read_trigger(const struct http_call *call, struct record_trigger *ret_trigger)
{
    const struct http_request *request = call->request;
    struct record_trigger trigger = {.action = RECORD_START};
    g_autoptr(JsonObject) body = NULL;
    struct error error = {0};

    if (request->body_size &&
        http_body_object(request->body, request->body_size, &error, &body) < 0) {
        return false;
    }
    JsonNode *record = body ? json_object_get_member(body, "record") : NULL;
    JsonNode *duration = body ? json_object_get_member(body, "duration_s") : NULL;
    bool has_others = body && json_object_get_size(body) > (guint)(!!record + !!duration);
    double seconds =
        duration && JSON_NODE_HOLDS_VALUE(duration) ? json_node_get_double(duration) : 0;
    if (has_others || (record && json_node_get_value_type(record) != G_TYPE_BOOLEAN) ||
        (duration && !(seconds >= 1 && seconds <= DURATION_S_MAX))) {
        return false;
    }
    if (record && !json_node_get_boolean(record)) {
        trigger.action = RECORD_STOP;
    }
    trigger.duration_ns = (int64_t)(seconds * (double)NS_PER_S);
    *ret_trigger = trigger;
    return true;
}

static CONTROL_RESULT reply_triggered(const struct http_call *call, struct clip_request *asked)
{
    uint64_t id = asked->done.id;

    if (asked->done.error) {
        return refuse_done(call, asked);
    }
    clip_request_free(asked);
    return control_reply(call->connection, MHD_HTTP_OK, "application/json",
                         id ? g_strdup_printf("{\"id\": %" PRIu64 ", \"url\": \"/v1/clips/%" PRIu64
                                              ".mp4\"}\n",
                                              id, id)
                            : g_strdup("{\"id\": null, \"url\": null}\n"));
}

CONTROL_RESULT clips_route_record(struct http_call *call)
{
    const char *camera = call->parameters[0];
    struct record_trigger trigger;
    CONTROL_RESULT result;

    if (clip_request_continue(call, &result)) {
        return result;
    }
    if (!read_trigger(call, &trigger)) {
        return control_refuse(call->connection, 422,
                              "record: got another body, allowed: none, {\"record\": false}, or "
                              "{\"record\": true, \"duration_s\": 1 to 86400}");
    }
    g_autofree char *refusal = call->front->refuse(call->front->context, call->role, camera, NULL);
    if (refusal) {
        return control_refuse(call->connection, MHD_HTTP_NOT_FOUND, refusal);
    }
    uint32_t track = call->front->find_track(call->front->context, camera);
    if (!track) {
        return control_refuse(call->connection, MHD_HTTP_CONFLICT,
                              "record.mode: got \"off\", allowed: \"events\", \"always\"");
    }
    return clip_request_ask(call, clip_request_new(call), RECORD_TRIGGER, track, &trigger,
                            sizeof trigger, reply_triggered);
}

// Other limits
// ---------------------------------------------------------------------

// NULL leaves the limit as it is, "" is none.
static bool read_size(const char *text, uint64_t *bytes)
{
    if (text && !*text) {
        *bytes = 0;
    }
    return !text || !*text || config_read_size(text, bytes) == 0;
}

// Puts the limits that the query has in place of those in `limits`.
static bool read_limits(const struct http_call *call, struct record_storage *limits,
                        CONTROL_RESULT *ret_result)
{
    const char *size = http_query(call, "max_size"), *least = http_query(call, "min_free"),
               *age = http_query(call, "max_age_days");
    uint64_t days = 0;
    const char *wrong = NULL, *got = NULL, *allowed = SIZES;

    if (!read_size(size, &limits->max_bytes)) {
        wrong = "max_size", got = size;
    } else if (!read_size(least, &limits->min_free_bytes)) {
        wrong = "min_free", got = least;
    } else if (age && strcmp(age, "0") != 0 && !read_integer(age, DAYS_MAX, &days)) {
        wrong = "max_age_days", got = age, allowed = "0 to 36500";
    }
    if (wrong) {
        *ret_result = http_refuse_value(call->connection, wrong, got, allowed);
        return false;
    }
    limits->max_age_ns = age ? (int64_t)days * 86400 * NS_PER_S : limits->max_age_ns;
    return true;
}

static CONTROL_RESULT reply_excess(const struct http_call *call, struct clip_request *asked)
{
    uint64_t clips = asked->done.clips, bytes = asked->done.bytes;

    clip_request_free(asked);
    return control_reply(
        call->connection, MHD_HTTP_OK, "application/json",
        g_strdup_printf("{\"clips\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", clips, bytes));
}

CONTROL_RESULT clips_route_excess(struct http_call *call)
{
    struct record_trial trial = {.storage = *recorder_storage(call->front->recorder)};
    CONTROL_RESULT result;

    if (clip_request_continue(call, &result) || !read_limits(call, &trial.storage, &result)) {
        return result;
    }
    return clip_request_ask(call, clip_request_new(call), RECORD_TRIAL, 0, &trial, sizeof trial,
                            reply_excess);
}
