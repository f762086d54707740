#include "daemon/ctl/set_file.h"

#include "config/live/live.h"
#include "config/problems.h"
#include "config/schema/schema_value.h"
#include "daemon/common/replace_file.h"
#include "daemon/ctl/setup/setup_edit.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

// Keys that this leaves to other ways, because a mistake would lock somebody out or let anybody in.
static const struct {
    const char *path, *way;
} refused_keys[] = {
    {"control.socket", "edgectl finds edged by it: change it in the file and restart edged"},
    {"rtsp.auth", "it can let anybody watch without a password: change it in the file"},
    {"rtsp.users", "`edgectl setup --user NAME` makes a user and sets it"},
    {"rtsp.tokens", "it decides which programs may ask: change it in the file"},
    {"storage.path", "`edgectl setup --storage PATH` sets it and lets edged write there"},
};

// The file while it is changed. Starts out as {0}; all owned.
struct file_change {
    struct replaced_file file;
    char *text; // as it is to be
    struct config *before, *after;
};

static void finish(struct file_change *change)
{
    replaced_file_finish(&change->file);
    g_free(change->text);
    config_free(change->before);
    config_free(change->after);
}

static int check_path(const char *path, struct error *error)
{
    for (size_t i = 0; i < ARRAY_LENGTH(refused_keys); i++) {
        if (strcmp(refused_keys[i].path, path) == 0)
            return error_set(error, -EPERM, "%s: %s", path, refused_keys[i].way);
    }
    return 0;
}

// The path as it is in the file: "cameras[0].device" for "cameras.front.device". config_find() has
// found it. The caller g_free()s it.
static char *place_in_file(const struct config *config, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    const struct schema_group *group = &schema_root;
    const char *object = (const char *)config;
    GString *place = g_string_new(NULL);

    for (char **part = parts; *part; part++) {
        const struct schema_key *key = schema_find_key(group, *part);

        g_string_append_printf(place, "%s%s", part == parts ? "" : ".", *part);
        group = key->group;
        if (key->type == SCHEMA_LIST) {
            size_t count;
            const char *first = schema_get_list(key, object, &count);

            object = schema_find_element(key, object, *++part);
            g_string_append_printf(place, "[%zu]", (size_t)(object - first) / group->size);
        }
    }
    return g_string_free(place, FALSE);
}

// The text with the setting at `path`, a place in the file, as `value`; NULL: taken out. Groups on
// the way that the file does not have are added. NULL: there is no place for it in the file.
static char *edit(const char *text, const char *path, const char *value)
{
    g_autofree char *front = g_strdup(path);
    GString *inner = g_string_new(value);
    struct setup_place place;
    char *name, *edited = NULL;

    while (!setup_edit_find(text, front, &place) && (name = strrchr(front, '.'))) {
        g_autofree char *rest = g_string_free(inner, FALSE);

        inner = g_string_new(NULL);
        if (value)
            g_string_printf(inner, "{ %s = %s; }", name + 1, rest);
        *name = '\0';
    }
    name = strrchr(front, '.') ? strrchr(front, '.') + 1 : front;
    // A setting that is not there cannot be taken out.
    if (!value && (!place.name.start || strcmp(front, path) != 0))
        edited = g_strdup(text);
    else if (!strchr(name, '[') && (strcmp(front, path) == 0 || !place.name.start))
        edited = setup_edit_set(text, &place, value ? name : NULL, inner->str);
    g_string_free(inner, TRUE);
    return edited;
}

// The text that a value typed by a person has in a file. The caller free()s it.
static int read_value(const struct config_place *place, struct config *scratch, const char *path,
                      const char *typed, struct error *error, char **ret_value)
{
    void *object = (void *)(uintptr_t)place->object; // it is in `scratch`
    int r = schema_assign_text(place->key, object, typed, error);

    if (r < 0)
        return error_prefix(error, r, "%s", path);
    *ret_value = config_value_text(scratch, path);
    if (!*ret_value)
        *ret_value = strdup("\"\"");
    return *ret_value ? 0 : error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
}

// Changes one setting in the text.
static int apply(struct file_change *change, struct config *scratch, const char *argument,
                 struct error *error)
{
    const char *equals = strchr(argument, '=');
    g_autofree char *path =
        equals ? g_strndup(argument, (gsize)(equals - argument)) : g_strdup(argument);
    _cleanup_(cleanup_free) char *value = NULL;
    struct config_place place;
    int r = check_path(path, error);

    if (r < 0)
        return r;
    r = config_find(scratch, path, error, &place);
    if (r < 0)
        return error_prefix(error, r, "%s", path);
    if (!place.object)
        return error_set(error, -ENOENT, "%s: it is not in the file", path);
    r = equals ? read_value(&place, scratch, path, equals + 1, error, &value) : 0;
    if (r < 0)
        return r;
    g_autofree char *at = place_in_file(scratch, path), *edited = edit(change->text, at, value);

    if (!edited) {
        return error_set(error, -ENOENT, "%s: %s does not have the group that it belongs to", path,
                         change->file.path);
    }
    g_free(change->text);
    change->text = g_steal_pointer(&edited);
    return 0;
}

static int prepare(struct file_change *change, const char *path, char **arguments,
                   struct error *error)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_config) struct config *scratch = NULL;
    int r = replaced_file_read(path, error, &change->file);

    if (r == 0 && !change->file.content) {
        r = error_set(error, -ENOENT, "cannot read %s: %s; `edgectl setup` writes it", path,
                      strerror(ENOENT));
    }
    if (r < 0)
        return r;
    if (config_load(path, NULL, &change->before) < 0 || config_load(path, NULL, &scratch) < 0) {
        return error_set(error, -EINVAL, "%s has mistakes: `edgectl setup` offers to mend them",
                         path);
    }
    change->text = g_strdup(change->file.content);
    for (; *arguments && r == 0; arguments++)
        r = apply(change, scratch, *arguments, error);
    if (r < 0)
        return r;
    r = config_check_content(change->text, change->file.path, &problems, &change->after);
    return r < 0 ? config_problems_refuse(&problems, r, error) : 0;
}

// Has the running edged load the file, and prints its warnings. -ENOENT, -ECONNREFUSED: none runs.
static int reload(const struct client_options *where, const char *path, struct error *error)
{
    _cleanup_(client_cleanup) struct client *client = NULL;
    _cleanup_(cleanup_free) char *body = NULL;
    g_autoptr(JsonObject) verdict = NULL;
    int r = client_new(where, error, &client);

    r = r < 0 ? r : client_post(client, "/v1/reload", NULL, error, &body);
    r = r < 0 ? r : client_parse(body, error, &verdict);
    if (r < 0)
        return r;
    g_autoptr(GList) problems = get_list(verdict, "problems");
    g_autofree char *used = realpath(get_string(verdict, "path"), NULL);

    if (!get_boolean(verdict, "successful")) { // the error comes behind the warnings
        return error_set(error, -EINVAL, "edged refuses it: %s",
                         problems ? json_node_get_string(g_list_last(problems)->data)
                                  : "it does not say why");
    }
    if (g_strcmp0(used, path) != 0) {
        return error_set(error, -EINVAL,
                         "the running edged has another file, %s: name it by "
                         "--config",
                         get_string(verdict, "path"));
    }
    for (GList *item = problems; item; item = item->next)
        fprintf(stderr, "%s\n", json_node_get_string(item->data));
    return 0;
}

static void add_changes(JsonArray *changed, const struct file_change *change, char **arguments)
{
    for (; *arguments; arguments++) {
        g_autofree char *path = g_strndup(*arguments, strcspn(*arguments, "="));
        _cleanup_(cleanup_free) char *before = config_json_at(change->before, path),
                                     *after = config_json_at(change->after, path);
        JsonObject *one;
        struct config_place place;

        if (g_strcmp0(before, after) == 0 || config_find(change->after, path, NULL, &place) < 0)
            continue;
        one = json_object_new();
        json_object_set_string_member(one, "key", path);
        json_object_set_member(one, "before", json_from_string(before, NULL));
        json_object_set_member(one, "after", json_from_string(after, NULL));
        json_object_set_string_member(one, "cost",
                                      config_cost_word(schema_cost(place.group, place.key)));
        json_array_add_object_element(changed, one);
    }
}

static JsonObject *make_reply(const struct file_change *change, char **arguments, bool is_dry,
                              JsonArray *warnings)
{
    JsonObject *reply = json_object_new();
    JsonArray *changed = json_array_new();

    add_changes(changed, change, arguments);
    json_object_set_array_member(reply, "changed", changed);
    json_object_set_boolean_member(reply, "dry_run", is_dry);
    json_object_set_array_member(reply, "warnings", json_array_ref(warnings));
    json_object_set_boolean_member(reply, "kept", !is_dry);
    json_object_set_string_member(reply, "file", change->file.path);
    return reply;
}

int set_file_change(const struct client_options *where, char **arguments, bool is_dry,
                    struct error *error, JsonObject **ret_reply)
{
    const char *path = where->config_path ? where->config_path : CONFIG_DEFAULT_PATH;
    _cleanup_(finish) struct file_change change = {0};
    g_autoptr(JsonArray) warnings = json_array_new();
    struct error why;
    int r = prepare(&change, path, arguments, error);

    if (r == 0 && !is_dry)
        r = replaced_file_write(&change.file, change.text, strlen(change.text), error);
    if (r == -EACCES) {
        why = *error;
        return error_set(error, r, "%s; run it with sudo", why.text);
    }
    if (r < 0)
        return r;
    r = is_dry ? 0 : reload(where, change.file.path, error);
    if (r == -ENOENT || r == -ECONNREFUSED) {
        json_array_add_string_element(warnings,
                                      "edged is not running: this takes effect when it starts");
        r = 0;
    }
    if (r < 0) {
        why = *error;
        return replaced_file_put_back(&change.file) < 0
                   ? error_set(error, r, "%s; %s is changed", why.text, change.file.path)
                   : error_set(error, r, "%s; %s is as it was", why.text, change.file.path);
    }
    *ret_reply = make_reply(&change, arguments, is_dry, warnings);
    return 0;
}
