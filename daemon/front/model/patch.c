#include "daemon/front/model/patch.h"

#include "config/schema/schema_value.h"
#include "daemon/common/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define STRING_MAX 512
#define ARRAY_DEPTH_MAX 2

struct reader {
    const struct config *config;
    const struct config_overrides *kept;
    enum config_role role; // of who asks
    struct fault *fault;
    struct config_overrides *overrides, *resets;
    char path[sizeof((struct fault *)NULL)->key];
};

#define fail(reader, code, ...)                                                                    \
    fault_at((reader)->fault, (reader)->path, error_set(&(reader)->fault->error, code, __VA_ARGS__))
#define refuse(reader, code, got, may_be, ...)                                                     \
    fault_at((reader)->fault, (reader)->path,                                                      \
             error_refuse(&(reader)->fault->error, code, got, may_be, ##__VA_ARGS__))

static int read_string(struct reader *reader, FILE *file, const char *string)
{
    if (strlen(string) >= STRING_MAX) {
        return refuse(reader, -EINVAL, "got a string that is too long,", "up to %d bytes",
                      STRING_MAX - 1);
    }
    if (strstr(string, "***")) {
        return fail(reader, -EINVAL,
                    "got a value with *** in it, which stands for a secret that is hidden");
    }
    schema_print_quoted(file, string);
    return 0;
}

static int read_value(struct reader *reader, FILE *file, JsonNode *node, unsigned depth);

static int read_array(struct reader *reader, FILE *file, JsonArray *array, unsigned depth)
{
    int r = 0;

    fputc('(', file);
    for (guint i = 0; i < json_array_get_length(array) && r == 0; i++) {
        fputs(i ? ", " : "", file);
        r = read_value(reader, file, json_array_get_element(array, i), depth + 1);
    }
    fputc(')', file);
    return r;
}

// A value that has no names inside, as libconfig has it.
static int read_value(struct reader *reader, FILE *file, JsonNode *node, unsigned depth)
{
    bool is_array = JSON_NODE_HOLDS_ARRAY(node);
    GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE;

    if (is_array && depth < ARRAY_DEPTH_MAX)
        return read_array(reader, file, json_node_get_array(node), depth);
    if (type == G_TYPE_NONE) {
        return refuse(reader, -EINVAL, "got %s,", "what GET /v1/config/schema says of this key",
                      is_array                       ? "arrays in arrays"
                      : JSON_NODE_HOLDS_OBJECT(node) ? "an object"
                                                     : "null");
    }
    if (type == G_TYPE_STRING)
        return read_string(reader, file, json_node_get_string(node));
    if (type == G_TYPE_BOOLEAN) {
        fputs(json_node_get_boolean(node) ? "true" : "false", file);
    } else if (type == G_TYPE_INT64) {
        // libconfig cuts what does not fit an int without the L.
        fprintf(file, "%" PRId64 "L", (int64_t)json_node_get_int(node));
    } else if (isfinite(json_node_get_double(node))) {
        schema_print_fraction(file, json_node_get_double(node));
    } else {
        return refuse(reader, -EINVAL, "got infinity,", "a number that a double can be");
    }
    return 0;
}

static int note(struct reader *reader, struct config_overrides *list, const char *value)
{
    return config_overrides_set(list, reader->path, value, NULL);
}

static int read_leaf(struct reader *reader, JsonNode *node)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file;
    int r;

    if (JSON_NODE_HOLDS_NULL(node))
        return note(reader, reader->resets, NULL);
    file = open_memstream(&text, &size);
    if (!file)
        return -ENOMEM;
    r = read_value(reader, file, node, 0);
    fclose(file);
    return r < 0 ? r : note(reader, reader->overrides, text);
}

static int read_members(struct reader *reader, JsonObject *object);

// Reads the JSON at a place: the members of a group, of a list or of an element, or a value.
static int read_place(struct reader *reader, const struct config_place *place, JsonNode *node)
{
    const struct schema_key *key = place->key;
    bool is_list = key->type == SCHEMA_LIST, is_object = JSON_NODE_HOLDS_OBJECT(node);

    if (is_object && (is_list || key->type == SCHEMA_GROUP))
        return read_members(reader, json_node_get_object(node));
    if (key->type == SCHEMA_GROUP)
        return refuse(reader, -EINVAL, "got no object,", "an object");
    if (!key->remote)
        return fail(reader, -EPERM, "can only be changed in the file");
    if (!is_list)
        return read_leaf(reader, node);
    if (!JSON_NODE_HOLDS_NULL(node))
        return refuse(reader, -EINVAL, "got no object,", "an object, or null");
    // A region is taken away; all of them go back to what the file says.
    return note(reader, place->element ? reader->overrides : reader->resets, NULL);
}

// Nothing is at the path. A setting of it that was kept when something was there can be forgotten.
static int read_gone(struct reader *reader, const struct error *why, JsonNode *node)
{
    if (reader->role == CONFIG_ROLE_ADMIN && config_overrides_has(reader->kept, reader->path)) {
        if (JSON_NODE_HOLDS_OBJECT(node))
            return read_members(reader, json_node_get_object(node));
        if (JSON_NODE_HOLDS_NULL(node))
            return note(reader, reader->resets, NULL);
    }
    reader->fault->error = *why;
    return fault_at(reader->fault, reader->path, -ENOENT);
}

static int read_member(struct reader *reader, const char *name, JsonNode *node)
{
    size_t length = strlen(reader->path);
    struct config_place place;
    struct error error;
    int r = -ENOENT;

    snprintf(reader->path + length, sizeof reader->path - length, "%s%.64s", length ? "." : "",
             name);
    if (!*name || strchr(name, '.') || strlen(name) > 64)
        r = fail(reader, -ENOENT, "unknown key");
    else if (config_find(reader->config, reader->path, &error, &place) < 0)
        r = read_gone(reader, &error, node);
    else if (place.role > reader->role)
        r = fail(reader, -ENOENT, "got \"%.64s\", which is not there for this user", name);
    else
        r = read_place(reader, &place, node);
    reader->path[length] = '\0';
    return r;
}

// In the order of the text, so that the first fault in it is the one that is told.
static int read_members(struct reader *reader, JsonObject *object)
{
    g_autoptr(GList) names = json_object_get_members(object);
    int r = 0;

    for (const GList *name = names; name && r == 0; name = name->next)
        r = read_member(reader, name->data, json_object_get_member(object, name->data));
    return r;
}

int patch_read(const struct config *config, const struct config_overrides *kept,
               enum config_role role, const char *text, size_t size, struct fault *fault,
               struct config_overrides *ret_overrides, struct config_overrides *ret_resets)
{
    struct reader reader = {.config = config,
                            .kept = kept,
                            .role = role,
                            .fault = fault,
                            .overrides = ret_overrides,
                            .resets = ret_resets};
    g_autoptr(JsonObject) object = NULL;

    *fault = (struct fault){0};
    if (json_parse_object(text, size, &fault->error, &object) < 0)
        return -EBADMSG;
    return read_members(&reader, object);
}
