// A configuration file that was read once, and loaded with settings over it.
//
// Settings go into libconfig's tree before the table reads it, so that they are checked as the
// file's own are. Every element gets its name there first: a setting may change what an unnamed one
// would be called after.
#include "config/live/live.h"
#include "config/parse/load.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <libconfig.h>
#include <string.h>

struct config_file {
    struct config_text text;
    struct config *plain;
    struct config_overrides origins; // of each key in the text, as values
};

struct layer {
    const struct config *plain;
    const struct config_overrides *overrides;
};

static int set_string(config_setting_t *setting, const char *name, const char *string)
{
    config_setting_t *member = config_setting_add(setting, name, CONFIG_TYPE_STRING);

    return member && config_setting_set_string(member, string) ? 0 : -ENOMEM;
}

static int name_elements(config_setting_t *setting, const struct schema_group *group,
                         const void *object)
{
    int r = 0;

    for (size_t i = 0; i < group->key_count && r == 0; i++) {
        const struct schema_key *key = &group->keys[i];
        config_setting_t *list = config_setting_get_member(setting, key->name);
        size_t count = 0;
        const char *elements =
            key->type == SCHEMA_LIST ? schema_get_list(key, object, &count) : NULL;

        if (count > 0 && !list) {
            list = config_setting_add(setting, key->name, CONFIG_TYPE_LIST);
        }
        for (size_t k = 0; k < count && r == 0; k++) {
            const char *element = elements + k * key->group->size;
            config_setting_t *found = list ? config_setting_get_elem(list, (unsigned)k) : NULL;

            if (list && !found) {
                found = config_setting_add(list, NULL, CONFIG_TYPE_GROUP);
            }
            r = !found ? -ENOMEM
                : config_setting_get_member(found, "name")
                    ? 0
                    : set_string(found, "name", schema_name_of(element));
            r = r < 0 ? r : name_elements(found, key->group, element);
        }
    }
    return r;
}

static int copy_setting(config_setting_t *parent, const char *name, const config_setting_t *from)
{
    int type = config_setting_type(from), length = config_setting_length(from), r = 0;
    config_setting_t *copy = config_setting_add(parent, name, type);

    if (!copy) {
        return -ENOMEM;
    }
    switch (type) {
    case CONFIG_TYPE_INT:
        config_setting_set_int(copy, config_setting_get_int(from));
        break;
    case CONFIG_TYPE_INT64:
        config_setting_set_int64(copy, config_setting_get_int64(from));
        break;
    case CONFIG_TYPE_FLOAT:
        config_setting_set_float(copy, config_setting_get_float(from));
        break;
    case CONFIG_TYPE_BOOL:
        config_setting_set_bool(copy, config_setting_get_bool(from));
        break;
    case CONFIG_TYPE_STRING:
        config_setting_set_string(copy, config_setting_get_string(from));
        break;
    default:
        for (int i = 0; i < length && r == 0; i++) {
            const config_setting_t *element = config_setting_get_elem(from, (unsigned)i);

            r = copy_setting(copy, config_setting_name(element), element);
        }
    }
    return r;
}

static int replace(config_setting_t *parent, const char *name,
                   const struct config_override *override)
{
    _cleanup_(cleanup_free) char *text = NULL;
    config_t tree;
    int r = -EINVAL;

    if (strchr(override->value, '\n')) { // a line of its own may include a file
        return -EINVAL;
    }
    if (asprintf(&text, "value = %s;", override->value) < 0) {
        text = NULL;
        return -ENOMEM;
    }
    config_init(&tree);
    if (config_read_string(&tree, text)) {
        config_setting_remove(parent, name);
        r = copy_setting(parent, name,
                         config_setting_get_member(config_root_setting(&tree), "value"));
    }
    config_destroy(&tree);
    if (r == 0) {
        config_setting_set_hook(config_setting_get_member(parent, name), override->path);
    }
    return r;
}

static config_setting_t *find_named(const config_setting_t *list, const char *name, int *ret_index)
{
    for (int i = 0; list && i < config_setting_length(list); i++) {
        config_setting_t *element = config_setting_get_elem(list, (unsigned)i);
        const char *given = "";

        config_setting_lookup_string(element, "name", &given);
        if (strcmp(given, name) == 0) {
            *ret_index = i;
            return element;
        }
    }
    return NULL;
}

static config_setting_t *member_or_new(config_setting_t *setting, const char *name, int type)
{
    config_setting_t *member = config_setting_get_member(setting, name);

    return member ? member : config_setting_add(setting, name, type);
}

// Lays one over the tree. `parts` is a copy of its path, which is cut up.
static int lay(config_setting_t *setting, const struct config_override *override, char *parts)
{
    const struct schema_group *group = &schema_root;

    for (char *part; (part = strsep(&parts, "."));) {
        const struct schema_key *key = schema_find_key(group, part);
        config_setting_t *list;
        char *name;
        int index;

        if (!key || (!parts && key->group)) {
            return -ENOENT;
        }
        if (!parts) {
            return override->value ? replace(setting, key->name, override) : -ENOENT;
        }
        if (!key->group) {
            return -ENOENT;
        }
        group = key->group;
        if (key->type == SCHEMA_GROUP) {
            setting = member_or_new(setting, key->name, CONFIG_TYPE_GROUP);
            if (!setting) {
                return -ENOMEM;
            }
            continue;
        }
        name = strsep(&parts, ".");
        list = member_or_new(setting, key->name, CONFIG_TYPE_LIST);
        setting = find_named(list, name, &index);
        if (!parts) {
            if (setting && !override->value && key->remote) {
                config_setting_remove_elem(list, (unsigned)index);
            }
            return override->value || !key->remote ? -ENOENT : 0;
        }
        if (!setting && !key->remote) {
            return -ENOENT;
        }
        if (!setting) {
            setting = list ? config_setting_add(list, NULL, CONFIG_TYPE_GROUP) : NULL;
            if (!setting || set_string(setting, "name", name) < 0) {
                return -ENOMEM;
            }
            config_setting_set_hook(setting, override->path);
        }
    }
    return -ENOENT;
}

static int lay_all(void *context, config_setting_t *root, FILE *problems)
{
    const struct layer *layer = context;
    int r = name_elements(root, &schema_root, layer->plain);

    for (size_t i = 0; i < layer->overrides->count && r == 0; i++) {
        const struct config_override *override = &layer->overrides->list[i];
        _cleanup_(cleanup_free) char *parts = strdup(override->path);

        r = parts ? lay(root, override, parts) : -ENOMEM;
        if (r < 0 && r != -ENOMEM && problems) {
            fprintf(problems, "settings: error: %s: %s\n", override->path,
                    r == -ENOENT ? "no such key, camera or view" : "got no value");
        }
    }
    return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

int config_file_load(const struct config_file *file, const struct config_overrides *overrides,
                     FILE *problems, struct config **ret_config)
{
    struct config_text text = file->text; // a view of it, with its own problems
    struct layer layer = {file->plain, overrides};

    text.problems = problems;
    return load_text(&text, overrides->count ? lay_all : NULL, &layer, ret_config);
}

static void note_origins(struct config_file *file, const config_setting_t *setting,
                         const struct schema_group *group, const char *path)
{
    for (int i = 0; i < config_setting_length(setting); i++) {
        const config_setting_t *member = config_setting_get_elem(setting, (unsigned)i);
        const char *name = config_setting_name(member);
        const struct schema_key *key = name ? schema_find_key(group, name) : NULL;
        struct config_line line =
            config_text_origin(&file->text, config_setting_source_line(member));
        _cleanup_(cleanup_free) char *inner = NULL, *origin = NULL;

        if (!name) { // an element
            config_setting_lookup_string(member, "name", &name);
        }
        if (!name || asprintf(&inner, "%s%s%s", path, *path ? "." : "", name) < 0) {
            inner = NULL;
            continue;
        }
        if (!key || key->group) {
            note_origins(file, member, key ? key->group : group, inner);
        } else if (config_setting_source_line(member) > 0 &&
                   asprintf(&origin, "%s:%u", line.file, line.line) > 0) {
            config_overrides_set(&file->origins, inner, origin, NULL);
        }
    }
}

// Reads the text once more, only to see where its keys stand.
static int find_origins(void *context, config_setting_t *root, FILE *problems)
{
    struct config_file *file = context;

    (void)problems;
    if (name_elements(root, &schema_root, file->plain) == 0) {
        note_origins(file, root, &schema_root, "");
    }
    return -ECANCELED;
}

const char *config_file_origin(const struct config_file *file, const char *path)
{
    const struct config_override *found = config_overrides_find(&file->origins, path);

    return found ? found->value : NULL;
}

int config_file_read(const char *path, FILE *problems, struct config_file **ret_file)
{
    struct config_file *file = calloc(1, sizeof *file);
    int r = -ENOMEM;

    if (!file) {
        return r;
    }
    file->text.problems = problems;
    r = path ? config_text_read(&file->text, path)
             : config_text_take(&file->text, "", "built-in defaults");
    r = r < 0 ? r : load_text(&file->text, NULL, NULL, &file->plain);
    file->text.problems = NULL;
    if (r < 0) {
        config_file_free(file);
        return r;
    }
    load_text(&file->text, find_origins, file, NULL);
    *ret_file = file;
    return 0;
}

const struct config *config_file_plain(const struct config_file *file)
{
    return file->plain;
}

void config_file_free(struct config_file *file)
{
    if (file) {
        config_free(file->plain);
        config_overrides_finish(&file->origins);
        config_text_finish(&file->text);
        free(file);
    }
}
