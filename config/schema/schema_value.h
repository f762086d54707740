// Values of the schema: into a struct, out of it, and the sentences about wrong ones.
#pragma once

#include "config/schema/schema.h"

enum schema_value_kind {
    SCHEMA_VALUE_INTEGER,
    SCHEMA_VALUE_NUMBER,
    SCHEMA_VALUE_BOOLEAN,
    SCHEMA_VALUE_STRING,
    SCHEMA_VALUE_GROUP, // only the kind matters
    SCHEMA_VALUE_LIST,
    SCHEMA_VALUE_ARRAY,
};

// So many elements of a list or an array are looked at, and so many shown.
#define SCHEMA_ELEMENTS_MAX 12
#define SCHEMA_SHOWN_MAX 4

// A value as it stands in a file, not checked yet.
struct schema_value {
    enum schema_value_kind kind;
    long long integer; // INTEGER, BOOLEAN (0 or 1)
    double number;
    const char *string;                  // not owned
    const struct schema_value *elements; // LIST, ARRAY: up to SCHEMA_ELEMENTS_MAX, not owned
    size_t count;                        // of all elements
};

// A value that a key does not take.
#define SCHEMA_REFUSED 1
// Stores `value` in the field of a scalar key in `object`, freeing what was there: 0,
// SCHEMA_REFUSED or -ENOMEM.
int schema_store(const struct schema_key *key, void *object, const struct schema_value *value);
// The same, and asks the key's check. -EINVAL with "got …, allowed: …" in `error`, the field
// unchanged; -ENOMEM.
int schema_assign(const struct schema_key *key, void *object, const struct schema_value *value,
                  struct error *error);
// The same for text as a person types it, without quotes: "1.5", "edges", words with commas between
// them, the corners of a POINTS as "x:y,x:y,x:y".
int schema_assign_text(const struct schema_key *key, void *object, const char *text,
                       struct error *error);
struct config_point;
// Whether not all of at least one corners lie on one line.
bool schema_points_have_area(const struct config_point *points, size_t count);
#define SCHEMA_FLAT_GOT "got corners on one line,"
#define SCHEMA_FLAT_ALLOWED "a polygon with an area"
// Gives every field of `group` in a zeroed `object` its default; lists and strings without one stay
// empty. -ENOMEM.
int schema_set_defaults(const struct schema_group *group, void *object);
// Frees what the fields of `group` in `object` own, lists with their elements; takes half-built
// objects.
void schema_clear(const struct schema_group *group, void *object);

// Takes away the elements of a POINTS or CONTROLS; of any other key nothing.
void schema_clear_elements(const struct schema_key *key, void *object);
// Makes an object, which was copied byte for byte, own copies of what the original owns. -ENOMEM:
// it owns a part, for schema_clear(), and refers to none of the original's.
int schema_own(const struct schema_group *group, void *object);

// The elements of a key that has some (LIST, CONTROLS, POINTS) in `object`, owned by it, and back.
// Elements are `size` of the key's group, or struct config_control or config_point, bytes apart.
char *schema_get_list(const struct schema_key *key, const void *object, size_t *ret_count);
// Whether the key is the name of the elements that the group describes. They begin with it.
bool schema_is_name(const struct schema_group *group, const struct schema_key *key);
const char *schema_name_of(const void *element);
// The element of a LIST in `object` that has that name; NULL: there is none.
void *schema_find_element(const struct schema_key *key, const void *object, const char *name);
void schema_set_list(const struct schema_key *key, void *object, void *elements, size_t count);

// Whether there is no value, so that the key stands in no file: BLOCK or WORDS that are not set, an
// INTEGER or NUMBER of 0 that has no default but a note, no elements, no string, a group of nothing
// else.
bool schema_is_unset(const struct schema_key *key, const void *object);
// Whether a key but a GROUP or LIST has the same value in both.
bool schema_is_equal(const struct schema_key *key, const void *a, const void *b);

// Whether a key takes values of that kind at all.
bool schema_kind_fits(const struct schema_key *key, enum schema_value_kind kind);
// Says "got …, allowed: …" for a value that `key` does not take. -EINVAL, or -ENOMEM.
int schema_refuse(const struct schema_key *key, const struct schema_value *value,
                  struct error *error);
// The word of a WORD or WORDS that `word` means or is near to; NULL: there is none, or it is one.
const char *schema_near_word(const struct schema_key *key, const char *word);
// Says that the group has no key of that name, and the one that was meant or all that there are;
// `groups`: with those that are groups. -ENOENT, or -ENOMEM.
int schema_refuse_unknown(const struct schema_group *group, bool groups, const char *name,
                          struct error *error);
// Writes what `key` takes: "an even integer from 16 to 8192 (pixels)".
void schema_print_allowed(FILE *file, const struct schema_key *key);
// Writes the value of a key but a GROUP or LIST as it stands in the file: strings quoted and
// escaped, numbers with a '.' whatever the locale, in the fewest digits that read back as the same.
void schema_print_value(FILE *file, const struct schema_key *key, const void *object);
void schema_print_number(FILE *file, double number);
// The same with a '.' in any case, as libconfig wants one kind of number in an array.
void schema_print_fraction(FILE *file, double number);
// Writes `string` quoted and escaped for libconfig.
void schema_print_quoted(FILE *file, const char *string);
// The same for people: without its secrets, and at most 64 bytes of it, then "…".
void schema_print_excerpt(FILE *file, const char *string);
