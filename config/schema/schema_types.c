// The types of values, one row each in the table below: how a value is stored, written, described
// and compared.
#include "config/config.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <string.h>

// `member` is where the value lives, at the key's offset.
struct type_ops {
    unsigned kinds; // of values that it takes, a set of KIND()
    size_t size;    // of the member; equal bytes are equal values unless it has elements
    // Stores a value of such a kind: 0, SCHEMA_REFUSED or -ENOMEM. NULL: elements are read one by
    // one.
    int (*assign)(const struct schema_key *key, void *member, const struct schema_value *value);
    void (*print)(FILE *file, const struct schema_key *key, const void *member);
    void (*print_allowed)(FILE *file, const struct schema_key *key);
};

#define KIND(kind) (1U << SCHEMA_VALUE_##kind)

static bool in_range(const struct schema_key *key, double number)
{
    return number >= key->minimum && number <= key->maximum;
}

static double number_of(const struct schema_value *value)
{
    return value->kind == SCHEMA_VALUE_INTEGER ? (double)value->integer : value->number;
}

// Strings
// ---------------------------------------------------------------------

static int assign_string(const struct schema_key *key, void *member,
                         const struct schema_value *value)
{
    char **target = member, *copy;

    if (key->rule && !key->rule->accepts(value->string))
        return SCHEMA_REFUSED;
    copy = strdup(value->string);
    if (!copy)
        return -ENOMEM;
    free(*target);
    *target = copy;
    return 0;
}

static void print_string(FILE *file, const struct schema_key *key, const void *member)
{
    (void)key;
    schema_print_quoted(file, *(char *const *)member);
}

static void allow_string(FILE *file, const struct schema_key *key)
{
    fputs(key->rule ? key->rule->allowed : "a string", file);
}

// Integers, numbers and booleans
// ---------------------------------------------------------------------

static bool is_choice(const struct schema_key *key, long long integer)
{
    const int *choice = key->choices;

    while (*choice != integer && *choice < key->maximum)
        choice++;
    return *choice == integer;
}

static int assign_integer(const struct schema_key *key, void *member,
                          const struct schema_value *value)
{
    bool is_word = value->kind == SCHEMA_VALUE_STRING;

    if (is_word
            ? strcmp(value->string, key->word) != 0
            : !in_range(key, (double)value->integer) || (key->even && value->integer % 2 != 0) ||
                  (key->choices && !is_choice(key, value->integer))) {
        return SCHEMA_REFUSED;
    }
    *(int *)member = is_word ? key->word_value : (int)value->integer;
    return 0;
}

static void print_integer(FILE *file, const struct schema_key *key, const void *member)
{
    if (key->word && *(const int *)member == key->word_value)
        schema_print_quoted(file, key->word);
    else
        fprintf(file, "%d", *(const int *)member);
}

static int assign_number(const struct schema_key *key, void *member,
                         const struct schema_value *value)
{
    if (!in_range(key, number_of(value)))
        return SCHEMA_REFUSED;
    *(double *)member = number_of(value);
    return 0;
}

static void print_number(FILE *file, const struct schema_key *key, const void *member)
{
    (void)key;
    schema_print_fraction(file, *(const double *)member);
}

static void allow_range(FILE *file, const struct schema_key *key)
{
    const int *choice = key->choices;

    if (choice) {
        for (; *choice < key->maximum; choice++)
            fprintf(file, "%d, ", *choice);
        fprintf(file, "%d (%s)", *choice, key->unit);
        return;
    }
    fprintf(file, "%s from ",
            key->type == SCHEMA_NUMBER ? "a number"
            : key->even                ? "an even integer"
                                       : "an integer");
    schema_print_number(file, key->minimum);
    fputs(" to ", file);
    schema_print_number(file, key->maximum);
    if (key->unit)
        fprintf(file, " (%s)", key->unit);
    if (key->word)
        fprintf(file, " or \"%s\"", key->word);
}

static int assign_boolean(const struct schema_key *key, void *member,
                          const struct schema_value *value)
{
    (void)key;
    *(bool *)member = value->integer != 0;
    return 0;
}

static void print_boolean(FILE *file, const struct schema_key *key, const void *member)
{
    (void)key;
    fputs(*(const bool *)member ? "true" : "false", file);
}

static void allow_boolean(FILE *file, const struct schema_key *key)
{
    (void)key;
    fputs("true or false", file);
}

// Words, one or an array
// ---------------------------------------------------------------------

static int assign_word(const struct schema_key *key, void *member, const struct schema_value *value)
{
    for (unsigned i = 0; value->kind == SCHEMA_VALUE_STRING && key->words[i]; i++) {
        if (strcmp(key->words[i], value->string) == 0) {
            *(unsigned *)member = i;
            return 0;
        }
    }
    return SCHEMA_REFUSED;
}

static void print_word(FILE *file, const struct schema_key *key, const void *member)
{
    schema_print_quoted(file, key->words[*(const unsigned *)member]);
}

static void allow_word(FILE *file, const struct schema_key *key)
{
    for (size_t i = 0; key->words[i]; i++)
        fprintf(file, "%s\"%s\"", i ? ", " : "", key->words[i]);
}

static int assign_words(const struct schema_key *key, void *member,
                        const struct schema_value *value)
{
    struct config_words words = {.count = value->count};

    if (value->count < 1 || value->count > CONFIG_WORDS_MAX)
        return SCHEMA_REFUSED;
    for (size_t i = 0; i < words.count; i++) {
        if (assign_word(key, &words.list[i], &value->elements[i]) != 0)
            return SCHEMA_REFUSED;
    }
    *(struct config_words *)member = words;
    return 0;
}

static void print_words(FILE *file, const struct schema_key *key, const void *member)
{
    const struct config_words *words = member;

    for (size_t i = 0; i < words->count; i++) {
        fputs(i ? ", " : "[", file);
        print_word(file, key, &words->list[i]);
    }
    fputs("]", file);
}

static void allow_words(FILE *file, const struct schema_key *key)
{
    fprintf(file, "an array [ … ] of 1 to %d of the words ", CONFIG_WORDS_MAX);
    allow_word(file, key);
}

// Names, in an array
// ---------------------------------------------------------------------

static int assign_names(const struct schema_key *key, void *member,
                        const struct schema_value *value)
{
    struct config_names names = {.count = value->count};

    if (value->count > CONFIG_NAMES_MAX)
        return SCHEMA_REFUSED;
    for (size_t i = 0; i < names.count; i++) {
        const struct schema_value *element = &value->elements[i];

        if (element->kind != SCHEMA_VALUE_STRING || !key->rule->accepts(element->string))
            return SCHEMA_REFUSED;
        snprintf(names.list[i], sizeof names.list[i], "%s", element->string);
    }
    *(struct config_names *)member = names;
    return 0;
}

static void print_names(FILE *file, const struct schema_key *key, const void *member)
{
    const struct config_names *names = member;

    (void)key;
    for (size_t i = 0; i < names->count; i++) {
        fputs(i ? ", " : "(", file);
        schema_print_quoted(file, names->list[i]);
    }
    fputs(")", file);
}

static void allow_names(FILE *file, const struct schema_key *key)
{
    fprintf(file, "a list ( … ) of at most %d names, each %s", CONFIG_NAMES_MAX,
            key->rule->allowed);
}

// Pairs: blocks and points
// ---------------------------------------------------------------------

// Two numbers in the key's range, of the kinds in the set. False: `value` is something else.
static bool read_pair(const struct schema_key *key, const struct schema_value *value,
                      unsigned kinds, double ret_pair[2])
{
    for (size_t i = 0; i < 2; i++) {
        if (value->count != 2 || !(kinds & 1U << value->elements[i].kind))
            return false;
        ret_pair[i] = number_of(&value->elements[i]);
        if (!in_range(key, ret_pair[i]))
            return false;
    }
    return true;
}

static int assign_block(const struct schema_key *key, void *member,
                        const struct schema_value *value)
{
    struct config_block *block = member;
    double pair[2];

    if (!read_pair(key, value, KIND(INTEGER), pair) ||
        pair[0] * pair[1] > CONFIG_BLOCK_THREADS_MAX) {
        return SCHEMA_REFUSED;
    }
    block->x = (int)pair[0];
    block->y = (int)pair[1];
    return 0;
}

static void print_block(FILE *file, const struct schema_key *key, const void *member)
{
    const struct config_block *block = member;

    (void)key;
    fprintf(file, "[%d, %d]", block->x, block->y);
}

static void allow_block(FILE *file, const struct schema_key *key)
{
    fprintf(file, "[x, y], two integers from %.0f to %.0f, x * y at most %d (threads)",
            key->minimum, key->maximum, CONFIG_BLOCK_THREADS_MAX);
}

static int assign_point(const struct schema_key *key, void *member,
                        const struct schema_value *value)
{
    double pair[2];

    if (!read_pair(key, value, KIND(INTEGER) | KIND(NUMBER), pair))
        return SCHEMA_REFUSED;
    *(struct config_point *)member = (struct config_point){pair[0], pair[1]};
    return 0;
}

static void print_point(FILE *file, const struct schema_key *key, const void *member)
{
    const struct config_point *point = member;

    (void)key;
    fputc('[', file);
    schema_print_fraction(file, point->x);
    fputs(", ", file);
    schema_print_fraction(file, point->y);
    fputc(']', file);
}

static void allow_point(FILE *file, const struct schema_key *key)
{
    (void)key;
    fputs("[x, y], two numbers from 0.0 to 1.0 (shares of the picture's width and height)", file);
}

// Elements on the heap: corners, controls and groups
// ---------------------------------------------------------------------

static void print_points(FILE *file, const struct schema_key *key, const void *member)
{
    size_t count;
    const char *points = schema_get_list(key, (const char *)member - key->offset, &count);

    fputc('(', file);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", file);
        print_point(file, key, points + i * sizeof(struct config_point));
    }
    fputc(')', file);
}

static void allow_points(FILE *file, const struct schema_key *key)
{
    fprintf(file, "a list ( [x, y], … ) of %.0f to %.0f corners, x and y from 0.0 to 1.0",
            key->minimum, key->maximum);
}

static void print_controls(FILE *file, const struct schema_key *key, const void *member)
{
    size_t count;
    const struct config_control *controls =
        (void *)schema_get_list(key, (const char *)member - key->offset, &count);

    fputs("{ ", file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s = %d; ", controls[i].name, controls[i].value);
    fputs("}", file);
}

static void allow_controls(FILE *file, const struct schema_key *key)
{
    (void)key;
    fputs("a group { name = value; … } of integers and booleans", file);
}

static void allow_list(FILE *file, const struct schema_key *key)
{
    fprintf(file, "a list ( { … }, … ) of at most %d groups", (int)key->maximum);
}

static void allow_group(FILE *file, const struct schema_key *key)
{
    (void)key;
    fputs("a group { … }", file);
}

// The table
// ---------------------------------------------------------------------

#define ELEMENTS (KIND(LIST) | KIND(ARRAY))

// A block's rows are a key of their own.
static const struct type_ops types[] = {
    [SCHEMA_STRING] = {KIND(STRING), sizeof(char *), assign_string, print_string, allow_string},
    [SCHEMA_INTEGER] = {KIND(INTEGER), sizeof(int), assign_integer, print_integer, allow_range},
    [SCHEMA_NUMBER] = {KIND(INTEGER) | KIND(NUMBER), sizeof(double), assign_number, print_number,
                       allow_range},
    [SCHEMA_BOOLEAN] = {KIND(BOOLEAN), sizeof(bool), assign_boolean, print_boolean, allow_boolean},
    [SCHEMA_WORD] = {KIND(STRING), sizeof(unsigned), assign_word, print_word, allow_word},
    [SCHEMA_WORDS] = {ELEMENTS, sizeof(struct config_words), assign_words, print_words,
                      allow_words},
    [SCHEMA_NAMES] = {ELEMENTS, sizeof(struct config_names), assign_names, print_names,
                      allow_names},
    [SCHEMA_BLOCK] = {ELEMENTS, offsetof(struct config_block, rows), assign_block, print_block,
                      allow_block},
    [SCHEMA_POINT] = {ELEMENTS, sizeof(struct config_point), assign_point, print_point,
                      allow_point},
    [SCHEMA_POINTS] = {KIND(LIST), sizeof(void *), NULL, print_points, allow_points},
    [SCHEMA_CONTROLS] = {KIND(GROUP), sizeof(void *), NULL, print_controls, allow_controls},
    [SCHEMA_LIST] = {KIND(LIST), sizeof(void *), NULL, NULL, allow_list},
    [SCHEMA_GROUP] = {KIND(GROUP), 0, NULL, NULL, allow_group},
};

bool schema_kind_fits(const struct schema_key *key, enum schema_value_kind kind)
{
    return types[key->type].kinds & 1U << kind || (key->word && kind == SCHEMA_VALUE_STRING);
}

int schema_store(const struct schema_key *key, void *object, const struct schema_value *value)
{
    const struct type_ops *type = &types[key->type];

    return type->assign && schema_kind_fits(key, value->kind)
               ? type->assign(key, (char *)object + key->offset, value)
               : SCHEMA_REFUSED;
}

void schema_print_value(FILE *file, const struct schema_key *key, const void *object)
{
    types[key->type].print(file, key, (const char *)object + key->offset);
}

void schema_print_allowed(FILE *file, const struct schema_key *key)
{
    types[key->type].print_allowed(file, key);
}

static bool controls_equal(const struct config_control *a, const struct config_control *b,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(a[i].name, b[i].name) != 0 || a[i].value != b[i].value)
            return false;
    }
    return true;
}

static bool elements_equal(const struct schema_key *key, const void *a, const void *b)
{
    size_t count, other_count;
    const char *elements = schema_get_list(key, a, &count);
    const char *others = schema_get_list(key, b, &other_count);

    if (count != other_count || count == 0)
        return count == other_count;
    return key->type == SCHEMA_CONTROLS
               ? controls_equal((const void *)elements, (const void *)others, count)
               : memcmp(elements, others, count * sizeof(struct config_point)) == 0;
}

static bool has_elements(const struct schema_key *key)
{
    return key->type == SCHEMA_LIST || key->type == SCHEMA_CONTROLS || key->type == SCHEMA_POINTS;
}

bool schema_is_equal(const struct schema_key *key, const void *a, const void *b)
{
    const void *member = (const char *)a + key->offset, *other = (const char *)b + key->offset;

    if (key->type == SCHEMA_STRING)
        return strcmp(*(char *const *)member, *(char *const *)other) == 0;
    return has_elements(key) ? elements_equal(key, a, b)
                             : memcmp(member, other, types[key->type].size) == 0;
}

bool schema_is_unset(const struct schema_key *key, const void *object)
{
    static const char zeros[sizeof(struct config_names)]; // the largest member
    bool unset = true;

    if (key->type == SCHEMA_GROUP) {
        for (size_t i = 0; i < key->group->key_count && unset; i++)
            unset = schema_is_unset(&key->group->keys[i], object);
        return unset;
    }
    if (key->type == SCHEMA_LIST || key->type == SCHEMA_POINTS)
        return *(const size_t *)((const char *)object + key->count_offset) == 0;
    return (!key->default_text || key->type == SCHEMA_STRING) && key->type != SCHEMA_CONTROLS &&
           memcmp((const char *)object + key->offset, zeros, types[key->type].size) == 0;
}

// Lists, and what objects own
// ---------------------------------------------------------------------

char *schema_get_list(const struct schema_key *key, const void *object, size_t *ret_count)
{
    *ret_count = *(const size_t *)((const char *)object + key->count_offset);
    return *(char *const *)((const char *)object + key->offset);
}

bool schema_is_name(const struct schema_group *group, const struct schema_key *key)
{
    return group->size && group != &schema_root && key == &group->keys[0];
}

const char *schema_name_of(const void *element)
{
    return *(char *const *)element;
}

void *schema_find_element(const struct schema_key *key, const void *object, const char *name)
{
    size_t count;
    char *elements = schema_get_list(key, object, &count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(schema_name_of(elements + i * key->group->size), name) == 0)
            return elements + i * key->group->size;
    }
    return NULL;
}

void schema_set_list(const struct schema_key *key, void *object, void *elements, size_t count)
{
    memcpy((char *)object + key->offset, &elements, sizeof elements);
    *(size_t *)((char *)object + key->count_offset) = count;
}

static void clear_list(const struct schema_key *key, void *object)
{
    size_t count;
    char *elements = schema_get_list(key, object, &count);

    for (size_t i = 0; i < count; i++) {
        if (key->type == SCHEMA_CONTROLS)
            free(((struct config_control *)elements)[i].name);
        else if (key->type == SCHEMA_LIST)
            schema_clear(key->group, elements + i * key->group->size);
    }
    free(elements);
}

void schema_clear(const struct schema_group *group, void *object)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];

        if (key->type == SCHEMA_GROUP)
            schema_clear(key->group, object);
        else if (has_elements(key))
            clear_list(key, object);
        else if (key->type == SCHEMA_STRING)
            free(*(char **)((char *)object + key->offset));
    }
}

void schema_clear_elements(const struct schema_key *key, void *object)
{
    if (key->type == SCHEMA_POINTS || key->type == SCHEMA_CONTROLS) {
        clear_list(key, object);
        schema_set_list(key, object, NULL, 0);
    }
}

static int own_string(char **string)
{
    if (*string) {
        *string = strdup(*string);
        return *string ? 0 : -ENOMEM;
    }
    return 0;
}

static int own_list(const struct schema_key *key, void *object)
{
    size_t count, size = key->type == SCHEMA_LIST       ? key->group->size
                         : key->type == SCHEMA_CONTROLS ? sizeof(struct config_control)
                                                        : sizeof(struct config_point);
    const char *elements = schema_get_list(key, object, &count);
    char *copy = count ? malloc(count * size) : NULL;
    int r = count && !copy ? -ENOMEM : 0;

    schema_set_list(key, object, copy, copy ? count : 0);
    if (copy)
        memcpy(copy, elements, count * size);
    for (size_t i = 0; copy && i < count; i++) {
        int own = key->type == SCHEMA_LIST       ? schema_own(key->group, copy + i * size)
                  : key->type == SCHEMA_CONTROLS ? own_string((char **)(copy + i * size))
                                                 : 0;

        r = r < 0 ? r : own;
    }
    return r;
}

int schema_own(const struct schema_group *group, void *object)
{
    int r = 0;

    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        int own = 0;

        if (key->type == SCHEMA_GROUP)
            own = schema_own(key->group, object);
        else if (has_elements(key))
            own = own_list(key, object);
        else if (key->type == SCHEMA_STRING)
            own = own_string((char **)((char *)object + key->offset));
        r = r < 0 ? r : own;
    }
    return r;
}
