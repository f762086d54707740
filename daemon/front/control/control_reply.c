#include "daemon/front/control/control_reply.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define RETRY_AFTER_S "5"

struct headers {
    const char *name;
    const char *const *values;
    size_t count;
};

static CONTROL_RESULT reply(struct MHD_Connection *connection, unsigned status,
                            const char *content_type, const struct headers *more, char *text)
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
    for (size_t i = 0; more && i < more->count; i++) {
        MHD_add_response_header(response, more->name, more->values[i]);
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

CONTROL_RESULT control_refuse_with(struct MHD_Connection *connection, unsigned status,
                                   const char *name, const char *const *values, size_t count,
                                   const char *sentence)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_VALUE);
    g_autofree char *valid = g_utf8_make_valid(sentence, -1), *text = NULL;
    const struct headers more = {name, values, count};

    json_node_set_string(node, valid);
    text = json_to_string(node, FALSE);
    return reply(connection, status, "application/json", &more,
                 g_strdup_printf("{\"error\": %s}\n", text));
}

CONTROL_RESULT control_refuse(struct MHD_Connection *connection, unsigned status,
                              const char *sentence)
{
    return control_refuse_with(connection, status, NULL, NULL, 0, sentence);
}

CONTROL_RESULT control_refuse_method(struct MHD_Connection *connection, const char *allowed)
{
    g_autofree char *sentence = g_strdup_printf("no such method here; allowed: %s", allowed);

    return control_refuse_with(connection, MHD_HTTP_METHOD_NOT_ALLOWED, MHD_HTTP_HEADER_ALLOW,
                               &allowed, 1, sentence);
}
