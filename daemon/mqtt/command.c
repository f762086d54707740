#include "daemon/mqtt/command.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define RECORD_S_MAX 86400

void command_finish(struct command *command)
{
    g_free(command->page);
    g_free(command->json);
    *command = (struct command){0};
}

static bool read_number(const char *text, double *ret_number)
{
    char *end;

    *ret_number = g_ascii_strtod(text, &end);
    return end != text && !*end && isfinite(*ret_number);
}

// An integer stays one, as the schema asks for.
static JsonNode *number_node(double number)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);

    if (fabs(number) < 1e15 && !(number < floor(number)) && !(number > floor(number)))
        json_node_set_int(node, (gint64)number);
    else
        json_node_set_double(node, number);
    return node;
}

// NULL: none of the words.
static JsonNode *find_word(JsonObject *type, const char *text)
{
    JsonArray *words = json_object_get_array_member(type, "enum");

    for (guint i = 0; i < json_array_get_length(words); i++) {
        JsonNode *word = json_array_get_element(words, i);
        g_autofree char *shown = setting_text(word);

        if (strcmp(shown, text) == 0)
            return json_node_copy(word);
    }
    return NULL;
}

static int refuse_word(JsonObject *type, const char *text, struct error *error)
{
    JsonArray *words = json_object_get_array_member(type, "enum");
    g_autoptr(GString) list = g_string_new(NULL);

    for (guint i = 0; i < json_array_get_length(words); i++) {
        g_autofree char *shown = setting_text(json_array_get_element(words, i));

        g_string_append_printf(list, "%s%s", i ? ", " : "", shown);
    }
    return error_set(error, -EINVAL, "got \"%.64s\", allowed: %s", text, list->str);
}

// The value in a payload, in the type of its setting; edged itself says what a number may be. The
// caller json_node_unref()s it. NULL: it is none, with the sentence in `error`.
static JsonNode *read_value(const struct setting *setting, const char *text, struct error *error)
{
    JsonNode *node = NULL;
    double number;

    switch (setting->kind) {
    case SETTING_SELECT:
        node = find_word(setting->type, text);
        if (!node)
            refuse_word(setting->type, text, error);
        break;
    case SETTING_SWITCH:
        if (strcmp(text, "ON") == 0 || strcmp(text, "OFF") == 0)
            node = json_node_init_boolean(json_node_alloc(), strcmp(text, "ON") == 0);
        else
            error_set(error, -EINVAL, "got \"%.64s\", allowed: ON, OFF", text);
        break;
    case SETTING_NUMBER:
        if (read_number(text, &number))
            node = number_node(number);
        else
            error_set(error, -EINVAL, "got \"%.64s\", allowed: a number", text);
        break;
    case SETTING_TEXT:
        node = json_node_init_string(json_node_alloc(), text);
        break;
    }
    return node;
}

struct setting_search {
    const char *path, *text;
    struct error *error;
    bool is_found;
    JsonNode *value; // owned; NULL: none, or it is refused
};

static void look_at(void *context, const struct setting *setting)
{
    struct setting_search *search = context;

    if (strcmp(setting->path, search->path) == 0) {
        search->is_found = true;
        search->value = read_value(setting, search->text, search->error);
    }
}

// {"cameras": {CAMERA: {…: value}}}. Takes over `value`.
static char *make_patch(const char *camera, const char *path, JsonNode *value)
{
    g_auto(GStrv) names = g_strsplit(path, "/", -1);
    guint count = g_strv_length(names);
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "cameras");
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, camera);
    json_builder_begin_object(builder);
    for (guint i = 0; i < count; i++) {
        json_builder_set_member_name(builder, names[i]);
        if (i + 1 < count)
            json_builder_begin_object(builder);
    }
    json_builder_add_value(builder, value);
    for (guint i = 0; i < count + 2; i++)
        json_builder_end_object(builder);
    return json_built_text(builder, false);
}

static int read_setting(const struct edged_state *edged, const char *camera, const char *path,
                        const char *text, struct error *error, struct command *ret_command)
{
    struct setting_search search = {.path = path, .text = text, .error = error};

    settings_each(edged, camera, look_at, &search);
    if (!search.is_found)
        return error_set(error, -EINVAL, "there is no setting \"%.100s\" that can be set", path);
    if (!search.value)
        return -EINVAL;
    ret_command->is_patch = true;
    ret_command->page = g_strdup("/v1/config?keep=1");
    ret_command->json = make_patch(camera, path, search.value);
    return 0;
}

static int read_record(const char *camera, const char *text, struct error *error,
                       struct command *ret_command)
{
    double seconds;

    if (!read_number(text, &seconds) || !(seconds >= 0 && seconds <= RECORD_S_MAX) ||
        (seconds > 0 && seconds < 1)) {
        return error_set(
            error, -EINVAL,
            "got \"%.64s\", allowed: 1 to 86400, the seconds of a clip, or 0 to end it", text);
    }
    ret_command->page = g_strdup_printf("/v1/cameras/%s/record", camera);
    ret_command->json = seconds > 0 ? g_strdup_printf("{\"duration_s\": %.3f}", seconds)
                                    : g_strdup("{\"record\": false}");
    return 0;
}

int command_read(const struct edged_state *edged, const char *topic, const char *payload,
                 size_t size, struct error *error, struct command *ret_command)
{
    const char *slash = strchr(topic, '/');
    g_autofree char *camera = slash ? g_strndup(topic, (gsize)(slash - topic)) : g_strdup(topic);
    g_autofree char *text = g_strndup(payload, MIN(size, COMMAND_SIZE_MAX));

    *ret_command = (struct command){0};
    if (size > COMMAND_SIZE_MAX || strlen(text) != size || !g_utf8_validate(text, -1, NULL)) {
        return error_set(error, -EINVAL, "the payload is no text of up to %u bytes",
                         COMMAND_SIZE_MAX);
    }
    if (!settings_of(edged, camera))
        return error_set(error, -EINVAL, "there is no camera \"%.64s\"", camera);
    if (slash && strcmp(slash, "/record") == 0)
        return read_record(camera, text, error, ret_command);
    return read_setting(edged, camera, slash ? slash + 1 : "", text, error, ret_command);
}
