#include "daemon/front/http/http_body.h"

#include "daemon/common/json_text.h"

#include <errno.h>
#include <string.h>

int http_body_object(const char *text, size_t size, struct error *error, JsonObject **ret_object)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) fault = NULL;
    JsonNode *root;

    if (!g_utf8_validate(text, (gssize)size, NULL) || !json_is_shallow(text, size)) {
        return error_set(error, -EINVAL,
                         "the body is no JSON in UTF-8, or is nested too deep; allowed: an object, "
                         "up to %d in each other",
                         JSON_DEPTH_MAX);
    }
    if (!json_parser_load_from_data(parser, text, (gssize)size, &fault)) {
        return error_set(error, -EINVAL, "the body is no JSON (%s), allowed: an object",
                         fault ? fault->message : "");
    }
    root = json_parser_get_root(parser);
    if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
        return error_set(error, -EINVAL, "the body is no JSON object, allowed: an object");
    }
    *ret_object = json_object_ref(json_node_get_object(root));
    return 0;
}

const char *http_body_string(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                   : NULL;
}

char *http_body_field(const char *text, size_t size, const char *name)
{
    g_autofree char *copy = g_strndup(text, size);
    size_t length = strlen(name);

    for (char *rest = copy, *pair; (pair = strsep(&rest, "&"));) {
        if (strncmp(pair, name, length) == 0 && pair[length] == '=') {
            char *value = g_uri_unescape_string(g_strdelimit(pair + length + 1, "+", ' '), NULL);

            if (value && g_utf8_validate(value, -1, NULL)) {
                return value;
            }
            g_free(value);
            return NULL;
        }
    }
    return NULL;
}
