// Configurations and single views in memory: made, changed, written as text and freed.
#include "config/config.h"

#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

void config_free(struct config *config)
{
    if (config) {
        schema_clear(&schema_root, config);
        free(config);
    }
}

void config_view_free(struct config_view *view)
{
    if (view) {
        schema_clear(&schema_view, view);
        free(view);
    }
}

static void cleanup_view(struct config_view **view)
{
    config_view_free(*view);
}

void config_view_complete(struct config_view *view)
{
    if (view->threshold == 0 && view->view != CONFIG_VIEW_SPLIT) // a split's sides differ
        view->threshold = config_view_remembers(view) ? 25 : 80;
}

int config_view_new(const char *kind, struct error *error, struct config_view **ret_view)
{
    _cleanup_(cleanup_view) struct config_view *view = calloc(1, sizeof *view);
    int r = view ? schema_set_defaults(&schema_view, view) : -ENOMEM;

    if (r < 0)
        return error_set(error, r, "%s", strerror(-r));
    r = config_view_set(view, "view", kind, error);
    if (r == 0)
        r = config_view_set(view, "name", kind, error);
    if (r == 0) {
        if (view->view != CONFIG_VIEW_CUSTOM) {
            config_view_complete(view); // else with its stages
        }
        *ret_view = TAKE(view);
    }
    return r;
}

static int refuse_unused(const struct schema_key *key, const struct config_view *view,
                         struct error *error)
{
    _cleanup_(cleanup_free) char *users = NULL;
    size_t size;
    FILE *file = open_memstream(&users, &size);

    if (!file)
        return error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    schema_print_selected(file, &schema_view, key->used_by);
    if (fclose(file) != 0)
        return error_set(error, -ENOMEM, "%s", strerror(ENOMEM));
    return error_set(error, -EINVAL, "%s: no effect with view = \"%s\", only with %s", key->name,
                     config_view_kind_name(view->view), users);
}

int config_view_set(struct config_view *view, const char *key, const char *value,
                    struct error *error)
{
    const struct schema_key *found = schema_find_key(&schema_view, key);
    int r;

    if (!found) {
        schema_refuse_unknown(&schema_view, false, key, error);
        return error_prefix(error, -EINVAL, "%s", key);
    }
    if (found->type == SCHEMA_GROUP)
        return error_set(error, -EINVAL, "%s: no effect on files, only in streams", key);
    if (!schema_has_effect(&schema_view, found, view))
        return refuse_unused(found, view, error);
    r = schema_assign_text(found, view, value, error);
    if (r == -ENOMEM)
        error_set(error, r, "%s", strerror(ENOMEM));
    if (r < 0)
        return error_prefix(error, r, "%s", key);
    if (found->type == SCHEMA_WORDS)
        config_view_complete(view);
    return 0;
}

static void format_group(FILE *file, const struct schema_group *group, const void *object,
                         size_t only, int depth);

// Elements of a list, number `only` alone unless that is SIZE_MAX.
static void format_list(FILE *file, const struct schema_key *key, const char *elements,
                        size_t count, size_t only, int depth)
{
    const char *separator = "";

    fputs("(", file);
    for (size_t i = 0; i < count; i++) {
        if (only == SIZE_MAX || only == i) {
            fprintf(file, "%s\n%*s{\n", separator, depth * 2, "");
            format_group(file, key->group, elements + i * key->group->size, SIZE_MAX, depth + 1);
            fprintf(file, "%*s}", depth * 2, "");
            separator = ",";
        }
    }
    fputs(")", file);
}

static void format_key(FILE *file, const struct schema_key *key, const void *object, size_t only,
                       int depth)
{
    const char *elements;
    size_t count;

    switch (key->type) {
    case SCHEMA_GROUP:
        fputs("{\n", file);
        format_group(file, key->group, object, SIZE_MAX, depth + 1);
        fprintf(file, "%*s}", depth * 2, "");
        break;
    case SCHEMA_LIST:
        elements = schema_get_list(key, object, &count);
        format_list(file, key, elements, count, only, depth + 1);
        break;
    default:
        schema_print_value(file, key, object);
    }
}

static void format_group(FILE *file, const struct schema_group *group, const void *object,
                         size_t only, int depth)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];

        if (!schema_has_effect(group, key, object) || schema_is_unset(key, object) ||
            (key->front && only != SIZE_MAX)) {
            continue;
        }
        fprintf(file, "%*s%s = ", depth * 2, "", key->name);
        format_key(file, key, object, only, depth);
        fputs(";\n", file);
    }
}

int config_format(const struct config *config, size_t camera, char **ret_text)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return -ENOMEM;
    format_group(file, &schema_root, config, camera, 0);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return -ENOMEM;
    *ret_text = TAKE(text);
    return 0;
}
