#include "config/diff.h"

#include "config/config.h"
#include "config/schema/schema_value.h"

#include <string.h>

#define SUMMARY_PATHS_MAX 4

// One key that differs, or an element of a list that came or went.
struct change {
    enum config_cost cost;
    const char *path;
    const struct schema_key *key;
    const void *before, *after; // the structs the key is in; NULL: an element is not there
};

struct walk {
    void (*tell)(void *context, const struct change *change);
    void *context;
    const char *camera; // the only one to look at; NULL: all, and those that came and went
};

const char *config_cost_text(enum config_cost cost)
{
    static const char *const texts[] = {
        [CONFIG_COST_NONE] = "nothing",
        [CONFIG_COST_FRAME] = "between two frames",
        [CONFIG_COST_VIEW] = "this view starts anew",
        [CONFIG_COST_CAMERA] = "this camera starts anew",
        [CONFIG_COST_START] = "when edged is started again",
    };

    return texts[cost];
}

static void diff_group(const struct walk *walk, const struct schema_group *group,
                       const void *before, const void *after, const char *path);

static void diff_list(const struct walk *walk, const struct schema_key *key, enum config_cost cost,
                      const void *before, const void *after, const char *path)
{
    const size_t size = key->group->size;
    const char *only = key->group == &schema_camera ? walk->camera : NULL;
    size_t old_count, new_count;
    const char *old = schema_get_list(key, before, &old_count);
    const char *new = schema_get_list(key, after, &new_count);
    struct change change = {.cost = cost, .path = path, .key = key};
    char place[128];

    for (size_t i = 0; i < new_count; i++) {
        const void *element = new + i *size;
        const void *same = schema_find_element(key, before, schema_name_of(element));

        snprintf(place, sizeof place, "%.90s.%s", path, schema_name_of(element));
        if (only && strcmp(only, schema_name_of(element)) != 0)
            continue;
        if (same) {
            diff_group(walk, key->group, same, element, place);
        } else {
            change.path = place;
            change.after = element;
            walk->tell(walk->context, &change);
        }
    }
    change.path = place;
    change.after = NULL;
    for (size_t i = 0; i < old_count && !only; i++) {
        change.before = old + i * size;
        snprintf(place, sizeof place, "%.90s.%s", path, schema_name_of(change.before));
        if (!schema_find_element(key, after, schema_name_of(change.before)))
            walk->tell(walk->context, &change);
    }
}

static void diff_group(const struct walk *walk, const struct schema_group *group,
                       const void *before, const void *after, const char *path)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        const enum config_cost cost = schema_cost(group, key);
        char place[128];

        snprintf(place, sizeof place, "%.90s%s%.30s", path, *path ? "." : "", key->name);
        if (key->front && walk->camera)
            continue;
        if (!schema_has_effect(group, key, before) || !schema_has_effect(group, key, after)) {
            continue; // what selects it has changed, which says all
        }
        if (key->type == SCHEMA_GROUP)
            diff_group(walk, key->group, before, after, place);
        else if (key->type == SCHEMA_LIST)
            diff_list(walk, key, cost, before, after, place);
        else if (!schema_is_equal(key, before, after))
            walk->tell(walk->context, &(struct change){cost, place, key, before, after});
    }
}

static void print_value(FILE *file, const struct change *change, const void *object)
{
    enum schema_type type = change->key->type;

    if (!object || (type != SCHEMA_LIST && type != SCHEMA_STRING && type != SCHEMA_INTEGER &&
                    schema_is_unset(change->key, object))) {
        fputs("none", file);
    } else if (type == SCHEMA_LIST) {
        schema_print_quoted(file, schema_name_of(object));
    } else if (type == SCHEMA_STRING) {
        schema_print_excerpt(file, *(char *const *)((const char *)object + change->key->offset));
    } else {
        schema_print_value(file, change->key, object);
    }
}

struct printer {
    FILE *file;
    bool any;
};

static void print_change(void *context, const struct change *change)
{
    struct printer *printer = context;

    fprintf(printer->file, "%s: ", change->path);
    print_value(printer->file, change, change->before);
    fputs(" -> ", printer->file);
    print_value(printer->file, change, change->after);
    fprintf(printer->file, ", %s\n", config_cost_text(change->cost));
    printer->any = true;
}

bool config_is_equal(const struct config *a, const struct config *b)
{
    _cleanup_(cleanup_free) char *one = NULL, *other = NULL;

    return config_format(a, SIZE_MAX, &one) == 0 && config_format(b, SIZE_MAX, &other) == 0 &&
           strcmp(one, other) == 0;
}

void config_diff_print(FILE *file, const struct config *before, const struct config *after)
{
    struct printer printer = {.file = file};
    const struct walk walk = {.tell = print_change, .context = &printer};

    diff_group(&walk, &schema_root, before, after, "");
    if (!printer.any) {
        fputs(config_is_equal(before, after) ? "nothing has changed\n"
                                             : "only the order in a list has changed\n",
              file);
    }
}

// The paths of one cost.
struct diff_summary {
    FILE *file;
    enum config_cost cost;
    size_t count;
    bool *any;
};

static void summarize_change(void *context, const struct change *change)
{
    struct diff_summary *summary = context;

    if (change->cost != summary->cost)
        return;
    if (summary->count == 0) {
        fprintf(summary->file, "%s%s: ", *summary->any ? "; " : "", config_cost_text(change->cost));
        *summary->any = true;
    }
    if (summary->count < SUMMARY_PATHS_MAX)
        fprintf(summary->file, "%s%s", summary->count ? ", " : "", change->path);
    summary->count++;
}

char *config_diff_summarize(const struct config *before, const struct config *after)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    bool any = false;

    for (enum config_cost cost = CONFIG_COST_FRAME; file && cost <= CONFIG_COST_START; cost++) {
        struct diff_summary summary = {.file = file, .cost = cost, .any = &any};
        const struct walk walk = {.tell = summarize_change, .context = &summary};

        diff_group(&walk, &schema_root, before, after, "");
        if (summary.count > SUMMARY_PATHS_MAX)
            fprintf(file, " and %zu more", summary.count - SUMMARY_PATHS_MAX);
    }
    if (file) {
        fputs(any ? "" : "nothing has changed", file);
        fclose(file);
    }
    return text;
}

static void take_cost(void *context, const struct change *change)
{
    enum config_cost *cost = context;

    if (change->cost != CONFIG_COST_START && change->cost > *cost)
        *cost = change->cost;
}

enum config_cost config_diff_camera(const struct config *before, const struct config *after,
                                    size_t index)
{
    enum config_cost cost = CONFIG_COST_NONE;
    const struct walk walk = {
        .tell = take_cost, .context = &cost, .camera = after->cameras[index].name};

    diff_group(&walk, &schema_root, before, after, "");
    return cost;
}

static void note_sight(void *context, const struct change *change)
{
    bool *equal = context;

    *equal = *equal && change->key->aside;
}

static bool groups_look_equal(const struct schema_group *group, const void *a, const void *b)
{
    bool equal = true;
    const struct walk walk = {.tell = note_sight, .context = &equal};

    diff_group(&walk, group, a, b, "");
    return equal;
}

static bool sides_look_equal(const struct config_view *a, const struct config_view *b)
{
    return a == b || (a && b && config_views_look_equal(a, b));
}

bool config_views_look_equal(const struct config_view *a, const struct config_view *b)
{
    return groups_look_equal(&schema_view, a, b) && sides_look_equal(a->left_view, b->left_view) &&
           sides_look_equal(a->right_view, b->right_view);
}

bool config_regions_look_equal(const struct config_region *a, const struct config_region *b)
{
    return groups_look_equal(&schema_region, a, b);
}
