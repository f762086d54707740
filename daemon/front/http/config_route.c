#include "daemon/front/http/handlers.h"

#include "config/schema/schema.h"
#include "daemon/common/json.h"
#include "daemon/common/peer.h"
#include "daemon/front/model/live.h"
#include "daemon/front/stream/stream.h"

#include <string.h>

#define KEPT_WITHIN_NS (5 * NS_PER_S)

// Replies with what `print` writes of the configuration in force.
static HTTP_RESULT reply_printed(const struct http_call *call, const char *type,
                                 void (*print)(FILE *file, const struct http_call *call))
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return MHD_NO;
    print(file, call);
    fclose(file);
    return text ? http_reply(call->connection, MHD_HTTP_OK, type, text) : MHD_NO;
}

static void print_values(FILE *file, const struct http_call *call)
{
    config_print_json(file, call->model->config, call->role);
}

HTTP_RESULT config_route_values(struct http_call *call)
{
    return reply_printed(call, "application/json", print_values);
}

static void print_schema(FILE *file, const struct http_call *call)
{
    (void)call;
    config_print_schema(file);
}

HTTP_RESULT config_route_schema(struct http_call *call)
{
    return reply_printed(call, "application/schema+json", print_schema);
}

// Reads a flag of the query: "1" or "0". Whether it can; else the request is refused, as
// *ret_result.
static bool read_flag(const struct http_call *call, const char *name, bool *ret_flag,
                      HTTP_RESULT *ret_result)
{
    const char *value = http_query(call, name);

    *ret_flag = value && strcmp(value, "1") == 0;
    if (!value || *ret_flag || strcmp(value, "0") == 0)
        return true;
    *ret_result = http_refuse_value(call->connection, name, value, "0, 1");
    return false;
}

HTTP_RESULT config_route_settings(struct http_call *call)
{
    HTTP_RESULT result;
    bool all;

    if (!read_flag(call, "all", &all, &result))
        return result;
    char *text = live_describe(&call->model->live, call->model->config, call->role, all);
    return text ? http_reply(call->connection, MHD_HTTP_OK, "application/json", text) : MHD_NO;
}

static bool is_json(const struct http_request *request)
{
    const char *type = http_header_of(request, MHD_HTTP_HEADER_CONTENT_TYPE);
    size_t length = type ? strcspn(type, "; ") : 0;
    g_autofree char *word = g_ascii_strdown(type ? type : "", (gssize)length);

    return strcmp(word, "application/merge-patch+json") == 0 ||
           strcmp(word, "application/json") == 0;
}

// "otto, 192.168.1.5", "192.168.1.5" without users, or "uid 1000, control socket". The caller
// g_free()s it.
static char *name_client(const struct http_call *call)
{
    const char *user = call->request->login->name;
    char address[INET6_ADDRSTRLEN];

    if (!call->request->peer) {
        const union MHD_ConnectionInfo *at =
            MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct ucred process = {.uid = (uid_t)-1};
        socklen_t size = sizeof process;

        getsockopt(at->connect_fd, SOL_SOCKET, SO_PEERCRED, &process, &size);
        return g_strdup_printf("uid %u, control socket", process.uid);
    }
    struct peer peer = peer_of(call->request->peer);
    peer_name(&peer, address);
    return g_strconcat(user, *user ? ", " : "", address, NULL);
}

// A change that is made and is to be kept; its reply waits until that is known.
struct kept_change {
    uint64_t number;
    int64_t until_ns;
    unsigned warnings;
    char reply[]; // for live_reply()
};

// Waits for a card that is slow, but not for ever. Takes over `change`.
static HTTP_RESULT reply_kept(const struct http_call *call, struct kept_change *change)
{
    const char *why = "";
    enum live_kept kept = live_kept(&call->model->live, change->number, &why);
    int64_t left_ms = (change->until_ns - clock_now_ns()) / NS_PER_MS;

    if (kept == LIVE_KEPT_PENDING && left_ms > 0 && !call->is_stopping &&
        http_server_has_room(call->server, call->connection)) {
        return http_wait_in(call->waiting, call->server, call->request, (unsigned)left_ms, change);
    }
    char *text = live_reply(change->reply, change->warnings, kept, why);
    g_free(change);
    return text ? http_reply(call->connection,
                             kept == LIVE_KEPT_PENDING ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK,
                             "application/json", text)
                : MHD_NO;
}

// Goes on with a request that has waited. False: it is new.
static bool reply_waited(const struct http_call *call, HTTP_RESULT *ret_result)
{
    void *change;

    if (!http_take_from(call->request, &change))
        return false;
    *ret_result = reply_kept(call, change);
    return true;
}

// Makes the change of `text` as the query asks.
static HTTP_RESULT change(struct http_call *call, const char *text, size_t size)
{
    g_autofree char *who = name_client(call);
    struct live_request request = {.text = text,
                                   .size = size,
                                   .role = call->role,
                                   .uncovers = access_rank(call->access, call->request),
                                   .who = who};
    HTTP_RESULT result;

    if (!read_flag(call, "dry_run", &request.is_dry, &result) ||
        !read_flag(call, "keep", &request.is_kept, &result)) {
        return result;
    }
    model_change(call->model, &request);
    if (request.status != MHD_HTTP_OK)
        return http_refuse_fault(call->connection, request.status, &request.fault);
    g_autofree char *begun = request.reply;
    if (!begun)
        return MHD_NO;
    size_t length = strlen(begun) + 1;
    struct kept_change *made = g_malloc(sizeof *made + length);
    made->number = request.number;
    made->warnings = request.warnings;
    made->until_ns = clock_now_ns() + KEPT_WITHIN_NS;
    memcpy(made->reply, begun, length);
    return reply_kept(call, made);
}

HTTP_RESULT config_route_change(struct http_call *call)
{
    HTTP_RESULT result;

    if (reply_waited(call, &result))
        return result;
    if (!is_json(call->request)) {
        return http_refuse(call->connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL,
                           "got another content type,",
                           "application/merge-patch+json, application/json");
    }
    return change(call, call->request->body, call->request->body_size);
}

HTTP_RESULT config_route_arm(struct http_call *call)
{
    const char *camera = call->parameters[0];
    g_autoptr(JsonObject) body = NULL;
    g_autofree char *text = NULL;
    struct error error = {0};
    JsonNode *armed = NULL;
    HTTP_RESULT result;

    if (reply_waited(call, &result))
        return result;
    if (json_parse_object(call->request->body, call->request->body_size, &error, &body) == 0 &&
        json_object_get_size(body) == 1) {
        armed = json_object_get_member(body, "armed");
    }
    if (!armed || json_node_get_value_type(armed) != G_TYPE_BOOLEAN) {
        return http_refuse(call->connection, 422, "armed",
                           "expected {\"armed\": true} or {\"armed\": false}", NULL);
    }
    if (!schema_name_rule.accepts(camera)) {
        return http_refuse(call->connection, MHD_HTTP_NOT_FOUND, "camera", "there is none so named",
                           NULL);
    }
    text = g_strdup_printf("{\"cameras\": {\"%s\": {\"armed\": %s}}}", camera,
                           json_node_get_boolean(armed) ? "true" : "false");
    return change(call, text, strlen(text));
}

HTTP_RESULT config_route_keyframe(struct http_call *call)
{
    struct lookup_absent absent;
    struct stream *stream = lookup_view(call->model->cameras, call->role, call->parameters[0],
                                        call->parameters[1], &absent);

    if (!stream)
        return http_refuse_absent(call->connection, &absent);
    stream_want_key_frame(stream, DEMAND_REPAIR);
    return http_reply(
        call->connection, MHD_HTTP_OK, "application/json",
        g_strdup_printf("{\"asked\":%s}\n", stream_is_watched(stream) ? "true" : "false"));
}
