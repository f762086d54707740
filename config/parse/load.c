#include "config/parse/load.h"

#include "config/parse/problems.h"
#include "config/parse/syntax_hint.h"
#include "config/parse/validate.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <string.h>

static int read_group(struct problems *problems, const config_setting_t *setting,
                      const struct schema_group *group, void *object);

static struct schema_value value_of(const config_setting_t *setting)
{
    struct schema_value value = {0};

    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        value.kind = SCHEMA_VALUE_INTEGER;
        value.integer = config_setting_get_int64(setting);
        break;
    case CONFIG_TYPE_FLOAT:
        value.kind = SCHEMA_VALUE_NUMBER;
        value.number = config_setting_get_float(setting);
        break;
    case CONFIG_TYPE_BOOL:
        value.kind = SCHEMA_VALUE_BOOLEAN;
        value.integer = config_setting_get_bool(setting);
        break;
    case CONFIG_TYPE_STRING:
        value.kind = SCHEMA_VALUE_STRING;
        value.string = config_setting_get_string(setting);
        value.string = value.string ? value.string : "";
        break;
    case CONFIG_TYPE_LIST:
        value.kind = SCHEMA_VALUE_LIST;
        break;
    case CONFIG_TYPE_ARRAY:
        value.kind = SCHEMA_VALUE_ARRAY;
        break;
    default:
        value.kind = SCHEMA_VALUE_GROUP;
    }
    return value;
}

static void refuse_type(struct problems *problems, const config_setting_t *setting,
                        const struct schema_key *key)
{
    struct schema_value value = value_of(setting);
    FILE *file = problems_begin(problems, setting, NULL);

    if (file) {
        schema_print_refusal(file, key, &value);
    }
    problems_end(problems);
}

static void refuse_unknown(struct problems *problems, const config_setting_t *setting,
                           const struct schema_group *group)
{
    FILE *file = problems_begin(problems, setting, NULL);

    if (file) {
        schema_print_unknown(file, group, true, config_setting_name(setting));
    }
    problems_end(problems);
}

// Room for `count` zeroed elements of a list in `object`; none for an empty one.
static int allocate_list(const struct schema_key *key, void *object, size_t count, size_t size,
                         char **ret_elements)
{
    char *elements = count ? calloc(count, size) : NULL;

    if (count && !elements) {
        return -ENOMEM;
    }
    schema_set_list(key, object, elements, count);
    *ret_elements = elements;
    return 0;
}

static int read_list(struct problems *problems, const config_setting_t *setting,
                     const struct schema_key *key, void *object)
{
    static const struct schema_key element_key = {.type = SCHEMA_GROUP};
    size_t count = (size_t)config_setting_length(setting), size = key->group->size;
    char *elements;
    int r;

    if ((double)count > key->maximum) {
        problems_error(problems, setting, NULL, "got %zu %s, allowed: at most %d", count, key->name,
                       (int)key->maximum);
        count = (size_t)key->maximum;
    }
    r = allocate_list(key, object, count, size, &elements);
    for (size_t i = 0; i < count && r == 0; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

        r = schema_set_defaults(key->group, elements + i * size);
        if (r == 0 && !config_setting_is_group(element)) {
            refuse_type(problems, element, &element_key);
        } else if (r == 0) {
            r = read_group(problems, element, key->group, elements + i * size);
        }
    }
    return r;
}

static int read_controls(struct problems *problems, const config_setting_t *setting,
                         const struct schema_key *key, void *object)
{
    size_t count = (size_t)config_setting_length(setting);
    char *elements;
    int r = allocate_list(key, object, count, sizeof(struct config_control), &elements);

    for (size_t i = 0; i < count && r == 0; i++) {
        static const struct schema_key control_key = {
            .type = SCHEMA_INTEGER, .minimum = INT_MIN, .maximum = INT_MAX};
        const config_setting_t *member = config_setting_get_elem(setting, (unsigned)i);
        struct config_control *control = (struct config_control *)elements + i;
        struct schema_value value = value_of(member);

        control->name = strdup(config_setting_name(member));
        if (!control->name) {
            return -ENOMEM;
        }
        if ((value.kind != SCHEMA_VALUE_INTEGER && value.kind != SCHEMA_VALUE_BOOLEAN) ||
            value.integer < INT_MIN || value.integer > INT_MAX) {
            refuse_type(problems, member, &control_key);
        } else {
            control->value = (int)value.integer;
        }
    }
    return r;
}

static int read_scalar(struct problems *problems, const config_setting_t *setting,
                       const struct schema_key *key, void *object)
{
    struct schema_value elements[SCHEMA_ELEMENTS_MAX];
    struct schema_value value = value_of(setting);
    struct error error = {0};
    int r;

    if (value.kind == SCHEMA_VALUE_LIST || value.kind == SCHEMA_VALUE_ARRAY) {
        value.elements = elements;
        value.count = (size_t)config_setting_length(setting);
    }
    for (size_t i = 0; i < value.count && i < SCHEMA_ELEMENTS_MAX; i++) {
        elements[i] = value_of(config_setting_get_elem(setting, (unsigned)i));
    }
    r = schema_assign(key, object, &value, &error);
    if (r == -EINVAL) {
        problems_error(problems, setting, NULL, "%s", error.text);
        r = 0;
    }
    return r;
}

static int read_points(struct problems *problems, const config_setting_t *setting,
                       const struct schema_key *key, void *object)
{
    static const struct schema_key point_key = {.type = SCHEMA_POINT, .maximum = 1};
    size_t count = (size_t)config_setting_length(setting), before = problems->errors;
    char *elements;
    int r;

    if ((double)count < key->minimum || (double)count > key->maximum) {
        problems_error(problems, setting, NULL, "got %zu corners, allowed: %.0f to %.0f", count,
                       key->minimum, key->maximum);
        return 0;
    }
    r = allocate_list(key, object, count, sizeof(struct config_point), &elements);
    for (size_t i = 0; i < count && r == 0; i++) {
        r = read_scalar(problems, config_setting_get_elem(setting, (unsigned)i), &point_key,
                        (struct config_point *)elements + i);
    }
    if (r == 0 && problems->errors == before &&
        !schema_points_have_area((struct config_point *)elements, count)) {
        problems_error(problems, setting, NULL, SCHEMA_POINTS_REFUSAL);
    }
    return r;
}

static int read_key(struct problems *problems, const config_setting_t *setting,
                    const struct schema_key *key, void *object)
{
    bool is_group = config_setting_is_group(setting);

    switch (key->type) {
    case SCHEMA_GROUP:
        if (is_group) {
            return read_group(problems, setting, key->group, object);
        }
        break;
    case SCHEMA_CONTROLS:
        if (is_group) {
            return read_controls(problems, setting, key, object);
        }
        break;
    case SCHEMA_LIST:
        if (config_setting_is_list(setting)) {
            return read_list(problems, setting, key, object);
        }
        break;
    case SCHEMA_POINTS:
        if (config_setting_is_list(setting)) {
            return read_points(problems, setting, key, object);
        }
        break;
    default:
        return read_scalar(problems, setting, key, object);
    }
    refuse_type(problems, setting, key);
    return 0;
}

// A key that says by itself what is selected does so where nothing else says it.
static void imply(const config_setting_t *setting, const struct schema_group *group,
                  const struct schema_key *key, void *object)
{
    if (key->implies && !config_setting_get_member(setting, group->selector->name)) {
        *(unsigned *)((char *)object + group->selector->offset) = key->implies;
    }
}

static int read_group(struct problems *problems, const config_setting_t *setting,
                      const struct schema_group *group, void *object)
{
    int r = 0;

    for (int i = 0; i < config_setting_length(setting) && r == 0; i++) {
        const config_setting_t *member = config_setting_get_elem(setting, (unsigned)i);
        const struct schema_key *key = schema_find_key(group, config_setting_name(member));

        if (key) {
            imply(setting, group, key, object);
            r = read_key(problems, member, key, object);
        } else {
            refuse_unknown(problems, member, group);
        }
    }
    return r;
}

// What is often wrong by its name, else libconfig's own words and, where it is text, the line it
// stopped at.
static void refuse_syntax(struct problems *problems, const config_t *tree)
{
    unsigned number = (unsigned)config_error_line(tree);
    struct config_line origin = config_text_origin(problems->text, number);
    _cleanup_(cleanup_free) char *line = config_text_copy_line(problems->text, number);
    struct syntax_hint hint;

    problems->errors++;
    if (!problems->file) {
        return;
    }
    if (syntax_hint_find(problems->text, number, &hint)) {
        fprintf(problems->file, "%s:%u: error: syntax error: %s\n", hint.place.file,
                hint.place.line, hint.text);
        return;
    }
    fprintf(problems->file, "%s:%u: error: %s", origin.file, origin.line, config_error_text(tree));
    if (number > problems->text->line_count) {
        fputs(" at the end", problems->file);
    } else if (line && g_utf8_validate(line, -1, NULL)) {
        fputs(" in ", problems->file);
        schema_print_excerpt(problems->file, line + strspn(line, " \t"));
    }
    if (strstr(config_error_text(tree), "element type")) {
        fputs("; in one [ ] all numbers have a point or none has: write [0.0, 0.5], not [0, 0.5]",
              problems->file);
    }
    problems_end(problems);
}

static bool is_set(const config_setting_t *group, const char *name)
{
    return group && config_setting_get_member(group, name);
}

static int read_tree(struct problems *problems, const config_setting_t *root, bool is_empty,
                     struct config **ret_config)
{
    _cleanup_(cleanup_config) struct config *config = calloc(1, sizeof *config);
    int r = config ? schema_set_defaults(&schema_root, config) : -ENOMEM;

    if (r == 0) {
        const config_setting_t *http = config_setting_get_member(root, "http");

        config->is_empty = is_empty;
        config->http.is_default = !is_set(http, "address") && !is_set(http, "port");
        r = read_group(problems, root, &schema_root, config);
    }
    if (r == 0) {
        r = validate_complete(config);
    }
    if (r == 0) {
        r = validate_files(problems, root, config);
    }
    if (r < 0) {
        return r;
    }
    problems_begin_checks(problems);
    validate_check(problems, root, config);
    if (problems->errors > 0) {
        return -EINVAL;
    }
    *ret_config = TAKE(config);
    return 0;
}

int load_text(const struct config_text *text,
              int (*prepare)(void *context, config_setting_t *root, FILE *problems), void *context,
              struct config **ret_config)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    struct problems problems;
    config_t tree;
    int r;

    problems_init(&problems, text);
    config_init(&tree);
    if (config_read_string(&tree, text->text) == CONFIG_TRUE) {
        config_setting_t *root = config_root_setting(&tree);
        bool is_empty = config_setting_length(root) == 0;

        r = prepare ? prepare(context, root, text->problems) : 0;
        r = r < 0 ? r : read_tree(&problems, root, is_empty, &config);
    } else {
        refuse_syntax(&problems, &tree);
        r = -EINVAL;
    }
    if (problems_finish(&problems) < 0) {
        r = -ENOMEM;
    }
    config_destroy(&tree);
    if (r == -ENOMEM && text->problems) {
        fprintf(text->problems, "%s: error: %s\n", text->files[0], strerror(ENOMEM));
    }
    if (r == 0) {
        *ret_config = TAKE(config);
    }
    return r;
}

int config_load(const char *path, FILE *problems, struct config **ret_config)
{
    _cleanup_(config_text_finish) struct config_text text = {.problems = problems};
    int r = config_text_read(&text, path);

    return r < 0 ? r : load_text(&text, NULL, NULL, ret_config);
}

int config_parse(const char *text, const char *name, FILE *problems, struct config **ret_config)
{
    _cleanup_(config_text_finish) struct config_text source = {.problems = problems};
    int r = config_text_take(&source, text, name);

    return r < 0 ? r : load_text(&source, NULL, NULL, ret_config);
}
