// Schema values as text: for the file, for messages and for the documents.
#include "config/config.h"
#include "config/parse/suggest.h"
#include "config/redact.h"
#include "config/schema/schema_value.h"

#include <glib.h>
#include <string.h>

#define EXCERPT_LENGTH_MAX 64

static size_t word_count(const struct schema_key *key)
{
    size_t count = 0;

    while (key->words[count]) {
        count++;
    }
    return count;
}

static void print_quoted(FILE *file, const char *string, size_t limit)
{
    fputc('"', file);
    for (size_t i = 0; string[i]; i++) {
        unsigned char byte = (unsigned char)string[i];

        // Cut between characters: 10xxxxxx continues one in UTF-8.
        if (i >= limit && (byte & 0xc0) != 0x80) {
            fputs("…", file);
            break;
        }
        if (byte == '"' || byte == '\\') {
            fprintf(file, "\\%c", byte);
        } else if (byte < ' ' || byte == 0x7f) {
            fprintf(file, "\\x%02x", byte);
        } else {
            fputc(byte, file);
        }
    }
    fputc('"', file);
}

void schema_print_quoted(FILE *file, const char *string)
{
    print_quoted(file, string, SIZE_MAX);
}

void schema_print_excerpt(FILE *file, const char *string)
{
    char copy[64 * EXCERPT_LENGTH_MAX]; // half a secret cannot be told from anything else

    snprintf(copy, sizeof copy, "%s", string);
    redact(copy);
    print_quoted(file, copy, EXCERPT_LENGTH_MAX);
}

struct number_text {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
};

static struct number_text format_number(double number)
{
    struct number_text buffer;

    g_ascii_formatd(buffer.text, sizeof buffer.text, "%.15g", number);
    if (g_ascii_strtod(buffer.text, NULL) != number) {
        g_ascii_formatd(buffer.text, sizeof buffer.text, "%.17g", number);
    }
    return buffer;
}

void schema_print_number(FILE *file, double number)
{
    fputs(format_number(number).text, file);
}

// A number that is none of an integer to libconfig, which wants one kind in an array.
static void print_fraction(FILE *file, double number)
{
    struct number_text buffer = format_number(number);
    bool digits_only = buffer.text[strspn(buffer.text, "-0123456789")] == '\0';

    fprintf(file, "%s%s", buffer.text, digits_only ? ".0" : "");
}

static void print_point(FILE *file, const struct config_point *point)
{
    fputc('[', file);
    print_fraction(file, point->x);
    fputs(", ", file);
    print_fraction(file, point->y);
    fputc(']', file);
}

static void print_points(FILE *file, const struct schema_key *key, const void *object)
{
    size_t count;
    const struct config_point *points = (void *)schema_get_list(key, object, &count);

    fputc('(', file);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", file);
        print_point(file, &points[i]);
    }
    fputc(')', file);
}

static void print_controls(FILE *file, const struct schema_key *key, const void *object)
{
    size_t count;
    const struct config_control *controls = (void *)schema_get_list(key, object, &count);

    fputs("{ ", file);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s = %d; ", controls[i].name, controls[i].value);
    }
    fputs("}", file);
}

void schema_print_value(FILE *file, const struct schema_key *key, const void *object)
{
    const void *value = (const char *)object + key->offset;
    const struct config_block *block = value;
    const struct config_words *words = value;

    switch (key->type) {
    case SCHEMA_STRING:
        schema_print_quoted(file, *(const char *const *)value);
        break;
    case SCHEMA_INTEGER:
        if (key->word && *(const int *)value == key->word_value) {
            schema_print_quoted(file, key->word);
        } else {
            fprintf(file, "%d", *(const int *)value);
        }
        break;
    case SCHEMA_NUMBER:
        print_fraction(file, *(const double *)value);
        break;
    case SCHEMA_BOOLEAN:
        fputs(*(const bool *)value ? "true" : "false", file);
        break;
    case SCHEMA_WORD:
        schema_print_quoted(file, key->words[*(const unsigned *)value]);
        break;
    case SCHEMA_WORDS:
        for (size_t i = 0; i < words->count; i++) {
            fputs(i ? ", " : "[", file);
            schema_print_quoted(file, key->words[words->list[i]]);
        }
        fputs("]", file);
        break;
    case SCHEMA_BLOCK:
        fprintf(file, "[%d, %d]", block->x, block->y);
        break;
    case SCHEMA_POINT:
        print_point(file, value);
        break;
    case SCHEMA_POINTS:
        print_points(file, key, object);
        break;
    case SCHEMA_CONTROLS:
        print_controls(file, key, object);
        break;
    case SCHEMA_GROUP:
    case SCHEMA_LIST:
        break;
    }
}

static void print_words(FILE *file, const struct schema_key *key)
{
    for (size_t i = 0; key->words[i]; i++) {
        fprintf(file, "%s\"%s\"", i ? ", " : "", key->words[i]);
    }
}

static void print_choices(FILE *file, const struct schema_key *key)
{
    const int *choice = key->choices;

    for (; *choice < key->maximum; choice++) {
        fprintf(file, "%d, ", *choice);
    }
    fprintf(file, "%d (%s)", *choice, key->unit);
}

void schema_print_allowed(FILE *file, const struct schema_key *key)
{
    switch (key->type) {
    case SCHEMA_STRING:
        fputs(key->rule ? key->rule->allowed : "a string", file);
        break;
    case SCHEMA_INTEGER:
    case SCHEMA_NUMBER:
        if (key->choices) {
            print_choices(file, key);
            break;
        }
        fprintf(file, "%s from ",
                key->type == SCHEMA_NUMBER ? "a number"
                : key->even                ? "an even integer"
                                           : "an integer");
        schema_print_number(file, key->minimum);
        fputs(" to ", file);
        schema_print_number(file, key->maximum);
        if (key->unit) {
            fprintf(file, " (%s)", key->unit);
        }
        if (key->word) {
            fprintf(file, " or \"%s\"", key->word);
        }
        break;
    case SCHEMA_BOOLEAN:
        fputs("true or false", file);
        break;
    case SCHEMA_WORD:
        print_words(file, key);
        break;
    case SCHEMA_WORDS:
        fprintf(file, "an array [ … ] of 1 to %d of the words ", CONFIG_WORDS_MAX);
        print_words(file, key);
        break;
    case SCHEMA_BLOCK:
        fprintf(file, "[x, y], two integers from %.0f to %.0f, x * y at most %d (threads)",
                key->minimum, key->maximum, CONFIG_BLOCK_THREADS_MAX);
        break;
    case SCHEMA_GROUP:
        fputs("a group { … }", file);
        break;
    case SCHEMA_LIST:
        fprintf(file, "a list ( { … }, … ) of at most %d groups", (int)key->maximum);
        break;
    case SCHEMA_CONTROLS:
        fputs("a group { name = value; … } of integers and booleans", file);
        break;
    case SCHEMA_POINT:
        fputs("[x, y], two numbers from 0.0 to 1.0 (shares of the picture's width and height)",
              file);
        break;
    case SCHEMA_POINTS:
        fprintf(file, "a list ( [x, y], … ) of %.0f to %.0f corners, x and y from 0.0 to 1.0",
                key->minimum, key->maximum);
        break;
    }
}

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
        print_fraction(file, value->number);
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

bool schema_kind_fits(const struct schema_key *key, enum schema_value_kind kind)
{
    switch (key->type) {
    case SCHEMA_STRING:
    case SCHEMA_WORD:
        return kind == SCHEMA_VALUE_STRING;
    case SCHEMA_INTEGER:
        return kind == SCHEMA_VALUE_INTEGER || (kind == SCHEMA_VALUE_STRING && key->word);
    case SCHEMA_NUMBER:
        return kind == SCHEMA_VALUE_INTEGER || kind == SCHEMA_VALUE_NUMBER;
    case SCHEMA_BOOLEAN:
        return kind == SCHEMA_VALUE_BOOLEAN;
    case SCHEMA_GROUP:
    case SCHEMA_CONTROLS:
        return kind == SCHEMA_VALUE_GROUP;
    case SCHEMA_LIST:
    case SCHEMA_POINTS:
        return kind == SCHEMA_VALUE_LIST;
    case SCHEMA_WORDS:
    case SCHEMA_BLOCK:
    case SCHEMA_POINT:
        return kind == SCHEMA_VALUE_LIST || kind == SCHEMA_VALUE_ARRAY;
    }
    return false;
}

// What was meant by a word that means or is near one of those known.
static void suggest(FILE *file, const struct schema_key *key, const char *word)
{
    const char *synonym = suggest_synonym(word);
    int near = -1;

    for (int i = 0; synonym && key->words[i]; i++) {
        near = strcmp(key->words[i], synonym) == 0 ? i : near;
    }
    if (near < 0) {
        near = suggest_nearest(word, key->words, word_count(key), sizeof key->words[0]);
    }
    if (near >= 0 && strcmp(key->words[near], word) != 0) {
        fprintf(file, "; did you mean \"%s\"?", key->words[near]);
    }
}

void schema_print_refusal(FILE *file, const struct schema_key *key,
                          const struct schema_value *value)
{
    size_t elements = value->count < SCHEMA_ELEMENTS_MAX ? value->count : SCHEMA_ELEMENTS_MAX;
    bool fits = schema_kind_fits(key, value->kind);

    fputs("got ", file);
    print_got(file, value, !fits);
    fputs(", allowed: ", file);
    // A string where another type belongs says its type above; where a word or a string belongs,
    // say so when something else came.
    if (!fits && (key->type == SCHEMA_WORD || key->rule)) {
        fputs("a string: ", file);
    }
    schema_print_allowed(file, key);
    if (fits && key->type == SCHEMA_WORD) {
        suggest(file, key, value->string);
    }
    for (size_t i = 0; fits && key->type == SCHEMA_WORDS && i < elements; i++) {
        if (value->elements[i].kind == SCHEMA_VALUE_STRING) {
            suggest(file, key, value->elements[i].string);
        }
    }
}
