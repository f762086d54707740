// Values as people write and read them: on a command line, in the table's defaults, in messages.
#include "config/config.h"
#include "config/parse/suggest.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

// Of the parallelogram of two sides, in shares of the picture: less is rounding.
#define LEAST_AREA 1e-9

// Text to values
// ---------------------------------------------------------------------

// A whole integer, else a whole number, else a string.
static struct schema_value read_text(const struct schema_key *key, const char *text)
{
    struct schema_value value = {.kind = SCHEMA_VALUE_STRING, .string = text};
    const char *digits = text + (*text == '-' || *text == '+');
    int base = g_ascii_strncasecmp(digits, "0x", 2) == 0 ? 16 : 10; // and 010 is ten
    char *end;

    if (key->type == SCHEMA_STRING || key->type == SCHEMA_WORD || *text == '\0')
        return value;
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
    if (*end == '\0')
        value.kind = SCHEMA_VALUE_NUMBER;
    return value;
}

int schema_assign(const struct schema_key *key, void *object, const struct schema_value *value,
                  struct error *error)
{
    void *member = (char *)object + key->offset;
    struct config_words before;

    if (key->check)
        before = *(struct config_words *)member;
    int r = schema_store(key, object, value);
    if (r == 0 && key->check) {
        r = key->check(member, error);
        if (r < 0)
            *(struct config_words *)member = before;
    }
    return r == SCHEMA_REFUSED ? schema_refuse(key, value, error) : r;
}

// Words or names with commas between them.
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
    return schema_assign(key, object, &value, error);
}

static bool read_corner(const char *text, struct config_point *ret_point)
{
    char *colon, *end;
    double x = g_ascii_strtod(text, &colon), y;

    if (colon == text || *colon != ':')
        return false;
    y = g_ascii_strtod(colon + 1, &end);
    if (end == colon + 1 || *end != '\0' || !(x >= 0 && x <= 1 && y >= 0 && y <= 1))
        return false;
    *ret_point = (struct config_point){x, y};
    return true;
}

bool schema_points_have_area(const struct config_point *points, size_t count)
{
    struct config_point first = points[0], along = {0, 0};

    for (size_t i = 1; i < count; i++) {
        struct config_point side = {points[i].x - first.x, points[i].y - first.y};

        if (fabs(along.x * side.y - along.y * side.x) > LEAST_AREA)
            return true;
        if (along.x == 0 && along.y == 0)
            along = side;
    }
    return false;
}

static int assign_text_points(const struct schema_key *key, void *object, const char *text,
                              struct error *error)
{
    g_auto(GStrv) corners = g_strsplit(text, ",", -1);
    size_t count = g_strv_length(corners), read = 0, before;
    _cleanup_(cleanup_free) struct config_point *points = calloc(count + 1, sizeof *points);

    if (!points)
        return -ENOMEM;
    while (read < count && read_corner(corners[read], &points[read]))
        read++;
    if (read < count || (double)count < key->minimum || (double)count > key->maximum) {
        return error_refuse(error, -EINVAL, "got \"%.80s\",",
                            "%.0f to %.0f corners X:Y with commas between them, each number from "
                            "0.0 to 1.0",
                            text, key->minimum, key->maximum);
    }
    if (!schema_points_have_area(points, count))
        return error_refuse(error, -EINVAL, SCHEMA_FLAT_GOT, SCHEMA_FLAT_ALLOWED);
    free(schema_get_list(key, object, &before));
    schema_set_list(key, object, TAKE(points), count);
    return 0;
}

int schema_assign_text(const struct schema_key *key, void *object, const char *text,
                       struct error *error)
{
    struct schema_value value = read_text(key, text);

    switch (key->type) {
    case SCHEMA_WORDS:
    case SCHEMA_NAMES:
        return assign_text_words(key, object, text, error);
    case SCHEMA_POINTS:
        return assign_text_points(key, object, text, error);
    default:
        return schema_assign(key, object, &value, error);
    }
}

int schema_set_defaults(const struct schema_group *group, void *object)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        int r = 0;

        if (key->type == SCHEMA_GROUP)
            r = schema_set_defaults(key->group, object);
        else if (key->default_text)
            r = schema_assign_text(key, object, key->default_text, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

// Values to text
// ---------------------------------------------------------------------

static void print_got(FILE *file, const struct schema_value *value, bool with_type);

static void print_elements(FILE *file, const struct schema_value *value)
{
    size_t shown = value->count < SCHEMA_SHOWN_MAX ? value->count : SCHEMA_SHOWN_MAX;

    for (size_t i = 0; i < shown; i++) {
        const struct schema_value *element = &value->elements[i];
        bool nested = element->kind == SCHEMA_VALUE_LIST || element->kind == SCHEMA_VALUE_ARRAY;

        fputs(i ? ", " : "", file);
        print_got(file, element, nested);
    }
    fputs(shown < value->count ? ", …" : "", file);
}

static void print_got(FILE *file, const struct schema_value *value, bool with_type)
{
    bool list = value->kind == SCHEMA_VALUE_LIST;

    switch (value->kind) {
    case SCHEMA_VALUE_INTEGER:
        fprintf(file, "%s%lld", with_type ? "the integer " : "", value->integer);
        break;
    case SCHEMA_VALUE_NUMBER:
        fputs(with_type ? "the number " : "", file);
        schema_print_fraction(file, value->number);
        break;
    case SCHEMA_VALUE_BOOLEAN:
        fprintf(file, "the boolean %s", value->integer ? "true" : "false");
        break;
    case SCHEMA_VALUE_STRING:
        fputs(with_type ? "the string " : "", file);
        schema_print_excerpt(file, value->string);
        break;
    case SCHEMA_VALUE_GROUP:
        fputs("a group { … }", file);
        break;
    case SCHEMA_VALUE_LIST:
    case SCHEMA_VALUE_ARRAY:
        if (with_type) {
            fputs(list ? "a list ( … )" : "an array [ … ]", file);
            break;
        }
        fputc(list ? '(' : '[', file);
        print_elements(file, value);
        fputc(list ? ')' : ']', file);
        break;
    }
}

const char *schema_near_word(const struct schema_key *key, const char *word)
{
    const char *synonym = suggest_synonym(word);
    size_t count = 0;
    int near = -1;

    for (; key->words[count]; count++)
        near = synonym && strcmp(key->words[count], synonym) == 0 ? (int)count : near;
    if (near < 0)
        near = suggest_nearest(word, key->words, count, sizeof key->words[0]);
    return near >= 0 && strcmp(key->words[near], word) != 0 ? key->words[near] : NULL;
}

static void suggest(FILE *file, const struct schema_key *key, const char *word)
{
    const char *near = schema_near_word(key, word);

    if (near)
        fprintf(file, "; did you mean \"%s\"?", near);
}

static void print_allowed(FILE *file, const struct schema_key *key,
                          const struct schema_value *value, bool fits)
{
    size_t elements = value->count < SCHEMA_ELEMENTS_MAX ? value->count : SCHEMA_ELEMENTS_MAX;

    // A string where another type belongs says its type above; where a word or a string belongs,
    // say so when something else came.
    if (!fits && (key->type == SCHEMA_WORD || key->rule))
        fputs("a string: ", file);
    schema_print_allowed(file, key);
    if (fits && key->type == SCHEMA_WORD)
        suggest(file, key, value->string);
    for (size_t i = 0; fits && key->type == SCHEMA_WORDS && i < elements; i++) {
        if (value->elements[i].kind == SCHEMA_VALUE_STRING)
            suggest(file, key, value->elements[i].string);
    }
}

int schema_refuse(const struct schema_key *key, const struct schema_value *value,
                  struct error *error)
{
    _cleanup_(cleanup_free) char *got = NULL, *allowed = NULL;
    bool fits = schema_kind_fits(key, value->kind);
    size_t size;
    FILE *file = open_memstream(&got, &size);

    if (!file)
        return -ENOMEM;
    print_got(file, value, !fits);
    if (fclose(file) != 0)
        return -ENOMEM;
    file = open_memstream(&allowed, &size);
    if (!file)
        return -ENOMEM;
    print_allowed(file, key, value, fits);
    if (fclose(file) != 0)
        return -ENOMEM;
    return error_refuse(error, -EINVAL, "got %s,", "%s", got, allowed);
}

static void print_keys(FILE *file, const struct schema_group *group, bool groups)
{
    for (size_t i = 0; i < group->key_count; i++) {
        if (groups || group->keys[i].type != SCHEMA_GROUP)
            fprintf(file, "%s%s", i ? ", " : "", group->keys[i].name);
    }
}

int schema_refuse_unknown(const struct schema_group *group, bool groups, const char *name,
                          struct error *error)
{
    int near = suggest_nearest(name, &group->keys[0].name, group->key_count, sizeof group->keys[0]);
    _cleanup_(cleanup_free) char *keys = NULL;
    size_t size;
    FILE *file;

    if (near >= 0) {
        return error_set(error, -ENOENT, "unknown key, did you mean \"%s\"?",
                         group->keys[near].name);
    }
    file = open_memstream(&keys, &size);
    if (!file)
        return -ENOMEM;
    print_keys(file, group, groups);
    return fclose(file) != 0 ? -ENOMEM : error_refuse(error, -ENOENT, "unknown key,", "%s", keys);
}
