// Paths of names: "cameras.front.views.edges.gain".
#include "config/live/live.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

#define PART_SIZE 64

enum config_role config_element_role(const struct schema_group *group, const void *element)
{
    const struct config_camera *camera = element;
    enum config_role least = CONFIG_ROLE_ADMIN;

    if (group == &schema_view)
        return config_view_role(element);
    for (size_t i = 0; group == &schema_camera && i < camera->view_count; i++) {
        enum config_role role = config_view_role(&camera->views[i]);

        least = role < least ? role : least;
    }
    return group == &schema_camera ? least : CONFIG_ROLE_VIEWER;
}

// Names what an operator may see, who is the least that may ask.
static int refuse_element(const struct schema_key *key, const void *object, const char *name,
                          struct error *error)
{
    size_t count;
    const char *elements = schema_get_list(key, object, &count);
    char list[400] = "";

    for (size_t i = 0; i < count; i++) {
        const char *element = elements + i * key->group->size;
        size_t length = strlen(list);

        if (config_element_role(key->group, element) <= CONFIG_ROLE_OPERATOR) {
            snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "",
                     schema_name_of(element));
        }
    }
    return error_refuse(error, -ENOENT, "got \"%.64s\",", "%s", name, list);
}

// The next part of a path, which goes on behind it.
static int take_part(const char **path, char ret_part[PART_SIZE], struct error *error)
{
    size_t length = strcspn(*path, ".");

    if (length == 0 || length >= PART_SIZE)
        return error_set(error, -ENOENT, "got an empty name, or one too long, in the path");
    memcpy(ret_part, *path, length);
    ret_part[length] = '\0';
    *path += length + ((*path)[length] == '.' && (*path)[length + 1]);
    return 0;
}

int config_find(const struct config *config, const char *path, struct error *error,
                struct config_place *ret_place)
{
    struct config_place place = {.group = &schema_root, .object = config};
    const struct schema_group *inside = &schema_root;
    char part[PART_SIZE];

    while (*path) {
        if (!inside)
            return error_set(error, -ENOENT, "has no keys inside, got \"%.64s\"", path);
        if (take_part(&path, part, error) < 0)
            return -ENOENT;
        place.group = inside;
        place.key = schema_find_key(inside, part);
        place.element = NULL;
        if (!place.key)
            return schema_refuse_unknown(inside, true, part, error);
        inside = place.key->type == SCHEMA_GROUP ? place.key->group : NULL;
        if (place.key->type == SCHEMA_LIST && *path) {
            const char *name = path;
            const void *list = place.object;

            if (take_part(&path, part, error) < 0)
                return -ENOENT;
            place.element = name;
            place.object = list ? schema_find_element(place.key, list, part) : NULL;
            if (!place.object && !(place.key->remote && schema_name_rule.accepts(part)))
                return refuse_element(place.key, list, part, error);
            if (place.object) {
                enum config_role role = config_element_role(place.key->group, place.object);

                place.role = role > place.role ? role : place.role;
            }
            inside = place.key->group;
        }
    }
    if (!place.key)
        return error_set(error, -ENOENT, "got no key");
    *ret_place = place;
    return 0;
}

struct key_walk {
    enum config_role role;
    void (*tell)(void *context, const char *path, const struct config_place *place);
    void *context;
};

static void walk_group(const struct key_walk *walk, const struct schema_group *group,
                       const void *object, const char *path);

static void walk_list(const struct key_walk *walk, const struct schema_key *key, const void *object,
                      const char *path)
{
    size_t count;
    const char *elements = schema_get_list(key, object, &count);

    for (size_t i = 0; i < count; i++) {
        const char *element = elements + i * key->group->size;
        char place[256];

        snprintf(place, sizeof place, "%.128s.%.64s", path, schema_name_of(element));
        if (config_element_role(key->group, element) <= walk->role)
            walk_group(walk, key->group, element, place);
    }
}

static void walk_group(const struct key_walk *walk, const struct schema_group *group,
                       const void *object, const char *path)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        const struct config_place place = {.group = group, .key = key, .object = object};
        char inner[256];

        snprintf(inner, sizeof inner, "%.200s%s%.40s", path, *path ? "." : "", key->name);
        if (!schema_has_effect(group, key, object) || schema_is_name(group, key)) {
            continue; // it has no effect, or is the name in the path
        }
        if (key->type == SCHEMA_GROUP)
            walk_group(walk, key->group, object, inner);
        else if (key->type == SCHEMA_LIST)
            walk_list(walk, key, object, inner);
        else
            walk->tell(walk->context, inner, &place);
    }
}

void config_each_key(const struct config *config, enum config_role role,
                     void (*tell)(void *context, const char *path,
                                  const struct config_place *place),
                     void *context)
{
    const struct key_walk walk = {role, tell, context};

    walk_group(&walk, &schema_root, config, "");
}

char *config_value_text(const struct config *config, const char *path)
{
    struct config_place place;
    char *text = NULL;
    size_t size;
    FILE *file;

    if (config_find(config, path, NULL, &place) < 0 || !place.object || place.element ||
        place.key->type == SCHEMA_LIST || schema_is_unset(place.key, place.object)) {
        return NULL;
    }
    file = open_memstream(&text, &size);
    if (file) {
        schema_print_value(file, place.key, place.object);
        fclose(file);
    }
    return text;
}
