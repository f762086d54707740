#include "daemon/front/http/handlers.h"

#include "config/schema/schema.h"
#include "daemon/common/json.h"
#include "daemon/front/events/clip_json.h"
#include "daemon/front/http/clip_request.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LIMIT 100
#define LIMIT_MAX 1000
#define DURATION_S_MAX 86400
#define DAYS_MAX 36500
#define BEGIN_NS (5 * NS_PER_S) // until a clip has begun
#define SIZES "bytes with a unit of 1000, as \"200M\" or \"16G\", at least \"1M\"; or none"

// One clip
// ---------------------------------------------------------------------

static HTTP_RESULT reply_clip(const struct http_call *call, struct clip_request *asked)
{
    g_autofree char *text = clip_json(&asked->clip);

    clip_request_free(asked);
    return http_reply(call->connection, MHD_HTTP_OK, "application/json",
                      g_strconcat(text, "\n", NULL));
}

HTTP_RESULT clips_route_show(struct http_call *call)
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
    if (time || end == text || *end || !(seconds >= 0 && seconds < 9e9))
        return false;
    *ret_wall_ns = (int64_t)(seconds * (double)NS_PER_S);
    return true;
}

static bool read_integer(const char *text, uint64_t most, uint64_t *ret_number)
{
    return g_ascii_string_to_unsigned(text, 10, 1, most, ret_number, NULL);
}

// A name in the query, that of a camera, a view or a region.
static bool read_name(const char *text, char ret_name[RECORD_NAME_SIZE])
{
    return !text || (schema_name_rule.accepts(text) &&
                     g_strlcpy(ret_name, text, RECORD_NAME_SIZE) < RECORD_NAME_SIZE);
}

// Reads the query. Whether it can; else the request is refused, as *ret_result.
static bool read_query(const struct http_call *call, struct record_list *list,
                       HTTP_RESULT *ret_result)
{
    const char *from = http_query(call, "from"), *to = http_query(call, "to"),
               *limit = http_query(call, "limit"), *before = http_query(call, "before"),
               *after = http_query(call, "after");
    uint64_t count = LIMIT;
    const char *wrong = NULL, *allowed = schema_name_rule.allowed;

    if (!read_name(http_query(call, "camera"), list->camera))
        wrong = "camera";
    else if (!read_name(http_query(call, "view"), list->view))
        wrong = "view";
    else if (!read_name(http_query(call, "region"), list->region))
        wrong = "region";
    else if (from && !clips_route_read_time(from, &list->from_wall_ns))
        wrong = "from", allowed = CLIPS_ROUTE_TIMES;
    else if (to && !clips_route_read_time(to, &list->to_wall_ns))
        wrong = "to", allowed = CLIPS_ROUTE_TIMES;
    else if (limit && !read_integer(limit, LIMIT_MAX, &count))
        wrong = "limit", allowed = "1 to 1000";
    else if (before && !read_integer(before, G_MAXINT64, &list->before_id))
        wrong = "before", allowed = "the id of a clip";
    else if (after && (before || !read_integer(after, G_MAXINT64, &list->after_id)))
        wrong = "after", allowed = "the id of a clip, and no `before`";
    if (wrong) {
        *ret_result = http_refuse_value(call->connection, wrong, http_query(call, wrong), allowed);
        return false;
    }
    list->count = (uint32_t)count;
    return true;
}

static void list_clip(struct clip_request *asked)
{
    const struct record_clip *clip = &asked->clip;

    if (asked->shown < asked->limit && clip_request_shows(asked, clip->camera, clip->view)) {
        g_autofree char *text = clip_json(clip);

        g_string_append_printf(asked->list, "%s%s", asked->shown++ ? ",\n" : "", text);
    }
}

// Replies, or goes on while the client is shown fewer than it asked for and there are more.
static HTTP_RESULT reply_list(const struct http_call *call, struct clip_request *asked)
{
    struct record_list *query = &asked->query;
    char *text;

    if (asked->shown < asked->limit && asked->count >= asked->limit) {
        *(query->after_id ? &query->after_id : &query->before_id) = asked->clip.id;
        query->count = LIMIT_MAX;
        return clip_request_ask(call, asked, RECORD_LIST, 0, query, sizeof *query, reply_list);
    }
    text = g_strconcat(asked->list->str, "]\n", NULL);
    clip_request_free(asked);
    return http_reply(call->connection, MHD_HTTP_OK, "application/json", text);
}

HTTP_RESULT clips_route_list(struct http_call *call)
{
    struct record_list query = {0};
    struct clip_request *asked;
    HTTP_RESULT result = MHD_NO;

    if (clip_request_continue(call, &result) || !read_query(call, &query, &result))
        return result;
    asked = clip_request_new(call);
    asked->take = list_clip;
    asked->query = query;
    asked->limit = query.count;
    g_string_assign(asked->list, "[");
    return clip_request_ask(call, asked, RECORD_LIST, 0, &asked->query, sizeof asked->query,
                            reply_list);
}

// Changes
// ---------------------------------------------------------------------

// Replies why the recorder did not do it.
static HTTP_RESULT refuse_done(const struct http_call *call, struct clip_request *asked)
{
    const struct record_done *done = &asked->done;
    g_autofree char *sentence = json_valid(
        *done->sentence         ? done->sentence
        : done->error == -EBUSY ? "it is still being written; delete it once it has ended"
                                : g_strerror(-done->error));
    unsigned status = MHD_HTTP_SERVICE_UNAVAILABLE;

    if (done->error == -ENOENT) {
        status = MHD_HTTP_NOT_FOUND;
    } else if (done->error == -EBUSY || done->error == -EPERM || done->error == -EINVAL ||
               done->error == -EEXIST) {
        status = MHD_HTTP_CONFLICT;
    }
    return clip_request_refuse(call, asked, status, sentence);
}

static HTTP_RESULT ask_change(const struct http_call *call, struct clip_request *asked,
                              enum record_action action, clip_step *next)
{
    asked->change = (struct record_change){.action = action, .id = asked->clip.id};
    return clip_request_ask(call, asked, RECORD_CHANGE, 0, &asked->change, sizeof asked->change,
                            next);
}

// Reads {"keep": true}.
static bool read_keep(const struct http_call *call, bool *ret_keep)
{
    g_autoptr(JsonObject) body = NULL;
    struct error error = {0};
    JsonNode *keep = NULL;

    if (json_parse_object(call->request->body, call->request->body_size, &error, &body) == 0 &&
        json_object_get_size(body) == 1) {
        keep = json_object_get_member(body, "keep");
    }
    if (!keep || json_node_get_value_type(keep) != G_TYPE_BOOLEAN)
        return false;
    *ret_keep = json_node_get_boolean(keep);
    return true;
}

static HTTP_RESULT reply_changed(const struct http_call *call, struct clip_request *asked)
{
    if (asked->done.error)
        return refuse_done(call, asked);
    asked->clip.is_kept = asked->change.action == RECORD_KEEP;
    return reply_clip(call, asked);
}

static HTTP_RESULT ask_keep(const struct http_call *call, struct clip_request *asked)
{
    return ask_change(call, asked, RECORD_KEEP, reply_changed);
}

static HTTP_RESULT ask_unkeep(const struct http_call *call, struct clip_request *asked)
{
    return ask_change(call, asked, RECORD_UNKEEP, reply_changed);
}

HTTP_RESULT clips_route_change(struct http_call *call)
{
    HTTP_RESULT result;
    bool keep;

    if (clip_request_continue(call, &result))
        return result;
    if (!read_keep(call, &keep)) {
        return http_refuse(call->connection, 422, "keep", "got another body than {\"keep\": true},",
                           "true, false");
    }
    return clip_request_find(call, keep ? ask_keep : ask_unkeep);
}

static HTTP_RESULT reply_deleted(const struct http_call *call, struct clip_request *asked)
{
    uint64_t id = asked->clip.id;

    if (asked->done.error)
        return refuse_done(call, asked);
    clip_request_free(asked);
    return http_reply(call->connection, MHD_HTTP_OK, "application/json",
                      g_strdup_printf("{\"deleted\": %" PRIu64 "}\n", id));
}

static HTTP_RESULT ask_delete(const struct http_call *call, struct clip_request *asked)
{
    if (asked->clip.is_kept && call->role < CONFIG_ROLE_ADMIN) {
        return clip_request_refuse(call, asked, MHD_HTTP_FORBIDDEN,
                                   "only an administrator may delete a clip that is kept");
    }
    return ask_change(call, asked, RECORD_DELETE, reply_deleted);
}

HTTP_RESULT clips_route_delete(struct http_call *call)
{
    return clip_request_find(call, ask_delete);
}

// A signal from outside
// ---------------------------------------------------------------------

// Reads {"record": true, "duration_s": 30}; nothing at all starts a clip as well.
static bool read_trigger(const struct http_call *call, struct record_trigger *ret_trigger)
{
    const struct http_request *request = call->request;
    struct record_trigger trigger = {.action = RECORD_START, .asked_ns = clock_now_ns()};
    g_autoptr(JsonObject) body = NULL;
    struct error error = {0};

    if (request->body_size &&
        json_parse_object(request->body, request->body_size, &error, &body) < 0) {
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
    if (record && !json_node_get_boolean(record))
        trigger.action = RECORD_STOP;
    trigger.duration_ns = (int64_t)(seconds * (double)NS_PER_S);
    *ret_trigger = trigger;
    return true;
}

// Replies with the clip; 0: none is open.
static HTTP_RESULT reply_recorded(const struct http_call *call, uint64_t id)
{
    return http_reply(call->connection, MHD_HTTP_OK, "application/json",
                      id ? g_strdup_printf("{\"id\": %" PRIu64 ", \"url\": \"/v1/clips/%" PRIu64
                                           ".mp4\"}\n",
                                           id, id)
                         : g_strdup("{\"id\": null, \"url\": null}\n"));
}

static HTTP_RESULT reply_triggered(const struct http_call *call, struct clip_request *asked)
{
    uint64_t id = asked->done.id;

    if (asked->done.error)
        return refuse_done(call, asked);
    tracks_note_trigger(call->model->tracks, asked->track, &asked->trigger);
    clip_request_free(asked);
    return reply_recorded(call, id);
}

// The first key frame begins the clip.
static HTTP_RESULT reply_begun(const struct http_call *call, struct clip_request *asked)
{
    const struct record_state_report *state = recorder_state(asked->recorder);
    uint64_t id = tracks_newest_clip(call->model->tracks, call->parameters[0]);

    if (!id && !call->is_stopping && clock_now_ns() < asked->until_ns)
        return clip_request_wait(call, asked, reply_begun);
    if (!id) {
        return clip_request_refuse(call, asked, MHD_HTTP_SERVICE_UNAVAILABLE,
                                   state && state->state == RECORD_READY
                                       ? "the view has brought no key frame for 5 s"
                                       : clip_request_explain(asked));
    }
    clip_request_free(asked);
    return reply_recorded(call, id);
}

// Of a camera that records nothing else now.
static HTTP_RESULT begin_clip(const struct http_call *call, const struct record_trigger *trigger)
{
    struct clip_request *asked;

    if (!tracks_begin_clip(call->model->tracks, call->parameters[0], trigger)) {
        return http_refuse_text(call->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "the camera cannot be recorded now; try again later");
    }
    if (trigger->action == RECORD_STOP)
        return reply_recorded(call, 0);
    asked = clip_request_new(call);
    asked->until_ns = clock_now_ns() + BEGIN_NS;
    return clip_request_wait(call, asked, reply_begun);
}

HTTP_RESULT clips_route_record(struct http_call *call)
{
    const char *camera = call->parameters[0];
    struct record_trigger trigger;
    struct lookup_absent absent;
    HTTP_RESULT result;

    if (clip_request_continue(call, &result))
        return result;
    if (!read_trigger(call, &trigger)) {
        return http_refuse(call->connection, 422, "record", "got another body,",
                           "none, {\"record\": false}, or {\"record\": true, \"duration_s\": 1 to "
                           "86400}");
    }
    if (!lookup_region(call->model->config, call->role, camera, NULL, &absent))
        return http_refuse_absent(call->connection, &absent);
    uint32_t track = tracks_find(call->model->tracks, camera);
    if (!track)
        return begin_clip(call, &trigger);
    struct clip_request *asked = clip_request_new(call);
    asked->trigger = trigger;
    asked->track = track;
    return clip_request_ask(call, asked, RECORD_TRIGGER, track, &asked->trigger,
                            sizeof asked->trigger, reply_triggered);
}

// Other limits
// ---------------------------------------------------------------------

// NULL leaves the limit as it is, "" is none.
static bool read_size(const char *text, uint64_t *bytes)
{
    if (text && !*text)
        *bytes = 0;
    return !text || !*text || config_read_size(text, bytes) == 0;
}

// Puts the limits that the query has in place of those in `limits`.
static bool read_limits(const struct http_call *call, struct record_storage *limits,
                        HTTP_RESULT *ret_result)
{
    const char *size = http_query(call, "max_size"), *least = http_query(call, "min_free"),
               *age = http_query(call, "max_age_days");
    uint64_t days = 0;
    const char *wrong = NULL, *got = NULL, *allowed = SIZES;

    if (!read_size(size, &limits->max_bytes))
        wrong = "max_size", got = size;
    else if (!read_size(least, &limits->min_free_bytes))
        wrong = "min_free", got = least;
    else if (age && strcmp(age, "0") != 0 && !read_integer(age, DAYS_MAX, &days))
        wrong = "max_age_days", got = age, allowed = "0 to 36500";
    if (wrong) {
        *ret_result = http_refuse_value(call->connection, wrong, got, allowed);
        return false;
    }
    limits->max_age_ns = age ? (int64_t)days * 86400 * NS_PER_S : limits->max_age_ns;
    return true;
}

static HTTP_RESULT reply_excess(const struct http_call *call, struct clip_request *asked)
{
    uint64_t clips = asked->done.clips, bytes = asked->done.bytes;

    clip_request_free(asked);
    return http_reply(
        call->connection, MHD_HTTP_OK, "application/json",
        g_strdup_printf("{\"clips\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", clips, bytes));
}

HTTP_RESULT clips_route_excess(struct http_call *call)
{
    struct record_trial trial = {.storage = *recorder_storage(call->model->recorder)};
    HTTP_RESULT result;

    if (clip_request_continue(call, &result) || !read_limits(call, &trial.storage, &result))
        return result;
    return clip_request_ask(call, clip_request_new(call), RECORD_TRIAL, 0, &trial, sizeof trial,
                            reply_excess);
}
