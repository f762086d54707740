#include "daemon/front/http/handlers.h"

#include "daemon/common/json.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <string.h>

#define KEYS "camera, view, kernels, apply, keep"

// A reply that goes on, owned by its stream.
struct tune_reply {
    struct model *model;        // borrowed
    struct http_stream *stream; // borrowed; NULL: not begun yet
    GString *lines;             // owned; what is not sent yet
    bool is_over;               // there are no more lines
};

static void take_line(void *context, const char *json, bool is_last)
{
    struct tune_reply *reply = context;

    g_string_append_printf(reply->lines, "%s\n", json);
    reply->is_over = is_last;
    if (reply->stream)
        http_stream_wake(reply->stream);
}

static ssize_t produce(void *context, char *buffer, size_t size)
{
    struct tune_reply *reply = context;
    size_t count = MIN(size, reply->lines->len);

    if (count == 0 && reply->is_over)
        return HTTP_STREAM_END;
    memcpy(buffer, reply->lines->str, count);
    g_string_erase(reply->lines, 0, (gssize)count);
    return (ssize_t)count;
}

static void release(void *context)
{
    struct tune_reply *reply = context;

    if (!reply->is_over)
        tuning_stop(&reply->model->tuning);
    g_string_free(reply->lines, TRUE);
    g_free(reply);
}

// Reading the body
// ---------------------------------------------------------------------

static int refuse(struct fault *fault, const char *key, const char *allowed)
{
    return fault_at(fault, key,
                    error_refuse(&fault->error, -EINVAL, "got something else,", "%s", allowed));
}

static const char *list_kernels(void)
{
    static char text[512];

    if (!text[0]) {
        g_autoptr(GString) list = g_string_new("a list of ");

        for (enum config_kernel i = 0; i < CONFIG_KERNEL_COUNT; i++)
            g_string_append_printf(list, "%s%s", i ? ", " : "", config_kernel_name(i));
        g_strlcpy(text, list->str, sizeof text);
    }
    return text;
}

static uint32_t find_kernel(JsonNode *node)
{
    const char *name =
        JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING
            ? json_node_get_string(node)
            : "";

    for (enum config_kernel i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        if (strcmp(config_kernel_name(i), name) == 0)
            return 1u << i;
    }
    return 0;
}

static int read_kernels(JsonNode *node, struct fault *fault, uint32_t *ret_kernels)
{
    JsonArray *list = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    uint32_t kernels = 0;

    for (guint i = 0; list && i < json_array_get_length(list); i++) {
        uint32_t kernel = find_kernel(json_array_get_element(list, i));

        if (!kernel)
            return refuse(fault, "kernels", list_kernels());
        kernels |= kernel;
    }
    if (!kernels)
        return refuse(fault, "kernels", list_kernels());
    *ret_kernels = kernels;
    return 0;
}

static int read_text(JsonNode *node, const char *key, struct fault *fault, const char **ret_text)
{
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING)
        return refuse(fault, key, "a name");
    *ret_text = json_node_get_string(node);
    return 0;
}

static int read_flag(JsonNode *node, const char *key, struct fault *fault, bool *ret_flag)
{
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_BOOLEAN)
        return refuse(fault, key, "true, false");
    *ret_flag = json_node_get_boolean(node);
    return 0;
}

static int read_member(const char *key, JsonNode *node, struct fault *fault,
                       struct tuning_request *request)
{
    if (strcmp(key, "camera") == 0)
        return read_text(node, "camera", fault, &request->camera);
    if (strcmp(key, "view") == 0)
        return read_text(node, "view", fault, &request->view);
    if (strcmp(key, "kernels") == 0)
        return read_kernels(node, fault, &request->kernels);
    if (strcmp(key, "apply") == 0)
        return read_flag(node, "apply", fault, &request->apply);
    if (strcmp(key, "keep") == 0)
        return read_flag(node, "keep", fault, &request->keep);
    return error_refuse(&fault->error, -EINVAL, "got the key \"%.40s\",", KEYS, key);
}

// An empty body asks for nothing in particular. The texts of the request are those of *ret_body.
static int read_body(const struct http_request *request, struct fault *fault, JsonObject **ret_body,
                     struct tuning_request *ret_request)
{
    JsonObjectIter iterator;
    const char *key;
    JsonNode *node;
    int r = 0;

    if (request->body_size == 0)
        return 0;
    r = json_parse_object(request->body, request->body_size, &fault->error, ret_body);
    if (r < 0)
        return r;
    json_object_iter_init(&iterator, *ret_body);
    while (r == 0 && json_object_iter_next(&iterator, &key, &node))
        r = read_member(key, node, fault, ret_request);
    return r;
}

static unsigned status_of(int code)
{
    switch (code) {
    case -EINVAL:
        return MHD_HTTP_BAD_REQUEST;
    case -ENOENT:
        return MHD_HTTP_NOT_FOUND;
    case -ENOBUFS:
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    default:
        return MHD_HTTP_CONFLICT;
    }
}

HTTP_RESULT tune_route_reply(struct http_call *call)
{
    struct tuning_request request = {.role = call->role};
    struct tune_reply *reply = g_new0(struct tune_reply, 1);
    const struct tuning_reader reader = {take_line, reply};
    const struct http_stream_source source = {produce, release, reply};
    const struct http_head head = {.content_type = "application/x-ndjson"};
    g_autoptr(JsonObject) body = NULL;
    struct fault fault = {0};
    int r = read_body(call->request, &fault, &body, &request);

    r = r < 0 ? r
              : tuning_begin(&call->model->tuning, call->model->cameras, &request, &reader, &fault);
    if (r < 0) {
        g_free(reply);
        return http_refuse_fault(call->connection, status_of(r), &fault);
    }
    reply->model = call->model;
    reply->lines = g_string_new(NULL);
    return http_stream_begin(call->server, call->connection, &head, &source, &reply->stream);
}
