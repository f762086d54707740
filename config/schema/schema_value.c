#include "config/schema/schema_value.h"

#include "config/config.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static void *field(const struct schema_key *key, void *object)
{
    return (char *)object + key->offset;
}

static int refuse(const struct schema_key *key, const struct schema_value *value,
                  struct error *error)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file) {
        return -ENOMEM;
    }
    schema_print_refusal(file, key, value);
    if (fclose(file) != 0) {
        return -ENOMEM;
    }
    return error_set(error, -EINVAL, "%s", text);
}

static int assign_string(char **target, const char *string)
{
    char *copy = strdup(string);

    if (!copy) {
        return -ENOMEM;
    }
    free(*target);
    *target = copy;
    return 0;
}

static double number_of(const struct schema_value *value)
{
    return value->kind == SCHEMA_VALUE_INTEGER ? (double)value->integer : value->number;
}

static bool in_range(const struct schema_key *key, double number)
{
    return number >= key->minimum && number <= key->maximum;
}

static bool is_choice(const struct schema_key *key, long long integer)
{
    const int *choice = key->choices;

    while (*choice != integer && *choice < key->maximum) {
        choice++;
    }
    return *choice == integer;
}

static int assign_block(const struct schema_key *key, void *object,
                        const struct schema_value *value, struct error *error)
{
    struct config_block *block = field(key, object);
    long long threads = 1;

    if (value->count != 2) {
        return refuse(key, value, error);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct schema_value *element = &value->elements[i];

        if (element->kind != SCHEMA_VALUE_INTEGER || !in_range(key, (double)element->integer)) {
            return refuse(key, value, error);
        }
        threads *= element->integer;
    }
    if (threads > CONFIG_BLOCK_THREADS_MAX) {
        return refuse(key, value, error);
    }
    block->x = (int)value->elements[0].integer;
    block->y = (int)value->elements[1].integer;
    return 0;
}

static int find_word(const struct schema_key *key, const struct schema_value *value)
{
    for (int i = 0; value->kind == SCHEMA_VALUE_STRING && key->words[i]; i++) {
        if (strcmp(key->words[i], value->string) == 0) {
            return i;
        }
    }
    return -1;
}

static int assign_words(const struct schema_key *key, void *object,
                        const struct schema_value *value, struct error *error)
{
    struct config_words words = {.count = value->count};
    int r;

    if (value->count < 1 || value->count > CONFIG_WORDS_MAX) {
        return refuse(key, value, error);
    }
    for (size_t i = 0; i < words.count; i++) {
        int word = find_word(key, &value->elements[i]);

        if (word < 0) {
            return refuse(key, value, error);
        }
        words.list[i] = (unsigned)word;
    }
    r = key->check ? key->check(&words, error) : 0;
    if (r == 0) {
        *(struct config_words *)field(key, object) = words;
    }
    return r;
}

static int assign_point(const struct schema_key *key, void *object,
                        const struct schema_value *value, struct error *error)
{
    double coordinates[2];

    if (value->count != 2) {
        return refuse(key, value, error);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct schema_value *element = &value->elements[i];

        if (element->kind != SCHEMA_VALUE_INTEGER && element->kind != SCHEMA_VALUE_NUMBER) {
            return refuse(key, value, error);
        }
        coordinates[i] = number_of(element);
        if (!in_range(key, coordinates[i])) {
            return refuse(key, value, error);
        }
    }
    *(struct config_point *)field(key, object) =
        (struct config_point){coordinates[0], coordinates[1]};
    return 0;
}

static int assign_word_value(const struct schema_key *key, void *object,
                             const struct schema_value *value, struct error *error)
{
    if (strcmp(value->string, key->word) != 0) {
        return refuse(key, value, error);
    }
    *(int *)field(key, object) = key->word_value;
    return 0;
}

int schema_assign(const struct schema_key *key, void *object, const struct schema_value *value,
                  struct error *error)
{
    double number = number_of(value);
    int word;

    if (!schema_kind_fits(key, value->kind)) {
        return refuse(key, value, error);
    }
    switch (key->type) {
    case SCHEMA_STRING:
        if (key->rule && !key->rule->accepts(value->string)) {
            return refuse(key, value, error);
        }
        return assign_string(field(key, object), value->string);
    case SCHEMA_INTEGER:
        if (value->kind == SCHEMA_VALUE_STRING) {
            return assign_word_value(key, object, value, error);
        }
        if (!in_range(key, number) || (key->even && value->integer % 2 != 0) ||
            (key->choices && !is_choice(key, value->integer))) {
            return refuse(key, value, error);
        }
        *(int *)field(key, object) = (int)value->integer;
        return 0;
    case SCHEMA_NUMBER:
        if (!in_range(key, number)) {
            return refuse(key, value, error);
        }
        *(double *)field(key, object) = number;
        return 0;
    case SCHEMA_BOOLEAN:
        *(bool *)field(key, object) = value->integer != 0;
        return 0;
    case SCHEMA_WORD:
        word = find_word(key, value);
        if (word < 0) {
            return refuse(key, value, error);
        }
        *(unsigned *)field(key, object) = (unsigned)word;
        return 0;
    case SCHEMA_WORDS:
        return assign_words(key, object, value, error);
    case SCHEMA_BLOCK:
        return assign_block(key, object, value, error);
    case SCHEMA_POINT:
        return assign_point(key, object, value, error);
    case SCHEMA_GROUP:
    case SCHEMA_LIST:
    case SCHEMA_CONTROLS:
    case SCHEMA_POINTS:
        break;
    }
    return refuse(key, value, error);
}

// A whole integer, else a whole number, else a string.
static struct schema_value read_text(const struct schema_key *key, const char *text)
{
    struct schema_value value = {.kind = SCHEMA_VALUE_STRING, .string = text};
    const char *digits = text + (*text == '-' || *text == '+');
    int base = g_ascii_strncasecmp(digits, "0x", 2) == 0 ? 16 : 10; // and 010 is ten
    char *end;

    if (key->type == SCHEMA_STRING || key->type == SCHEMA_WORD || *text == '\0') {
        return value;
    }
    if (key->type == SCHEMA_BOOLEAN) {
        value.integer = strcmp(text, "true") == 0;
        value.kind = value.integer || strcmp(text, "false") == 0 ? SCHEMA_VALUE_BOOLEAN
                                                                 : SCHEMA_VALUE_STRING;
        return value;
    }
    errno = 0;
    value.integer = strtoll(text, &end, base);
    if (*end == '\0' && errno == 0) {
        value.kind = SCHEMA_VALUE_INTEGER;
        return value;
    }
    value.number = g_ascii_strtod(text, &end);
    if (*end == '\0') {
        value.kind = SCHEMA_VALUE_NUMBER;
    }
    return value;
}

// Words with commas between them.
static int assign_text_words(const struct schema_key *key, void *object, const char *text,
                             struct error *error)
{
    struct schema_value elements[SCHEMA_ELEMENTS_MAX];
    struct schema_value value = {.kind = SCHEMA_VALUE_ARRAY, .elements = elements};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);

    for (; words[value.count]; value.count++) {
        if (value.count < SCHEMA_ELEMENTS_MAX) {
            elements[value.count] = (struct schema_value){.kind = SCHEMA_VALUE_STRING,
                                                          .string = g_strstrip(words[value.count])};
        }
    }
    return assign_words(key, object, &value, error);
}

int schema_assign_text(const struct schema_key *key, void *object, const char *text,
                       struct error *error)
{
    struct schema_value value = read_text(key, text);

    switch (key->type) {
    case SCHEMA_WORDS:
        return assign_text_words(key, object, text, error);
    case SCHEMA_POINTS:
        return schema_assign_points(key, object, text, error);
    default:
        return schema_assign(key, object, &value, error);
    }
}

int schema_set_defaults(const struct schema_group *group, void *object)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        int r = 0;

        if (key->type == SCHEMA_GROUP) {
            r = schema_set_defaults(key->group, object);
        } else if (key->default_text) {
            r = schema_assign_text(key, object, key->default_text, NULL);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

bool schema_is_unset(const struct schema_key *key, const void *object)
{
    const void *member = (const char *)object + key->offset;

    if (key->type == SCHEMA_BLOCK) {
        return ((const struct config_block *)member)->x == 0;
    }
    if (key->type == SCHEMA_WORDS) {
        return ((const struct config_words *)((const char *)object + key->offset))->count == 0;
    }
    if (key->type == SCHEMA_LIST || key->type == SCHEMA_POINTS) {
        return *(const size_t *)((const char *)object + key->count_offset) == 0;
    }
    if (key->type == SCHEMA_STRING) {
        return !*(char *const *)member;
    }
    if (key->type == SCHEMA_NUMBER && !key->default_text) {
        return *(const double *)member == 0;
    }
    if (key->type == SCHEMA_INTEGER && !key->default_text) {
        return *(const int *)member == 0;
    }
    if (key->type != SCHEMA_GROUP) {
        return false;
    }
    for (size_t i = 0; i < key->group->key_count; i++) {
        if (!schema_is_unset(&key->group->keys[i], object)) {
            return false;
        }
    }
    return true;
}

bool schema_is_list(const struct schema_key *key)
{
    return key->type == SCHEMA_LIST || key->type == SCHEMA_CONTROLS || key->type == SCHEMA_POINTS;
}

char *schema_get_list(const struct schema_key *key, const void *object, size_t *ret_count)
{
    char *elements;

    memcpy(&elements, (const char *)object + key->offset, sizeof elements);
    *ret_count = *(const size_t *)((const char *)object + key->count_offset);
    return elements;
}

void schema_set_list(const struct schema_key *key, void *object, void *elements, size_t count)
{
    memcpy(field(key, object), &elements, sizeof elements);
    *(size_t *)((char *)object + key->count_offset) = count;
}

static void clear_list(const struct schema_key *key, void *object)
{
    size_t count;
    char *elements = schema_get_list(key, object, &count);

    for (size_t i = 0; i < count; i++) {
        if (key->type == SCHEMA_CONTROLS) {
            free(((struct config_control *)elements)[i].name);
        } else if (key->type == SCHEMA_LIST) {
            schema_clear(key->group, elements + i * key->group->size);
        }
    }
    free(elements);
}

void schema_clear(const struct schema_group *group, void *object)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];

        if (key->type == SCHEMA_GROUP) {
            schema_clear(key->group, object);
        } else if (schema_is_list(key)) {
            clear_list(key, object);
        } else if (key->type == SCHEMA_STRING) {
            free(*(char **)field(key, object));
        }
    }
}
