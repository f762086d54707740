// A configuration file that was read once, and loaded with settings over it.
//
// The file's own values are kept as they were before defaults and names were filled in. Each load
// copies them, sets the keys of the settings by their paths, then completes and checks the copy
// like a file. Unnamed elements get their names first, because a setting may change the key that
// such a name is taken from.
#include "config/live/live.h"
#include "config/parse/load.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

struct config_file {
    struct config_text text;
    struct config *read;       // before it is completed
    struct config *plain;      // completed
    struct validation origins; // of the keys in the text
};

static int copy_config(const struct config *config, struct config **ret_copy)
{
    struct config *copy = malloc(sizeof *copy);
    int r;

    if (!copy)
        return -ENOMEM;
    *copy = *config;
    r = schema_own(&schema_root, copy);
    if (r < 0)
        config_free(copy);
    else
        *ret_copy = copy;
    return r;
}

// Adds an element with the defaults to a list that has room for it.
static int add_element(const struct schema_key *key, void *object, const char *name)
{
    size_t count, size = key->group->size;
    char *list = schema_get_list(key, object, &count);
    char *elements = reallocarray(list, count + 1, size), *element;
    int r;

    if (!elements)
        return -ENOMEM;
    element = memset(elements + count * size, 0, size);
    schema_set_list(key, object, elements, count + 1);
    r = schema_set_defaults(key->group, element);
    *(char **)element = strdup(name); // which has no default
    return *(char **)element ? r : -ENOMEM;
}

static void remove_element(const struct schema_key *key, void *object, char *element)
{
    size_t count, size = key->group->size;
    const char *elements = schema_get_list(key, object, &count);

    schema_clear(key->group, element);
    memmove(element, element + size, (size_t)(elements + count * size - element) - size);
    schema_set_list(key, object, (void *)elements, count - 1);
}

// The path of an element; of NULL, that of one that is added.
static struct validation_path element_path(const struct validation *validation, const char *list,
                                           const struct schema_key *key, const void *object,
                                           const char *element)
{
    size_t count;
    const char *elements = schema_get_list(key, object, &count);

    return validation_element(validation, list,
                              element ? (size_t)(element - elements) / key->group->size : count);
}

// Makes an element that may be made.
static int make_element(struct validation *validation, const char *list, const char *path,
                        const struct schema_key *key, void *object, const char *name,
                        const char *override)
{
    size_t count;
    int r;

    if (!key->remote || !schema_name_rule.accepts(name))
        return -ENOENT;
    schema_get_list(key, object, &count);
    if ((double)count >= key->maximum) {
        validation_refuse(validation, list, "got %zu %s,", "at most %d", count + 1, key->name,
                          (int)key->maximum);
        return -EINVAL;
    }
    r = add_element(key, object, name);
    return r < 0 ? r : validation_note_override(validation, path, override);
}

// Sets the value of a key at a path, and what it implies where nothing else says it.
static int set_value(struct validation *validation, const struct config_override *override,
                     const struct schema_group *group, const char *base,
                     const struct schema_key *key, void *object)
{
    struct validation_path path = validation_key(base, key->name);
    int r = validation_note_override(validation, path.text, override->path);

    if (r == 0 && key->implies &&
        !validation_has(validation, validation_key(base, group->selector->name).text)) {
        *(unsigned *)((char *)object + group->selector->offset) = key->implies;
    }
    return r < 0 ? r : load_value(validation, path.text, override->value, key, object);
}

// Lays one over the configuration. `parts` is a copy of its path, which is cut up. -ENOENT: the
// path leads nowhere; else the errors of load_value().
static int lay(struct validation *validation, const struct config_override *override, char *parts,
               void *object)
{
    const struct schema_group *group = &schema_root;
    struct validation_path base = {""}, list;

    for (char *part; (part = strsep(&parts, "."));) {
        const struct schema_key *key = schema_find_key(group, part);
        char *element;
        int r = 0;

        if (!key || !parts == !!key->group || (!parts && !override->value))
            return -ENOENT;
        if (!parts)
            return set_value(validation, override, group, base.text, key, object);
        group = key->group;
        list = validation_key(base.text, key->name);
        base = list;
        if (key->type == SCHEMA_GROUP)
            continue;
        part = strsep(&parts, ".");
        element = schema_find_element(key, object, part);
        base = element_path(validation, list.text, key, object, element);
        if (!parts && (override->value || !key->remote))
            return -ENOENT;
        if (!parts && element) {
            remove_element(key, object, element);
            r = validation_note_removal(validation, base.text);
        } else if (parts && !element) {
            r = make_element(validation, list.text, base.text, key, object, part, override->path);
        }
        if (r < 0 || !parts)
            return r;
        object = schema_find_element(key, object, part);
    }
    return -ENOENT;
}

static int lay_all(struct validation *validation, const struct config_overrides *overrides,
                   struct config *config)
{
    int r = 0;

    for (size_t i = 0; i < overrides->count && r == 0; i++) {
        const struct config_override *override = &overrides->list[i];
        _cleanup_(cleanup_free) char *parts = strdup(override->path);

        r = parts ? lay(validation, override, parts, config) : -ENOMEM;
        if (r == -ENOENT || r == -EBADMSG) {
            const char *sentence = r == -ENOENT ? "no such key, camera or view" : "got no value";
            const struct config_problem problem = {.path = strdup(override->path),
                                                   .sentence = strdup(sentence),
                                                   .is_error = true,
                                                   .is_setting = true};

            config_problems_add(validation->problems, &problem);
            r = -EINVAL;
        }
    }
    return r;
}

int config_file_load(const struct config_file *file, const struct config_overrides *overrides,
                     struct config_problems *problems, struct config **ret_config)
{
    _cleanup_(config_problems_finish) struct config_problems ignored = {0};
    _cleanup_(validation_finish) struct validation validation = {
        .text = &file->text,
        .problems = problems ? problems : &ignored,
        .file = &file->origins,
    };
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t before = validation.problems->count;
    int r = copy_config(file->read, &config);

    r = r < 0 ? r : lay_all(&validation, overrides, config);
    r = r < 0 ? r : load_check(&validation, config);
    r = load_end(&file->text, validation.problems, before, r);
    if (r == 0)
        *ret_config = TAKE(config);
    return r;
}

// Reads the text of `file` and completes a copy of what it says.
static int load(struct config_file *file)
{
    struct config_problems *problems = file->text.problems;
    size_t before = problems->count;
    int r;

    file->origins = (struct validation){.text = &file->text, .problems = problems};
    r = load_read(&file->origins, &file->read);
    r = r < 0 ? r : copy_config(file->read, &file->plain);
    r = r < 0 ? r : load_check(&file->origins, file->plain);
    return load_end(&file->text, problems, before, r);
}

int config_file_read(const char *path, struct config_problems *problems,
                     struct config_file **ret_file)
{
    _cleanup_(config_problems_finish) struct config_problems ignored = {0};
    struct config_file *file = calloc(1, sizeof *file);
    int r = -ENOMEM;

    if (!file)
        return r;
    file->text.problems = problems ? problems : &ignored;
    r = path ? config_text_read(&file->text, path)
             : config_text_take(&file->text, "", "built-in defaults");
    r = r < 0 ? r : load(file);
    file->text.problems = file->origins.problems = NULL;
    if (r < 0)
        config_file_free(file);
    else
        *ret_file = file;
    return r;
}

char *config_file_origin(const struct config_file *file, const char *path)
{
    _cleanup_(cleanup_free) char *copy = strdup(path);
    const struct schema_group *group = &schema_root;
    struct validation_path place = {""};
    const void *object = file->read;
    struct config_line line = {NULL, 0};
    char *rest = copy, *origin = NULL;

    for (char *part; group && object && (part = strsep(&rest, "."));) {
        const struct schema_key *key = schema_find_key(group, part);

        place = validation_key(place.text, part);
        group = key ? key->group : NULL;
        if (group && key->type == SCHEMA_LIST && (part = strsep(&rest, "."))) {
            const void *element = schema_find_element(key, object, part);

            place = element_path(&file->origins, place.text, key, object, element);
            object = element;
        }
    }
    line = validation_line(&file->origins, place.text);
    return line.line > 0 && asprintf(&origin, "%s:%u", line.file, line.line) >= 0 ? origin : NULL;
}

const struct config *config_file_plain(const struct config_file *file)
{
    return file->plain;
}

int64_t config_file_changed_ns(const struct config_file *file)
{
    return file->text.changed_ns;
}

void config_file_free(struct config_file *file)
{
    if (file) {
        config_free(file->plain);
        validation_finish(&file->origins);
        config_free(file->read);
        config_text_finish(&file->text);
        free(file);
    }
}
