#include "daemon/front/http/config_route.h"

#include "config/schema/schema.h"
#include "daemon/front/account/peer.h"
#include "daemon/front/http/http_body.h"
#include "daemon/front/live.h"
#include "daemon/front/stream/stream.h"

#include <string.h>

static CONTROL_RESULT describe(const struct http_call *call, enum control_config what,
                               const char *type)
{
    char *text = call->front->describe_config(call->front->context, what, call->role);

    return text ? control_reply(call->connection, MHD_HTTP_OK, type, text) : MHD_NO;
}

CONTROL_RESULT config_route_values(struct http_call *call)
{
    return describe(call, CONTROL_CONFIG_VALUES, "application/json");
}

CONTROL_RESULT config_route_schema(struct http_call *call)
{
    return describe(call, CONTROL_CONFIG_SCHEMA, "application/schema+json");
}

// Reads a flag of the query: "1" or "0". Whether it can; else the request is refused, as
// *ret_result.
static bool read_flag(const struct http_call *call, const char *name, bool *ret_flag,
                      CONTROL_RESULT *ret_result)
{
    const char *value = http_query(call, name);

    *ret_flag = value && strcmp(value, "1") == 0;
    if (!value || *ret_flag || strcmp(value, "0") == 0) {
        return true;
    }
    *ret_result = http_refuse_value(call->connection, name, value, "0, 1");
    return false;
}

CONTROL_RESULT config_route_settings(struct http_call *call)
{
    CONTROL_RESULT result;
    bool all;

    if (!read_flag(call, "all", &all, &result)) {
        return result;
    }
    return describe(call, all ? CONTROL_CONFIG_ALL : CONTROL_CONFIG_SETTINGS, "application/json");
}

static bool is_json(const struct http_request *request)
{
    const char *type = http_header_of(request, MHD_HTTP_HEADER_CONTENT_TYPE);
    size_t length = type ? strcspn(type, "; ") : 0;
    g_autofree char *word = g_ascii_strdown(type ? type : "", (gssize)length);

    return strcmp(word, "application/merge-patch+json") == 0 ||
           strcmp(word, "application/json") == 0;
}

static CONTROL_RESULT refuse_change(const struct http_call *call,
                                    const struct live_request *request)
{
    const struct config_fault *fault = &request->fault;
    g_autofree char *sentence =
        g_strdup_printf("%s%s%s", fault->key, *fault->key ? ": " : "", fault->error.text);

    return http_refuse_key(call->connection, request->status, *fault->key ? fault->key : NULL,
                           sentence);
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

// Makes the change of `text` as the query asks.
static CONTROL_RESULT change(struct http_call *call, const char *text, size_t size)
{
    g_autofree char *who = name_client(call);
    struct live_request request = {.text = text, .size = size, .role = call->role, .who = who};
    CONTROL_RESULT result;

    if (!read_flag(call, "dry_run", &request.is_dry, &result) ||
        !read_flag(call, "keep", &request.is_kept, &result)) {
        return result;
    }
    call->front->change_config(call->front->context, &request);
    if (request.status != MHD_HTTP_OK) {
        return refuse_change(call, &request);
    }
    return request.reply
               ? control_reply(call->connection, MHD_HTTP_OK, "application/json", request.reply)
               : MHD_NO;
}

CONTROL_RESULT config_route_change(struct http_call *call)
{
    if (!is_json(call->request)) {
        return control_refuse(call->connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                              "got another content type, allowed: application/merge-patch+json, "
                              "application/json");
    }
    return change(call, call->request->body, call->request->body_size);
}

CONTROL_RESULT config_route_arm(struct http_call *call)
{
    const char *camera = call->parameters[0];
    g_autoptr(JsonObject) body = NULL;
    g_autofree char *text = NULL;
    struct error error = {0};
    JsonNode *armed = NULL;

    if (http_body_object(call->request->body, call->request->body_size, &error, &body) == 0 &&
        json_object_get_size(body) == 1) {
        armed = json_object_get_member(body, "armed");
    }
    if (!armed || json_node_get_value_type(armed) != G_TYPE_BOOLEAN) {
        return control_refuse(
            call->connection, 422,
            "armed: got another body than {\"armed\": true}, allowed: true, false");
    }
    if (!schema_name_rule.accepts(camera)) {
        return control_refuse(call->connection, MHD_HTTP_NOT_FOUND,
                              "camera: there is none so named");
    }
    text = g_strdup_printf("{\"cameras\": {\"%s\": {\"armed\": %s}}}", camera,
                           json_node_get_boolean(armed) ? "true" : "false");
    return change(call, text, strlen(text));
}

CONTROL_RESULT config_route_keyframe(struct http_call *call)
{
    g_autofree char *refusal = NULL;
    struct stream *stream = call->front->find_view(
        call->front->context, call->role, call->parameters[0], call->parameters[1], &refusal);

    if (!stream) {
        return control_refuse(call->connection, MHD_HTTP_NOT_FOUND, refusal);
    }
    stream_want_key_frame(stream, DEMAND_REPAIR);
    return control_reply(
        call->connection, MHD_HTTP_OK, "application/json",
        g_strdup_printf("{\"asked\":%s}\n", stream_is_watched(stream) ? "true" : "false"));
}
