#include "daemon/front/control_reply.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define RETRY_AFTER_S "5"

static CONTROL_RESULT reply(struct MHD_Connection *connection, unsigned status,
                            const char *content_type, const char *allowed, char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(strlen(text), text, g_free);
    CONTROL_RESULT result;

    if (!response) {
        g_free(text);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (allowed) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
    }
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
    }
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response); // the connection holds its own reference
    return result;
}

CONTROL_RESULT control_reply(struct MHD_Connection *connection, unsigned status,
                             const char *content_type, char *text)
{
    return reply(connection, status, content_type, NULL, text);
}

CONTROL_RESULT control_refuse(struct MHD_Connection *connection, unsigned status,
                              const char *sentence)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_VALUE);
    g_autofree char *valid = g_utf8_make_valid(sentence, -1), *text = NULL;

    json_node_set_string(node, valid);
    text = json_to_string(node, FALSE);
    return control_reply(connection, status, "application/json",
                         g_strdup_printf("{\"error\": %s}\n", text));
}

CONTROL_RESULT control_refuse_method(struct MHD_Connection *connection, const char *allowed)
{
    return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "application/json", allowed,
                 g_strdup_printf("{\"error\": \"no such method here; allowed: %s\"}\n", allowed));
}
