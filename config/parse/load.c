#include "config/parse/load.h"

#include "config/parse/syntax_hint.h"
#include "config/parse/validate.h"
#include "config/parse/validation.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <glib.h>
#include <libconfig.h>
#include <limits.h>
#include <string.h>

static int read_group(struct validation *validation, const config_setting_t *setting,
                      const char *path, const struct schema_group *group, void *object);

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

// Notes a member or an element at its line.
static const char *note(struct validation *validation, const config_setting_t *setting,
                        const char *outer, size_t index)
{
    return validation_note(validation, outer, config_setting_name(setting), index,
                           config_setting_source_line(setting));
}

// Adds the refusal that came with `r`.
static int refuse(struct validation *validation, const char *path, int r,
                  const struct error *refusal)
{
    if (r == -ENOMEM)
        return r;
    validation_error(validation, path, refusal);
    return 0;
}

static int refuse_type(struct validation *validation, const config_setting_t *setting,
                       const char *path, const struct schema_key *key)
{
    struct schema_value value = value_of(setting);
    struct error error = {0};

    return refuse(validation, path, schema_refuse(key, &value, &error), &error);
}

static int refuse_unknown(struct validation *validation, const config_setting_t *setting,
                          const char *path, const struct schema_group *group)
{
    struct error error = {0};

    return refuse(validation, path,
                  schema_refuse_unknown(group, true, config_setting_name(setting), &error), &error);
}

// Room for `count` zeroed elements of a list in `object`; none for an empty one.
static int allocate_list(const struct schema_key *key, void *object, size_t count, size_t size,
                         char **ret_elements)
{
    char *elements = count ? calloc(count, size) : NULL;

    if (count && !elements)
        return -ENOMEM;
    schema_set_list(key, object, elements, count);
    *ret_elements = elements;
    return 0;
}

static int read_list(struct validation *validation, const config_setting_t *setting,
                     const char *path, const struct schema_key *key, void *object)
{
    static const struct schema_key element_key = {.type = SCHEMA_GROUP};
    size_t count = (size_t)config_setting_length(setting), size = key->group->size;
    char *elements;
    int r;

    if ((double)count > key->maximum) {
        validation_refuse(validation, path, "got %zu %s,", "at most %d", count, key->name,
                          (int)key->maximum);
        count = (size_t)key->maximum;
    }
    r = allocate_list(key, object, count, size, &elements);
    for (size_t i = 0; i < count && r == 0; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        const char *inner = note(validation, element, path, i);

        r = inner ? schema_set_defaults(key->group, elements + i * size) : -ENOMEM;
        if (r == 0 && !config_setting_is_group(element))
            r = refuse_type(validation, element, inner, &element_key);
        else if (r == 0)
            r = read_group(validation, element, inner, key->group, elements + i * size);
    }
    return r;
}

static int read_controls(struct validation *validation, const config_setting_t *setting,
                         const char *path, const struct schema_key *key, void *object)
{
    size_t count = (size_t)config_setting_length(setting);
    char *elements;
    int r = allocate_list(key, object, count, sizeof(struct config_control), &elements);

    for (size_t i = 0; i < count && r == 0; i++) {
        static const struct schema_key control_key = {
            .type = SCHEMA_INTEGER, .minimum = INT_MIN, .maximum = INT_MAX};
        const config_setting_t *member = config_setting_get_elem(setting, (unsigned)i);
        const char *inner = note(validation, member, path, i);
        struct config_control *control = (struct config_control *)elements + i;
        struct schema_value value = value_of(member);

        control->name = strdup(config_setting_name(member));
        if (!inner || !control->name)
            return -ENOMEM;
        if ((value.kind != SCHEMA_VALUE_INTEGER && value.kind != SCHEMA_VALUE_BOOLEAN) ||
            value.integer < INT_MIN || value.integer > INT_MAX) {
            r = refuse_type(validation, member, inner, &control_key);
        } else {
            control->value = (int)value.integer;
        }
    }
    return r;
}

static int read_scalar(struct validation *validation, const config_setting_t *setting,
                       const char *path, const struct schema_key *key, void *object)
{
    struct schema_value elements[SCHEMA_ELEMENTS_MAX];
    struct schema_value value = value_of(setting);
    struct error error = {0};
    int r;

    if (value.kind == SCHEMA_VALUE_LIST || value.kind == SCHEMA_VALUE_ARRAY) {
        value.elements = elements;
        value.count = (size_t)config_setting_length(setting);
    }
    for (size_t i = 0; i < value.count && i < SCHEMA_ELEMENTS_MAX; i++)
        elements[i] = value_of(config_setting_get_elem(setting, (unsigned)i));
    r = schema_assign(key, object, &value, &error);
    return r == -EINVAL ? refuse(validation, path, r, &error) : r;
}

static int read_points(struct validation *validation, const config_setting_t *setting,
                       const char *path, const struct schema_key *key, void *object)
{
    static const struct schema_key point_key = {.type = SCHEMA_POINT, .maximum = 1};
    size_t count = (size_t)config_setting_length(setting), before = validation->problems->errors;
    char *elements;
    int r;

    if ((double)count < key->minimum || (double)count > key->maximum) {
        validation_refuse(validation, path, "got %zu corners,", "%.0f to %.0f", count, key->minimum,
                          key->maximum);
        return 0;
    }
    r = allocate_list(key, object, count, sizeof(struct config_point), &elements);
    for (size_t i = 0; i < count && r == 0; i++) {
        const config_setting_t *corner = config_setting_get_elem(setting, (unsigned)i);
        const char *inner = note(validation, corner, path, i);

        r = inner ? read_scalar(validation, corner, inner, &point_key,
                                (struct config_point *)elements + i)
                  : -ENOMEM;
    }
    if (r == 0 && validation->problems->errors == before &&
        !schema_points_have_area((struct config_point *)elements, count)) {
        validation_refuse(validation, path, SCHEMA_FLAT_GOT, SCHEMA_FLAT_ALLOWED);
    }
    return r;
}

static int read_key(struct validation *validation, const config_setting_t *setting,
                    const char *path, const struct schema_key *key, void *object)
{
    bool is_group = config_setting_is_group(setting);

    switch (key->type) {
    case SCHEMA_GROUP:
        if (is_group)
            return read_group(validation, setting, path, key->group, object);
        break;
    case SCHEMA_CONTROLS:
        if (is_group)
            return read_controls(validation, setting, path, key, object);
        break;
    case SCHEMA_LIST:
        if (config_setting_is_list(setting))
            return read_list(validation, setting, path, key, object);
        break;
    case SCHEMA_POINTS:
        if (config_setting_is_list(setting))
            return read_points(validation, setting, path, key, object);
        break;
    default:
        return read_scalar(validation, setting, path, key, object);
    }
    return refuse_type(validation, setting, path, key);
}

// A key that says by itself what is selected does so where nothing else says it.
static void imply(const config_setting_t *setting, const struct schema_group *group,
                  const struct schema_key *key, void *object)
{
    if (key->implies && !config_setting_get_member(setting, group->selector->name))
        *(unsigned *)((char *)object + group->selector->offset) = key->implies;
}

static int read_group(struct validation *validation, const config_setting_t *setting,
                      const char *path, const struct schema_group *group, void *object)
{
    int r = 0;

    for (int i = 0; i < config_setting_length(setting) && r == 0; i++) {
        const config_setting_t *member = config_setting_get_elem(setting, (unsigned)i);
        const struct schema_key *key = schema_find_key(group, config_setting_name(member));
        const char *inner = note(validation, member, path, 0);

        if (!inner) {
            r = -ENOMEM;
        } else if (key) {
            imply(setting, group, key, object);
            r = read_key(validation, member, inner, key, object);
        } else {
            r = refuse_unknown(validation, member, inner, group);
        }
    }
    return r;
}

// libconfig's own words and, where it is text, the line where it stopped.
static void print_syntax_error(FILE *file, const struct config_text *text, const config_t *tree,
                               unsigned number)
{
    _cleanup_(cleanup_free) char *line = config_text_copy_line(text, number);
    struct syntax_hint hint;

    fputs(config_error_text(tree), file);
    if (number > text->line_count) {
        fputs(" at the end", file);
    } else if (line && g_utf8_validate(line, -1, NULL)) {
        fputs(" in ", file);
        schema_print_excerpt(file, line + strspn(line, " \t"));
    }
    if (strstr(config_error_text(tree), "duplicate") &&
        syntax_hint_find_first(text, number, &hint)) {
        fprintf(file, "; %s is set at %s:%u already", hint.text, hint.place.file, hint.place.line);
    }
    if (strstr(config_error_text(tree), "element type")) {
        fputs("; in one [ ] all numbers have a point or none has: write [0.0, 0.5], not [0, 0.5]",
              file);
    }
}

// Names a common mistake, else repeats libconfig.
static int refuse_syntax(const struct config_text *text, const config_t *tree)
{
    unsigned number = (unsigned)config_error_line(tree);
    _cleanup_(cleanup_free) char *sentence = NULL;
    struct syntax_hint hint;
    size_t size;
    FILE *file;

    if (syntax_hint_find(text, number, &hint)) {
        config_text_refuse(text, hint.place, "syntax error: %s", hint.text);
        return -EINVAL;
    }
    file = open_memstream(&sentence, &size);
    if (!file)
        return -ENOMEM;
    print_syntax_error(file, text, tree, number);
    if (fclose(file) != 0)
        return -ENOMEM;
    config_text_refuse(text, config_text_origin(text, number), "%s", sentence);
    return -EINVAL;
}

static int read_tree(struct validation *validation, const config_setting_t *root,
                     struct config **ret_config)
{
    _cleanup_(cleanup_config) struct config *config = calloc(1, sizeof *config);
    int r = config ? schema_set_defaults(&schema_root, config) : -ENOMEM;

    r = r < 0 ? r : read_group(validation, root, "", &schema_root, config);
    r = r < 0 ? r : validate_name(config);
    if (r < 0)
        return r;
    validation_end_reading(validation);
    config->is_empty = config_setting_length(root) == 0;
    config->http.is_default =
        !validation_has(validation, "http.address") && !validation_has(validation, "http.port");
    r = validate_files(validation, config);
    if (r == 0)
        *ret_config = TAKE(config);
    return r;
}

int load_read(struct validation *validation, struct config **ret_config)
{
    config_t tree;
    int r;

    config_init(&tree);
    r = config_read_string(&tree, validation->text->text)
            ? read_tree(validation, config_root_setting(&tree), ret_config)
            : refuse_syntax(validation->text, &tree);
    config_destroy(&tree);
    return r;
}

int load_check(struct validation *validation, struct config *config)
{
    validate_complete(config);
    validation_begin_checks(validation);
    validate_check(validation, config);
    return validation->problems->errors > 0 ? -EINVAL : 0;
}

int load_end(const struct config_text *text, struct config_problems *problems, size_t before, int r)
{
    config_problems_sort(problems, before);
    if (r == -ENOMEM || problems->is_incomplete) {
        config_problems_finish(problems);
        config_problems_tell(problems, true, text->files[0], "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    return r;
}

int load_value(struct validation *validation, const char *path, const char *value,
               const struct schema_key *key, void *object)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t before = validation->problems->errors;
    config_t tree;
    int r = -EBADMSG;

    if (strchr(value, '\n')) // a line of its own may include a file
        return r;
    if (asprintf(&text, "value = %s;", value) < 0) {
        text = NULL;
        return -ENOMEM;
    }
    config_init(&tree);
    if (config_read_string(&tree, text)) {
        schema_clear_elements(key, object);
        r = read_key(validation, config_lookup(&tree, "value"), path, key, object);
    }
    config_destroy(&tree);
    return r < 0 || validation->problems->errors == before ? r : -EINVAL;
}

static int load_text(const struct config_text *text, struct config **ret_config)
{
    _cleanup_(validation_finish) struct validation validation = {.text = text,
                                                                 .problems = text->problems};
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t before = text->problems->count;
    int r = load_read(&validation, &config);

    r = load_end(text, text->problems, before, r < 0 ? r : load_check(&validation, config));
    if (r == 0)
        *ret_config = TAKE(config);
    return r;
}

// Reads and loads the text of a file, or `content` in its place, or a text that lies in no file.
static int load(const char *path, const char *content, bool is_file,
                struct config_problems *problems, struct config **ret_config)
{
    _cleanup_(config_problems_finish) struct config_problems ignored = {0};
    _cleanup_(config_text_finish) struct config_text text = {
        .problems = problems ? problems : &ignored, .is_file = is_file};
    int r = content ? config_text_take(&text, content, path) : config_text_read(&text, path);

    return r < 0 ? r : load_text(&text, ret_config);
}

int config_check_file(const char *path, struct config_problems *problems,
                      struct config **ret_config)
{
    return load(path, NULL, true, problems, ret_config);
}

int config_check_text(const char *text, const char *name, struct config_problems *problems,
                      struct config **ret_config)
{
    return load(name, text, false, problems, ret_config);
}

int config_check_content(const char *text, const char *path, struct config_problems *problems,
                         struct config **ret_config)
{
    return load(path, text, true, problems, ret_config);
}

// Prints the problems of a load.
static int print(int r, struct config_problems *problems, FILE *file)
{
    if (file)
        config_problems_print(problems, file);
    config_problems_finish(problems);
    return r;
}

int config_load(const char *path, FILE *problems, struct config **ret_config)
{
    struct config_problems found = {0};

    return print(load(path, NULL, true, &found, ret_config), &found, problems);
}

int config_parse(const char *text, const char *name, FILE *problems, struct config **ret_config)
{
    struct config_problems found = {0};

    return print(load(name, text, false, &found, ret_config), &found, problems);
}
